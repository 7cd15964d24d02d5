"""The interface of a TaskExecutor for other components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.common.stack_frames import ThreadText
from firesteel.errors import FiresteelError
from firesteel.runtime.resourcemanager.slot_report import SlotStatus, TaskExecutorHeartbeatPayload
from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import SlotOffer
from firesteel.runtime.taskexecutor.log_files import LogFile
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
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
    """A slot can't be allocated. Flink: `taskexecutor.exceptions.SlotAllocationException`."""


class SlotOccupiedError(SlotAllocationError):
    """The slot is allocated to another job. Flink: `taskexecutor.exceptions.SlotOccupiedException`.

    Attributes:
        occupied_by: The occupant of the slot.
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
    """The slot is not active for its job. Flink: `runtime.taskexecutor.slot.SlotNotActiveException`."""

    def __str__(self) -> str:
        allocation_id, state = self.args
        return f"the slot of allocation {allocation_id} is {state}; tasks may run in it only while it is ACTIVE"


class TaskSubmissionError(FiresteelError):
    """A task was rejected. Flink: `taskexecutor.exceptions.TaskSubmissionException`."""


class TaskNotFoundError(FiresteelError):
    """The task does not run here."""

    def __str__(self) -> str:
        task_executor, attempt_id = self.args
        return f"{task_executor} runs no execution attempt {attempt_id}"


@dataclass(frozen=True, slots=True)
class TaskSlotRequest:
    """A request to allocate a slot to a job.

    Attributes:
        slot_index: Index of the slot.
        job_id: The job.
        allocation_id: The id of the allocation.
        resource_manager_id: The session of the requesting ResourceManager.
        resource_profile: The required share of the TaskExecutor's resources; UNKNOWN for an equal part.
    """

    slot_index: int
    job_id: str
    allocation_id: str
    resource_manager_id: str
    resource_profile: ResourceProfile = UNKNOWN


class TaskExecutorGateway(Protocol):
    """The interface of a TaskExecutor. Flink: `runtime.taskexecutor.TaskExecutorGateway`."""

    async def request_slot(self, request: TaskSlotRequest) -> None:
        """Allocate a slot to a job and offer it to the job's JobMaster.

        Raises:
            SlotOccupiedError: the slot is allocated to another job.
            SlotAllocationError: it is not registered at the requesting ResourceManager, resources are insufficient, or
            the job's leader can't be followed.
        """

    async def free_slot(self, allocation_id: str, cause: str) -> None:
        """Free a slot and stop its tasks; unknown ids are ignored."""

    async def submit_task(self, tdd: TaskDeploymentDescriptor, job_master_id: str) -> None:
        """Submit a task; returns before it runs.

        Raises:
            TaskSubmissionError: it is not registered at the calling JobMaster, or the slot is not the job's.
        """

    async def cancel_task(self, execution_attempt_id: str) -> None:
        """Stop a task.

        Raises:
            TaskNotFoundError: the task does not run here.
        """

    async def heartbeat_from_job_master(self, job_id: str, slots: tuple[SlotOffer, ...]) -> tuple[str, ...]:
        """Receive a heartbeat with the JobMaster's view of its slots; return its running attempts."""
        ...

    async def heartbeat_from_resource_manager(self) -> TaskExecutorHeartbeatPayload:
        """Receive a heartbeat of the ResourceManager; return the slots and the resource usage."""
        ...

    async def can_be_released(self) -> bool:
        """Return whether nothing that it has is needed any more."""
        ...

    async def request_log_list(self) -> tuple[LogFile, ...] | None:
        """Return the log files of its process, None if that is the JobManager's process."""
        ...

    async def request_log_piece(self, name: str, offset: int) -> bytes:
        """Return a part of a log file from `offset` on, empty at its end.

        Raises:
            LogFileNotFoundError: the file does not exist.
        """
        ...

    async def request_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks here."""
        ...

    async def request_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks here."""
        ...

    async def request_thread_dump(self) -> tuple[ThreadText, ...]:
        """Return the threads of its process and of its slots'."""
        ...

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """Disconnect a JobMaster that no longer needs this TaskExecutor."""

    async def disconnect_resource_manager(self, cause: str) -> None:
        """Disconnect from a ResourceManager that considers it lost, and register again."""
