"""The interface of the data plane, which moves the records of a job; implemented elsewhere and simulated in tests."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.job_activity import BatchStats

__all__ = [
    "DataPlane",
    "DataPlaneListener",
    "QueryDescriptor",
    "ResultsLostError",
    "RunningQuery",
    "SubtaskLocation",
    "SubtaskProgress",
]


class ResultsLostError(FiresteelError):
    """Results of a collecting sink were lost before its client fetched them; the arguments are its id and the reason.

    Run the job again, or write the results with a sink.
    """

    def __str__(self) -> str:
        sink, reason = self.args
        return f"results of collecting sink {sink} were lost: {reason}"


@dataclass(frozen=True, slots=True)
class SubtaskLocation:
    """The location of a deployed subtask.

    Attributes:
        vertex_id: Its JobVertex.
        subtask_index: From 0.
        slot: Number of the slot in the job, 0..S-1.
        address: Data address of the slot, from its TaskRunner.
        execution_attempt_id: The attempt that runs there.
    """

    vertex_id: str
    subtask_index: int
    slot: int
    address: str
    execution_attempt_id: str


@dataclass(frozen=True, slots=True)
class QueryDescriptor:
    """One run of a pipelined region, whose records flow through its slots.

    Attributes:
        job_id: The job.
        job_graph: The job's graph; every parallelism is resolved to at least 1.
        region: Number of the region, see `graph.regions`.
        attempt: Number of the run, 0 for the first; it grows with each restart.
        slots: S, the sum over the slot sharing groups of the largest parallelism in the group.
        subtasks: The deployed subtasks of the region, in vertex and subtask order.
    """

    job_id: str
    job_graph: JobGraph
    region: int
    attempt: int
    slots: int
    subtasks: tuple[SubtaskLocation, ...]


@dataclass(frozen=True, slots=True)
class SubtaskProgress:
    """The progress of a subtask since its attempt started: totals, not differences, and other metrics."""

    vertex_id: str
    subtask_index: int
    records_in: int
    records_out: int
    finished: bool
    metrics: Mapping[str, float] = field(default_factory=dict)


class DataPlaneListener(Protocol):
    """A listener to a query. Implemented by the JobMaster; called on its loop only."""

    def checkpoint_completed(self, stats: CheckpointStats) -> None:
        """Handle a checkpoint that was taken and committed."""

    def checkpoints_progressed(self, in_progress: int, failed: int) -> None:
        """Handle the number of the query's checkpoints that are being stored, and of those that have failed since."""

    def checkpoint_restored(self, checkpoint: RestoredCheckpoint) -> None:
        """Handle that the query was restored from a checkpoint."""

    def subtasks_progressed(self, progress: Sequence[SubtaskProgress]) -> None:
        """Update the totals of subtasks; a `finished` subtask becomes FINISHED."""

    def batch_ended(self, times: BatchTimes) -> None:
        """Add the times of a batch."""

    def batch_processed(self, batch: BatchStats) -> None:
        """Handle the end of a batch, for traces."""

    def query_finished(self) -> None:
        """Handle that all input is processed and committed; the region's remaining subtasks become FINISHED."""

    def query_failed(self, failure: TaskFailure) -> None:
        """Handle a failure that ended the query; its region restarts, or the job fails."""


class AfterSavepoint(enum.Enum):
    """The action of a query after a savepoint, or after a checkpoint that was asked for."""

    GO_ON = "go on"
    STOP = "stop"
    """Finish: nothing is processed after the savepoint."""

    DRAIN = "drain"
    """End all sources before the savepoint, so that all timers fire, and finish with it."""

    HOLD = "hold"
    """Process nothing more until it is stopped, as the job is being cancelled or rescaled."""


class RunningQuery(Protocol):
    """A running query."""

    async def stop(self, is_final: bool = False) -> None:
        """Stop the query and wait until nothing of it runs. Idempotent; also valid after the query has ended.

        Args:
            is_final: Whether no other query of the job follows here, so that what only reads may be left behind.
        """

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Take a savepoint in a directory and return its path.

        Raises:
            Exception: it could not be taken; the query continues.
        """
        ...

    async def trigger_checkpoint(self, full: bool, after: AfterSavepoint = AfterSavepoint.GO_ON) -> int:
        """Take a checkpoint now and return its id.

        Args:
            full: Whether all state is written for it, and not only the changes.
            after: What the queries of the job do afterwards: GO_ON or HOLD.

        Raises:
            Exception: the query takes no checkpoints, or ended before.
        """
        ...


class DataPlane(Protocol):
    """The interface that starts queries, or leaves the records to the tasks.

    Attributes:
        has_queries: Whether the records of each pipelined region of a job flow through a query. Then a region is a
        connected component of the job: it is scheduled and restarted as a whole, and subtask i of a vertex is in slot
        base(group) + i, as queries identify slots by number. A savepoint or checkpoint requested from one query is the
        job's. Otherwise the tasks move their records themselves and report FINISHED, as in Flink.
    """

    has_queries: bool

    async def submitted(self, job_graph: JobGraph) -> None:
        """Remember that a job exists; called once, before its JobGraph is stored and any leader may run it.

        Raises:
            OSError: the job's storage can't be written to.
        """
        ...

    async def restore(self, job_graph: JobGraph) -> bytes | None:
        """Prepare a new job to start from the state that its configuration names, if any.

        Its vertices may adopt the max parallelism of their state. An error raised here fails the job. Files are read
        and written in a thread.

        Returns:
            The job serialized for tasks, if that was done in the thread, too; None lets the JobMaster serialize it.
        """
        ...

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        """Return the response of a job's operator, such as a collecting sink, to a client's request.

        Raises:
            ValueError: the request can't be read.
            ResultsLostError: results of the sink were lost.
        """
        ...

    def printed_after(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed, from an offset in characters on, and the offset at which it begins."""
        ...

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        """Remove the data of a job that reached a globally terminal status.

        Called after its result is stored, and again if it raises an error.
        """

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> RunningQuery:
        """Start to move records through the deployed subtasks. An error raised here fails the job's attempt.

        Called only if `has_queries`, for each region.
        """
        ...
