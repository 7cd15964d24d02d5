"""The slots shared by the tasks of one slot sharing group, as trees of tasks."""

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
    """The share of a slot that one task has. Flink: `runtime.jobmaster.slotpool.SingleLogicalSlot`.

    Attributes:
        request_id: The task's request.
        slot: The shared physical slot.
        locality: Its locality with respect to the preferred location.
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
    """A node with children: a root for a physical slot, or an inner node for co-located tasks.

    Flink: `SlotSharingManager.MultiTaskSlot`.

    Attributes:
        request_id: Its id; for a root also the id of the physical slot's request.
        group: Its group in the parent: an id of co-located tasks; None for a root.
        parent: Its parent; None for a root.
        children: Its children by group: a vertex, or an id of co-located tasks.
        slot: The physical slot, once a root is resolved.
        locality: The locality of the physical slot.
        reserved: The total resources declared by its tasks.
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
        """The root of the tree."""
        return self if self.parent is None else self.parent.root

    def contains(self, group: str) -> bool:
        """Return whether a descendant belongs to a group."""
        return group in self.children or any(
            isinstance(child, MultiTaskSlot) and child.contains(group) for child in self.children.values()
        )

    def leaves(self) -> list[SingleTaskSlot]:
        """Return all tasks of the subtree."""
        found: list[SingleTaskSlot] = []
        for child in self.children.values():
            found += [child] if isinstance(child, SingleTaskSlot) else child.leaves()
        return found

    def has_room_for(self, wanted: ResourceProfile) -> bool:
        """Return whether the slot has enough resources left; a pending slot always may."""
        # How large a pending slot will be is not known; `has_room_for` is asked again by those that come later.
        if self.slot is None or wanted.is_unknown:
            return True
        return self.slot.resource_profile.subtract(self.reserved).all_fields_no_less_than(wanted)


@dataclass(frozen=True, slots=True)
class Released:
    """The result of a release.

    Attributes:
        leaves: The requests of all removed tasks.
        root: The request of the physical slot, if it is no longer needed.
    """

    leaves: tuple[str, ...] = ()
    root: str | None = None


class SlotSharingManager:
    """The shared slots of one slot sharing group. Pure. Flink: `runtime.jobmaster.slotpool.SlotSharingManager` (1.8).

    A root is unresolved until its physical slot is allocated. Roots are indexed by the groups that they do not contain.

    Args:
        selection: Selects among resolved roots.
    """

    def __init__(self, selection: SlotSelectionStrategy) -> None:
        self._selection = selection
        self._nodes: dict[str, SingleTaskSlot | MultiTaskSlot] = {}
        self._roots: dict[str, MultiTaskSlot] = {}
        self._by_allocation: dict[str, MultiTaskSlot] = {}
        self._indexes: dict[str, _Index] = {}  # group -> the roots that do not contain it

    @property
    def is_empty(self) -> bool:
        """Whether there are no slots."""
        return not (
            self._nodes or self._roots or self._by_allocation or any(len(index) for index in self._indexes.values())
        )

    def get(self, request_id: str) -> SingleTaskSlot | MultiTaskSlot | None:
        """Return the node of a request."""
        return self._nodes.get(request_id)

    def is_resolved(self, request_id: str) -> bool:
        """Return whether the physical slot of a node is allocated."""
        node = self._nodes.get(request_id)
        if isinstance(node, SingleTaskSlot):
            node = node.parent
        return node is not None and node.root.slot is not None

    def create_root_slot(self, request_id: str) -> MultiTaskSlot:
        """Create a root whose physical slot is pending."""
        root = MultiTaskSlot(request_id)
        self._nodes[request_id] = self._roots[request_id] = root
        for index in self._indexes.values():
            index.add(root)
        return root

    def resolve(self, request_id: str, slot: AllocatedSlot, locality: Locality) -> list[LogicalSlot] | None:
        """Set the physical slot of a root; return the logical slots of its tasks, None if the root is gone."""
        root = self._roots.get(request_id)
        if root is None:
            return None
        # An index keeps pending and allocated roots apart by `slot`, so the root leaves before `slot` is set, and then
        # returns.
        lacking = [index for index in self._indexes.values() if index.remove(root)]
        root.slot, root.locality = slot, locality
        self._by_allocation[slot.allocation_id] = root
        for index in lacking:
            index.add(root)
        return [LogicalSlot(leaf.request_id, slot, leaf.locality) for leaf in root.leaves()]

    def has_allocation(self, allocation_id: str) -> bool:
        """Return whether a physical slot already belongs to a root."""
        return allocation_id in self._by_allocation

    def best_resolved_root(
        self, group: str, profile: SlotProfile, needs: ResourceProfile = UNKNOWN
    ) -> tuple[MultiTaskSlot, Locality] | None:
        """Return the best resolved root that does not contain `group`, and its locality."""
        resolved = self._index(group).resolved
        found = self._selection.select(resolved, profile) if len(resolved) else None
        if found is None:
            return None
        root = self._by_allocation[found[0].allocation_id]
        if root.has_room_for(needs):
            return root, found[1]
        roots = (self._by_allocation[slot.allocation_id] for slot in resolved.all())
        # The selection knows localities, but not what is reserved; a slot with room is worth more than one that is
        # near.
        other = next((root for root in roots if root.has_room_for(needs)), None)
        return None if other is None else (other, Locality.UNKNOWN)

    def unresolved_root(self, group: str) -> MultiTaskSlot | None:
        """Return the oldest unresolved root that does not contain `group`."""
        return next(iter(self._index(group).unresolved.values()), None)

    def allocate_single(
        self,
        parent: MultiTaskSlot,
        request_id: str,
        group: str,
        locality: Locality,
        needs: ResourceProfile = UNKNOWN,
    ) -> SingleTaskSlot:
        """Add a task below a node.

        Raises:
            ValueError: the slot already has a task of that group.
        """
        leaf = SingleTaskSlot(request_id, group, parent, locality, needs)
        self._attach(parent, group, leaf)
        for node in _upwards(parent):
            node.reserved = node.reserved if needs.is_unknown else node.reserved.merge(needs)
        return leaf

    def allocate_multi(self, parent: MultiTaskSlot, request_id: str, group: str) -> MultiTaskSlot:
        """Add a node for co-located tasks below a root.

        Raises:
            ValueError: the slot already has a node of that group.
        """
        node = MultiTaskSlot(request_id, group, parent)
        self._attach(parent, group, node)
        return node

    def release(self, request_id: str) -> Released:
        """Remove a node with its descendants, and ancestors that become empty."""
        node = self._nodes.get(request_id)
        if node is None:
            return Released()
        # A parent whose only child goes would be empty, so it goes as a whole; at the top that frees the physical slot.
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
        # It must be found neither for this group nor, by its old place in the index, when its slot is allocated.
        if group in self._indexes:
            self._indexes[group].remove(root)
        parent.children[group] = node
        self._nodes[node.request_id] = node

    def _detach(self, node: SingleTaskSlot | MultiTaskSlot, below: list[SingleTaskSlot]) -> None:
        """Remove a node that has siblings, so that no parent becomes empty."""
        assert node.parent is not None
        assert node.group is not None
        root = node.parent.root
        del node.parent.children[node.group]
        for leaf in below:
            for above in () if leaf.resource_profile.is_unknown else _upwards(node.parent):
                above.reserved = above.reserved.subtract(leaf.resource_profile)
        self._forget(node)
        for group in {node.group, *(leaf.group for leaf in below)}:
            # Another task of the group may still be in the root, below another node of co-located tasks.
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
            # Made on first use, as each index is updated with each root that comes, goes or is allocated.
            index = self._indexes[group] = _Index()
            for root in self._roots.values():
                if not root.contains(group):
                    index.add(root)
        return index


class _Index:
    """The roots that do not contain a group."""

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
