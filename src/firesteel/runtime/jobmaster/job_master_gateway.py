"""The interface of a JobMaster for other components."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import ParallelismBounds
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
    """A savepoint could not be taken; the job continues."""

    def __str__(self) -> str:
        job_id, target_directory, cause = self.args
        where = "" if target_directory is None else f" in {target_directory!r}"
        return f"the savepoint of job {job_id}{where} could not be taken: {cause}; the job continues"


class CheckpointError(FiresteelError):
    """A requested checkpoint could not be taken. Flink: `runtime.checkpoint.CheckpointException`."""

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
    """The state of a task. Flink: `runtime.taskmanager.TaskExecutionState`."""

    execution_attempt_id: str
    state: ExecutionState
    failure: TaskFailure | None = None


@dataclass(frozen=True, slots=True)
class TaskProgress:
    """The numbers of records that a task has read and emitted since its attempt started."""

    execution_attempt_id: str
    records_in: int
    records_out: int


@dataclass(frozen=True, slots=True)
class TaskManagerRegistrationSuccess:
    """The response to a successful registration at a JobMaster.

    Attributes:
        job_id: The job.
        job_master_id: The session of its JobMaster.
    """

    job_id: str
    job_master_id: str


class JobMasterGateway(Protocol):
    """The interface of a JobMaster for other components. Flink: `runtime.jobmaster.JobMasterGateway`."""

    async def register_task_manager(
        self, task_manager_id: str, address: str, host: str = ""
    ) -> TaskManagerRegistrationSuccess | Declined:
        """Register a TaskExecutor with slots for the job. Idempotent."""
        ...

    async def offer_slots(self, task_manager_id: str, offers: tuple[SlotOffer, ...]) -> tuple[SlotOffer, ...]:
        """Offer slots to the JobMaster, which returns the accepted ones.

        Raises:
            UnknownTaskManagerError: the TaskExecutor must register first.
        """
        ...

    async def fail_slot(self, task_manager_id: str, allocation_id: str, cause: str) -> None:
        """Report that a slot failed; ignored from unknown TaskExecutors."""

    async def update_task_execution_state(self, state: TaskExecutionState) -> bool:
        """Report the state of a task; on False its TaskExecutor must give up the task.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        ...

    async def update_task_execution_states(self, states: tuple[TaskExecutionState, ...]) -> tuple[bool, ...]:
        """Report the states of several tasks, in order; on False the TaskExecutor must give up the task."""
        ...

    async def update_task_progress(self, progress: tuple[TaskProgress, ...]) -> None:
        """Report the numbers of records that tasks have read and emitted; former attempts are ignored."""

    async def disconnect_resource_manager(self, cause: str) -> None:
        """Disconnect from a ResourceManager that considers the JobMaster lost, and register again."""

    async def notify_allocation_failure(self, allocation_id: str, cause: str) -> None:
        """Report an allocation that failed at the ResourceManager; unknown ids are ignored."""

    async def heartbeat_from_resource_manager(self) -> None:
        """Receive a heartbeat of the ResourceManager."""

    async def cancel(self) -> None:
        """Request the cancellation of the job; returns before the job is cancelled."""

    async def check_resource_requirements(
        self, requirements: Mapping[str, ParallelismBounds]
    ) -> dict[str, ParallelismBounds]:
        """Return bounds of the parallelism of each vertex with their defaults filled in.

        Raises:
            ResourceRequirementsError: the job can't have them.
        """
        ...

    async def update_resource_requirements(self, requirements: Mapping[str, ParallelismBounds]) -> None:
        """Set the bounds of the parallelism of each vertex; the job changes it when it can."""

    async def request_resource_requirements(self) -> Mapping[str, ParallelismBounds]:
        """Return the bounds of the parallelism of each vertex."""
        ...

    @no_rpc_timeout
    async def trigger_savepoint(self, target_directory: str | None, after: AfterSavepoint) -> str:
        """Take a savepoint and return its path.

        Raises:
            SavepointError: it could not be taken; the job continues.
        """
        ...

    @no_rpc_timeout
    async def trigger_checkpoint(self, full: bool) -> int:
        """Take a checkpoint, full or incremental, and return its id.

        Raises:
            CheckpointError: it could not be taken.
        """
        ...

    async def request_job_status(self) -> JobStatus:
        """Return the current status of the job."""
        ...

    async def request_job_details(self) -> JobDetails:
        """Return the details of the job."""
        ...

    async def request_job_overview(self) -> JobDetails:
        """Return the details of the job without its vertices."""
        ...

    async def request_job(self) -> ArchivedExecutionGraph:
        """Return the current execution graph of the job."""
        ...
