"""Trees of tasks that share slots (scenarios H)."""

from __future__ import annotations

import pytest

from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import ANYWHERE, AllocatedSlot, Locality, SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_selection import LocationPreferenceSlotSelection
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot, Released, SlotSharingManager


@pytest.fixture
def manager() -> SlotSharingManager:
    return SlotSharingManager(LocationPreferenceSlotSelection())


def slot(name: str, task_manager: str = "tm", profile: ResourceProfile | None = None) -> AllocatedSlot:
    return AllocatedSlot(name, task_manager, 0, "") if profile is None else AllocatedSlot(name, "tm", 0, "", profile)


def near(task_manager: str) -> SlotProfile:
    return SlotProfile(preferred_locations=(TaskManagerLocation(task_manager),))


def test_a_root_is_unresolved_until_its_slot_is_there(manager: SlotSharingManager) -> None:  # H01
    root = manager.create_root_slot("r")
    assert manager.unresolved_root("a") is root
    assert manager.best_resolved_root("a", ANYWHERE) is None
    assert manager.resolve("r", slot("x", "tm1"), Locality.LOCAL) == []
    assert manager.unresolved_root("a") is None
    assert manager.best_resolved_root("a", near("tm1")) == (root, Locality.LOCAL)
    assert manager.best_resolved_root("a", near("tm2")) == (root, Locality.NON_LOCAL)


def test_a_failed_root_fails_all_its_leaves(manager: SlotSharingManager) -> None:  # H02 H07
    root = manager.create_root_slot("r")
    manager.allocate_single(root, "one", "a", Locality.UNKNOWN)
    node = manager.allocate_multi(root, "n", "co")
    manager.allocate_single(node, "two", "b", Locality.UNKNOWN)
    assert manager.release("r") == Released(("one", "two"), "r")
    assert manager.is_empty
    assert manager.release("r") == manager.release("one") == Released()


@pytest.mark.parametrize("is_resolved", [True, False])
def test_a_root_that_contains_the_vertex_is_not_found(
    manager: SlotSharingManager, is_resolved: bool
) -> None:  # H03 H04
    root = manager.create_root_slot("r")
    if is_resolved:
        manager.resolve("r", slot("x"), Locality.LOCAL)
    manager.best_resolved_root("b", ANYWHERE)  # makes what is kept about b older than the task
    node = manager.allocate_multi(root, "n", "co")
    manager.allocate_single(node, "two", "b", Locality.UNKNOWN)
    for group in ("b", "co"):
        assert manager.best_resolved_root(group, ANYWHERE) is None
        assert manager.unresolved_root(group) is None
    found = manager.best_resolved_root("c", ANYWHERE) if is_resolved else manager.unresolved_root("c")
    assert found == ((root, Locality.UNCONSTRAINED) if is_resolved else root)


def test_two_tasks_of_a_vertex_cannot_share_a_slot(manager: SlotSharingManager) -> None:  # H03
    root = manager.create_root_slot("r")
    manager.allocate_single(root, "one", "a", Locality.UNKNOWN)
    with pytest.raises(ValueError, match="slot r has a task of a already"):
        manager.allocate_single(root, "two", "a", Locality.UNKNOWN)


def test_releasing_a_leaf_keeps_its_siblings(manager: SlotSharingManager) -> None:  # H05
    root = manager.create_root_slot("r")
    manager.allocate_single(root, "one", "a", Locality.UNKNOWN)
    manager.allocate_single(root, "two", "b", Locality.UNKNOWN)
    assert manager.release("one") == Released(("one",), None)
    assert manager.get("r") is root
    assert manager.unresolved_root("a") is root
    assert manager.unresolved_root("b") is None


def test_the_last_leaf_releases_all_above_once(manager: SlotSharingManager) -> None:  # H06
    root = manager.create_root_slot("r")
    manager.resolve("r", slot("x"), Locality.LOCAL)
    node = manager.allocate_multi(root, "n", "co")
    manager.allocate_single(node, "one", "a", Locality.UNKNOWN)
    manager.allocate_single(node, "two", "b", Locality.UNKNOWN)
    assert manager.release("one") == Released(("one",), None)
    assert manager.release("two") == Released(("two",), "r")
    assert manager.release("two") == Released()
    assert manager.is_empty


def test_a_released_root_leaves_its_place(manager: SlotSharingManager) -> None:  # H08
    first, second = manager.create_root_slot("r1"), manager.create_root_slot("r2")
    manager.resolve("r1", slot("x", "tm1"), Locality.LOCAL)
    manager.resolve("r2", slot("y", "tm1"), Locality.LOCAL)
    assert manager.best_resolved_root("a", near("tm1")) == (first, Locality.LOCAL)
    manager.release("r1")
    assert manager.best_resolved_root("a", near("tm1")) == (second, Locality.LOCAL)
    manager.release("r2")
    assert manager.best_resolved_root("a", near("tm1")) is None
    assert manager.is_empty


def test_a_leaf_keeps_the_locality_of_its_request(manager: SlotSharingManager) -> None:  # H09
    root = manager.create_root_slot("r")
    manager.allocate_single(root, "one", "a", Locality.UNKNOWN)
    manager.allocate_single(root, "two", "b", Locality.LOCAL)
    assert manager.resolve("r", slot("x"), Locality.NON_LOCAL) == [
        LogicalSlot("one", slot("x"), Locality.UNKNOWN),
        LogicalSlot("two", slot("x"), Locality.LOCAL),
    ]


def test_a_slot_for_a_released_root_is_not_used(manager: SlotSharingManager) -> None:  # H13
    manager.create_root_slot("r")
    manager.release("r")
    assert manager.resolve("r", slot("x"), Locality.LOCAL) is None
    assert manager.is_empty


def test_tasks_that_declare_resources_need_room(manager: SlotSharingManager) -> None:  # H19
    whole, half = ResourceProfile(cpu_cores=2), ResourceProfile(cpu_cores=1)
    root = manager.create_root_slot("r")
    manager.resolve("r", slot("x", profile=whole), Locality.LOCAL)
    manager.allocate_single(root, "one", "a", Locality.LOCAL, half)
    assert manager.best_resolved_root("b", ANYWHERE, half) == (root, Locality.UNCONSTRAINED)
    assert manager.best_resolved_root("b", ANYWHERE, whole) is None
    manager.allocate_single(root, "two", "b", Locality.LOCAL, half)
    assert manager.best_resolved_root("c", ANYWHERE, half) is None
    manager.release("one")
    assert manager.best_resolved_root("c", ANYWHERE, half) == (root, Locality.UNCONSTRAINED)
