"""What moves the records of a job. Implemented outside the control plane; simulated in tests."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.checkpoint.checkpoint_stats import CheckpointStats, RestoredCheckpoint
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

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
    """Where one deployed subtask is.

    Attributes:
        vertex_id: Its JobVertex.
        subtask_index: From 0.
        slot: Number of the slot in the job, 0..S-1.
        address: Data address of the slot, as its TaskRunner gave it.
        execution_attempt_id: The attempt that runs there.
    """

    vertex_id: str
    subtask_index: int
    slot: int
    address: str
    execution_attempt_id: str


@dataclass(frozen=True, slots=True)
class QueryDescriptor:
    """One run of the records of a pipelined region through its slots.

    Attributes:
        job_id: The job.
        job_graph: The job's graph; every parallelism is resolved to at least 1.
        region: Number of the region, see `graph.regions`.
        attempt: 0 for the first run, larger after each restart.
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
    """What one subtask did since its attempt started: totals, not differences, and what else is measured."""

    vertex_id: str
    subtask_index: int
    records_in: int
    records_out: int
    finished: bool
    metrics: Mapping[str, float] = field(default_factory=dict)


class DataPlaneListener(Protocol):
    """Hears how the query goes. Implemented by the JobMaster; called on its loop only."""

    def checkpoint_completed(self, stats: CheckpointStats) -> None:
        """A checkpoint was taken and committed."""

    def checkpoint_restored(self, checkpoint: RestoredCheckpoint) -> None:
        """The query goes on from a checkpoint."""

    def subtasks_progressed(self, progress: Sequence[SubtaskProgress]) -> None:
        """Take new totals; a subtask that is `finished` becomes FINISHED."""

    def query_finished(self) -> None:
        """All input is processed and committed: what is not yet FINISHED of the region becomes FINISHED."""

    def query_failed(self, failure: TaskFailure) -> None:
        """The query ended by a failure; its region restarts, or the job fails. Later calls of it are ignored."""


class AfterSavepoint(enum.Enum):
    """What a query does once a savepoint is taken."""

    GO_ON = "go on"
    STOP = "stop"
    """It finishes: nothing comes behind the savepoint."""

    DRAIN = "drain"
    """All sources end before the savepoint, so that all timers fire, and the query finishes with it."""

    CANCEL = "cancel"
    """It does nothing more until it is stopped, as the job is to be cancelled."""


class RunningQuery(Protocol):
    """A query that was started."""

    async def stop(self) -> None:
        """Return when nothing of the query runs any more. Idempotent; also after the query ended by itself."""

    async def trigger_savepoint(self, directory: str, after: AfterSavepoint) -> str:
        """Take a savepoint in a directory: its path.

        Raises:
            Exception: it could not be taken; the query goes on.
        """
        ...

    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint now: its id.

        Args:
            full: Whether all state is written for it, and not only what changed.

        Raises:
            Exception: the query takes none, or ended before.
        """
        ...


class DataPlane(Protocol):
    """Starts queries, or leaves the records to the tasks.

    Attributes:
        has_queries: Whether the records of each pipelined region of a job flow through a query. Then a region is what
            is connected: it is scheduled and restarted at once, and subtask i of a vertex is in slot base(group) + i,
            as queries know slots by number. A savepoint or checkpoint that one query is asked for is the job's. If not,
            there are no queries: the tasks move their records themselves and report that they FINISHED, as in Flink.
    """

    has_queries: bool

    async def restore(self, job_graph: JobGraph) -> bytes | None:
        """Make a new job begin with the state that its configuration names, if any.

        Its vertices may get the max parallelism of their state. An error raised here fails the job. Files are read and
        written in a thread.

        Returns:
            The job as tasks get it, if that takes a thread, too; else its JobMaster serializes it.
        """
        ...

    async def deliver_coordination_request(self, operator_uid: str, request: bytes) -> bytes:
        """Answer what a client asks one of its job's operators: what the collecting sink of that uid has for it.

        Raises:
            ValueError: the request can't be read.
            ResultsLostError: results of the sink were lost.
        """
        ...

    async def job_terminated(self, job_graph: JobGraph, status: JobStatus) -> None:
        """Forget a job that reached a globally terminal status: nothing to do where nothing is kept.

        Called once its end is written down, and again if it raises.
        """

    async def start(self, query: QueryDescriptor, listener: DataPlaneListener) -> RunningQuery:
        """Start to move records through the deployed subtasks. An error raised here fails the job's attempt.

        Called only if `has_queries`, for each region.
        """
        ...
