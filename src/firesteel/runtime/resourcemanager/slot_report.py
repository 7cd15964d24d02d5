"""What TaskExecutors tell about their slots, and what jobs ask for."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.process_usage import ProcessUsage
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile

__all__ = ["SlotReport", "SlotRequest", "SlotStatus", "TaskExecutorHeartbeatPayload"]


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """One slot of a TaskExecutor; without allocation it is free, else it has tasks.

    Flink: `runtime.taskexecutor.SlotStatus`.
    """

    slot_index: int
    job_id: str | None = None
    allocation_id: str | None = None
    resource_profile: ResourceProfile = ANY
    tasks: int = 0


@dataclass(frozen=True, slots=True)
class SlotReport:
    """All slots of a TaskExecutor. Flink: `runtime.taskexecutor.SlotReport`."""

    slots: tuple[SlotStatus, ...]


@dataclass(frozen=True, slots=True)
class TaskExecutorHeartbeatPayload:
    """What a TaskExecutor answers a heartbeat with. Flink: `runtime.taskexecutor.TaskExecutorHeartbeatPayload`."""

    slots: SlotReport
    usage: ProcessUsage


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A job wants a slot. Flink: `runtime.resourcemanager.SlotRequest`.

    Attributes:
        job_id: The job.
        allocation_id: What the slot will be known under.
        job_master_address: Where the slot is to be offered.
        resource_profile: What the slot has to have.
    """

    job_id: str
    allocation_id: str
    job_master_address: str
    resource_profile: ResourceProfile = UNKNOWN
