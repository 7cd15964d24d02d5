"""Actions and events of a job's slots for its JobMaster."""

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
    """Request a slot from the ResourceManager under this allocation id."""

    allocation_id: str
    resource_profile: ResourceProfile = UNKNOWN


@dataclass(frozen=True, slots=True)
class CancelSlotRequest:
    """Cancel the request for an allocation at the ResourceManager."""

    allocation_id: str


@dataclass(frozen=True, slots=True)
class SlotAllocated:
    """A request was assigned a slot."""

    request_id: str
    slot: AllocatedSlot
    locality: Locality = Locality.UNKNOWN


@dataclass(frozen=True, slots=True)
class SlotRequestFailed:
    """A request failed."""

    request_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class SlotLost:
    """An allocated slot is lost; its tasks fail."""

    request_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class FreeSlot:
    """Return the slot to its TaskExecutor."""

    task_manager_id: str
    allocation_id: str
    cause: str


@dataclass(frozen=True, slots=True)
class LogicalSlotsAllocated:
    """Tasks were assigned their logical slots."""

    slots: tuple[LogicalSlot, ...]


@dataclass(frozen=True, slots=True)
class LogicalSlotsFailed:
    """Tasks did not get a slot, or lost their shared one, according to `was_allocated`."""

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
