"""The interface of the ResourceManager for other components."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.common.stack_frames import ThreadText
from firesteel.errors import FiresteelError
from firesteel.runtime.process_usage import ProcessUsage
from firesteel.runtime.registration.retrying_registration import Declined, Rejected
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.taskexecutor.log_files import LogFile
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest

__all__ = [
    "JobMasterRegistration",
    "JobMasterRegistrationSuccess",
    "ResourceManagerError",
    "ResourceManagerGateway",
    "ResourceOverview",
    "TaskExecutorRegistration",
    "TaskExecutorRegistrationSuccess",
    "TaskManagerInfo",
    "UnknownTaskExecutorError",
]


class ResourceManagerError(FiresteelError):
    """A call from a component that is not, or no longer, registered."""


class UnknownTaskExecutorError(ResourceManagerError):
    """There is no such TaskExecutor. Flink: `resourcemanager.exceptions.UnknownTaskExecutorException`."""

    def __str__(self) -> str:
        return f"Could not find TaskExecutor {self.args[0]}"


@dataclass(frozen=True, slots=True)
class JobMasterRegistration:
    """The registration of a JobMaster."""

    job_id: str
    job_master_id: str
    address: str


@dataclass(frozen=True, slots=True)
class JobMasterRegistrationSuccess:
    """The response to a successful registration of a JobMaster."""

    resource_manager_id: str


@dataclass(frozen=True, slots=True)
class TaskExecutorRegistration:
    """The registration of a TaskExecutor. Flink: `runtime.resourcemanager.TaskExecutorRegistration`."""

    resource_id: str
    address: str


@dataclass(frozen=True, slots=True)
class TaskExecutorRegistrationSuccess:
    """The response to a successful registration of a TaskExecutor, with a new instance id."""

    instance_id: str
    resource_manager_id: str


@dataclass(frozen=True, slots=True)
class ResourceOverview:
    """The resources of the cluster. Flink: `runtime.resourcemanager.ResourceOverview`."""

    task_managers: int
    slots_total: int
    slots_available: int


@dataclass(frozen=True, slots=True)
class TaskManagerInfo:
    """A TaskExecutor and its slots. Flink: `runtime.rest.messages.taskmanager.TaskManagerInfo`.

    Attributes:
        resource_id: Its id.
        address: Its RPC address.
        slots: The job of each slot; None if the slot is free.
        tasks: Number of tasks of each slot at the last heartbeat; empty before the first.
        last_heartbeat_ms: Time of the last heartbeat (ms since the epoch).
        usage: Resource usage of its process at the last heartbeat; zeros before the first.
    """

    resource_id: str
    address: str
    slots: tuple[str | None, ...]
    tasks: tuple[int, ...]
    last_heartbeat_ms: int
    usage: ProcessUsage


class ResourceManagerGateway(Protocol):
    """The interface of the ResourceManager. Flink: `runtime.resourcemanager.ResourceManagerGateway`."""

    async def register_job_master(self, registration: JobMasterRegistration) -> JobMasterRegistrationSuccess | Declined:
        """Register a JobMaster. Idempotent; a later session replaces an earlier one."""
        ...

    async def register_task_executor(
        self, registration: TaskExecutorRegistration
    ) -> TaskExecutorRegistrationSuccess | Declined | Rejected:
        """Register a TaskExecutor; a known one becomes a new instance."""
        ...

    async def send_slot_report(self, resource_id: str, instance_id: str, report: SlotReport) -> None:
        """Report the slots of a TaskExecutor after its registration.

        Raises:
            ResourceManagerError: the instance id is outdated; register again.
        """

    async def request_slot(self, job_master_id: str, request: SlotRequest) -> None:
        """Find a slot for a job; the slot's TaskExecutor then offers it to the job.

        Raises:
            ResourceManagerError: the job has no JobMaster here, or another one.
        """

    async def cancel_slot_request(self, allocation_id: str) -> None:
        """Cancel a slot request; unknown ids are ignored."""

    async def notify_slot_available(self, instance_id: str, slot_index: int, allocation_id: str) -> None:
        """Report that a slot of a TaskExecutor is free again; ignored from an outdated instance."""

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """Disconnect a JobMaster whose job has ended or that is lost."""

    async def disconnect_task_executor(self, resource_id: str, cause: str) -> None:
        """Disconnect a TaskExecutor."""

    async def heartbeat_from_job_master(self, job_id: str) -> None:
        """Receive a heartbeat request of a JobMaster.

        Raises:
            ResourceManagerError: it is not registered.
        """

    async def request_task_managers(self) -> tuple[TaskManagerInfo, ...]:
        """Return all TaskExecutors."""
        ...

    async def request_task_manager_stacks(self, resource_id: str, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks on a TaskExecutor.

        Raises:
            UnknownTaskExecutorError: it is not registered.
        """
        ...

    async def request_task_manager_state(self, resource_id: str, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks on a TaskExecutor.

        Raises:
            UnknownTaskExecutorError: it is not registered.
        """
        ...

    async def request_task_manager_threads(self, resource_id: str) -> tuple[ThreadText, ...]:
        """Return the threads of a TaskExecutor's process and of its slots'.

        Raises:
            UnknownTaskExecutorError: it is not registered.
        """
        ...

    async def request_task_manager_logs(self, resource_id: str) -> tuple[LogFile, ...] | None:
        """Return the log files of a TaskExecutor's process, None if that is the JobManager's process.

        Raises:
            UnknownTaskExecutorError: there is no such TaskExecutor.
        """
        ...

    async def request_task_manager_log_piece(self, resource_id: str, name: str, offset: int) -> bytes:
        """Return a part of a log file of a TaskExecutor's process, empty at the end of the file.

        Raises:
            UnknownTaskExecutorError: there is no such TaskExecutor.
            LogFileNotFoundError: there is no such file.
        """
        ...

    async def request_resource_overview(self) -> ResourceOverview:
        """Return the cluster's resources."""
        ...
