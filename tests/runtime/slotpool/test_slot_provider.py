"""Slots for tasks, shared and co-located (scenarios H)."""

from __future__ import annotations

import pytest

from firesteel.runtime.slotpool.actions import (
    CancelSlotRequest,
    LogicalSlotsAllocated,
    LogicalSlotsFailed,
    SendSlotRequest,
    SlotAllocated,
    SlotLost,
    SlotPoolAction,
    SlotRequestFailed,
)
from firesteel.runtime.slotpool.resource_profile import UNKNOWN, ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality, SlotOffer, SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_pool import SlotPool
from firesteel.runtime.slotpool.slot_provider import LogicalSlotRequest, SlotProvider
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot


class Slots:
    """A provider over a pool; the actions of the pool are passed to the provider."""

    def __init__(self) -> None:
        self.pool = SlotPool("job")
        self.pool.connect_to_resource_manager()
        self.provider = SlotProvider(self.pool)
        self.told: list[SlotPoolAction] = []
        for task_manager in ("tm1", "tm2"):
            self.pool.register_task_manager(task_manager)

    def follow(self, actions: list[SlotPoolAction]) -> list[SlotPoolAction]:
        """Return the remaining actions after the provider processed those of the pool."""
        left: list[SlotPoolAction] = []
        for action in actions:
            if isinstance(action, SlotAllocated):
                left += self.follow(self.provider.slot_allocated(action, 0))
            elif isinstance(action, SlotRequestFailed | SlotLost):
                left += self.follow(self.provider.slot_failed(action))
            else:
                left.append(action)
        return left

    def request(
        self,
        request_id: str,
        vertex: str,
        near: str = "",
        needs: ResourceProfile = UNKNOWN,
        co_location: tuple[str, int] | None = None,
        shared_slot: str | None = None,
    ) -> list[SlotPoolAction]:
        profile = SlotProfile(preferred_locations=(TaskManagerLocation(near),) if near else ())
        request = LogicalSlotRequest(request_id, "g", vertex, profile, needs, shared_slot, co_location)
        return self.follow(self.provider.request_slot(request, 0))

    def offer(self, allocation: str, task_manager: str = "tm1") -> list[SlotPoolAction]:
        offers = [SlotOffer(allocation, int(allocation[-1]))]
        return self.follow(self.pool.offer_slots(task_manager, offers, 0)[1])

    def release(self, request_id: str) -> list[SlotPoolAction]:
        return self.follow(self.provider.release_slot(request_id, 0, "done"))


@pytest.fixture
def slots() -> Slots:
    return Slots()


def has(
    request_id: str, allocation: str, locality: Locality = Locality.UNKNOWN, tm: str = "tm1"
) -> LogicalSlotsAllocated:
    slot = AllocatedSlot(allocation, tm, int(allocation[-1]), "")
    return LogicalSlotsAllocated((LogicalSlot(request_id, slot, locality),))


def test_the_first_task_asks_for_a_slot_and_the_next_shares_it(slots: Slots) -> None:  # H11 H12
    assert slots.request("a0", "a") == [SendSlotRequest("job-0")]
    assert slots.request("b0", "b") == []
    slot = AllocatedSlot("job-0", "tm1", 0, "")
    assert slots.offer("job-0") == [
        LogicalSlotsAllocated((LogicalSlot("a0", slot, Locality.UNKNOWN), LogicalSlot("b0", slot, Locality.UNKNOWN)))
    ]


def test_a_second_task_of_a_vertex_needs_a_second_slot(slots: Slots) -> None:  # H03 H11
    slots.request("a0", "a")
    assert slots.request("a1", "a") == [SendSlotRequest("job-1")]


def test_a_local_shared_slot_is_preferred_to_a_free_one(slots: Slots) -> None:  # H11
    slots.request("a0", "a")
    slots.offer("job-0", "tm1")
    slots.offer("free1", "tm1")
    assert slots.request("b0", "b", near="tm1") == [has("b0", "job-0", Locality.LOCAL)]


def test_a_local_free_slot_is_preferred_to_a_remote_shared_one(slots: Slots) -> None:  # H11
    slots.request("a0", "a")
    slots.offer("job-0", "tm1")
    slots.offer("free1", "tm2")
    assert slots.request("b0", "b", near="tm2") == [has("b0", "free1", Locality.LOCAL, "tm2")]


def test_a_free_slot_is_taken_where_no_slot_can_be_shared(slots: Slots) -> None:  # H11
    slots.offer("free1", "tm2")
    assert slots.request("a0", "a", near="tm1") == [has("a0", "free1", Locality.NON_LOCAL, "tm2")]


def test_a_remote_shared_slot_is_preferred_to_a_remote_free_one(slots: Slots) -> None:  # H11
    slots.request("a0", "a")
    slots.offer("job-0", "tm1")
    slots.offer("free1", "tm1")
    assert slots.request("b0", "b", near="tm2") == [has("b0", "job-0", Locality.NON_LOCAL)]
    assert slots.pool.select_available(SlotProfile()) is not None


def test_a_pending_slot_is_shared_before_another_one_is_requested(slots: Slots) -> None:  # H11 H12
    slots.request("a0", "a")
    slots.offer("job-0", "tm1")
    slots.request("b0", "b")
    assert slots.request("b1", "b") == [SendSlotRequest("job-1")]
    assert slots.request("a1", "a", near="tm1") == []
    told = slots.offer("job-1", "tm1")
    assert isinstance(told[0], LogicalSlotsAllocated)
    assert [(slot.request_id, slot.locality) for slot in told[0].slots] == [
        ("b1", Locality.UNKNOWN),
        ("a1", Locality.UNKNOWN),
    ]


def test_a_slot_without_tasks_is_returned_to_the_pool(slots: Slots) -> None:  # H13
    slots.request("a0", "a")
    (allocated,) = slots.pool.offer_slots("tm1", [SlotOffer("job-0", 0)], 0)[1]
    assert isinstance(allocated, SlotAllocated)
    slots.provider.clear()
    assert slots.provider.slot_allocated(allocated, 0) == []
    assert slots.pool.select_available(SlotProfile()) is not None


def test_a_slot_that_others_use_fails_its_request(slots: Slots) -> None:  # H14
    slots.request("a0", "a")
    slots.request("a1", "a")
    slots.offer("job-0")
    used = SlotAllocated("slot-1", AllocatedSlot("job-0", "tm1", 0, ""))
    assert slots.provider.slot_allocated(used, 0) == [
        LogicalSlotsFailed(("a1",), "slot job-0 is in use by others already")
    ]
    assert slots.provider.manager("g").get("slot-1") is None


def test_a_failed_slot_request_fails_all_tasks_that_would_share_it(slots: Slots) -> None:  # H02
    slots.request("a0", "a")
    slots.request("b0", "b")
    assert slots.follow(slots.pool.resource_manager_failed("job-0", "full")) == [
        LogicalSlotsFailed(("a0", "b0"), "no resource available: full")
    ]
    assert slots.provider.manager("g").is_empty


def test_a_lost_slot_fails_all_that_share_it(slots: Slots) -> None:  # H07
    slots.request("a0", "a")
    slots.request("b0", "b")
    slots.offer("job-0")
    told = slots.follow(slots.pool.release_task_manager("tm1", "gone")[1])
    assert told[0] == LogicalSlotsFailed(("a0", "b0"), "gone", was_allocated=True)
    assert slots.provider.manager("g").is_empty


def test_the_last_task_returns_the_slot_once(slots: Slots) -> None:  # H05 H06
    slots.request("a0", "a")
    slots.request("b0", "b")
    slots.offer("job-0")
    slots.release("a0")
    assert slots.pool.select_available(SlotProfile()) is None
    slots.release("b0")
    slots.release("b0")
    assert slots.pool.select_available(SlotProfile()) is not None
    assert slots.provider.manager("g").is_empty


def test_a_task_released_before_its_slot_arrived_fails_and_one_after_is_notified_first(slots: Slots) -> None:  # H10
    slots.request("a0", "a")
    slots.request("b0", "b")
    assert slots.release("a0") == [LogicalSlotsFailed(("a0",), "done")]
    slots.offer("job-0")
    slots.request("c0", "c")
    assert slots.release("c0") == [LogicalSlotsFailed(("c0",), "done", was_allocated=True)]
    slots.request("a1", "b")
    told = slots.release("b0")
    assert told[0] == LogicalSlotsFailed(("b0",), "done", was_allocated=True)


def test_releasing_the_last_task_of_a_pending_slot_cancels_its_request(slots: Slots) -> None:  # H06 H10
    slots.request("a0", "a")
    assert slots.release("a0") == [LogicalSlotsFailed(("a0",), "done"), CancelSlotRequest("job-0")]


def test_colocated_tasks_share_a_node_and_are_local(slots: Slots) -> None:  # H15
    slots.request("a0", "a", co_location=("c", 0))
    slots.offer("job-0")
    slots.request("x", "other")
    assert slots.request("b0", "b", near="tm2", co_location=("c", 0)) == [has("b0", "job-0", Locality.LOCAL)]
    assert slots.request("a1", "a", co_location=("c", 1)) == [SendSlotRequest("job-1")]


def test_the_location_of_colocated_tasks_is_locked_when_the_slot_arrives(slots: Slots) -> None:  # H16 H17
    slots.request("a0", "a", co_location=("c", 0))
    slots.offer("job-0", "tm1")
    slots.release("a0")
    slots.pool.fail_allocation("job-0", "broken")
    slots.offer("free1", "tm1")
    assert slots.request("a0-again", "a", near="tm2", co_location=("c", 0)) == [
        has("a0-again", "free1", Locality.LOCAL)
    ]


def test_colocated_tasks_do_not_move_elsewhere_once_their_place_is_locked(slots: Slots) -> None:  # H17
    slots.request("a0", "a", co_location=("c", 0))
    slots.offer("job-0", "tm1")
    slots.release("a0")
    slots.pool.fail_allocation("job-0", "broken")
    slots.offer("free1", "tm2")
    assert slots.request("again", "a", co_location=("c", 0)) == [
        LogicalSlotsFailed(
            ("again",),
            "no resource available: co-location group c has to run on TaskExecutor tm1, where no slot is free",
        )
    ]
    assert slots.provider.manager("g").is_empty
    assert slots.pool.select_available(SlotProfile()) is not None


def test_a_constraint_without_known_location_requests_a_new_slot(slots: Slots) -> None:  # H16 H18
    slots.request("a0", "a", co_location=("c", 0))
    assert slots.release("a0") == [LogicalSlotsFailed(("a0",), "done"), CancelSlotRequest("job-0")]
    assert slots.request("a0-again", "a", co_location=("c", 0)) == [SendSlotRequest("job-1")]
    assert slots.offer("job-0", "tm1") == [has("a0-again", "job-0"), CancelSlotRequest("job-1")]
    assert slots.request("b0", "b", co_location=("c", 0)) == [has("b0", "job-0", Locality.LOCAL)]


def test_a_colocated_task_that_exceeds_the_remaining_resources_fails(slots: Slots) -> None:  # H19
    whole, half = ResourceProfile(cpu_cores=2), ResourceProfile(cpu_cores=1)
    slots.pool.offer_slots("tm1", [SlotOffer("x0", 0, "", whole), SlotOffer("y1", 1, "", whole)], 0)
    slots.request("a0", "a", needs=half, co_location=("c", 0))
    assert slots.request("b0", "b", needs=whole, co_location=("c", 0)) == [
        LogicalSlotsFailed(("b0",), "no resource available: the slot of co-location group c has too few resources left")
    ]


def test_tasks_that_name_their_slot_share_that_one(slots: Slots) -> None:  # H20
    assert slots.request("a0", "a", shared_slot="0") == [SendSlotRequest("job-0")]
    assert slots.request("a1", "a", shared_slot="1") == [SendSlotRequest("job-1")]
    assert slots.request("b1", "b", shared_slot="1") == []
    assert slots.offer("job-0") == [has("a0", "job-0")]
    assert slots.request("b0", "b", shared_slot="0") == [has("b0", "job-0")]
    slots.release("a0")
    slots.release("b0")
    slots.offer("free1")
    slots.offer("free2")
    assert slots.request("b0-again", "b", shared_slot="0") == [has("b0-again", "free1", Locality.UNCONSTRAINED)]


def test_four_slots_serve_three_vertices_of_at_most_four_tasks(slots: Slots) -> None:  # H20
    for number in range(4):
        assert slots.request(f"a{number}", "a") == [SendSlotRequest(f"job-{number}")]
    for vertex, parallelism in (("b", 4), ("c", 2)):
        assert [slots.request(f"{vertex}{number}", vertex) for number in range(parallelism)] == [[]] * parallelism
