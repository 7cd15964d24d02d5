from __future__ import annotations

import pytest

from firesteel.spark.lanes import Lanes


@pytest.mark.parametrize("count", [1, 2, 3, 64])
@pytest.mark.parametrize("cores", [1, 2, 8])
def test_each_slot_is_in_one_lane_and_lanes_differ_by_one_slot_at_most(count: int, cores: int) -> None:
    lanes = Lanes.of({slot: f"slot:///tmp/{slot}" for slot in range(count)}, cores)
    assert sorted(slot for slots in lanes.slots for slot in slots) == list(range(count))
    assert len(lanes.slots) == min(cores, count)
    sizes = {len(slots) for slots in lanes.slots}
    assert max(sizes) - min(sizes) <= 1
    assert all(slot in lanes.slots[lane] for slot, lane in lanes.of_slot.items())
    assert set(lanes.hosts) == {""}


def test_a_lane_has_slots_of_one_task_executor_and_prefers_its_host() -> None:
    executors = ["host-1:4711", "host-1:4712", "[::1]:4711"]
    addresses = {slot: f"slot://{executors[slot % 3]}/tmp/{slot}?token=t" for slot in range(12)}
    lanes = Lanes.of(addresses, 2)
    assert all(len({slot % 3 for slot in slots}) == 1 for slots in lanes.slots)
    assert lanes.hosts == ("host-1", "host-1", "host-1", "host-1", "::1", "::1")


def test_in_batch_mode_each_slot_has_its_lane() -> None:
    assert Lanes.one_per_slot(3) == Lanes(((0,), (1,), (2,)), ("", "", ""))
