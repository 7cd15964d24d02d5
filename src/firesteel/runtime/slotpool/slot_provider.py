"""Slots for tasks: shared within slot sharing groups, taken from the pool."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass, replace

from firesteel.runtime.slotpool.actions import (
    LogicalSlotsAllocated,
    LogicalSlotsFailed,
    SlotAllocated,
    SlotLost,
    SlotPoolAction,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import ANYWHERE, Locality, SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_pool import SlotPool
from firesteel.runtime.slotpool.slot_selection import LocationPreferenceSlotSelection, SlotSelectionStrategy
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot, MultiTaskSlot, SlotSharingManager

__all__ = ["LogicalSlotRequest", "SlotProvider"]

Actions = list[SlotPoolAction]


@dataclass(frozen=True, slots=True)
class LogicalSlotRequest:
    """A task's request for a logical slot. Flink: `runtime.jobmanager.scheduler.ScheduledUnit` with its `SlotProfile`.

    Attributes:
        request_id: The unique id of the request.
        sharing_group: Id of the slot sharing group.
        vertex_id: The task's vertex: two of its tasks never share a slot.
        profile: The physical slot that is wanted.
        needs: The resources declared by the task itself.
        shared_slot: Name of the group's slot that the task must share; None for any.
        co_location: Co-location group and subtask: tasks that agree in both always share a slot; None for no
        constraint.
        is_batch: Whether the request may wait for slots that are in use now.
    """

    request_id: str
    sharing_group: str
    vertex_id: str
    profile: SlotProfile = ANYWHERE
    needs: ResourceProfile = UNKNOWN
    shared_slot: str | None = None
    co_location: tuple[str, int] | None = None
    is_batch: bool = False


@dataclass(slots=True)
class _CoLocationConstraint:
    """The location of co-located tasks. Flink: `runtime.jobmanager.scheduler.CoLocationConstraint`."""

    request_id: str | None = None
    location: TaskManagerLocation | None = None


class SlotProvider:
    """The provider of logical slots for tasks. Pure. Flink: `runtime.jobmaster.slotpool.SchedulerImpl` (1.10).

    If requests name their shared slot, it acts like `scheduler.SlotSharingExecutionSlotAllocator` (since 1.12).

    Args:
        pool: The source of physical slots; its events must be passed to the provider.
        selection: Selects among the slots of a group that another task may share.
    """

    def __init__(self, pool: SlotPool, selection: SlotSelectionStrategy | None = None) -> None:
        self._pool = pool
        self._selection = selection or LocationPreferenceSlotSelection()
        self._numbers = itertools.count()
        self._managers: dict[str, SlotSharingManager] = {}
        self._group_of: dict[str, str] = {}  # request of a task or of a root -> sharing group
        self._shared: dict[tuple[str, str], str] = {}  # group and name of a shared slot -> its root
        self._name_of: dict[str, tuple[str, str]] = {}
        self._constraints: dict[tuple[str, int], _CoLocationConstraint] = {}
        # Pending root -> constraints that wait for its location, with the node that each refers to.
        self._waiting: dict[str, list[tuple[_CoLocationConstraint, str]]] = {}

    def request_slot(self, request: LogicalSlotRequest, now_s: float) -> Actions:
        """Request a logical slot for a task."""
        manager = self.manager(request.sharing_group)
        if request.co_location is not None:
            return self._co_located(manager, request, request.co_location, now_s)
        parent, locality, actions = self._parent_for(manager, request, request.vertex_id)
        return [*actions, *self._leaf(manager, request, parent, locality)]

    def manager(self, sharing_group: str) -> SlotSharingManager:
        """Return the shared slots of a group."""
        manager = self._managers.get(sharing_group)
        if manager is None:
            manager = self._managers[sharing_group] = SlotSharingManager(self._selection)
        return manager

    def slot_allocated(self, allocated: SlotAllocated, now_s: float) -> Actions:
        """Process a physical slot for a root; it is returned if nothing waits for it any more."""
        group = self._group_of.get(allocated.request_id)
        if group is None:
            return self._pool.release_slot(allocated.request_id, now_s, "the tasks that wanted the slot are gone")
        manager = self._managers[group]
        if manager.has_allocation(allocated.slot.allocation_id):
            text = f"slot {allocated.slot.allocation_id} is in use by others already"
            return self.slot_failed(SlotRequestFailed(allocated.request_id, text))
        for constraint, node_id in self._waiting.pop(allocated.request_id, ()):
            if constraint.request_id == node_id and manager.get(node_id) is not None:
                constraint.location = allocated.slot.location
        slots = manager.resolve(allocated.request_id, allocated.slot, allocated.locality)
        return [LogicalSlotsAllocated(tuple(slots))] if slots else []

    def slot_failed(self, failed: SlotRequestFailed | SlotLost) -> Actions:
        """Process a physical slot that failed or is lost, with its logical slots."""
        group = self._group_of.get(failed.request_id)
        if group is None:
            return []
        released = self._managers[group].release(failed.request_id)
        self._forget((*released.leaves, failed.request_id))
        if not released.leaves:
            return []
        return [LogicalSlotsFailed(released.leaves, failed.cause, isinstance(failed, SlotLost))]

    def release_slot(self, request_id: str, now_s: float, cause: str) -> Actions:
        """Release a task's logical slot; the last one returns the physical slot. Unknown requests are ignored."""
        group = self._group_of.get(request_id)
        if group is None:
            return []
        manager = self._managers[group]
        was_allocated = manager.is_resolved(request_id)
        released = manager.release(request_id)
        self._forget((request_id, *released.leaves))
        told: Actions = [LogicalSlotsFailed(released.leaves, cause, was_allocated)] if released.leaves else []
        if released.root is None:
            return told
        self._forget((released.root,))
        # A root that still waited is refused with that; its tasks were told above, and it has no others.
        follows = self._pool.release_slot(released.root, now_s, cause)
        return [*told, *(action for action in follows if not isinstance(action, SlotRequestFailed))]

    def request_timed_out(self, request_ids: Iterable[str], cause: str) -> Actions:
        """Abandon the physical slots that timed-out requests still wait for."""
        waiting = [root.request_id for root in self._roots_of(request_ids) if root.slot is None]
        return [action for root_id in waiting for action in self._pool.request_timed_out(root_id, cause)]

    def is_waiting(self, request_ids: Iterable[str]) -> bool:
        """Return whether one of the tasks waits for its slot."""
        return any(root.slot is None for root in self._roots_of(request_ids))

    def is_fulfillable(self, request_ids: Iterable[str]) -> bool:
        """Return whether the slots that tasks wait for would be available once other tasks have finished.

        Flink: `runtime.jobmaster.slotpool.PhysicalSlotRequestBulkCheckerImpl`.
        """
        roots = self._roots_of(request_ids)
        own = {root.slot.allocation_id for root in roots if root.slot is not None}
        others = [slot.resource_profile for slot in self._pool.slots() if slot.allocation_id not in own]
        for root in roots:
            if root.slot is None:
                wanted = self._pool.wanted_by(root.request_id)
                found = next((n for n, offered in enumerate(others) if wanted and offered.is_matching(wanted)), None)
                if found is None:
                    return False
                # Each slot counts for one request, as all of the bulk need one at the same time.
                others.pop(found)
        return True

    def clear(self) -> None:
        """Discard all state, as the pool is suspended or closed."""
        self._managers.clear()
        self._group_of.clear()
        self._shared.clear()
        self._name_of.clear()
        self._constraints.clear()
        self._waiting.clear()

    def _roots_of(self, request_ids: Iterable[str]) -> list[MultiTaskSlot]:
        roots: dict[str, MultiTaskSlot] = {}
        for request_id in request_ids:
            node = self._managers[self._group_of[request_id]].get(request_id) if request_id in self._group_of else None
            if node is not None:
                root = node.root if isinstance(node, MultiTaskSlot) else node.parent.root
                roots[root.request_id] = root
        return list(roots.values())

    def _leaf(
        self, manager: SlotSharingManager, request: LogicalSlotRequest, parent: MultiTaskSlot, locality: Locality
    ) -> Actions:
        manager.allocate_single(parent, request.request_id, request.vertex_id, locality, request.needs)
        self._group_of[request.request_id] = request.sharing_group
        slot = parent.root.slot
        return [] if slot is None else [LogicalSlotsAllocated((LogicalSlot(request.request_id, slot, locality),))]

    def _parent_for(
        self, manager: SlotSharingManager, request: LogicalSlotRequest, group: str
    ) -> tuple[MultiTaskSlot, Locality, Actions]:
        """Return the root for a task, its locality, and the actions if it had to be created."""
        if request.shared_slot is not None:
            return self._named_root(manager, request, (request.sharing_group, request.shared_slot))
        resolved, nearness = manager.best_resolved_root(group, request.profile, request.needs) or (None, None)
        if resolved is not None and nearness is Locality.LOCAL:
            # A shared slot beside the input is best; next a free one beside it, then any shared one, then a new one.
            return resolved, Locality.LOCAL, []
        slot, locality = self._pool.select_available(request.profile) or (None, Locality.UNKNOWN)
        if slot is not None and (locality is Locality.LOCAL or resolved is None):
            root = self._new_root(manager, request)
            self._pool.allocate_available_slot(root.request_id, slot.allocation_id, locality)
            manager.resolve(root.request_id, slot, locality)
            return root, locality, []
        if resolved is not None and nearness is not None:
            return resolved, nearness, []
        unresolved = manager.unresolved_root(group)
        if unresolved is not None:
            return unresolved, Locality.UNKNOWN, []
        root = self._new_root(manager, request)
        follows = self._pool.request_new_slot(root.request_id, request.profile, request.is_batch)
        return root, Locality.UNKNOWN, follows

    def _named_root(
        self, manager: SlotSharingManager, request: LogicalSlotRequest, name: tuple[str, str]
    ) -> tuple[MultiTaskSlot, Locality, Actions]:
        known = manager.get(self._shared.get(name, ""))
        if known is not None:
            assert isinstance(known, MultiTaskSlot)
            return known, known.locality, []
        root = self._new_root(manager, request)
        self._shared[name], self._name_of[root.request_id] = root.request_id, name
        follows: Actions = []
        for action in self._pool.request_slot(root.request_id, request.profile, request.is_batch):
            if isinstance(action, SlotAllocated):
                manager.resolve(root.request_id, action.slot, action.locality)
            else:
                follows.append(action)
        return root, root.locality, follows

    def _new_root(self, manager: SlotSharingManager, request: LogicalSlotRequest) -> MultiTaskSlot:
        root = manager.create_root_slot(f"slot-{next(self._numbers)}")
        self._group_of[root.request_id] = request.sharing_group
        return root

    def _co_located(
        self, manager: SlotSharingManager, request: LogicalSlotRequest, key: tuple[str, int], now_s: float
    ) -> Actions:
        constraint = self._constraints.setdefault(key, _CoLocationConstraint())
        node = manager.get(constraint.request_id) if constraint.request_id is not None else None
        if node is not None:
            assert isinstance(node, MultiTaskSlot)
            if not node.root.has_room_for(request.needs):
                return [
                    self._unavailable(request, f"the slot of co-location group {key[0]} has too few resources left")
                ]
            return self._leaf(manager, request, node, Locality.LOCAL)
        locked = constraint.location
        if locked is not None:
            request = replace(request, profile=replace(request.profile, preferred_locations=(locked,)))
        root, locality, actions = self._parent_for(manager, request, key[0])
        node = manager.allocate_multi(root, f"{root.request_id}/{key[0]}", key[0])
        self._group_of[node.request_id] = request.sharing_group
        if locked is not None and locality is not Locality.LOCAL:
            actions += self.release_slot(
                node.request_id, now_s, "it is not on the TaskExecutor of the co-located tasks"
            )
            place = locked.task_manager_id
            why = f"co-location group {key[0]} has to run on TaskExecutor {place}, where no slot is free"
            return [*actions, self._unavailable(request, why)]
        constraint.request_id = node.request_id
        if root.slot is not None:
            constraint.location = root.slot.location
        else:
            self._waiting.setdefault(root.request_id, []).append((constraint, node.request_id))
        return [*actions, *self._leaf(manager, request, node, locality)]

    def _unavailable(self, request: LogicalSlotRequest, why: str) -> LogicalSlotsFailed:
        return LogicalSlotsFailed((request.request_id,), f"no resource available: {why}")

    def _forget(self, request_ids: tuple[str, ...]) -> None:
        for request_id in request_ids:
            self._group_of.pop(request_id, None)
            self._waiting.pop(request_id, None)
            name = self._name_of.pop(request_id, None)
            if name is not None:
                del self._shared[name]
