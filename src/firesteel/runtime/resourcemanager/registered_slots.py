"""The slots of all TaskExecutors, and the index of free ones."""

from __future__ import annotations

from dataclasses import dataclass, field

from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest
from firesteel.runtime.slotpool.resource_profile import ResourceProfile

__all__ = ["RegisteredSlot", "RegisteredSlots", "RegisteredTaskManager"]


@dataclass(slots=True, eq=False)
class RegisteredSlot:
    """A slot: free, PENDING (`request` set, being assigned) or ALLOCATED. Flink: `TaskManagerSlot`.

    A free slot may be withheld: its TaskExecutor did not answer and must report before the slot is assigned again.
    """

    task_manager: RegisteredTaskManager
    slot_index: int
    profile: ResourceProfile
    job_id: str | None = None
    allocation_id: str | None = None
    request: SlotRequest | None = None
    is_withheld: bool = False

    @property
    def is_free(self) -> bool:
        """Whether the slot is neither assigned nor being assigned."""
        return self.allocation_id is None and self.request is None


@dataclass(slots=True, eq=False)
class RegisteredTaskManager:
    """A TaskExecutor. Flink: `slotmanager.TaskManagerRegistration`.

    Attributes:
        free: Number of its free slots.
        idle_since_s: Time since which all are free; None while one is not.
    """

    instance_id: str
    resource_id: str
    idle_since_s: float | None
    slots: dict[int, RegisteredSlot] = field(default_factory=dict)
    free: int = 0


class RegisteredSlots:
    """All slots of the cluster, indexed so that free ones are found directly."""

    def __init__(self) -> None:
        self.task_managers: dict[str, RegisteredTaskManager] = {}
        self.total = 0
        self.free = 0
        # By profile, in the order in which they became free; by TaskExecutor within.
        self._free: dict[ResourceProfile, dict[RegisteredTaskManager, dict[int, RegisteredSlot]]] = {}

    def add(self, instance_id: str, resource_id: str, report: SlotReport, now_s: float) -> RegisteredTaskManager:
        """Add a TaskExecutor, with all slots free."""
        task_manager = RegisteredTaskManager(instance_id, resource_id, now_s)
        self.task_managers[instance_id] = task_manager
        for status in report.slots:
            slot = RegisteredSlot(task_manager, status.slot_index, status.resource_profile)
            task_manager.slots[status.slot_index] = slot
            self.total += 1
            self._put(slot)
        return task_manager

    def remove(self, instance_id: str) -> RegisteredTaskManager | None:
        """Remove a TaskExecutor."""
        task_manager = self.task_managers.pop(instance_id, None)
        if task_manager is not None:
            self.total -= len(task_manager.slots)
            for slot in task_manager.slots.values():
                if slot.is_free:
                    self._take(slot)
        return task_manager

    def find(self, instance_id: str, slot_index: int) -> RegisteredSlot | None:
        """Return the slot with an index."""
        task_manager = self.task_managers.get(instance_id)
        return None if task_manager is None else task_manager.slots.get(slot_index)

    def matching(self, wanted: ResourceProfile, spread_out: bool) -> RegisteredSlot | None:
        """Return a free slot that matches the profile: the first, or one of the least used TaskExecutor."""
        for profile, by_task_manager in self._free.items():
            if by_task_manager and profile.is_matching(wanted):
                chosen = max(by_task_manager, key=_free_share) if spread_out else next(iter(by_task_manager))
                return next(iter(by_task_manager[chosen].values()))
        return None

    def could_match(self, wanted: ResourceProfile) -> bool:
        """Return whether any slot, free or not, matches the profile."""
        return any(
            slot.profile.is_matching(wanted) for worker in self.task_managers.values() for slot in worker.slots.values()
        )

    def change(
        self,
        slot: RegisteredSlot,
        now_s: float,
        request: SlotRequest | None = None,
        owner: tuple[str | None, str] | None = None,
        withhold: bool = False,
    ) -> None:
        """Make a slot PENDING with `request`, ALLOCATED to `owner` (job and allocation), or free."""
        was_free = slot.is_free
        if was_free and slot.is_withheld and not withhold:
            slot.is_withheld = False
            self._offer(slot)
        slot.is_withheld = withhold
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
        if not slot.is_withheld:
            self._offer(slot)
        slot.task_manager.free += 1
        self.free += 1

    def _offer(self, slot: RegisteredSlot) -> None:
        self._free.setdefault(slot.profile, {}).setdefault(slot.task_manager, {})[slot.slot_index] = slot

    def _take(self, slot: RegisteredSlot) -> None:
        by_task_manager = self._free.get(slot.profile, {})
        by_index = by_task_manager.get(slot.task_manager, {})
        by_index.pop(slot.slot_index, None)
        if not by_index:
            by_task_manager.pop(slot.task_manager, None)
        slot.task_manager.free -= 1
        self.free -= 1


def _free_share(task_manager: RegisteredTaskManager) -> float:
    return task_manager.free / len(task_manager.slots)
