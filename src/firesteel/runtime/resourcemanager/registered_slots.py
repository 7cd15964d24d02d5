"""The slots of all TaskExecutors, and which of them are free."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["RegisteredSlot", "RegisteredSlots", "RegisteredTaskManager"]


@dataclass(slots=True, eq=False)
class RegisteredSlot:
    """A slot: free, PENDING (`request` set, the TaskExecutor was asked) or ALLOCATED. Flink: `TaskManagerSlot`."""

    task_manager: RegisteredTaskManager
    slot_index: int
    profile: ResourceProfile
    job_id: str | None = None
    allocation_id: str | None = None
    request: SlotRequest | None = None

    @property
    def is_free(self) -> bool:
        """Whether nobody has it or is about to have it."""
        return self.allocation_id is None and self.request is None


@dataclass(slots=True, eq=False)
class RegisteredTaskManager:
    """A TaskExecutor. Flink: `slotmanager.TaskManagerRegistration`.

    Attributes:
        free: How many of its slots are free.
        idle_since_s: Since when all are; None while one is not.
    """

    instance_id: str
    resource_id: str
    idle_since_s: float | None
    slots: dict[int, RegisteredSlot] = field(default_factory=dict)
    free: int = 0


class RegisteredSlots:
    """All slots of the cluster; a free one is found without looking at those that are not."""

    def __init__(self) -> None:
        self.task_managers: dict[str, RegisteredTaskManager] = {}
        self.total = 0
        self.free = 0
        # By profile, in the order in which they became free; by TaskExecutor within.
        self._free: dict[ResourceProfile, dict[RegisteredTaskManager, dict[int, RegisteredSlot]]] = {}

    def add(self, instance_id: str, resource_id: str, report: SlotReport, now_s: float) -> RegisteredTaskManager:
        """Take in a TaskExecutor, its slots as free ones."""
        task_manager = RegisteredTaskManager(instance_id, resource_id, now_s)
        self.task_managers[instance_id] = task_manager
        for status in report.slots:
            slot = RegisteredSlot(task_manager, status.slot_index, status.resource_profile)
            task_manager.slots[status.slot_index] = slot
            self.total += 1
            self._put(slot)
        return task_manager

    def remove(self, instance_id: str) -> RegisteredTaskManager | None:
        """Drop a TaskExecutor."""
        task_manager = self.task_managers.pop(instance_id, None)
        if task_manager is not None:
            self.total -= len(task_manager.slots)
            for slot in task_manager.slots.values():
                if slot.is_free:
                    self._take(slot)
        return task_manager

    def find(self, instance_id: str, slot_index: int) -> RegisteredSlot | None:
        """The slot of that index."""
        task_manager = self.task_managers.get(instance_id)
        return None if task_manager is None else task_manager.slots.get(slot_index)

    def matching(
        self, wanted: ResourceProfile, spread_out: bool, avoid: RegisteredSlot | None = None
    ) -> RegisteredSlot | None:
        """A free slot that serves the profile, not `avoid`: the first one, or one of the least used TaskExecutor."""
        for profile, by_task_manager in self._free.items():
            if profile.is_matching(wanted):
                found = _least_used(by_task_manager, avoid) if spread_out else _first(by_task_manager, avoid)
                if found is not None:
                    return found
        return None

    def could_match(self, wanted: ResourceProfile) -> bool:
        """Whether any slot, free or not, serves the profile."""
        return any(
            slot.profile.is_matching(wanted) for worker in self.task_managers.values() for slot in worker.slots.values()
        )

    def change(
        self,
        slot: RegisteredSlot,
        now_s: float,
        request: SlotRequest | None = None,
        owner: tuple[str | None, str] | None = None,
    ) -> None:
        """Make a slot PENDING with `request`, ALLOCATED to `owner` (job and allocation), or free with neither."""
        was_free = slot.is_free
        slot.request = request
        slot.job_id, slot.allocation_id = owner or (None, None)
        if was_free and not slot.is_free:
            self._take(slot)
            slot.task_manager.idle_since_s = None
        elif not was_free and slot.is_free:
            self._put(slot)
            if slot.task_manager.free == len(slot.task_manager.slots):
                slot.task_manager.idle_since_s = now_s

    def _put(self, slot: RegisteredSlot) -> None:
        self._free.setdefault(slot.profile, {}).setdefault(slot.task_manager, {})[slot.slot_index] = slot
        slot.task_manager.free += 1
        self.free += 1

    def _take(self, slot: RegisteredSlot) -> None:
        by_task_manager = self._free[slot.profile]
        by_index = by_task_manager[slot.task_manager]
        del by_index[slot.slot_index]
        if not by_index:
            del by_task_manager[slot.task_manager]
        slot.task_manager.free -= 1
        self.free -= 1


def _first(
    by_task_manager: dict[RegisteredTaskManager, dict[int, RegisteredSlot]], avoid: RegisteredSlot | None
) -> RegisteredSlot | None:
    slots = (slot for by_index in by_task_manager.values() for slot in by_index.values())
    return next((slot for slot in slots if slot is not avoid), None)


def _least_used(
    by_task_manager: dict[RegisteredTaskManager, dict[int, RegisteredSlot]], avoid: RegisteredSlot | None
) -> RegisteredSlot | None:
    slots = (next((slot for slot in one.values() if slot is not avoid), None) for one in by_task_manager.values())
    found = (slot for slot in slots if slot is not None)
    return max(found, key=lambda slot: slot.task_manager.free / len(slot.task_manager.slots), default=None)
