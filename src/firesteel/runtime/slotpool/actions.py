"""What a SlotPool asks its JobMaster to do."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.slotpool.slot import AllocatedSlot

__all__ = [
    "CancelSlotRequest",
    "FreeSlot",
    "SendSlotRequest",
    "SlotAllocated",
    "SlotLost",
    "SlotPoolAction",
    "SlotRequestFailed",
]


@dataclass(frozen=True, slots=True)
class SendSlotRequest:
    """Ask the ResourceManager for a slot under this allocation id."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class CancelSlotRequest:
    """Tell the ResourceManager that the allocation is no longer wanted."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class SlotAllocated:
    """A request has its slot."""

    request_id: str
    slot: AllocatedSlot


@dataclass(frozen=True, slots=True)
class SlotRequestFailed:
    """A request will get no slot."""

    request_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class SlotLost:
    """A slot that a request had is gone; what runs in it fails."""

    request_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class FreeSlot:
    """Tell the TaskExecutor that the job gives the slot back."""

    task_manager_id: str
    allocation_id: str
    cause: str


SlotPoolAction = SendSlotRequest | CancelSlotRequest | SlotAllocated | SlotRequestFailed | SlotLost | FreeSlot
