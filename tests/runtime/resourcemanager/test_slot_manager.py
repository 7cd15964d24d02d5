"""SlotManager (scenarios J)."""

from __future__ import annotations

import pytest

from firesteel.runtime.resourcemanager.slot_manager import (
    AllocateWorkers,
    AssignSlot,
    NotifyAllocationFailure,
    SlotManager,
)
from firesteel.runtime.resourcemanager.slot_report import SlotReport, SlotRequest, SlotStatus


def request(allocation_id: str) -> SlotRequest:
    return SlotRequest("job", allocation_id, "jobmanager")


def report(*allocations: str | None) -> SlotReport:
    """Slots 0, 1, ... with these allocations."""
    return SlotReport(
        tuple(SlotStatus(i, "job" if allocation else None, allocation) for i, allocation in enumerate(allocations))
    )


@pytest.fixture
def manager() -> SlotManager:
    """Two free slots at TaskExecutor instance `tm`."""
    manager = SlotManager()
    manager.register_task_manager("tm", report(None, None))
    return manager


def test_the_same_allocation_is_requested_once(manager: SlotManager) -> None:  # J01
    assert manager.register_slot_request(request("a")) == (True, [AssignSlot("tm", 0, request("a"))])
    assert manager.register_slot_request(request("a")) == (False, [])


def test_a_free_slot_is_asked_for_and_then_belongs_to_the_job(manager: SlotManager) -> None:  # J02 J13
    _, (assignment,) = manager.register_slot_request(request("a"))
    assert manager.slots_free == 1
    manager.slot_assigned(assignment)
    assert manager.register_slot_request(request("a")) == (False, [])
    assert (manager.slots_total, manager.slots_free) == (2, 1)


def test_a_request_without_a_free_slot_asks_for_workers_and_waits() -> None:  # J04 J08
    manager = SlotManager()
    assert manager.register_slot_request(request("a")) == (True, [AllocateWorkers(1)])
    assert manager.register_task_manager("tm", report(None)) == (True, [AssignSlot("tm", 0, request("a"))])


def test_an_allocated_slot_of_a_new_task_executor_fulfils_its_request() -> None:  # J09
    manager = SlotManager()
    manager.register_slot_request(request("a"))
    manager.register_task_manager("tm", report("a"))
    assert (manager.slots_total, manager.slots_free) == (1, 0)
    assert manager.unregister_slot_request("a") is False


def test_a_known_instance_only_reports(manager: SlotManager) -> None:  # J10
    assert manager.register_task_manager("tm", report("x", None))[0] is False
    assert manager.slots_free == 1


def test_an_occupied_slot_is_noted_and_the_request_goes_elsewhere(manager: SlotManager) -> None:  # J14
    _, (assignment,) = manager.register_slot_request(request("a"))
    actions = manager.slot_assignment_failed(assignment, SlotStatus(0, "other", "x"))
    assert actions == [AssignSlot("tm", 1, request("a"))]
    assert manager.slots_free == 0


def test_a_failed_assignment_frees_the_slot_and_tries_another(manager: SlotManager) -> None:  # J14
    _, (assignment,) = manager.register_slot_request(request("a"))
    assert manager.slot_assignment_failed(assignment) == [AssignSlot("tm", 1, request("a"))]
    assert manager.slots_free == 1


def test_a_request_withdrawn_while_it_is_assigned_is_not_tried_again(manager: SlotManager) -> None:  # J15 J21
    _, (assignment,) = manager.register_slot_request(request("a"))
    assert manager.unregister_slot_request("a") is True
    assert manager.slot_assignment_failed(assignment) == []
    assert manager.slots_free == 2


def test_a_report_during_an_assignment_changes_nothing_unless_it_says_who_has_the_slot(
    manager: SlotManager,
) -> None:  # J16
    manager.register_slot_request(request("a"))
    assert manager.report_slot_status("tm", report(None, None)) == (True, [])
    assert manager.report_slot_status("tm", report("x", None)) == (True, [AssignSlot("tm", 1, request("a"))])


def test_a_report_says_who_has_a_slot_now(manager: SlotManager) -> None:  # J17
    manager.report_slot_status("tm", report("a", None))
    manager.report_slot_status("tm", report("b", None))
    assert manager.free_slot("tm", 0, "a") == []
    assert manager.slots_free == 1
    manager.free_slot("tm", 0, "b")
    assert manager.slots_free == 2


def test_a_slot_reported_free_serves_the_next_request(manager: SlotManager) -> None:  # J18
    manager.report_slot_status("tm", report("a", "b"))
    manager.register_slot_request(request("c"))
    assert manager.report_slot_status("tm", report(None, "b")) == (True, [AssignSlot("tm", 0, request("c"))])


def test_reports_of_strangers_are_ignored(manager: SlotManager) -> None:  # J19
    assert manager.report_slot_status("other", report("x")) == (False, [])
    manager.report_slot_status("tm", report(None, None, "x"))
    assert manager.slots_total == 2


def test_only_the_owner_frees_a_slot_which_then_serves_the_next(manager: SlotManager) -> None:  # J20
    manager.report_slot_status("tm", report("a", "b"))
    manager.register_slot_request(request("c"))
    for wrong in (("tm", 0, "b"), ("tm", 7, "a"), ("other", 0, "a")):
        assert manager.free_slot(*wrong) == []
    assert manager.free_slot("tm", 0, "a") == [AssignSlot("tm", 0, request("c"))]


def test_a_waiting_request_is_withdrawn_for_good(manager: SlotManager) -> None:  # J21
    manager.report_slot_status("tm", report("a", "b"))
    manager.register_slot_request(request("c"))
    assert manager.unregister_slot_request("c") is True
    assert manager.unregister_slot_request("c") is False
    assert manager.free_slot("tm", 0, "a") == []


def test_a_lost_task_executor_fails_its_allocations_and_its_requests_go_elsewhere(manager: SlotManager) -> None:  # J22
    manager.report_slot_status("tm", report("a", None))
    manager.register_slot_request(request("c"))
    assert manager.unregister_task_manager("tm", "gone") == (
        True,
        [NotifyAllocationFailure("job", "a", "gone"), AllocateWorkers(1)],
    )
    assert manager.unregister_task_manager("tm", "gone") == (False, [])
    assert manager.register_task_manager("new", report(None))[1] == [AssignSlot("new", 0, request("c"))]
