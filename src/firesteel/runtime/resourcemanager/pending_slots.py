"""Pending slots of requested workers."""

from __future__ import annotations

from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["PendingSlots"]


class PendingSlots:
    """Pending slots, each promised to a request or unassigned. Flink: `slotmanager.PendingTaskManagerSlot`."""

    def __init__(self) -> None:
        self._promised: dict[str, ResourceProfile] = {}  # allocation id -> the slot's profile, oldest first
        self._for_nobody: dict[ResourceProfile, int] = {}

    def __len__(self) -> int:
        return len(self._promised) + self.unassigned

    @property
    def unassigned(self) -> int:
        """The number of unassigned pending slots."""
        return sum(self._for_nobody.values())

    def announce(self, profile: ResourceProfile, slots: int) -> None:
        """Change the number of unassigned pending slots of a profile."""
        self._for_nobody[profile] = self._for_nobody.get(profile, 0) + slots
        if not self._for_nobody[profile]:
            del self._for_nobody[profile]

    def assign(self, allocation_id: str, wanted: ResourceProfile) -> bool:
        """Promise a pending slot to a request; return False if none matches its profile."""
        profile = next((profile for profile in self._for_nobody if profile.is_matching(wanted)), None)
        if profile is None:
            return False
        self.announce(profile, -1)
        self._promised[allocation_id] = profile
        return True

    def unassign(self, allocation_id: str) -> None:
        """Take back the pending slot of a request."""
        profile = self._promised.pop(allocation_id, None)
        if profile is not None:
            self.announce(profile, 1)

    def come(self, profile: ResourceProfile) -> str | None:
        """Remove a pending slot of exactly this profile; return the request that it was promised to, or None."""
        allocation_id = next((one for one, promised in self._promised.items() if promised == profile), None)
        if allocation_id is not None:
            del self._promised[allocation_id]
        elif profile in self._for_nobody:
            self.announce(profile, -1)
        return allocation_id

    def forget(self, slots: int) -> list[str]:
        """Remove pending slots, unassigned ones first; return the requests that lost theirs."""
        for profile, number in list(self._for_nobody.items()):
            dropped = min(number, slots)
            self.announce(profile, -dropped)
            slots -= dropped
        promised = list(self._promised)[::-1][:slots]
        for allocation_id in promised:
            del self._promised[allocation_id]
        return promised
