"""Spans and events of jobs, with the names and attributes of Flink's, and what reporters do with them.

| span | from | to |
|---|---|---|
| `Checkpoint` | its batch begins | it is committed |
| `JobInitialization` | the job, or what failed of it, is scheduled | its first batch ends |
| `Recovery` | the job fails | its first batch ends |
| `Batch` | a batch begins | its output is committed, or waits for a checkpoint |

The first two are Flink's, the others firesteel's. Events are Flink's `CheckpointEvent`, `JobStatusChangeEvent`,
`JobFailureEvent` and `AllSubtasksStatusChangeEvent`, and `ScalingReport`, which the autoscaler of Flink's Kubernetes
operator gives to Kubernetes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from firesteel.common.values.java_text import boolean_text
from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.jobmaster.job_activity import BatchStats

__all__ = ["Attributes", "Event", "EventReporter", "JobTelemetry", "Span", "SpanReporter"]

Attributes = Mapping[str, str | int]

CHECKPOINTS: Final = "org.apache.flink.runtime.checkpoint.CheckpointStatsTracker"
JOB_MASTER: Final = "org.apache.flink.runtime.jobmaster.JobMaster"
FAILURES: Final = "org.apache.flink.runtime.scheduler.adaptive.JobFailureMetricReporter"
SUBTASKS: Final = "org.apache.flink.runtime.scheduler.metrics.AllSubTasksRunningOrFinishedStateTimeMetrics"
SCALING: Final = "org.apache.flink.autoscaler.ScalingExecutor"
BATCHES: Final = "firesteel"
"""Scopes of spans and events: Flink's are its classes."""

_FAILED: Final = frozenset({JobStatus.FAILING, JobStatus.RESTARTING})


@dataclass(frozen=True, slots=True)
class Span:
    """Something with a begin and an end, in ms since the epoch. Flink: `traces.Span`."""

    scope: str
    name: str
    begin_ms: int
    end_ms: int
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, at a time in ms since the epoch. Flink: `events.Event`."""

    scope: str
    name: str
    time_ms: int
    attributes: Attributes


class SpanReporter(Protocol):
    """Sends spans; does not block. Flink: `traces.reporter.TraceReporter`."""

    def add(self, span: Span) -> None:
        """Take a span."""


class EventReporter(Protocol):
    """Sends events; does not block. Flink: `events.reporter.EventReporter`."""

    def add(self, event: Event) -> None:
        """Take an event."""


@dataclass(slots=True)
class _Job:
    """What is known of a running job.

    Attributes:
        labels: The attributes of all its spans and events.
        failed_ms: Time of the failure that it recovers from, or None.
        cause: The message of that failure.
        scheduled_ms: Time at which it was scheduled, or None once its first batch has ended.
        restored: The checkpoint that it starts from, or None.
        all_run: Whether all of its subtasks were reported to run.
    """

    labels: Attributes
    failed_ms: int | None = None
    cause: str = ""
    scheduled_ms: int | None = None
    restored: RestoredCheckpoint | None = None
    all_run: bool = False


@dataclass(slots=True)
class JobTelemetry:
    """Makes spans and events of what happens in jobs (a `JobActivityListener`).

    Attributes:
        now_ms: Returns the time in ms since the epoch.
        spans: The reporters of spans.
        events: The reporters of events.

    Example:
        >>> class Shown:
        ...     def add(self, span):
        ...         print(span.name, span.end_ms - span.begin_ms, span.attributes["job_name"])
        >>> telemetry = JobTelemetry(lambda: 1000, [Shown()], [])
        >>> telemetry.job_named("1" * 32, "words")
        >>> telemetry.batch_ended("1" * 32, BatchStats(0, 7, 500, 20, False, 1))
        Batch 20 words
    """

    now_ms: Callable[[], int]
    spans: Sequence[SpanReporter]
    events: Sequence[EventReporter]
    _jobs: dict[str, _Job] = field(default_factory=dict)

    def job_named(self, job_id: str, name: str) -> None:
        """Handle that this JobManager leads a job."""
        self._jobs[job_id] = _Job({"job_id": job_id, "job_name": name})

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        """Handle a new status of a job."""
        job = self._jobs[job_id]
        self._event(job, JOB_MASTER, "JobStatusChangeEvent", event.timestamp_ms, newJobStatus=event.status.name)
        if event.status is not JobStatus.RUNNING and job.all_run:
            self._all_run(job, event.timestamp_ms, False)
        if event.status in _FAILED and event.cause is not None:
            can_restart = event.status is JobStatus.RESTARTING
            is_global = event.cause.vertex_id is None
            flags = {"canRestart": boolean_text(can_restart), "isGlobalFailure": boolean_text(is_global)}
            self._event(job, FAILURES, "JobFailureEvent", event.timestamp_ms, **flags)
            if job.scheduled_ms is not None:
                self._initialized(job, event.timestamp_ms, "FAILED")
            # Failures during a recovery prolong it; a span for each would count the time twice.
            if job.failed_ms is None:
                job.failed_ms, job.cause = event.timestamp_ms, event.cause.message
        if event.status is JobStatus.RUNNING:
            job.scheduled_ms, job.restored = event.timestamp_ms, None
        if event.status.is_terminal:
            del self._jobs[job_id]

    def checkpoint_completed(self, job_id: str, stats: CheckpointStats) -> None:
        """Handle a completed checkpoint."""
        job, end_ms = self._jobs[job_id], stats.trigger_timestamp_ms + stats.duration_ms
        kind = "Savepoint" if stats.is_savepoint else "Checkpoint"
        attributes: dict[str, str | int] = {
            "checkpointId": stats.checkpoint_id,
            "fullSize": stats.state_size,
            "checkpointedSize": stats.checkpointed_size,
            "checkpointStatus": "COMPLETED",
            "isUnaligned": "false",
            "checkpointType": kind,
        }
        self._span(job, CHECKPOINTS, "Checkpoint", stats.trigger_timestamp_ms, end_ms, attributes)
        self._event(job, CHECKPOINTS, "CheckpointEvent", end_ms, **attributes)

    def checkpoints_failed(self, job_id: str, count: int) -> None:
        """Handle checkpoints that have failed; which ones is not known."""
        for _ in range(count):
            self._event(self._jobs[job_id], CHECKPOINTS, "CheckpointEvent", self.now_ms(), checkpointStatus="FAILED")

    def checkpoint_restored(self, job_id: str, checkpoint: RestoredCheckpoint) -> None:
        """Handle that the job was restored from a checkpoint."""
        self._jobs[job_id].restored = checkpoint

    def batch_ended(self, job_id: str, batch: BatchStats) -> None:
        """Handle the end of a batch; the first one ends the start or the recovery of the job."""
        job = self._jobs.get(job_id)
        if job is None:  # Its end was decided meanwhile.
            return
        end_ms = batch.begun_ms + batch.duration_ms
        attributes: dict[str, str | int] = {
            "batchId": batch.batch_id,
            "region": batch.region,
            "isCheckpoint": boolean_text(batch.is_checkpoint),
            "tries": batch.tries,
        }
        self._span(job, BATCHES, "Batch", batch.begun_ms, end_ms, attributes)
        if job.scheduled_ms is not None:
            self._initialized(job, end_ms, "COMPLETED")
            self._all_run(job, end_ms, True)
        if job.failed_ms is not None:
            self._span(job, BATCHES, "Recovery", job.failed_ms, end_ms, {"cause": job.cause})
            job.failed_ms = None

    def scaling_decided(self, job_id: str, decision: ScalingDecision) -> None:
        """Handle that the autoscaler has decided: an event for each vertex that gets another parallelism."""
        job = self._jobs.get(job_id)
        if job is None:  # Its end was decided meanwhile.
            return
        for vertex_id, parallelism in decision.after.items():
            attributes: dict[str, str | int] = {
                "vertexId": vertex_id,
                "currentParallelism": decision.before[vertex_id],
                "newParallelism": parallelism,
                "busyPercent": round(100 * decision.busy),
                "targetRate": round(decision.arrival),
                "processingRate": round(decision.true_rate),
                "pending": round(decision.pending),
                "isCarriedOut": boolean_text(decision.is_carried_out),
            }
            if decision.error:
                attributes["error"] = decision.error
            self._event(job, SCALING, "ScalingReport", decision.time_ms, **attributes)

    def _all_run(self, job: _Job, time_ms: int, all_run: bool) -> None:
        """Tell that all subtasks run, as the first batch has gone through them, or that not all do any more."""
        job.all_run = all_run
        status = "ALL_RUNNING_OR_FINISHED" if all_run else "NOT_ALL_RUNNING_OR_FINISHED"
        self._event(job, SUBTASKS, "AllSubtasksStatusChangeEvent", time_ms, status=status)

    def _initialized(self, job: _Job, end_ms: int, status: str) -> None:
        assert job.scheduled_ms is not None
        attributes: dict[str, str | int] = {"initializationStatus": status}
        if job.restored is not None:
            attributes["checkpointId"] = job.restored.checkpoint_id
        self._span(job, CHECKPOINTS, "JobInitialization", job.scheduled_ms, end_ms, attributes)
        job.scheduled_ms = None

    def _span(self, job: _Job, scope: str, name: str, begin_ms: int, end_ms: int, attributes: Attributes) -> None:
        span = Span(scope, name, begin_ms, end_ms, {**job.labels, **attributes})
        for reporter in self.spans:
            reporter.add(span)

    def _event(self, job: _Job, scope: str, name: str, time_ms: int, **attributes: str | int) -> None:
        event = Event(scope, name, time_ms, {**job.labels, **attributes})
        for reporter in self.events:
            reporter.add(event)
