"""DeclarativeSlotPool (scenario G30)."""

from __future__ import annotations

import pytest

from firesteel.runtime.slotpool.actions import FreeSlot
from firesteel.runtime.slotpool.declarative_slot_pool import DeclarativeSlotPool, DeclareRequirements
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import AllocatedSlot, SlotOffer

SMALL, LARGE = ResourceProfile(cpu_cores=1), ResourceProfile(cpu_cores=4)


def offer(name: str, index: int, profile: ResourceProfile = SMALL) -> SlotOffer:
    return SlotOffer(name, index, "", profile)


@pytest.fixture
def pool() -> DeclarativeSlotPool:
    """A pool that wants two small slots and a large one."""
    pool = DeclarativeSlotPool()
    pool.increase_requirements({SMALL: 2, LARGE: 1})
    return pool


def test_each_change_declares_the_total_requirements() -> None:  # G30
    pool = DeclarativeSlotPool()
    assert pool.increase_requirements({SMALL: 2}) == [DeclareRequirements(((SMALL, 2),))]
    assert pool.increase_requirements({SMALL: 1, LARGE: 1}) == [DeclareRequirements(((SMALL, 3), (LARGE, 1)))]
    assert pool.decrease_requirements({SMALL: 3}) == [DeclareRequirements(((LARGE, 1),))]
    with pytest.raises(ValueError, match=r"can't want 2 slots of {cpu_cores=4} fewer; 1 are required"):
        pool.decrease_requirements({LARGE: 2})


def test_offers_are_accepted_for_missing_slots_and_rejected_beyond_them(pool: DeclarativeSlotPool) -> None:  # G30
    offers = [offer("a", 0), offer("b", 1), offer("c", 2), offer("d", 3, LARGE)]
    accepted, new = pool.offer_slots("tm", offers, 0)
    assert accepted == [offers[0], offers[1], offers[3]]
    assert new[0] == AllocatedSlot("a", "tm", 0, "", SMALL)
    assert pool.missing == {}
    assert pool.offer_slots("tm", [offers[0]], 0) == ([offers[0]], [])


def test_fewer_requirements_free_idle_slots_after_the_timeout_and_no_others(pool: DeclarativeSlotPool) -> None:  # G30
    pool.offer_slots("tm", [offer("a", 0), offer("b", 1), offer("d", 3, LARGE)], 0)
    assert pool.reserve("a") is not None
    assert pool.reserve("a") is None
    assert pool.release_idle(100, 50) == []
    pool.decrease_requirements({SMALL: 2})
    assert pool.release_idle(49, 50) == []
    assert pool.release_idle(50, 50) == [FreeSlot("tm", "b", "the slot was idle")]
    pool.free_reserved("a", 60)
    assert pool.release_idle(109, 50) == []
    assert pool.release_idle(110, 50) == [FreeSlot("tm", "a", "the slot was idle")]
    assert pool.release_idle(1000, 50) == []
