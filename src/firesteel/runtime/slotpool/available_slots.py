"""The slots of a job that nobody uses, found by place."""

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
    """Slots that nobody uses, in the order in which they became available.

    Flink: `runtime.jobmaster.slotpool.SlotPoolImpl.AvailableSlots`.

    Args:
        utilization: Which part of a TaskExecutor's slots is in use, 0 to 1, by the TaskExecutor's id.
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
        """The TaskExecutors that have a slot here."""
        return self._by_task_manager.keys()

    def add(self, slot: AllocatedSlot, now_s: float) -> None:
        """Nobody uses `slot` from now on."""
        self._slots[slot.allocation_id] = slot, now_s
        self._by_task_manager.setdefault(slot.task_manager_id, {})[slot.allocation_id] = slot
        self._task_managers_of_host.setdefault(slot.host, {})[slot.task_manager_id] = None

    def remove(self, allocation_id: str) -> AllocatedSlot | None:
        """Take a slot out; None if it is not here."""
        slot, _ = self._slots.pop(allocation_id, (None, 0.0))
        if slot is not None:
            _discard(self._by_task_manager, slot.task_manager_id, allocation_id)
            if slot.task_manager_id not in self._by_task_manager:
                _discard(self._task_managers_of_host, slot.host, slot.task_manager_id)
        return slot

    def get(self, allocation_id: str) -> AllocatedSlot | None:
        """The slot of an allocation; None if it is not here."""
        return self._slots.get(allocation_id, (None, 0.0))[0]

    def all(self) -> Iterable[AllocatedSlot]:
        """All, the one that waits longest first."""
        return (slot for slot, _ in self._slots.values())

    def of_task_manager(self, task_manager_id: str) -> Iterable[AllocatedSlot]:
        """Those of a TaskExecutor."""
        return self._by_task_manager.get(task_manager_id, _NONE).values()

    def task_managers_of_host(self, host: str) -> Iterable[str]:
        """The TaskExecutors on a host that have a slot here; none for the empty name, an unknown host."""
        return self._task_managers_of_host.get(host, _NO_HOST).keys() if host else ()

    def idle_since(self, latest_s: float) -> list[AllocatedSlot]:
        """Those that became available at `latest_s` or before."""
        idle = []
        for slot, since_s in self._slots.values():
            if since_s > latest_s:
                break  # The slots are in the order of that time.
            idle.append(slot)
        return idle

    def clear(self) -> None:
        """Forget all."""
        self._slots.clear()
        self._by_task_manager.clear()
        self._task_managers_of_host.clear()


def _discard(index: dict[str, dict[str, T]], key: str, member: str) -> None:
    members = index[key]
    del members[member]
    if not members:
        del index[key]
