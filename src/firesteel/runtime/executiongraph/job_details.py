"""Read-only views of a job, for clients, progress displays and the REST API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.checkpoint.checkpoint_stats import NO_CHECKPOINTS, CheckpointsSummary
from firesteel.runtime.executiongraph.batch_times import NO_BATCHES, NO_REGIONS, BatchTimes
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_history import ExecutionHistory
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.executiongraph.rescales import NO_RESCALES, RescalesSummary
from firesteel.runtime.failure import TaskFailure

__all__ = [
    "ArchivedExecutionGraph",
    "JobDetails",
    "JobResult",
    "JobVertexDetails",
    "archive",
    "archive_unstarted",
    "job_details",
    "job_overview",
]


@dataclass(frozen=True, slots=True)
class JobVertexDetails:
    """The details of a vertex. Flink: `JobDetailsInfo.JobVertexDetailsInfo`.

    Attributes:
        id: The JobVertexID.
        name: The vertex's name.
        parallelism: Its number of subtasks.
        max_parallelism: Its number of key groups.
        tasks: Number of subtasks in each state, without states that have none.
        records_in: Records read by all subtasks
        in their current attempts.
        records_out: Records emitted by them.
        start_ms: Time in ms at which the first subtask was deployed, or None.
        end_ms: Time in ms at which the last subtask ended, or None.
        attempt: The highest current attempt number.
        pending_records: Records that a source has not read yet, as far as known after its last batch; None if it does
            not count them.
        pending_bytes: The same in bytes, for sources whose positions are bytes.
        units_read: The records, or bytes if these are pending, that a source has read, also before a restart.
        share_read: The share of its input that a bounded source has read, from 0 to 1; None for others.
    """

    id: str
    name: str
    parallelism: int
    max_parallelism: int
    tasks: dict[ExecutionState, int]
    records_in: int = 0
    records_out: int = 0
    start_ms: int | None = None
    end_ms: int | None = None
    attempt: int = 0
    pending_records: int | None = None
    pending_bytes: int | None = None
    units_read: int | None = None
    share_read: float | None = None


@dataclass(frozen=True, slots=True)
class JobDetails:
    """The details of a job. Flink: `runtime.messages.webmonitor.JobDetails` with `rest.messages.job.JobDetailsInfo`.

    Attributes:
        job_id: The job.
        name: Its name.
        status: Its status.
        timestamps: Time in ms since the epoch at which each status was last entered.
        start_ms: Time in ms at which the job was accepted.
        end_ms: Time in ms at which it ended, or None.
        duration_ms: Time in ms from start to end, or to now.
        restarts: Number of restarts.
        failure: The reason why it fails, restarts or failed last.
        vertices: The vertices in topological order; empty in an overview.
        tasks: Number of subtasks of all vertices in each state, without states that have none.
        checkpoints: The checkpoints since a JobMaster started the job.
        job_type: STREAMING or BATCH.
        regions: The batches of each region since a JobMaster started the job, and where their time went.
    """

    job_id: str
    name: str
    status: JobStatus
    timestamps: dict[JobStatus, int]
    start_ms: int
    end_ms: int | None
    duration_ms: int
    restarts: int
    failure: TaskFailure | None
    vertices: tuple[JobVertexDetails, ...]
    tasks: dict[ExecutionState, int] = field(default_factory=dict)
    checkpoints: CheckpointsSummary = NO_CHECKPOINTS
    job_type: str = "STREAMING"
    regions: Mapping[int, BatchTimes] = field(default_factory=dict)

    @property
    def batches(self) -> BatchTimes:
        """The batches of all regions."""
        return sum(self.regions.values(), NO_BATCHES)

    def overview(self) -> JobDetails:
        """Return the details without the vertices."""
        return replace(self, vertices=())


@dataclass(frozen=True, slots=True)
class JobResult:
    """The result of a job. Flink: `runtime.jobmaster.JobResult`.

    Attributes:
        job_id: The job.
        status: FINISHED, CANCELED, FAILED or (not globally terminal) SUSPENDED.
        net_runtime_ms: Time in ms from its start to its end.
        failure: The reason why it FAILED.
        accumulators: The accumulator values by name.
    """

    job_id: str
    status: JobStatus
    net_runtime_ms: int
    failure: TaskFailure | None = None
    accumulators: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ArchivedExecutionGraph:
    """A snapshot of a job, in particular after its end. Flink: `runtime.executiongraph.ArchivedExecutionGraph`.

    Attributes:
        details: The details with all vertices.
        history: All events.
        graph: All subtasks and attempts as plain data (`ExecutionGraph.state_to_dict`).
        plan: The job graph's plan in REST format.
        configuration: The job's options.
        slot_sharing_groups: Vertex id -> name of its group.
        operators: Vertex id -> ids of its operators.
        rescales: The changes of its parallelism since a JobMaster started the job.
    """

    details: JobDetails
    history: ExecutionHistory = field(default_factory=ExecutionHistory)
    graph: dict[str, Any] = field(default_factory=dict)
    plan: dict[str, Any] = field(default_factory=dict)
    configuration: dict[str, str] = field(default_factory=dict)
    slot_sharing_groups: dict[str, str] = field(default_factory=dict)
    operators: dict[str, tuple[str, ...]] = field(default_factory=dict)
    rescales: RescalesSummary = NO_RESCALES

    @property
    def result(self) -> JobResult:
        """The result of the job."""
        details = self.details
        failure = details.failure if details.status is JobStatus.FAILED else None
        return JobResult(details.job_id, details.status, details.duration_ms, failure)


def job_details(
    graph: ExecutionGraph, now_ms: int, checkpoints: CheckpointsSummary, regions: Mapping[int, BatchTimes] = NO_REGIONS
) -> JobDetails:
    """Return the details of a job at the time `now_ms`."""
    vertices = tuple(_vertex_details(vertex) for vertex in graph.job_vertices.values())
    return replace(job_overview(graph, now_ms, checkpoints, regions), vertices=vertices)


def job_overview(
    graph: ExecutionGraph, now_ms: int, checkpoints: CheckpointsSummary, regions: Mapping[int, BatchTimes] = NO_REGIONS
) -> JobDetails:
    """Return the details without the vertices, at a cost that does not depend on the size of the job."""
    start_ms = graph.status_timestamps[JobStatus.INITIALIZING]
    end_ms = graph.status_timestamps[graph.status] if graph.status.is_terminal else None
    return JobDetails(
        job_id=graph.job_id,
        name=graph.name,
        status=graph.status,
        timestamps=dict(graph.status_timestamps),
        start_ms=start_ms,
        end_ms=end_ms,
        duration_ms=(now_ms if end_ms is None else end_ms) - start_ms,
        restarts=graph.restarts,
        failure=graph.failure,
        vertices=(),
        tasks=graph.state_counts(),
        checkpoints=checkpoints,
        job_type=graph.job_graph.job_type,
        regions=dict(regions),
    )


def archive(
    graph: ExecutionGraph,
    now_ms: int,
    checkpoints: CheckpointsSummary,
    rescales: RescalesSummary = NO_RESCALES,
    regions: Mapping[int, BatchTimes] = NO_REGIONS,
) -> ArchivedExecutionGraph:
    """Return a snapshot of the job."""
    details = job_details(graph, now_ms, checkpoints, regions)
    of_job = _of_job(graph.job_graph)
    return ArchivedExecutionGraph(details, graph.history.copy(), graph.state_to_dict(), **of_job, rescales=rescales)


def _of_job(job_graph: JobGraph) -> dict[str, Any]:
    groups = {id: group.name for group in job_graph.slot_sharing_groups for id in group.vertex_ids}
    return {
        "plan": job_graph.plan(),
        "configuration": dict(job_graph.configuration),
        "slot_sharing_groups": groups,
        "operators": {vertex.id: tuple(node.operator_id for node in vertex.chain) for vertex in job_graph.vertices},
    }


def archive_unstarted(
    job_graph: JobGraph, status: JobStatus, start_ms: int, now_ms: int, failure: TaskFailure | None = None
) -> ArchivedExecutionGraph:
    """Return a snapshot of a job without ExecutionGraph, which was not yet or never started by a JobMaster."""
    timestamps = {JobStatus.INITIALIZING: start_ms}
    if status is not JobStatus.INITIALIZING:
        timestamps[status] = now_ms
    details = JobDetails(
        job_id=job_graph.job_id,
        name=job_graph.name,
        status=status,
        timestamps=timestamps,
        start_ms=start_ms,
        end_ms=now_ms if status.is_terminal else None,
        duration_ms=now_ms - start_ms,
        restarts=0,
        failure=failure,
        vertices=tuple(
            JobVertexDetails(vertex.id, vertex.name, vertex.parallelism, vertex.max_parallelism, {})
            for vertex in job_graph.vertices
        ),
        job_type=job_graph.job_type,
    )
    history = ExecutionHistory()
    for entered, at in timestamps.items():
        history.append(JobEvent(entered, at))
    return ArchivedExecutionGraph(details, history, **_of_job(job_graph))


def _vertex_details(vertex: ExecutionJobVertex) -> JobVertexDetails:
    executions = [subtask.current for subtask in vertex.vertices]
    starts = [e.timestamps[ExecutionState.DEPLOYING] for e in executions if ExecutionState.DEPLOYING in e.timestamps]
    is_over = all(execution.state.is_terminal for execution in executions)
    shares = _of_source(vertex, "shareRead")
    read = _of_source(vertex, "totalRecordsRead") or _of_source(vertex, "totalBytesRead")
    return JobVertexDetails(
        id=vertex.id,
        name=vertex.name,
        parallelism=vertex.parallelism,
        max_parallelism=vertex.max_parallelism,
        tasks={state: count for state, count in vertex.state_counts.items() if count},
        records_in=sum(execution.records_in for execution in executions),
        records_out=sum(execution.records_out for execution in executions),
        start_ms=min(starts, default=None),
        end_ms=max(execution.timestamps[execution.state] for execution in executions) if is_over else None,
        attempt=max(execution.attempt_number for execution in executions),
        pending_records=_total(_of_source(vertex, "pendingRecords")),
        pending_bytes=_total(_of_source(vertex, "pendingBytes")),
        units_read=None if not read else round(max(read)),
        share_read=min(shares, default=None),
    )


def _of_source(vertex: ExecutionJobVertex, name: str) -> list[float]:
    """Return the values of a metric of a source operator, as far as its subtasks report it."""
    if vertex.job_vertex.inputs:
        return []
    found = [subtask.current.metrics.total_of(name) for subtask in vertex.vertices]
    return [value for value in found if value is not None]


def _total(values: list[float]) -> int | None:
    return round(sum(values)) if values else None
