"""Slot reports of TaskExecutors, and slot requests of jobs."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.process_usage import ProcessUsage
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile

__all__ = ["SlotReport", "SlotRequest", "SlotStatus", "TaskExecutorHeartbeatPayload"]


@dataclass(frozen=True, slots=True)
class SlotStatus:
    """The status of a TaskExecutor's slot; without allocation it is free.

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
    """A TaskExecutor's response to a heartbeat. Flink: `runtime.taskexecutor.TaskExecutorHeartbeatPayload`."""

    slots: SlotReport
    usage: ProcessUsage


@dataclass(frozen=True, slots=True)
class SlotRequest:
    """A job's request for a slot. Flink: `runtime.resourcemanager.SlotRequest`.

    Attributes:
        job_id: The job.
        allocation_id: The id of the future allocation.
        job_master_address: The JobMaster to which the slot is offered.
        resource_profile: The required resources.
    """

    job_id: str
    allocation_id: str
    job_master_address: str
    resource_profile: ResourceProfile = UNKNOWN
