"""What others may ask of a TaskExecutor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.runtime.resourcemanager.slot_report import SlotStatus, TaskExecutorHeartbeatPayload
from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.log_files import LogFile
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor

__all__ = [
    "SlotAllocationError",
    "SlotNotActiveError",
    "SlotNotFoundError",
    "SlotOccupiedError",
    "TaskExecutorGateway",
    "TaskNotFoundError",
    "TaskSlotRequest",
    "TaskSubmissionError",
]


class SlotAllocationError(FiresteelError):
    """A slot can't be given. Flink: `taskexecutor.exceptions.SlotAllocationException`."""


class SlotOccupiedError(SlotAllocationError):
    """The slot belongs to somebody else. Flink: `taskexecutor.exceptions.SlotOccupiedException`.

    Attributes:
        occupied_by: Who has it.
    """

    def __init__(self, occupied_by: SlotStatus) -> None:
        super().__init__(occupied_by)
        self.occupied_by = occupied_by

    def __str__(self) -> str:
        status = self.occupied_by
        return f"slot {status.slot_index} is occupied by job {status.job_id} (allocation {status.allocation_id})"


class SlotNotFoundError(FiresteelError):
    """No slot has the allocation. Flink: `runtime.taskexecutor.slot.SlotNotFoundException`."""

    def __str__(self) -> str:
        allocation_id, known = self.args
        return f"no slot has allocation {allocation_id}; there are {', '.join(known) or 'none'}"


class SlotNotActiveError(FiresteelError):
    """The slot can't be used by its job as it is now. Flink: `runtime.taskexecutor.slot.SlotNotActiveException`."""

    def __str__(self) -> str:
        allocation_id, state = self.args
        return f"the slot of allocation {allocation_id} is {state}; tasks may run in it only while it is ACTIVE"


class TaskSubmissionError(FiresteelError):
    """A task can't be taken. Flink: `taskexecutor.exceptions.TaskSubmissionException`."""


class TaskNotFoundError(FiresteelError):
    """No such task runs here."""

    def __str__(self) -> str:
        task_executor, attempt_id = self.args
        return f"{task_executor} runs no execution attempt {attempt_id}"


@dataclass(frozen=True, slots=True)
class TaskSlotRequest:
    """Give a slot to a job.

    Attributes:
        slot_index: Which slot.
        job_id: The job.
        allocation_id: What the slot is known under from now on.
        resource_manager_id: The session of the ResourceManager that asks.
        resource_profile: What the slot has to have of the TaskExecutor's resources; UNKNOWN: an equal part.
    """

    slot_index: int
    job_id: str
    allocation_id: str
    resource_manager_id: str
    resource_profile: ResourceProfile = UNKNOWN


class TaskExecutorGateway(Protocol):
    """What others may ask of a TaskExecutor. Flink: `runtime.taskexecutor.TaskExecutorGateway`."""

    async def request_slot(self, request: TaskSlotRequest) -> None:
        """Give a slot to a job and offer it to the job's JobMaster.

        Raises:
            SlotOccupiedError: the slot belongs to somebody else.
            SlotAllocationError: another ResourceManager asks than the one it is registered at, too little is left for
                the slot, or the job's leader can't be looked for.
        """

    async def free_slot(self, allocation_id: str, cause: str) -> None:
        """Take a slot back, with what runs in it; unknown ids are ignored."""

    async def submit_task(self, tdd: TaskDeploymentDescriptor, job_master_id: str) -> None:
        """Run a task; answered before it runs.

        Raises:
            TaskSubmissionError: another JobMaster asks than the one it is registered at, or the slot is not the job's.
        """

    async def cancel_task(self, execution_attempt_id: str) -> None:
        """Stop a task.

        Raises:
            TaskNotFoundError: it does not run here.
        """

    async def heartbeat_from_job_master(self, job_id: str, slots: tuple[SlotOffer, ...]) -> tuple[str, ...]:
        """The JobMaster lives, and believes to have these slots: the attempts of the job that run here."""
        ...

    async def heartbeat_from_resource_manager(self) -> TaskExecutorHeartbeatPayload:
        """The ResourceManager lives; tell it about the slots, and what the process uses."""
        ...

    async def can_be_released(self) -> bool:
        """Whether nothing that it has is still needed."""
        ...

    async def request_log_list(self) -> tuple[LogFile, ...] | None:
        """The log files of its process; None: that is the JobManager's process, whose logs are its own."""
        ...

    async def request_log_piece(self, name: str, offset: int) -> bytes:
        """Some bytes of a log file from `offset` on; none at its end.

        Raises:
            LogFileNotFoundError: there is none of that name.
        """
        ...

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """The JobMaster is through with this TaskExecutor."""

    async def disconnect_resource_manager(self, cause: str) -> None:
        """The ResourceManager takes it for lost: register again."""
