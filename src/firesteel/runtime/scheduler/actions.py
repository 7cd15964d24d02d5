"""Actions of a Scheduler for its JobMaster."""

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
    "StoppedForRescale",
]


@dataclass(frozen=True, slots=True)
class RequestSlots:
    """Request the slots of a bulk of subtasks; the bulk fails if `slot.request.timeout` expires."""

    requests: tuple[LogicalSlotRequest, ...]


@dataclass(frozen=True, slots=True)
class ReleaseSlots:
    """Release the slots of attempts, or cancel their requests."""

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
    """Start the query of a region, as all its subtasks are ready."""

    region: int
    run: int


@dataclass(frozen=True, slots=True)
class StopQuery:
    """Stop the query of a region and report when it has stopped."""

    region: int
    run: int


@dataclass(frozen=True, slots=True)
class ScheduleRestart:
    """Report a due restart after a delay."""

    restart_id: int
    delay_s: float


@dataclass(frozen=True, slots=True)
class JobTerminated:
    """The job has terminated; its state is in the ExecutionGraph."""


@dataclass(frozen=True, slots=True)
class StoppedForRescale:
    """Nothing of the job runs, so that another graph of it can be scheduled."""


SchedulerAction = (
    RequestSlots
    | ReleaseSlots
    | Deploy
    | CancelTask
    | StartQuery
    | StopQuery
    | ScheduleRestart
    | JobTerminated
    | StoppedForRescale
)
