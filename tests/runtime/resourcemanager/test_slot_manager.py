"""SlotManager (scenarios J)."""

from __future__ import annotations

import pytest

from firesteel.runtime.resourcemanager.slot_manager import SlotManager, SlotManagerNotStartedError
from firesteel.runtime.resourcemanager.slot_manager_actions import (
    AllocateWorkers,
    AskIfReleasable,
    AssignSlot,
    NotifyAllocationFailure,
    ReleaseWorker,
)
from firesteel.runtime.resourcemanager.slot_manager_options import SlotManagerOptions
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest, SlotStatus
from firesteel.runtime.slotpool.resource_profile import ANY, UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import UnfulfillableSlotRequestError

NOW = 0.0
BIG, SMALL = ResourceProfile(cpu_cores=2), ResourceProfile(cpu_cores=1)


def request(allocation_id: str, profile: ResourceProfile = UNKNOWN) -> SlotRequest:
    return SlotRequest("job", allocation_id, "jobmanager", profile)


def report(*allocations: str | None, profile: ResourceProfile = ANY) -> SlotReport:
    """Slots 0, 1, ... with these allocations."""
    return SlotReport(
        tuple(
            SlotStatus(i, "job" if allocation else None, allocation, profile)
            for i, allocation in enumerate(allocations)
        )
    )


def started(worker_slot: ResourceProfile | None = None, slots_per_worker: int = 1, **options: object) -> SlotManager:
    """A manager that can obtain workers if `worker_slot` is the profile of their slots."""
    manager = SlotManager(SlotManagerOptions(worker_slot, slots_per_worker, **options))  # type: ignore[arg-type]
    manager.start()
    return manager


@pytest.fixture
def manager() -> SlotManager:
    """Two free slots at TaskExecutor instance `tm`; more can't be obtained."""
    manager = started()
    manager.register_task_manager("tm", report(None, None), NOW)
    return manager


def test_the_same_allocation_is_requested_once(manager: SlotManager) -> None:  # J01
    assert manager.register_slot_request(request("a"), NOW) == (True, [AssignSlot("tm", 0, request("a"))])
    assert manager.register_slot_request(request("a"), NOW) == (False, [])


def test_a_free_slot_is_requested_and_then_belongs_to_the_job(manager: SlotManager) -> None:  # J02 J13
    _, (assignment,) = manager.register_slot_request(request("a"), NOW)
    assert manager.slots_free == 1
    manager.slot_assigned(assignment, NOW)
    assert manager.register_slot_request(request("a"), NOW) == (False, [])
    assert (manager.slots_total, manager.slots_free) == (2, 1)


def test_a_worker_brings_slots_for_several_requests() -> None:  # J03 J04
    manager = started(ANY, slots_per_worker=2)
    assert manager.register_slot_request(request("a"), NOW) == (True, [AllocateWorkers(1)])
    assert manager.register_slot_request(request("b"), NOW) == (True, [])
    assert manager.register_slot_request(request("c"), NOW) == (True, [AllocateWorkers(1)])
    assert manager.slots_pending == 4


def test_unfulfillable_requests_fail_at_once_and_those_that_fit_an_occupied_slot_wait() -> None:  # J05
    manager = started(SMALL)
    with pytest.raises(UnfulfillableSlotRequestError, match="no slot can ever serve the request of job job for"):
        manager.register_slot_request(request("a", BIG), NOW)
    assert manager.unregister_slot_request("a") is False
    manager.register_task_manager("tm", report("x", profile=BIG), NOW)
    assert manager.register_slot_request(request("a", BIG), NOW) == (True, [])
    assert manager.free_slot("tm", 0, "x", NOW) == [AssignSlot("tm", 0, request("a", BIG))]


def test_in_the_grace_period_hopeless_requests_wait_until_it_ends() -> None:  # J06
    manager = started()
    assert manager.fail_unfulfillable(False) == []
    manager.register_slot_request(request("a", BIG), NOW)
    manager.register_slot_request(request("b"), NOW)
    manager.register_task_manager("tm", report("x", profile=SMALL), NOW)
    (failure,) = manager.fail_unfulfillable(True)
    assert isinstance(failure, NotifyAllocationFailure)
    assert (failure.job_id, failure.allocation_id) == ("job", "a")
    assert manager.free_slot("tm", 0, "x", NOW) == [AssignSlot("tm", 0, request("b"))]


def test_no_worker_is_requested_beyond_the_maximum_of_slots() -> None:  # J07
    manager = started(ANY, slots_per_worker=2, max_slots=5)
    actions = [manager.register_slot_request(request(name), NOW)[1] for name in "abcde"]
    assert actions == [[AllocateWorkers(1)], [], [AllocateWorkers(1)], [], []]
    manager.register_task_manager("one", report(None, None), NOW)
    assert manager.register_slot_request(request("f"), NOW)[1] == []


def test_a_new_slot_serves_the_request_that_it_was_announced_for() -> None:  # J08
    manager = started(SMALL)
    manager.register_slot_request(request("a", SMALL), NOW)
    other = manager.register_task_manager("other", report(None, profile=BIG), NOW)
    assert (other, manager.slots_pending, manager.slots_free) == ((True, []), 1, 1)
    manager.register_slot_request(request("b", BIG), NOW)
    assert manager.register_task_manager("tm", report(None, profile=SMALL), NOW) == (
        True,
        [AssignSlot("tm", 0, request("a", SMALL))],
    )
    assert manager.slots_pending == 0


def test_an_unrequested_slot_serves_any_request_or_is_free() -> None:  # J08
    manager = started(ANY, slots_per_worker=2)
    manager.register_slot_request(request("a"), NOW)
    manager.unregister_slot_request("a")
    manager.register_slot_request(request("b"), NOW)
    assert manager.register_task_manager("tm", report(None, None), NOW)[1] == [AssignSlot("tm", 0, request("b"))]
    assert (manager.slots_free, manager.slots_pending) == (1, 0)


def test_an_allocated_slot_of_a_new_task_executor_fulfils_its_request() -> None:  # J09
    manager = started(ANY)
    manager.register_slot_request(request("a"), NOW)
    manager.register_task_manager("tm", report("a"), NOW)
    assert manager.slots_pending == 1
    assert (manager.slots_total, manager.slots_free) == (1, 0)
    assert manager.unregister_slot_request("a") is False


def test_a_known_instance_only_reports(manager: SlotManager) -> None:  # J10
    assert manager.register_task_manager("tm", report("x", None), NOW)[0] is False
    assert manager.slots_free == 1


def test_an_occupied_slot_is_noted_and_the_request_goes_elsewhere(manager: SlotManager) -> None:  # J14
    _, (assignment,) = manager.register_slot_request(request("a"), NOW)
    actions = manager.slot_assignment_failed(assignment, NOW, SlotStatus(0, "other", "x"))
    assert actions == [AssignSlot("tm", 1, request("a"))]
    assert manager.slots_free == 0


def test_a_failed_assignment_frees_the_slot_and_tries_another(manager: SlotManager) -> None:  # J14
    _, (assignment,) = manager.register_slot_request(request("a"), NOW)
    assert manager.slot_assignment_failed(assignment, NOW) == [AssignSlot("tm", 1, request("a"))]
    assert manager.slots_free == 1


def test_a_task_executor_that_refused_a_slot_is_not_asked_again_before_its_next_report(
    manager: SlotManager,
) -> None:  # J14
    _, (first,) = manager.register_slot_request(request("a"), NOW)
    assert isinstance(first, AssignSlot)
    (second,) = manager.slot_assignment_failed(first, NOW)
    assert isinstance(second, AssignSlot)
    assert manager.slot_assignment_failed(second, NOW) == []
    assert (manager.slots_free, manager.slots_wanted) == (2, 1)
    assert manager.report_slot_status("tm", report(None, None), NOW) == (True, [AssignSlot("tm", 0, request("a"))])


def test_a_request_withdrawn_while_it_is_assigned_is_not_tried_again(manager: SlotManager) -> None:  # J15 J21
    _, (assignment,) = manager.register_slot_request(request("a"), NOW)
    assert manager.unregister_slot_request("a") is True
    assert manager.slot_assignment_failed(assignment, NOW) == []
    assert manager.slots_free == 2


def test_a_report_during_an_assignment_changes_nothing_unless_it_names_the_allocation(
    manager: SlotManager,
) -> None:  # J16
    manager.register_slot_request(request("a"), NOW)
    assert manager.report_slot_status("tm", report(None, None), NOW) == (True, [])
    assert manager.report_slot_status("tm", report("x", None), NOW) == (True, [AssignSlot("tm", 1, request("a"))])


def test_a_report_determines_the_allocation_of_a_slot(manager: SlotManager) -> None:  # J17
    manager.report_slot_status("tm", report("a", None), NOW)
    manager.report_slot_status("tm", report("b", None), NOW)
    assert manager.free_slot("tm", 0, "a", NOW) == []
    assert manager.slots_free == 1
    manager.free_slot("tm", 0, "b", NOW)
    assert manager.slots_free == 2


def test_a_slot_reported_free_serves_the_next_request(manager: SlotManager) -> None:  # J18
    manager.report_slot_status("tm", report("a", "b"), NOW)
    manager.register_slot_request(request("c"), NOW)
    assert manager.report_slot_status("tm", report(None, "b"), NOW) == (True, [AssignSlot("tm", 0, request("c"))])


def test_reports_of_strangers_are_ignored(manager: SlotManager) -> None:  # J19
    assert manager.report_slot_status("other", report("x"), NOW) == (False, [])
    manager.report_slot_status("tm", report(None, None, "x"), NOW)
    assert manager.slots_total == 2


def test_only_the_owner_frees_a_slot_which_then_serves_the_next(manager: SlotManager) -> None:  # J20
    manager.report_slot_status("tm", report("a", "b"), NOW)
    manager.register_slot_request(request("c"), NOW)
    for wrong in (("tm", 0, "b"), ("tm", 7, "a"), ("other", 0, "a")):
        assert manager.free_slot(*wrong, NOW) == []
    assert manager.free_slot("tm", 0, "a", NOW) == [AssignSlot("tm", 0, request("c"))]


def test_a_waiting_request_is_withdrawn_for_good(manager: SlotManager) -> None:  # J21
    manager.report_slot_status("tm", report("a", "b"), NOW)
    manager.register_slot_request(request("c"), NOW)
    assert manager.unregister_slot_request("c") is True
    assert manager.unregister_slot_request("c") is False
    assert manager.free_slot("tm", 0, "a", NOW) == []


def test_a_lost_task_executor_fails_its_allocations_and_its_requests_go_elsewhere(manager: SlotManager) -> None:  # J22
    manager.fail_unfulfillable(False)
    manager.report_slot_status("tm", report("a", None), NOW)
    manager.register_slot_request(request("c"), NOW)
    assert manager.unregister_task_manager("tm", "gone", NOW) == (
        True,
        [NotifyAllocationFailure("job", "a", "gone")],
    )
    assert manager.unregister_task_manager("tm", "gone", NOW) == (False, [])
    assert manager.register_task_manager("new", report(None), NOW)[1] == [AssignSlot("new", 0, request("c"))]


def test_a_slot_under_a_new_instance_replaces_the_old_one_whose_allocation_failed(manager: SlotManager) -> None:  # J11
    manager.register_task_manager("first", report("a"), NOW, resource_id="host")
    came, actions = manager.register_task_manager("second", report("a"), NOW, resource_id="host")
    assert (came, actions) == (
        True,
        [NotifyAllocationFailure("job", "a", "its TaskExecutor registered anew")],
    )
    assert manager.report_slot_status("first", report(None), NOW) == (False, [])
    assert (manager.slots_total, manager.slots_free) == (3, 2)


def test_a_task_executor_above_the_maximum_is_released_unless_its_slots_were_announced() -> None:  # J12
    manager = started(ANY, max_slots=1)
    manager.register_slot_request(request("a"), NOW)
    assert manager.register_task_manager("announced", report(None), NOW)[0] is True
    cause = "its slots would exceed slotmanager.number-of-slots.max, which is 1"
    assert manager.register_task_manager("late", report(None), NOW) == (False, [ReleaseWorker("late", cause)])
    assert manager.slots_total == 1


def test_requests_that_time_out_fail_and_the_job_is_notified() -> None:  # J23
    manager = started(ANY, request_timeout_s=10)
    manager.register_slot_request(request("a"), 0)
    manager.register_slot_request(request("b"), 5)
    cause = "no slot was found for the request within 10 s (slot.request.timeout)"
    assert manager.check_request_timeouts(9.9) == []
    assert manager.check_request_timeouts(10) == [NotifyAllocationFailure("job", "a", cause)]
    assert manager.register_task_manager("tm", report(None), 11)[1] == [AssignSlot("tm", 0, request("b"))]
    assert manager.check_request_timeouts(15) == [NotifyAllocationFailure("job", "b", cause)]


def test_a_fulfilled_request_does_not_time_out(manager: SlotManager) -> None:  # J23
    _, (assignment,) = manager.register_slot_request(request("a"), 0)
    assert isinstance(assignment, AssignSlot)
    manager.slot_assigned(assignment, 1)
    assert manager.check_request_timeouts(1e6) == []


def test_an_idle_worker_is_released_after_it_agreed_and_only_if_it_is_still_idle() -> None:  # J24
    manager = started(ANY, idle_timeout_s=30)
    manager.register_task_manager("tm", report(None), 0)
    assert manager.check_idle(29) == []
    assert manager.check_idle(30) == [AskIfReleasable("tm")]
    assert manager.releasable("tm", False, 30) == []
    assert manager.releasable("tm", True, 30) == [
        ReleaseWorker("tm", "it was idle for 30 s (resourcemanager.taskmanager-timeout)")
    ]
    manager.register_slot_request(request("a"), 31)
    assert manager.releasable("tm", True, 31) == []
    assert manager.check_idle(100) == []


def test_an_idle_worker_is_released_at_once_where_results_are_not_waited_for() -> None:  # J24
    manager = started(ANY, waits_for_results=False)
    manager.register_task_manager("tm", report("a"), 0)
    manager.free_slot("tm", 0, "a", 10)
    assert manager.check_idle(39) == []
    assert [type(action) for action in manager.check_idle(40)] == [ReleaseWorker]


def test_redundant_workers_are_kept_free_while_a_job_runs() -> None:  # J25
    manager = started(ANY, slots_per_worker=2, redundant_workers=1, waits_for_results=False)
    manager.register_task_manager("busy", report("a", None), 0)
    assert manager.check_idle(100) == [AllocateWorkers(1)]
    assert manager.check_idle(100) == []
    manager.register_task_manager("spare", report(None, None), 100)
    assert manager.check_idle(200) == []
    manager.register_task_manager("more", report(None, None), 200)
    assert [action.instance_id for action in manager.check_idle(300)] == ["spare"]  # type: ignore[union-attr]


def test_all_idle_workers_are_released_when_no_job_runs() -> None:  # J25
    manager = started(ANY, slots_per_worker=2, redundant_workers=1, waits_for_results=False)
    manager.register_task_manager("one", report(None, None), 0)
    manager.register_task_manager("other", report(None, None), 0)
    assert len(manager.check_idle(30)) == 2


def test_nothing_is_served_before_the_start_and_nothing_is_known_after_a_suspension() -> None:  # J26
    manager = SlotManager()
    for call in (
        lambda: manager.register_slot_request(request("a"), NOW),
        lambda: manager.unregister_slot_request("a"),
        lambda: manager.register_task_manager("tm", report(None), NOW),
    ):
        with pytest.raises(SlotManagerNotStartedError, match="was not started"):
            call()
    manager.start()
    manager.register_task_manager("tm", report("x"), NOW)
    manager.register_slot_request(request("a"), NOW)
    manager.suspend()
    manager.start()
    assert (manager.slots_total, manager.slots_wanted) == (0, 0)
    assert manager.check_request_timeouts(1e6) == []


def test_slots_are_taken_in_the_order_of_registration_or_of_the_least_used_worker() -> None:  # J27
    for spreads_out, expected in ((False, ["one", "one", "other"]), (True, ["one", "other", "one"])):
        manager = started(spreads_out=spreads_out)
        manager.register_task_manager("one", report(None, None), NOW)
        manager.register_task_manager("other", report(None, None), NOW)
        found = [manager.register_slot_request(request(name), NOW)[1][0] for name in "abc"]
        assert [action.instance_id for action in found] == expected  # type: ignore[union-attr]


def test_lost_workers_are_requested_again() -> None:  # K12
    manager = started(ANY)
    manager.register_slot_request(request("a"), NOW)
    assert manager.workers_lost(1, NOW) == [AllocateWorkers(1)]
    assert (manager.slots_pending, manager.slots_wanted) == (1, 1)
