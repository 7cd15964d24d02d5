"""Selection of a slot for a request (scenarios I)."""

from __future__ import annotations

from firesteel.runtime.slotpool.available_slots import AvailableSlots
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import ANYWHERE, AllocatedSlot, Locality, SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_selection import (
    EvenlySpreadOutSlotSelection,
    LocationPreferenceSlotSelection,
    PreviousAllocationSlotSelection,
    slot_selection_strategy,
)

SMALL, LARGE = ResourceProfile(cpu_cores=1), ResourceProfile(cpu_cores=4)
BY_LOCATION = LocationPreferenceSlotSelection()


def available(*slots: AllocatedSlot, used: dict[str, float] | None = None) -> AvailableSlots:
    found = AvailableSlots(lambda task_manager_id: (used or {}).get(task_manager_id, 0))
    for slot in slots:
        found.add(slot, 0)
    return found


def slot(name: str, task_manager: str, host: str = "", profile: ResourceProfile = SMALL) -> AllocatedSlot:
    return AllocatedSlot(name, task_manager, 0, "", profile, host)


def near(*places: tuple[str, str], profile: ResourceProfile = SMALL) -> SlotProfile:
    return SlotProfile(profile, tuple(TaskManagerLocation(*place) for place in places))


def test_the_first_match_is_taken_without_preferences() -> None:  # I08
    slots = available(slot("a", "tm1", profile=LARGE), slot("b", "tm2"), slot("c", "tm3"))
    assert BY_LOCATION.select(slots, SlotProfile(SMALL)) == (slot("b", "tm2"), Locality.UNCONSTRAINED)


def test_a_slot_of_the_same_task_executor_is_local_and_beats_the_same_host() -> None:  # I09
    slots = available(slot("a", "tm1", "h1"), slot("b", "tm2", "h2"), slot("c", "tm3", "h2"))
    assert BY_LOCATION.select(slots, near(("tm3", "h2"))) == (slot("c", "tm3", "h2"), Locality.LOCAL)
    assert BY_LOCATION.select(slots, near(("gone", "h2"))) == (slot("b", "tm2", "h2"), Locality.HOST_LOCAL)
    assert BY_LOCATION.select(slots, near(("gone", "h9"))) == (slot("a", "tm1", "h1"), Locality.NON_LOCAL)


def test_weights_add_up_over_the_preferred_places() -> None:  # I09
    slots = available(slot("a", "tm1", "h1"), slot("b", "tm2", "h2"))
    places = [("tm1", "h1"), ("tm2", "h2"), ("tm9", "h2")]
    assert BY_LOCATION.select(slots, near(*places)) == (slot("b", "tm2", "h2"), Locality.LOCAL)
    hosts = [("tm1", "h1"), *[(f"x{i}", "h2") for i in range(12)]]
    only_host = available(slot("a", "tm1", "h1"), slot("b", "tm2", "h2"))
    assert BY_LOCATION.select(only_host, near(*hosts)) == (slot("b", "tm2", "h2"), Locality.HOST_LOCAL)


def test_a_preferred_location_does_not_outweigh_missing_resources() -> None:  # I10
    slots = available(slot("a", "tm1", profile=SMALL))
    assert BY_LOCATION.select(slots, near(("tm1", ""), profile=LARGE)) is None


def test_an_unknown_host_name_is_not_a_common_host() -> None:  # I09
    assert BY_LOCATION.select(available(slot("a", "tm1")), near(("tm2", ""))) == (
        slot("a", "tm1"),
        Locality.NON_LOCAL,
    )


def test_the_previous_slot_is_preferred_and_previous_slots_of_others_are_excluded() -> None:  # I11
    strategy = PreviousAllocationSlotSelection(BY_LOCATION)
    slots = available(slot("theirs", "tm1"), slot("mine", "tm2"), slot("free", "tm3"))
    wish = SlotProfile(SMALL, (TaskManagerLocation("tm1"),), frozenset({"mine"}), frozenset({"mine", "theirs"}))
    assert strategy.select(slots, wish) == (slot("mine", "tm2"), Locality.LOCAL)
    slots.remove("mine")
    assert strategy.select(slots, wish) == (slot("free", "tm3"), Locality.NON_LOCAL)
    slots.remove("free")
    assert strategy.select(slots, wish) is None


def test_spread_takes_the_least_used_among_equally_near_slots() -> None:  # I12
    strategy = EvenlySpreadOutSlotSelection()
    slots = available(slot("a", "tm1", "h"), slot("b", "tm2", "h"), used={"tm1": 0.5, "tm2": 0.25})
    assert strategy.select(slots, ANYWHERE) == (slot("b", "tm2", "h"), Locality.UNCONSTRAINED)
    assert strategy.select(slots, near(("tm9", "h"))) == (slot("b", "tm2", "h"), Locality.HOST_LOCAL)
    assert strategy.select(slots, near(("tm1", "h"))) == (slot("a", "tm1", "h"), Locality.LOCAL)


def test_the_options_choose_the_strategy() -> None:  # I11 I12
    assert type(slot_selection_strategy({})) is LocationPreferenceSlotSelection
    spread = slot_selection_strategy({"cluster.evenly-spread-out-slots": "true"})
    assert isinstance(spread, EvenlySpreadOutSlotSelection)
    local = slot_selection_strategy({"execution.state-recovery.from-local": "true"})
    assert isinstance(local, PreviousAllocationSlotSelection)


def test_slots_are_idle_in_the_order_in_which_they_became_available() -> None:
    slots = AvailableSlots()
    for name, since_s in (("a", 1), ("b", 2), ("c", 3)):
        slots.add(slot(name, "tm"), since_s)
    assert [idle.allocation_id for idle in slots.idle_since(2)] == ["a", "b"]
