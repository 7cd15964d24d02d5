"""What others may ask of the ResourceManager."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.runtime.process_usage import ProcessUsage
from firesteel.runtime.registration.retrying_registration import Declined
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.taskexecutor.log_files import LogFile

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
    """A call of somebody who is not registered, or no longer."""


class UnknownTaskExecutorError(ResourceManagerError):
    """No TaskExecutor has that id. Flink: `resourcemanager.exceptions.UnknownTaskExecutorException`."""

    def __str__(self) -> str:
        return f"Could not find TaskExecutor {self.args[0]}"


@dataclass(frozen=True, slots=True)
class JobMasterRegistration:
    """A JobMaster that wants slots."""

    job_id: str
    job_master_id: str
    address: str


@dataclass(frozen=True, slots=True)
class JobMasterRegistrationSuccess:
    """The JobMaster is registered."""

    resource_manager_id: str


@dataclass(frozen=True, slots=True)
class TaskExecutorRegistration:
    """A TaskExecutor that has slots. Flink: `runtime.resourcemanager.TaskExecutorRegistration`."""

    resource_id: str
    address: str


@dataclass(frozen=True, slots=True)
class TaskExecutorRegistrationSuccess:
    """The TaskExecutor is registered, under an instance id of this registration alone."""

    instance_id: str
    resource_manager_id: str


@dataclass(frozen=True, slots=True)
class ResourceOverview:
    """What the cluster has. Flink: `runtime.resourcemanager.ResourceOverview`."""

    task_managers: int
    slots_total: int
    slots_available: int


@dataclass(frozen=True, slots=True)
class TaskManagerInfo:
    """A TaskExecutor and its slots. Flink: `runtime.rest.messages.taskmanager.TaskManagerInfo`.

    Attributes:
        resource_id: Its id.
        address: Where it is reached.
        slots: Per slot the job that has it; None: it is free.
        tasks: Per slot how many tasks were in it at the last heartbeat; none before the first.
        last_heartbeat_ms: When it was heard of last (ms since the epoch).
        usage: What its process used of its machine at the last heartbeat; zeros before the first.
    """

    resource_id: str
    address: str
    slots: tuple[str | None, ...]
    tasks: tuple[int, ...]
    last_heartbeat_ms: int
    usage: ProcessUsage


class ResourceManagerGateway(Protocol):
    """What others may ask of the ResourceManager. Flink: `runtime.resourcemanager.ResourceManagerGateway`."""

    async def register_job_master(self, registration: JobMasterRegistration) -> JobMasterRegistrationSuccess | Declined:
        """Register a JobMaster; a second time has no effect, a later session replaces the former."""
        ...

    async def register_task_executor(
        self, registration: TaskExecutorRegistration
    ) -> TaskExecutorRegistrationSuccess | Declined:
        """Register a TaskExecutor; a known one is taken for a new instance."""
        ...

    async def send_slot_report(self, resource_id: str, instance_id: str, report: SlotReport) -> None:
        """What a TaskExecutor has, sent once it is registered.

        Raises:
            ResourceManagerError: the instance id is outdated; register again.
        """

    async def request_slot(self, job_master_id: str, request: SlotRequest) -> None:
        """Find a slot for a job; it is offered to the job by its TaskExecutor.

        Raises:
            ResourceManagerError: the job has no JobMaster here, or another one.
        """

    async def cancel_slot_request(self, allocation_id: str) -> None:
        """Look no further; unknown ids are ignored."""

    async def notify_slot_available(self, instance_id: str, slot_index: int, allocation_id: str) -> None:
        """A TaskExecutor has a slot back; ignored from an outdated instance."""

    async def disconnect_job_master(self, job_id: str, cause: str) -> None:
        """A job is over, or its JobMaster gone."""

    async def disconnect_task_executor(self, resource_id: str, cause: str) -> None:
        """A TaskExecutor leaves."""

    async def heartbeat_from_job_master(self, job_id: str) -> None:
        """A JobMaster asks whether the ResourceManager lives.

        Raises:
            ResourceManagerError: it is not registered.
        """

    async def request_task_managers(self) -> tuple[TaskManagerInfo, ...]:
        """All TaskExecutors."""
        ...

    async def request_task_manager_logs(self, resource_id: str) -> tuple[LogFile, ...] | None:
        """The log files of a TaskExecutor's process; None: that is the JobManager's process.

        Raises:
            UnknownTaskExecutorError: there is no such TaskExecutor.
        """
        ...

    async def request_task_manager_log_piece(self, resource_id: str, name: str, offset: int) -> bytes:
        """Some bytes of a log file of a TaskExecutor's process; none at its end.

        Raises:
            UnknownTaskExecutorError: there is no such TaskExecutor.
            LogFileNotFoundError: there is no such file.
        """
        ...

    async def request_resource_overview(self) -> ResourceOverview:
        """What the cluster has."""
        ...
