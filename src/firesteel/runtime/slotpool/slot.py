"""A slot as a job sees it."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["AllocatedSlot", "SlotOffer"]


@dataclass(frozen=True, slots=True)
class SlotOffer:
    """A slot that a TaskExecutor offers to a job. Flink: `runtime.taskexecutor.slot.SlotOffer`.

    Attributes:
        allocation_id: The allocation it was given to the job under.
        slot_index: Which of the TaskExecutor's slots.
        address: The slot's data address, opaque.
    """

    allocation_id: str
    slot_index: int
    address: str = ""


@dataclass(frozen=True, slots=True)
class AllocatedSlot:
    """A slot that the job has. Flink: `runtime.jobmaster.slotpool.AllocatedSlot`."""

    allocation_id: str
    task_manager_id: str
    slot_index: int
    address: str
