"""The unused slots of a job, indexed by location."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from firesteel.runtime.slotpool.slot import AllocatedSlot

__all__ = ["AvailableSlots"]

T = TypeVar("T")

_NONE: Mapping[str, AllocatedSlot] = {}
_NO_HOST: Mapping[str, None] = {}


class AvailableSlots:
    """Unused slots in the order in which they became available.

    Flink: `runtime.jobmaster.slotpool.SlotPoolImpl.AvailableSlots`.

    Args:
        utilization: Returns the fraction (0 to 1) of a TaskExecutor's slots that are in use, by id.
    """

    def __init__(self, utilization: Callable[[str], float] = lambda _: 0.0) -> None:
        self.utilization = utilization
        # An ordered dict finds its first member at once, also after many were removed before it.
        self._slots: OrderedDict[str, tuple[AllocatedSlot, float]] = OrderedDict()
        self._by_task_manager: dict[str, dict[str, AllocatedSlot]] = {}
        self._task_managers_of_host: dict[str, dict[str, None]] = {}

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, allocation_id: str) -> bool:
        return allocation_id in self._slots

    @property
    def task_managers(self) -> Iterable[str]:
        """The TaskExecutors with an available slot."""
        return self._by_task_manager.keys()

    def add(self, slot: AllocatedSlot, now_s: float) -> None:
        """Add a slot that is no longer used."""
        self._slots[slot.allocation_id] = slot, now_s
        self._by_task_manager.setdefault(slot.task_manager_id, {})[slot.allocation_id] = slot
        self._task_managers_of_host.setdefault(slot.host, {})[slot.task_manager_id] = None

    def remove(self, allocation_id: str) -> AllocatedSlot | None:
        """Remove a slot and return it, or None if it is not available."""
        slot, _ = self._slots.pop(allocation_id, (None, 0.0))
        if slot is not None:
            _discard(self._by_task_manager, slot.task_manager_id, allocation_id)
            if slot.task_manager_id not in self._by_task_manager:
                _discard(self._task_managers_of_host, slot.host, slot.task_manager_id)
        return slot

    def get(self, allocation_id: str) -> AllocatedSlot | None:
        """Return the slot of an allocation, or None if it is not available."""
        return self._slots.get(allocation_id, (None, 0.0))[0]

    def all(self) -> Iterable[AllocatedSlot]:
        """Return all slots, the one available longest first."""
        return (slot for slot, _ in self._slots.values())

    def of_task_manager(self, task_manager_id: str) -> Iterable[AllocatedSlot]:
        """Return the available slots of a TaskExecutor."""
        return self._by_task_manager.get(task_manager_id, _NONE).values()

    def task_managers_of_host(self, host: str) -> Iterable[str]:
        """Return the TaskExecutors on a host with an available slot; none for an unknown (empty) host."""
        return self._task_managers_of_host.get(host, _NO_HOST).keys() if host else ()

    def idle_since(self, latest_s: float) -> list[AllocatedSlot]:
        """Return the slots that became available at or before `latest_s`."""
        idle = []
        for slot, since_s in self._slots.values():
            if since_s > latest_s:
                break  # The slots are in the order of that time.
            idle.append(slot)
        return idle

    def clear(self) -> None:
        """Remove all slots."""
        self._slots.clear()
        self._by_task_manager.clear()
        self._task_managers_of_host.clear()


def _discard(index: dict[str, dict[str, T]], key: str, member: str) -> None:
    members = index[key]
    del members[member]
    if not members:
        del index[key]
