"""What happens in a job besides its status: checkpoints, restores, batches, scaling; for traces and events."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, runtime_checkable

from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.logs import about

__all__ = ["BatchStats", "JobActivity", "JobActivityListener", "tell_of_scaling"]

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BatchStats:
    """One batch of a query.

    Attributes:
        region: Number of the region, see `graph.regions`.
        batch_id: Number of the batch from 0.
        begun_ms: Time at which it began (ms since the epoch).
        duration_ms: Time until its output was committed or belonged to a later checkpoint.
        is_checkpoint: Whether a checkpoint followed.
        tries: How often it was tried, from 1.
    """

    region: int
    batch_id: int
    begun_ms: int
    duration_ms: int
    is_checkpoint: bool
    tries: int


@runtime_checkable
class JobActivityListener(JobStatusListener, Protocol):
    """A listener that is also told what happens in jobs; called on the JobManager's loop."""

    def job_named(self, job_id: str, name: str) -> None:
        """Handle that this JobManager leads a job, before all other calls about it."""

    def checkpoint_completed(self, job_id: str, stats: CheckpointStats) -> None:
        """Handle a completed checkpoint."""

    def checkpoints_failed(self, job_id: str, count: int) -> None:
        """Handle checkpoints that have failed."""

    def checkpoint_restored(self, job_id: str, checkpoint: RestoredCheckpoint) -> None:
        """Handle that the job was restored from a checkpoint."""

    def batch_ended(self, job_id: str, batch: BatchStats) -> None:
        """Handle the end of a batch."""

    def scaling_decided(self, job_id: str, decision: ScalingDecision) -> None:
        """Handle that the autoscaler of a job has decided."""


class JobActivity:
    """Tells the listeners of one job; their errors affect neither the job nor each other.

    Args:
        job_id: The job.
        name: Its name.
        listeners: All listeners, of which those of activities hear more than the status.
    """

    def __init__(self, job_id: str, name: str, listeners: Sequence[JobStatusListener]) -> None:
        self._job_id = job_id
        self._all = listeners
        self._listeners = [one for one in listeners if isinstance(one, JobActivityListener)]
        for one in self._listeners:
            _tell(self._job_id, partial(one.job_named, self._job_id, name))

    def status_changed(self, event: JobEvent) -> None:
        """Tell of a new status."""
        for one in self._all:
            _tell(self._job_id, partial(one.job_status_changed, self._job_id, event))

    def checkpoint_completed(self, stats: CheckpointStats) -> None:
        """Tell of a completed checkpoint."""
        for one in self._listeners:
            _tell(self._job_id, partial(one.checkpoint_completed, self._job_id, stats))

    def checkpoints_failed(self, count: int) -> None:
        """Tell of checkpoints that have failed."""
        for one in self._listeners:
            _tell(self._job_id, partial(one.checkpoints_failed, self._job_id, count))

    def checkpoint_restored(self, checkpoint: RestoredCheckpoint) -> None:
        """Tell of a restored checkpoint."""
        for one in self._listeners:
            _tell(self._job_id, partial(one.checkpoint_restored, self._job_id, checkpoint))

    def batch_ended(self, batch: BatchStats) -> None:
        """Tell of a batch."""
        for one in self._listeners:
            _tell(self._job_id, partial(one.batch_ended, self._job_id, batch))


def tell_of_scaling(listeners: Sequence[JobStatusListener], job_id: str, decision: ScalingDecision) -> None:
    """Tell of a decision of the autoscaler, which outlives the JobMasters of its job."""
    for one in listeners:
        if isinstance(one, JobActivityListener):
            _tell(job_id, partial(one.scaling_decided, job_id, decision))


def _tell(job_id: str, call: Callable[[], None]) -> None:
    try:
        call()
    # Also a `sys.exit()` of a user's listener, which would end the JobManager.
    except (Exception, SystemExit):
        logger.exception("a listener of jobs failed", extra=about(job_id))
