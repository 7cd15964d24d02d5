"""SlotPool (scenarios G)."""

from __future__ import annotations

import pytest

from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    FreeSlot,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality, SlotOffer, SlotProfile
from firesteel.runtime.slotpool.slot_pool import SlotPool


@pytest.fixture
def pool() -> SlotPool:
    """A pool with a ResourceManager and one TaskExecutor."""
    pool = SlotPool("job")
    pool.connect_to_resource_manager()
    pool.register_task_manager("tm")
    return pool


def offer(pool: SlotPool, allocation_id: str, index: int = 0, now_s: float = 0) -> tuple[list[SlotOffer], list[object]]:
    accepted, actions = pool.offer_slots("tm", [SlotOffer(allocation_id, index)], now_s)
    return accepted, list(actions)


def slot(allocation_id: str, index: int = 0) -> AllocatedSlot:
    return AllocatedSlot(allocation_id, "tm", index, "")


def test_requests_without_a_resource_manager_are_stashed_and_sent_in_order_later() -> None:  # G01 G02
    pool = SlotPool("job")
    assert pool.request_slot("r1") == pool.request_slot("r2") == []
    assert pool.connect_to_resource_manager() == [SendSlotRequest("job-0"), SendSlotRequest("job-1")]
    assert pool.connect_to_resource_manager() == []


def test_after_a_disconnect_requests_are_stashed_and_sent_ones_stay_pending(pool: SlotPool) -> None:  # G03
    pool.request_slot("r1")
    pool.disconnect_resource_manager()
    assert pool.request_slot("r2") == []
    assert offer(pool, "job-0") == ([SlotOffer("job-0", 0)], [SlotAllocated("r1", slot("job-0"))])


def test_a_request_that_times_out_fails_and_is_cancelled_if_it_was_sent(pool: SlotPool) -> None:  # G04
    pool.request_slot("r1")
    assert pool.request_timed_out("r1", "late") == [SlotRequestFailed("r1", "late"), CancelSlotRequest("job-0")]
    pool.disconnect_resource_manager()
    pool.request_slot("r2")
    assert pool.request_timed_out("r2", "late") == [SlotRequestFailed("r2", "late")]
    assert pool.request_timed_out("r2", "late") == []


def test_an_error_of_the_resource_manager_fails_the_request_once(pool: SlotPool) -> None:  # G05
    pool.request_slot("r1")
    assert pool.resource_manager_failed("job-0", "full") == [SlotRequestFailed("r1", "no resource available: full")]
    assert pool.resource_manager_failed("job-0", "full") == []


def test_an_offer_of_an_unregistered_task_executor_is_rejected(pool: SlotPool) -> None:  # G08
    assert pool.offer_slots("other", [SlotOffer("job-0", 0)], 0) == ([], [])


def test_an_offer_serves_the_request_it_was_made_for(pool: SlotPool) -> None:  # G09
    pool.request_slot("r1")
    pool.request_slot("r2")
    assert offer(pool, "job-1")[1] == [SlotAllocated("r2", slot("job-1"))]


def test_an_unknown_offer_serves_sent_requests_first_then_stashed_ones(pool: SlotPool) -> None:  # G10 G11
    pool.request_slot("sent")
    pool.disconnect_resource_manager()
    pool.request_slot("stashed")
    assert offer(pool, "x", 0)[1] == [SlotAllocated("sent", slot("x", 0)), CancelSlotRequest("job-0")]
    assert offer(pool, "y", 1)[1] == [SlotAllocated("stashed", slot("y", 1))]
    assert offer(pool, "z", 2) == ([SlotOffer("z", 2)], [])
    assert pool.request_slot("next") == [SlotAllocated("next", slot("z", 2), Locality.UNCONSTRAINED)]


def test_the_same_offer_twice_is_accepted_and_changes_nothing(pool: SlotPool) -> None:  # G12
    pool.request_slot("r1")
    offer(pool, "job-0")
    assert offer(pool, "job-0") == ([SlotOffer("job-0", 0)], [])


def test_a_known_allocation_offered_from_another_slot_is_rejected(pool: SlotPool) -> None:  # G13
    offer(pool, "x", 0)
    assert offer(pool, "x", 1) == ([], [])


def test_exactly_the_accepted_offers_are_answered(pool: SlotPool) -> None:  # G14
    offer(pool, "x", 0)
    accepted, _ = pool.offer_slots("tm", [SlotOffer("x", 5), SlotOffer("y", 1)], 0)
    assert accepted == [SlotOffer("y", 1)]


def test_a_pending_request_can_be_released(pool: SlotPool) -> None:  # G16
    pool.request_slot("r1")
    assert pool.release_slot("r1", 0, "gone") == [SlotRequestFailed("r1", "gone"), CancelSlotRequest("job-0")]


def test_a_released_slot_serves_the_next_request_or_becomes_available(pool: SlotPool) -> None:  # G17
    offer(pool, "x")
    pool.request_slot("r1")
    pool.request_slot("r2")
    assert pool.release_slot("r1", 0, "done") == [SlotAllocated("r2", slot("x")), CancelSlotRequest("job-0")]
    assert pool.release_slot("r2", 0, "done") == []
    assert pool.release_slot("unknown", 0, "done") == []
    assert pool.request_slot("r3") == [SlotAllocated("r3", slot("x"), Locality.UNCONSTRAINED)]


def test_a_failed_allocation_fails_its_request(pool: SlotPool) -> None:  # G18
    pool.request_slot("r1")
    assert pool.fail_allocation("job-0", "broken") == (None, [SlotRequestFailed("r1", "broken")])


def test_a_failed_slot_is_freed_and_tells_whether_it_was_the_last(pool: SlotPool) -> None:  # G19
    pool.request_slot("r1")
    offer(pool, "job-0", 0)
    offer(pool, "y", 1)
    assert pool.fail_allocation("job-0", "broken") == (
        None,
        [SlotLost("r1", "broken"), FreeSlot("tm", "job-0", "broken")],
    )
    assert pool.fail_allocation("y", "broken") == ("tm", [FreeSlot("tm", "y", "broken")])


def test_an_unknown_failed_allocation_is_ignored(pool: SlotPool) -> None:  # G20
    assert pool.fail_allocation("unknown", "broken") == (None, [])


def test_an_idle_slot_is_given_back_unless_it_was_used_again(pool: SlotPool) -> None:  # G21 G22
    offer(pool, "x", 0, now_s=0)
    pool.request_slot("r1")
    pool.release_slot("r1", 8, "done")
    assert pool.release_idle(10, 10) == []
    assert pool.release_idle(18, 10) == [FreeSlot("tm", "x", "the slot was idle")]
    assert pool.allocated_slot_report("tm") == ()


def test_a_lost_task_executor_loses_its_slots_and_may_offer_no_more(pool: SlotPool) -> None:  # G23
    pool.request_slot("r1")
    offer(pool, "job-0")
    assert pool.release_task_manager("tm", "gone") == (
        True,
        [SlotLost("r1", "gone"), FreeSlot("tm", "job-0", "gone")],
    )
    assert offer(pool, "y") == ([], [])
    assert pool.release_task_manager("tm", "gone") == (False, [])


def test_a_task_executor_registers_once(pool: SlotPool) -> None:  # G24
    assert pool.register_task_manager("tm") is False


def test_suspend_cancels_requests_and_keeps_slots_at_their_task_executors(pool: SlotPool) -> None:  # G25
    offer(pool, "x")
    pool.request_slot("r1")
    pool.request_slot("r2")
    assert pool.suspend() == [CancelSlotRequest("job-0")]
    assert pool.task_managers == frozenset()


def test_close_cancels_requests_and_frees_all_slots(pool: SlotPool) -> None:  # G26
    offer(pool, "x")
    pool.request_slot("r1")
    pool.request_slot("r2")
    assert pool.close("over") == [CancelSlotRequest("job-0"), FreeSlot("tm", "x", "over")]


def test_the_report_lists_slots_in_use_and_available_ones(pool: SlotPool) -> None:  # G28
    pool.request_slot("r1")
    offer(pool, "job-0", 0)
    offer(pool, "y", 1)
    assert pool.allocated_slot_report("tm") == (SlotOffer("job-0", 0), SlotOffer("y", 1))


SMALL, LARGE = ResourceProfile(cpu_cores=1), ResourceProfile(cpu_cores=4)


def test_a_batch_request_survives_errors_unless_it_can_never_be_met(pool: SlotPool) -> None:  # G06
    pool.request_slot("r1", is_batch=True)
    assert pool.resource_manager_failed("job-0", "full") == []
    assert pool.resource_manager_failed("job-0", "too large", is_unfulfillable=True) == [
        SlotRequestFailed("r1", "no resource available: too large")
    ]


def test_a_batch_request_fails_after_no_slot_could_have_served_it_for_a_while(pool: SlotPool) -> None:  # G07
    pool.offer_slots("tm", [SlotOffer("x", 0, "", SMALL)], 0)
    pool.request_slot("small", SlotProfile(SMALL))
    pool.request_slot("waits", SlotProfile(SMALL), is_batch=True)
    pool.request_slot("never", SlotProfile(LARGE), is_batch=True)
    pool.request_slot("streaming", SlotProfile(LARGE))
    assert pool.check_batch_requests(0, 10) == pool.check_batch_requests(9, 10) == []
    failed = SlotRequestFailed("never", "no slot could have served it for 10 s")
    assert pool.check_batch_requests(10, 10) == [failed, CancelSlotRequest("job-1")]
    assert pool.check_batch_requests(20, 10) == []


def test_the_timeout_of_a_batch_request_restarts_after_it_was_fulfillable(pool: SlotPool) -> None:  # G07
    pool.request_slot("r1", SlotProfile(SMALL), is_batch=True)
    pool.check_batch_requests(0, 10)
    pool.request_slot("r2", SlotProfile(SMALL))
    pool.offer_slots("tm", [SlotOffer("job-1", 0, "", SMALL)], 5)
    assert pool.check_batch_requests(9, 10) == []
    pool.fail_allocation("job-1", "broken")
    assert pool.check_batch_requests(10, 10) == pool.check_batch_requests(19, 10) == []
    assert len(pool.check_batch_requests(20, 10)) == 2


def test_the_slot_of_a_request_that_is_done_serves_another_or_is_available(pool: SlotPool) -> None:  # G15
    for request in ("r1", "r2", "r3"):
        pool.request_slot(request)
    pool.request_timed_out("r1", "late")
    pool.request_timed_out("r2", "late")
    assert offer(pool, "job-0", 0) == (
        [SlotOffer("job-0", 0)],
        [SlotAllocated("r3", slot("job-0", 0)), CancelSlotRequest("job-2")],
    )
    assert offer(pool, "job-1", 1) == ([SlotOffer("job-1", 1)], [])
    assert pool.request_slot("r4") == [SlotAllocated("r4", slot("job-1", 1), Locality.UNCONSTRAINED)]


def test_an_available_slot_can_be_taken_by_its_id_once(pool: SlotPool) -> None:  # G27
    offer(pool, "x")
    assert pool.allocate_available_slot("r1", "unknown") == []
    assert pool.allocate_available_slot("r1", "x") == [SlotAllocated("r1", slot("x"))]
    assert pool.allocate_available_slot("r2", "x") == []
    assert pool.select_available(SlotProfile()) is None


def test_utilization_counts_slots_in_use_per_task_executor(pool: SlotPool) -> None:  # G29
    pool.register_task_manager("other")
    pool.offer_slots("tm", [SlotOffer("a", 0), SlotOffer("b", 1), SlotOffer("c", 2), SlotOffer("d", 3)], 0)
    pool.offer_slots("other", [SlotOffer("e", 0)], 0)
    pool.allocate_available_slot("r1", "c")
    assert (pool.utilization("tm"), pool.utilization("other"), pool.utilization("unknown")) == (0.25, 0, 0)
    pool.release_slot("r1", 0, "done")
    assert pool.utilization("tm") == 0


def test_a_slot_serves_the_oldest_request_that_it_matches(pool: SlotPool) -> None:  # G10
    pool.request_slot("large", SlotProfile(LARGE))
    pool.request_slot("any")
    pool.request_slot("small", SlotProfile(SMALL))
    offered = SlotOffer("x", 0, "", SMALL)
    _, actions = pool.offer_slots("tm", [offered], 0)
    assert actions[0] == SlotAllocated("any", AllocatedSlot("x", "tm", 0, "", SMALL))


def test_a_slot_request_is_sent_to_the_resource_manager(pool: SlotPool) -> None:
    assert pool.request_slot("r1", SlotProfile(LARGE)) == [SendSlotRequest("job-0", LARGE)]
