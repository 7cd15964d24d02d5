"""ResourceProfile: matching and arithmetic."""

from __future__ import annotations

import pytest

from firesteel.runtime.slotpool.resource_profile import (
    ANY,
    UNKNOWN,
    ZERO,
    InsufficientResourcesError,
    ResourceProfile,
)

SMALL = ResourceProfile(cpu_cores=1, task_heap_bytes=10, extended=(("gpu", 1),))
LARGE = ResourceProfile(cpu_cores=4, task_heap_bytes=30, managed_bytes=5, extended=(("gpu", 2),))


def test_every_slot_serves_an_unknown_request_and_any_serves_every_request() -> None:
    assert all(slot.is_matching(UNKNOWN) for slot in (SMALL, LARGE, ANY, ZERO))
    assert all(ANY.is_matching(wanted) for wanted in (SMALL, LARGE, UNKNOWN, ZERO))


def test_a_slot_serves_a_request_of_equal_resources_only() -> None:
    assert SMALL.is_matching(ResourceProfile(cpu_cores=1, task_heap_bytes=10, extended=(("gpu", 1),)))
    assert not LARGE.is_matching(SMALL)


def test_profiles_are_compared_amount_by_amount() -> None:
    assert LARGE.all_fields_no_less_than(SMALL)
    assert not SMALL.all_fields_no_less_than(LARGE)
    assert not LARGE.all_fields_no_less_than(ResourceProfile(network_bytes=1))
    assert not LARGE.all_fields_no_less_than(ResourceProfile(extended=(("fpga", 1),)))


def test_merge_adds_and_subtract_takes_away() -> None:
    both = SMALL.merge(LARGE)
    assert both == ResourceProfile(5, 40, 0, 5, 0, (("gpu", 3),))
    assert both.subtract(LARGE) == SMALL
    assert SMALL.subtract(SMALL) == ZERO


def test_unknown_and_any_are_unchanged_by_arithmetic() -> None:
    assert SMALL.merge(UNKNOWN) == UNKNOWN.merge(SMALL) == SMALL.subtract(UNKNOWN) == UNKNOWN
    assert ANY.merge(UNKNOWN) == ANY.subtract(LARGE) == ANY


def test_a_larger_profile_cannot_be_subtracted() -> None:
    with pytest.raises(
        InsufficientResourcesError, match=r"can't take {cpu_cores=4, .*} from {cpu_cores=1, task_heap_bytes=10, gpu=1}"
    ):
        SMALL.subtract(LARGE)
