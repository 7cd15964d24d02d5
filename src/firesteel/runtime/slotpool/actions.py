"""What the slots of a job ask its JobMaster to do, or tell it."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot

__all__ = [
    "CancelSlotRequest",
    "FreeSlot",
    "LogicalSlotsAllocated",
    "LogicalSlotsFailed",
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
    resource_profile: ResourceProfile = UNKNOWN


@dataclass(frozen=True, slots=True)
class CancelSlotRequest:
    """Tell the ResourceManager that the allocation is no longer wanted."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class SlotAllocated:
    """A request has its slot."""

    request_id: str
    slot: AllocatedSlot
    locality: Locality = Locality.UNKNOWN


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


@dataclass(frozen=True, slots=True)
class LogicalSlotsAllocated:
    """Tasks have their parts of a slot."""

    slots: tuple[LogicalSlot, ...]


@dataclass(frozen=True, slots=True)
class LogicalSlotsFailed:
    """Tasks get no slot, or have lost the one they shared; `was_allocated` tells which."""

    request_ids: tuple[str, ...]
    cause: str
    was_allocated: bool = False


SlotPoolAction = (
    SendSlotRequest
    | CancelSlotRequest
    | SlotAllocated
    | SlotRequestFailed
    | SlotLost
    | FreeSlot
    | LogicalSlotsAllocated
    | LogicalSlotsFailed
)
