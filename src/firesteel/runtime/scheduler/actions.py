"""What a Scheduler asks its JobMaster to do."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.slotpool.slot_provider import LogicalSlotRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor

__all__ = [
    "CancelTask",
    "Deploy",
    "JobTerminated",
    "ReleaseSlots",
    "RequestSlots",
    "ScheduleRestart",
    "SchedulerAction",
    "StartQuery",
    "StopQuery",
]


@dataclass(frozen=True, slots=True)
class RequestSlots:
    """Ask for the slots of a bulk of subtasks; all of them within `slot.request.timeout`, or the bulk fails."""

    requests: tuple[LogicalSlotRequest, ...]


@dataclass(frozen=True, slots=True)
class ReleaseSlots:
    """Give the slots of attempts back, or take their requests back."""

    request_ids: tuple[str, ...]
    cause: str


@dataclass(frozen=True, slots=True)
class Deploy:
    """Submit a task to a TaskExecutor."""

    task_manager_id: str
    tdd: TaskDeploymentDescriptor


@dataclass(frozen=True, slots=True)
class CancelTask:
    """Tell a TaskExecutor to cancel an attempt."""

    task_manager_id: str
    attempt_id: str


@dataclass(frozen=True, slots=True)
class StartQuery:
    """All subtasks of a region are there: let its records flow."""

    region: int
    run: int


@dataclass(frozen=True, slots=True)
class StopQuery:
    """Stop the query of a region and report when nothing of it is left."""

    region: int
    run: int


@dataclass(frozen=True, slots=True)
class ScheduleRestart:
    """Report after a delay that a restart is due."""

    restart_id: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class JobTerminated:
    """The job is over; its state is in the ExecutionGraph."""


SchedulerAction = (
    RequestSlots | ReleaseSlots | Deploy | CancelTask | StartQuery | StopQuery | ScheduleRestart | JobTerminated
)
