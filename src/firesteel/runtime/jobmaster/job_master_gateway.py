"""What others may ask of a JobMaster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.runtime.executiongraph.execution_history import HistoryEntry
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint
from firesteel.runtime.registration.retrying_registration import Declined
from firesteel.runtime.rpc import no_rpc_timeout
from firesteel.runtime.slotpool.slot import SlotOffer

__all__ = [
    "CheckpointError",
    "JobMasterGateway",
    "SavepointError",
    "TaskExecutionState",
    "TaskManagerRegistrationSuccess",
    "TaskProgress",
    "UnknownTaskManagerError",
]


class SavepointError(FiresteelError):
    """A savepoint could not be taken; the job goes on."""

    def __str__(self) -> str:
        job_id, target_directory, cause = self.args
        where = "" if target_directory is None else f" in {target_directory!r}"
        return f"the savepoint of job {job_id}{where} could not be taken: {cause}; the job goes on as before"


class CheckpointError(FiresteelError):
    """A checkpoint that somebody asked for could not be taken. Flink: `runtime.checkpoint.CheckpointException`."""

    def __str__(self) -> str:
        job_id, cause = self.args
        return f"the checkpoint of job {job_id} could not be taken: {cause}"


class UnknownTaskManagerError(FiresteelError):
    """The TaskExecutor is not registered at this JobMaster."""

    def __str__(self) -> str:
        job_id, task_manager_id = self.args
        return f"TaskExecutor {task_manager_id} is not registered at the JobMaster of job {job_id}; register it first"


@dataclass(frozen=True, slots=True)
class TaskExecutionState:
    """How a task is. Flink: `runtime.taskmanager.TaskExecutionState`."""

    execution_attempt_id: str
    state: ExecutionState
    failure: TaskFailure | None = None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """What a task has read and emitted since its attempt started."""

    execution_attempt_id: str
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True)
class TaskManagerRegistrationSuccess:
    """The TaskExecutor is registered at the job.

    Attributes:
        job_id: The job.
        job_master_id: The session of its JobMaster.
    """

    job_id: str
    job_master_id: str


class JobMasterGateway(Protocol):
    """What others may ask of a JobMaster. Flink: `runtime.jobmaster.JobMasterGateway`."""

    async def register_task_manager(
        self, task_manager_id: str, address: str, host: str = ""
    ) -> TaskManagerRegistrationSuccess | Declined:
        """Register a TaskExecutor on a host that has slots for the job; a second time has no effect."""
        ...

    async def offer_slots(self, task_manager_id: str, offers: tuple[SlotOffer, ...]) -> tuple[SlotOffer, ...]:
        """Offer slots; the accepted ones.

        Raises:
            UnknownTaskManagerError: register first.
        """
        ...

    async def fail_slot(self, task_manager_id: str, allocation_id: str, cause: str) -> None:
        """A slot can't be used; ignored from unknown TaskExecutors."""

    async def update_task_execution_state(self, state: TaskExecutionState) -> bool:
        """How a task is; on False its TaskExecutor gives it up.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        ...

    async def update_task_execution_states(self, states: tuple[TaskExecutionState, ...]) -> tuple[bool, ...]:
        """How several tasks are, in order; where the answer is False the TaskExecutor gives the task up."""
        ...

    async def update_task_progress(self, progress: tuple[TaskProgress, ...]) -> None:
        """What tasks have read and emitted; former attempts are ignored."""

    async def disconnect_task_manager(self, task_manager_id: str, cause: str) -> None:
        """A TaskExecutor leaves: its tasks fail; unknown ones are ignored."""

    async def disconnect_resource_manager(self, cause: str) -> None:
        """The ResourceManager takes the JobMaster for lost: register again."""

    async def notify_allocation_failure(self, allocation_id: str, cause: str) -> None:
        """An allocation failed at the ResourceManager; unknown ids are ignored."""

    async def heartbeat_from_resource_manager(self) -> None:
        """The ResourceManager lives."""

    async def cancel(self) -> None:
        """Cancel the job; answered before it is cancelled."""

    @no_rpc_timeout
    async def trigger_savepoint(self, target_directory: str | None, after: AfterSavepoint) -> str:
        """Take a savepoint: where it is.

        Raises:
            SavepointError: it could not be taken; the job goes on.
        """
        ...

    @no_rpc_timeout
    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint, of all state (`full`) or of what changed: its id.

        Raises:
            CheckpointError: it could not be taken.
        """
        ...

    async def request_job_status(self) -> JobStatus:
        """The job's status."""
        ...

    async def request_job_details(self) -> JobDetails:
        """How the job is doing."""
        ...

    async def request_job_overview(self) -> JobDetails:
        """How the job is doing, without its vertices."""
        ...

    async def request_history(
        self,
        vertex_id: str | None = None,
        subtask_index: int | None = None,
        attempt_number: int | None = None,
        since: int = 0,
    ) -> tuple[HistoryEntry, ...]:
        """What happened from event number `since` on; of one vertex, subtask or attempt if it is named."""
        ...

    async def request_job(self) -> ArchivedExecutionGraph:
        """All of the job as it is now."""
        ...
