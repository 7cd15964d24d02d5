"""The slots that the tasks of one slot sharing group share, as trees of tasks."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from firesteel.runtime.slotpool.available_slots import AvailableSlots
from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ZERO, ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality, SlotProfile
from firesteel.runtime.slotpool.slot_selection import SlotSelectionStrategy

__all__ = ["LogicalSlot", "MultiTaskSlot", "Released", "SingleTaskSlot", "SlotSharingManager"]


@dataclass(frozen=True, slots=True)
class LogicalSlot:
    """The part of a slot that one task has. Flink: `runtime.jobmaster.slotpool.SingleLogicalSlot`.

    Attributes:
        request_id: The task's request.
        slot: The slot that it shares.
        locality: How near that is to where the task wanted to run.
    """

    request_id: str
    slot: AllocatedSlot
    locality: Locality


@dataclass(eq=False, slots=True)
class SingleTaskSlot:
    """A leaf: one task. Flink: `SlotSharingManager.SingleTaskSlot`."""

    request_id: str
    group: str
    parent: MultiTaskSlot
    locality: Locality
    resource_profile: ResourceProfile = UNKNOWN


@dataclass(eq=False, slots=True)
class MultiTaskSlot:
    """A node with children: a root stands for a physical slot, one below it for co-located tasks.

    Flink: `SlotSharingManager.MultiTaskSlot`.

    Attributes:
        request_id: Under which it is found; of a root also that of its physical slot.
        group: What it is in its parent: an id of co-located tasks; None: a root.
        parent: None: a root.
        children: By group; a group is a vertex, or an id of co-located tasks.
        slot: The physical slot, once a root is resolved.
        locality: How near that is.
        reserved: What the tasks below declared to need, together.
    """

    request_id: str
    group: str | None = None
    parent: MultiTaskSlot | None = None
    children: dict[str, SingleTaskSlot | MultiTaskSlot] = field(default_factory=dict)
    slot: AllocatedSlot | None = None
    locality: Locality = Locality.UNKNOWN
    reserved: ResourceProfile = ZERO

    @property
    def root(self) -> MultiTaskSlot:
        """The root above, or this itself."""
        return self if self.parent is None else self.parent.root

    def contains(self, group: str) -> bool:
        """Whether a child, or one below it, is of that group."""
        return group in self.children or any(
            isinstance(child, MultiTaskSlot) and child.contains(group) for child in self.children.values()
        )

    def leaves(self) -> list[SingleTaskSlot]:
        """All tasks below."""
        found: list[SingleTaskSlot] = []
        for child in self.children.values():
            found += [child] if isinstance(child, SingleTaskSlot) else child.leaves()
        return found

    def has_room_for(self, wanted: ResourceProfile) -> bool:
        """Whether the slot has so much left; a slot that is still to come may have."""
        if self.slot is None or wanted.is_unknown:
            return True
        return self.slot.resource_profile.subtract(self.reserved).all_fields_no_less_than(wanted)


@dataclass(frozen=True, slots=True)
class Released:
    """What a release took away.

    Attributes:
        leaves: The requests of all tasks that had been there.
        root: The request of the physical slot, if nobody needs that any more.
    """

    leaves: tuple[str, ...] = ()
    root: str | None = None


class SlotSharingManager:
    """The shared slots of one slot sharing group. Pure. Flink: `runtime.jobmaster.slotpool.SlotSharingManager` (1.8).

    A root is unresolved until its physical slot is there. Roots are found by the groups that they do not contain.

    Args:
        selection: Picks among resolved roots.
    """

    def __init__(self, selection: SlotSelectionStrategy) -> None:
        self._selection = selection
        self._nodes: dict[str, SingleTaskSlot | MultiTaskSlot] = {}
        self._roots: dict[str, MultiTaskSlot] = {}
        self._by_allocation: dict[str, MultiTaskSlot] = {}
        self._indexes: dict[str, _Index] = {}  # group -> the roots that do not contain it

    @property
    def is_empty(self) -> bool:
        """Whether nothing is kept."""
        return not (
            self._nodes or self._roots or self._by_allocation or any(len(index) for index in self._indexes.values())
        )

    def get(self, request_id: str) -> SingleTaskSlot | MultiTaskSlot | None:
        """The node of a request."""
        return self._nodes.get(request_id)

    def is_resolved(self, request_id: str) -> bool:
        """Whether the physical slot of a node is there."""
        node = self._nodes.get(request_id)
        if isinstance(node, SingleTaskSlot):
            node = node.parent
        return node is not None and node.root.slot is not None

    def create_root_slot(self, request_id: str) -> MultiTaskSlot:
        """A root whose physical slot is still to come."""
        root = MultiTaskSlot(request_id)
        self._nodes[request_id] = self._roots[request_id] = root
        for index in self._indexes.values():
            index.add(root)
        return root

    def resolve(self, request_id: str, slot: AllocatedSlot, locality: Locality) -> list[LogicalSlot] | None:
        """The physical slot of a root is there: what its tasks have now; None if the root is gone."""
        root = self._roots.get(request_id)
        if root is None:
            return None
        lacking = [index for index in self._indexes.values() if index.remove(root)]
        root.slot, root.locality = slot, locality
        self._by_allocation[slot.allocation_id] = root
        for index in lacking:
            index.add(root)
        return [LogicalSlot(leaf.request_id, slot, leaf.locality) for leaf in root.leaves()]

    def has_allocation(self, allocation_id: str) -> bool:
        """Whether a physical slot is a root already."""
        return allocation_id in self._by_allocation

    def best_resolved_root(
        self, group: str, profile: SlotProfile, needs: ResourceProfile = UNKNOWN
    ) -> tuple[MultiTaskSlot, Locality] | None:
        """The best resolved root that does not contain `group`, and how near it is."""
        resolved = self._index(group).resolved
        found = self._selection.select(resolved, profile) if len(resolved) else None
        if found is None:
            return None
        root = self._by_allocation[found[0].allocation_id]
        if root.has_room_for(needs):
            return root, found[1]
        roots = (self._by_allocation[slot.allocation_id] for slot in resolved.all())
        other = next((root for root in roots if root.has_room_for(needs)), None)
        return None if other is None else (other, Locality.UNKNOWN)

    def unresolved_root(self, group: str) -> MultiTaskSlot | None:
        """The oldest unresolved root that does not contain `group`."""
        return next(iter(self._index(group).unresolved.values()), None)

    def allocate_single(
        self,
        parent: MultiTaskSlot,
        request_id: str,
        group: str,
        locality: Locality,
        needs: ResourceProfile = UNKNOWN,
    ) -> SingleTaskSlot:
        """Put a task below a node.

        Raises:
            ValueError: a task of that group is there already.
        """
        leaf = SingleTaskSlot(request_id, group, parent, locality, needs)
        self._attach(parent, group, leaf)
        for node in _upwards(parent):
            node.reserved = node.reserved if needs.is_unknown else node.reserved.merge(needs)
        return leaf

    def allocate_multi(self, parent: MultiTaskSlot, request_id: str, group: str) -> MultiTaskSlot:
        """Put a node for co-located tasks below a root.

        Raises:
            ValueError: there is one of that group already.
        """
        node = MultiTaskSlot(request_id, group, parent)
        self._attach(parent, group, node)
        return node

    def release(self, request_id: str) -> Released:
        """Take a node away with all below it, and all above it that has no child any more."""
        node = self._nodes.get(request_id)
        if node is None:
            return Released()
        while node.parent is not None and len(node.parent.children) == 1:
            node = node.parent
        below = node.leaves() if isinstance(node, MultiTaskSlot) else [node]
        if node.parent is None:
            assert isinstance(node, MultiTaskSlot)
            self._remove_root(node)
            return Released(tuple(leaf.request_id for leaf in below), node.request_id)
        self._detach(node, below)
        return Released(tuple(leaf.request_id for leaf in below))

    def _attach(self, parent: MultiTaskSlot, group: str, node: SingleTaskSlot | MultiTaskSlot) -> None:
        root = parent.root
        if root.contains(group):
            raise ValueError(f"slot {root.request_id} has a task of {group} already; two of them can't share a slot")
        if group in self._indexes:
            self._indexes[group].remove(root)
        parent.children[group] = node
        self._nodes[node.request_id] = node

    def _detach(self, node: SingleTaskSlot | MultiTaskSlot, below: list[SingleTaskSlot]) -> None:
        """Remove what has siblings; so that no parent becomes empty."""
        assert node.parent is not None
        assert node.group is not None
        root = node.parent.root
        del node.parent.children[node.group]
        for leaf in below:
            for above in () if leaf.resource_profile.is_unknown else _upwards(node.parent):
                above.reserved = above.reserved.subtract(leaf.resource_profile)
        self._forget(node)
        for group in {node.group, *(leaf.group for leaf in below)}:
            if group in self._indexes and not root.contains(group):
                self._indexes[group].add(root)

    def _remove_root(self, root: MultiTaskSlot) -> None:
        del self._roots[root.request_id]
        for index in self._indexes.values():
            index.remove(root)
        if root.slot is not None:
            del self._by_allocation[root.slot.allocation_id]
        self._forget(root)

    def _forget(self, node: SingleTaskSlot | MultiTaskSlot) -> None:
        del self._nodes[node.request_id]
        if isinstance(node, MultiTaskSlot):
            for child in node.children.values():
                self._forget(child)

    def _index(self, group: str) -> _Index:
        index = self._indexes.get(group)
        if index is None:
            index = self._indexes[group] = _Index()
            for root in self._roots.values():
                if not root.contains(group):
                    index.add(root)
        return index


class _Index:
    """Roots that do not contain a group."""

    __slots__ = ("resolved", "unresolved")

    def __init__(self) -> None:
        self.unresolved: OrderedDict[str, MultiTaskSlot] = OrderedDict()
        self.resolved = AvailableSlots()

    def __len__(self) -> int:
        return len(self.unresolved) + len(self.resolved)

    def add(self, root: MultiTaskSlot) -> None:
        if root.slot is None:
            self.unresolved[root.request_id] = root
        else:
            self.resolved.add(root.slot, 0)

    def remove(self, root: MultiTaskSlot) -> bool:
        if root.slot is None:
            return self.unresolved.pop(root.request_id, None) is not None
        return self.resolved.remove(root.slot.allocation_id) is not None


def _upwards(node: MultiTaskSlot | None) -> list[MultiTaskSlot]:
    path = []
    while node is not None:
        path.append(node)
        node = node.parent
    return path
