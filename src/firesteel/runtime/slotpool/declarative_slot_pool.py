"""The slots of a job that declares the number of slots per profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.runtime.slotpool.actions import FreeSlot
from firesteel.runtime.slotpool.available_slots import AvailableSlots
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, SlotOffer

__all__ = ["DeclarativeSlotPool", "DeclareRequirements"]

Requirements = Mapping[ResourceProfile, int]


@dataclass(frozen=True, slots=True)
class DeclareRequirements:
    """Declare to the ResourceManager how many slots of each profile the job needs in total."""

    requirements: tuple[tuple[ResourceProfile, int], ...]


Actions = list[DeclareRequirements | FreeSlot]


class DeclarativeSlotPool:
    """The slots of one job, declared instead of requested. Flink: `jobmaster.slotpool.DefaultDeclarativeSlotPool`.

    The job declares how many slots of each profile it needs; an offered slot is accepted for a matching unmet
    requirement, else rejected. The caller decides who uses which slot: it reserves and frees them.
    """

    def __init__(self) -> None:
        self._required: Counter[ResourceProfile] = Counter()
        self._fulfilled: Counter[ResourceProfile] = Counter()
        self._serves: dict[str, ResourceProfile] = {}  # allocation id -> the requirement that the slot was taken for
        self._reserved: dict[str, AllocatedSlot] = {}
        self._free = AvailableSlots()

    @property
    def requirements(self) -> dict[ResourceProfile, int]:
        """The required number of slots of each profile."""
        return {profile: count for profile, count in self._required.items() if count}

    @property
    def missing(self) -> dict[ResourceProfile, int]:
        """The missing number of slots of each profile."""
        return {profile: count for profile, count in (self._required - self._fulfilled).items() if count > 0}

    def increase_requirements(self, by: Requirements) -> Actions:
        """Increase the requirements."""
        self._required.update(by)
        return self._declare()

    def decrease_requirements(self, by: Requirements) -> Actions:
        """Decrease the requirements; excess slots are returned once they have been idle for long enough.

        Raises:
            ValueError: a requirement would become negative.
        """
        for profile, count in by.items():
            if count > self._required[profile]:
                raise ValueError(f"can't want {count} slots of {profile} fewer; {self._required[profile]} are required")
        self._required.subtract(by)
        return self._declare()

    def offer_slots(
        self, task_manager_id: str, offers: Sequence[SlotOffer], now_s: float
    ) -> tuple[list[SlotOffer], list[AllocatedSlot]]:
        """Process offers of a TaskExecutor; return the accepted offers and the new slots."""
        accepted, new = [], []
        for offer in offers:
            if offer.allocation_id in self._serves:
                accepted.append(offer)
                continue
            requirement = next((p for p in self.missing if offer.resource_profile.is_matching(p)), None)
            if requirement is not None:
                slot = AllocatedSlot(
                    offer.allocation_id, task_manager_id, offer.slot_index, offer.address, offer.resource_profile
                )
                self._serves[slot.allocation_id] = requirement
                self._fulfilled[requirement] += 1
                self._free.add(slot, now_s)
                accepted.append(offer)
                new.append(slot)
        return accepted, new

    def reserve(self, allocation_id: str) -> AllocatedSlot | None:
        """Reserve a free slot; return None if it is unknown or in use."""
        slot = self._free.remove(allocation_id)
        if slot is not None:
            self._reserved[allocation_id] = slot
        return slot

    def free_reserved(self, allocation_id: str, now_s: float) -> None:
        """Free a reserved slot; unknown ones are ignored."""
        slot = self._reserved.pop(allocation_id, None)
        if slot is not None:
            self._free.add(slot, now_s)

    def release_idle(self, now_s: float, idle_timeout_s: float) -> Actions:
        """Return slots that have been free for `idle_timeout_s` and are not required."""
        actions: Actions = []
        for slot in self._free.idle_since(now_s - idle_timeout_s):
            requirement = self._serves[slot.allocation_id]
            if self._fulfilled[requirement] > self._required[requirement]:
                self._fulfilled[requirement] -= 1
                self._free.remove(slot.allocation_id)
                del self._serves[slot.allocation_id]
                actions.append(FreeSlot(slot.task_manager_id, slot.allocation_id, "the slot was idle"))
        return actions

    def _declare(self) -> Actions:
        return [DeclareRequirements(tuple(self.requirements.items()))]
