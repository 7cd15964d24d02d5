"""The cleanup of expired values, and their presence in versions and snapshots."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any

import pytest

from firesteel.common import Time
from firesteel.datastream.functions import KeyedProcessFunction
from firesteel.datastream.state import StateDescriptor, StateTtlConfig
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.operators.keyed import KeyedOperator
from firesteel.testing import ManualClock, OperatorHarness
from tests.operators.ttl_states import KINDS, TTL, Do, States, builder, each_kind, list_of, map_of, value


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    with ManualClock(1_000) as manual:
        yield manual


# --- clean-up --------------------------------------------------------------------------------------------------------


def fill(states: States, write: Do, keys: int) -> None:
    for key in range(keys):
        states.do(write, f"key {key}")


@each_kind
def test_incremental_cleanup_visits_the_configured_number_of_entries_per_access(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, _, _ = KINDS[kind]
    states = States(descriptor(), builder().cleanup_incrementally(3, False))
    fill(states, write, 10)
    clock.advance(TTL)
    sizes = []
    for _ in range(4):
        states.do(read, "unknown")
        sizes.append(states.size())
    assert sizes[-1] == 0
    assert all(before - after <= 3 for before, after in zip([10, *sizes], sizes, strict=False))


def test_incremental_cleanup_keeps_live_entries(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(100, False))
    fill(states, lambda s: s.update(1), 5)
    clock.advance(TTL - 1)
    states.do(lambda s: s.update(1), "young")
    clock.advance(1)
    for _ in range(2):
        states.do(lambda s: s.value(), "unknown")
    assert (states.size(), states.do(lambda s: s.value(), "young")) == (1, 1)


@pytest.mark.parametrize(("descriptor", "kept"), [(list_of, [2]), (map_of, {"y": 2})])
def test_incremental_cleanup_takes_expired_parts_out_of_lists_and_maps(
    descriptor: Callable[[], StateDescriptor], kept: Any, clock: ManualClock
) -> None:
    def put(name: str, number: int) -> Do:
        return (lambda s: s.add(number)) if descriptor is list_of else (lambda s: s.put(name, number))

    states = States(descriptor(), builder().return_expired_if_not_cleaned_up().cleanup_incrementally(100, False))
    states.do(put("x", 1))
    clock.advance(TTL)
    states.do(lambda s: s.clear(), "unknown")
    states.do(put("x", 1))
    clock.advance(TTL)
    states.do(put("y", 2))
    for _ in range(2):
        states.do(lambda s: s.clear(), "unknown")
    assert states.do(lambda s: s.get() if descriptor is list_of else dict(s.items())) == kept


class Untouched(KeyedProcessFunction):
    """An element says whether the state is written; else it is not accessed at all."""

    def open(self, runtime_context: Any) -> None:
        descriptor = value()
        descriptor.enable_time_to_live(builder().cleanup_incrementally(2, True).build())
        self.state = runtime_context.get_state(descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        if value[1]:
            self.state.update(1)


def test_each_record_cleans_up_if_configured(clock: ManualClock) -> None:
    with OperatorHarness(KeyedProcessOperator(Untouched()), key_selectors=[lambda element: element[0]]) as h:
        h.process_batch([(key, True) for key in range(10)])
        clock.advance(TTL)
        h.process_batch([])
        assert h.num_keyed_state_entries() == 10
        h.process(("a", False))
        assert h.num_keyed_state_entries() == 8
        h.process_batch([("a", False)] * 3)
        assert h.num_keyed_state_entries() == 2


def test_records_clean_up_nothing_unless_configured(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(2, False))
    states.do(lambda s: s.update(1))
    clock.advance(TTL)
    states.do(lambda s: None)
    assert states.size() == 1


@pytest.mark.parametrize(
    "ttl",
    [StateTtlConfig.new_builder(Time.milliseconds(TTL)), builder().cleanup_in_rocksdb_compact_filter(1_000)],
    ids=["default", "compaction"],
)
@each_kind
def test_expired_values_go_away_with_files(kind: str, ttl: StateTtlConfig.Builder, clock: ManualClock) -> None:
    descriptor, write, read, found, _ = KINDS[kind]
    states = States(descriptor(), ttl)
    fill(states, write, 5)
    version(states)
    clock.advance(TTL)
    states.do(write, "young")
    assert states.size() == 6
    restored = States(descriptor(), ttl, states.harness.snapshot())
    assert (states.size(), restored.size()) == (1, 1)
    assert states.do(read, "young") == restored.do(read, "young") == found
    assert not any(entries for _, entries in version(states) if entries)


def test_expired_parts_of_lists_and_maps_go_away_with_files(clock: ManualClock) -> None:
    shown = StateTtlConfig.new_builder(Time.milliseconds(TTL)).return_expired_if_not_cleaned_up()
    lists, maps = States(list_of(), shown), States(map_of(), shown)
    lists.do(lambda s: s.add(1))
    maps.do(lambda s: s.put("x", 1))
    clock.advance(TTL)
    lists.do(lambda s: s.add(2))
    maps.do(lambda s: s.put("y", 2))
    lists.harness.snapshot()
    maps.harness.snapshot()
    assert lists.do(lambda s: list(s.get())) == [2]
    assert maps.do(lambda s: dict(s.items())) == {"y": 2}


def test_disabled_cleanup_leaves_expired_values_until_they_are_read(clock: ManualClock) -> None:
    states = States(value(), builder())
    fill(states, lambda s: s.update(1), 5)
    clock.advance(TTL)
    for _ in range(10):
        states.do(lambda s: s.value(), "unknown")
    assert states.size() == 5


def version(states: States) -> Any:
    """Return the changes since the last version, in parts."""
    assert isinstance(states.harness.operator, KeyedOperator)
    return pickle.loads(pickle.dumps(list(states.harness.operator.backend.delta())))


def restored_from(versions: list[Any], descriptor: StateDescriptor, ttl: StateTtlConfig.Builder | None) -> States:
    """Return the state after all these versions."""
    states = States(descriptor, ttl)
    assert isinstance(states.harness.operator, KeyedOperator)
    for delta in chain.from_iterable(versions):
        states.harness.operator.backend.load(delta)
    return states


def test_entries_removed_by_a_cleanup_are_missing_from_the_next_version(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(100, False))
    states.do(lambda s: s.update(1), "old")
    versions = [version(states)]
    clock.advance(TTL)
    states.do(lambda s: s.value(), "unknown")
    versions.append(version(states))
    assert [restored_from(versions[:upto], value(), builder()).size() for upto in (1, 2)] == [1, 0]


@each_kind
def test_renewed_life_is_part_of_the_next_version(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, _ = KINDS[kind]
    states = States(descriptor(), builder().update_ttl_on_read_and_write())
    states.do(write)
    versions = [version(states)]
    clock.advance(60)
    states.do(read)
    versions.append(version(states))
    clock.advance(60)
    assert restored_from(versions, descriptor(), builder()).do(read) == found


# --- snapshots -------------------------------------------------------------------------------------------------------


@each_kind
def test_restored_value_expires_when_it_would_have(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    clock.advance(60)
    restored = States(descriptor(), builder(), states.harness.snapshot())
    clock.advance(39)
    assert restored.do(read) == found
    clock.advance(1)
    assert restored.do(read) == nothing


@each_kind
def test_full_snapshot_omits_expired_values_if_configured(kind: str, clock: ManualClock) -> None:
    descriptor, write, _, _, _ = KINDS[kind]
    states = States(descriptor(), builder().cleanup_full_snapshot())
    states.do(write, "old")
    clock.advance(TTL)
    states.do(write, "new")
    restored = States(descriptor(), builder(), states.harness.snapshot())
    assert (states.size(), restored.size()) == (2, 1)


def test_snapshot_keeps_expired_values_unless_configured(clock: ManualClock) -> None:
    states = States(value(), builder())
    states.do(lambda s: s.update(1))
    clock.advance(TTL)
    assert States(value(), builder(), states.harness.snapshot()).size() == 1


@pytest.mark.parametrize(("descriptor", "kept"), [(list_of, [2]), (map_of, {"y": 2})])
def test_full_snapshot_leaves_expired_parts_of_lists_and_maps_out(
    descriptor: Callable[[], StateDescriptor], kept: Any, clock: ManualClock
) -> None:
    is_list = descriptor is list_of
    shown = builder().return_expired_if_not_cleaned_up().cleanup_full_snapshot()
    states = States(descriptor(), shown)
    states.do(lambda s: s.add(1) if is_list else s.put("x", 1))
    clock.advance(TTL)
    states.do(lambda s: s.add(2) if is_list else s.put("y", 2))
    restored = States(descriptor(), shown, states.harness.snapshot())
    assert restored.do(lambda s: s.get() if is_list else dict(s.items())) == kept


def test_restored_state_may_have_another_time_to_live(clock: ManualClock) -> None:
    states = States(value(), builder())
    states.do(lambda s: s.update(1))
    restored = States(value(), builder().set_ttl(Time.milliseconds(3 * TTL)), states.harness.snapshot())
    clock.advance(2 * TTL)
    assert restored.do(lambda s: s.value()) == 1
    clock.advance(TTL)
    assert restored.do(lambda s: s.value()) is None


@each_kind
def test_a_time_to_live_that_is_switched_on_begins_with_the_restore(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), None)
    states.do(write)
    clock.advance(TTL)
    restored = States(descriptor(), builder(), states.harness.snapshot())
    versions = [version(restored)]
    clock.advance(TTL - 1)
    assert restored.do(read) == found
    clock.advance(1)
    assert restored.do(read) == nothing
    assert restored_from(versions, descriptor(), builder()).do(read) == nothing


@each_kind
def test_a_time_to_live_that_is_switched_off_leaves_values_for_ever(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, _ = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    restored = States(descriptor(), None, states.harness.snapshot())
    versions = [version(restored)]
    clock.advance(10 * TTL)
    assert restored.do(read) == found
    assert restored_from(versions, descriptor(), None).do(read) == found
