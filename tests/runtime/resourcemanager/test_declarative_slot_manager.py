"""DeclarativeSlotManager (scenario J28)."""

from __future__ import annotations

import pytest

from firesteel.runtime.resourcemanager.declarative_slot_manager import (
    CheckRequirements,
    DeclarativeSlotManager,
    NotifyNotEnoughResources,
    missing_slots,
)
from firesteel.runtime.resourcemanager.slot_manager_actions import AllocateWorkers, AssignSlot
from firesteel.runtime.resourcemanager.slot_manager_options import SlotManagerOptions
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotStatus
from firesteel.runtime.slotpool.declarative_slot_pool import DeclarativeSlotPool
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import SlotOffer

NOW = 0.0
BIG, SMALL = ResourceProfile(cpu_cores=2), ResourceProfile(cpu_cores=1)
CHECK = [CheckRequirements(0.05)]


def report(*owners: str | None, profile: ResourceProfile = SMALL) -> SlotReport:
    """Slots 0, 1, ...; those of a job are allocated under `job/index`."""
    return SlotReport(tuple(SlotStatus(i, job, f"{job}/{i}" if job else None, profile) for i, job in enumerate(owners)))


def with_workers(
    worker_slot: ResourceProfile = SMALL, slots_per_worker: int = 1, **options: float
) -> SlotManagerOptions:
    return SlotManagerOptions(worker_slot, slots_per_worker, **options)  # type: ignore[arg-type]


@pytest.fixture
def manager() -> DeclarativeSlotManager:
    """Two small free slots at TaskExecutor instance `tm`; no more can be obtained."""
    manager = DeclarativeSlotManager("rm")
    manager.register_task_manager("tm", report(None, None), NOW)
    manager.check(NOW)
    return manager


def assigned(actions: list[object]) -> list[tuple[str, str, int]]:
    return [
        (action.request.job_id, action.instance_id, action.slot_index)
        for action in actions
        if isinstance(action, AssignSlot)
    ]


def test_several_changes_are_followed_by_one_delayed_check(manager: DeclarativeSlotManager) -> None:  # J28
    assert manager.declare_requirements("a", "jm-a", {SMALL: 1}) == CHECK
    assert manager.declare_requirements("a", "jm-a", {SMALL: 2}) == []
    assert manager.declare_requirements("b", "jm-b", {SMALL: 1}) == []
    assert manager.slots_free == 2
    assert assigned(manager.check(NOW)) == [("a", "tm", 0), ("a", "tm", 1)]
    assert manager.declare_requirements("b", "jm-b", {SMALL: 2}) == CHECK


def test_a_job_gets_exactly_the_slots_of_each_profile_that_it_declared() -> None:  # J28
    manager = DeclarativeSlotManager("rm")
    manager.register_task_manager("small", report(None, None, None), NOW)
    manager.register_task_manager("big", report(None, None, profile=BIG), NOW)
    manager.declare_requirements("a", "jm-a", {SMALL: 2, BIG: 1})
    actions = manager.check(NOW)
    assert assigned(actions) == [("a", "small", 0), ("a", "small", 1), ("a", "big", 0)]
    assert {action.request.job_master_address for action in actions} == {"jm-a"}
    assert len({action.request.allocation_id for action in actions}) == 3
    for action in actions:
        manager.slot_assigned(action, NOW)
    assert manager.missing("a") == {}
    assert manager.check(NOW) == []
    assert manager.slots_free == 2


def test_after_a_larger_declaration_only_missing_slots_are_assigned(manager: DeclarativeSlotManager) -> None:  # J28
    manager.declare_requirements("a", "jm-a", {SMALL: 1})
    assert assigned(manager.check(NOW)) == [("a", "tm", 0)]
    manager.declare_requirements("a", "jm-a", {SMALL: 2})
    assert assigned(manager.check(NOW)) == [("a", "tm", 1)]


def test_a_job_without_requirements_gets_no_free_slots(manager: DeclarativeSlotManager) -> None:  # J28
    manager.declare_requirements("a", "jm-a", {SMALL: 3})
    for action in manager.check(NOW):
        if isinstance(action, AssignSlot):
            manager.slot_assigned(action, NOW)
    manager.declare_requirements("a", "jm-a", {})
    manager.free_slot("tm", 0, "rm-0", NOW)
    assert manager.check(NOW) == []
    assert manager.slots_free == 1


def test_too_few_slots_are_a_notification_and_the_requirement_stays(manager: DeclarativeSlotManager) -> None:  # J28
    manager.declare_requirements("a", "jm-a", {SMALL: 3})
    *_, told = manager.check(NOW)
    assert told == NotifyNotEnoughResources("a", ((SMALL, 2),))
    assert manager.register_task_manager("late", report(None), NOW) == CHECK
    assert assigned(manager.check(NOW)) == [("a", "late", 0)]


def test_no_shortage_of_slots_is_reported_during_startup(manager: DeclarativeSlotManager) -> None:  # J28
    assert manager.notify_not_enough(False) == []
    manager.declare_requirements("a", "jm-a", {BIG: 1})
    assert manager.check(NOW) == []
    assert manager.notify_not_enough(True) == CHECK
    assert manager.check(NOW) == [NotifyNotEnoughResources("a", ())]


def test_workers_are_requested_for_slots_that_announced_ones_do_not_cover() -> None:  # J28
    manager = DeclarativeSlotManager("rm", with_workers(slots_per_worker=2))
    manager.declare_requirements("a", "jm-a", {SMALL: 3})
    assert manager.check(NOW) == [AllocateWorkers(2)]
    assert manager.slots_pending == 4
    manager.declare_requirements("b", "jm-b", {SMALL: 1})
    assert manager.check(NOW) == []
    manager.declare_requirements("b", "jm-b", {UNKNOWN: 2})
    assert manager.check(NOW) == [AllocateWorkers(1)]
    manager.register_task_manager("w1", report(None, None), NOW)
    assert manager.slots_pending == 4
    assert assigned(manager.check(NOW)) == [("a", "w1", 0), ("a", "w1", 1)]
    assert manager.workers_lost(1) == CHECK
    assert manager.check(NOW) == [AllocateWorkers(1)]


def test_jobs_lack_slots_beyond_the_maximum_and_of_other_profiles() -> None:  # J28
    manager = DeclarativeSlotManager("rm", with_workers(slots_per_worker=2, max_slots=3))
    manager.declare_requirements("a", "jm-a", {SMALL: 3})
    manager.declare_requirements("b", "jm-b", {BIG: 1})
    assert manager.check(NOW) == [
        AllocateWorkers(1),
        NotifyNotEnoughResources("a", ()),
        NotifyNotEnoughResources("b", ()),
    ]


def test_slots_lost_with_their_task_executor_are_replaced(manager: DeclarativeSlotManager) -> None:  # J28
    manager.declare_requirements("a", "jm-a", {SMALL: 2})
    first, _ = manager.check(NOW)
    assert isinstance(first, AssignSlot)
    manager.slot_assigned(first, NOW)
    manager.register_task_manager("other", report(None, None), NOW)
    manager.check(NOW)
    assert manager.unregister_task_manager("tm") == CHECK
    assert assigned(manager.check(NOW)) == [("a", "other", 0), ("a", "other", 1)]
    manager.slot_assigned(first, NOW)
    assert manager.missing("a") == {}


def test_a_refused_slot_is_replaced_and_unused_until_its_next_report() -> None:  # J28
    manager = DeclarativeSlotManager("rm")
    manager.register_task_manager("tm", report(None, None, None), NOW)
    manager.declare_requirements("a", "jm-a", {SMALL: 1})
    (first,) = manager.check(NOW)
    assert isinstance(first, AssignSlot)
    assert manager.slot_assignment_failed(first, NOW, SlotStatus(0, "b", "b/0", SMALL)) == CHECK
    (second,) = manager.check(NOW)
    assert isinstance(second, AssignSlot)
    assert second.slot_index == 1
    manager.slot_assignment_failed(second, NOW)
    assert assigned(manager.check(NOW)) == [("a", "tm", 2)]
    manager.declare_requirements("a", "jm-a", {SMALL: 2})
    assert assigned(manager.check(NOW)) == []
    manager.report_slot_status("tm", report("b", None, None), NOW)
    assert assigned(manager.check(NOW)) == [("a", "tm", 1)]


def test_slots_reported_to_a_new_leader_count_for_their_job() -> None:  # J28
    manager = DeclarativeSlotManager("rm")
    manager.declare_requirements("a", "jm-a", {SMALL: 2})
    manager.register_task_manager("tm", report("a", None, None), NOW)
    assert assigned(manager.check(NOW)) == [("a", "tm", 1)]


@pytest.mark.parametrize(
    ("required", "acquired", "missing"),
    [
        ({SMALL: 2}, {SMALL: 3}, {}),
        ({SMALL: 2}, {BIG: 3}, {SMALL: 2}),
        ({UNKNOWN: 2}, {BIG: 1}, {UNKNOWN: 1}),
        ({UNKNOWN: 1, SMALL: 1}, {SMALL: 1, BIG: 1}, {}),
        ({SMALL: 1, BIG: 1}, {ANY: 1, SMALL: 1}, {}),
        ({SMALL: 2, BIG: 2}, {ANY: 1, SMALL: 1}, {BIG: 2}),
    ],
)
def test_a_slot_counts_for_the_most_specific_requirement(
    required: dict[ResourceProfile, int], acquired: dict[ResourceProfile, int], missing: dict[ResourceProfile, int]
) -> None:  # J28
    assert missing_slots(required, acquired) == missing


def test_pool_and_manager_agree_on_the_slots_of_a_job(manager: DeclarativeSlotManager) -> None:  # J28 G30
    pool = DeclarativeSlotPool()
    (declared,) = pool.increase_requirements({SMALL: 2})
    manager.declare_requirements("a", "jm-a", dict(declared.requirements))  # type: ignore[union-attr]
    for action in manager.check(NOW):
        assert isinstance(action, AssignSlot)
        manager.slot_assigned(action, NOW)
        offer = SlotOffer(action.request.allocation_id, action.slot_index, "", SMALL)
        assert pool.offer_slots(action.instance_id, [offer], NOW)[0] == [offer]
    assert pool.missing == manager.missing("a") == {}
