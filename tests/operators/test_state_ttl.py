"""The time to live of values, and how reads and writes renew it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream.state import StateDescriptor, StateTtlConfig, ValueStateDescriptor
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import ManualClock, OperatorHarness
from tests.operators.ttl_states import (
    KINDS,
    TTL,
    OnState,
    States,
    aggregating,
    builder,
    each_kind,
    list_of,
    map_of,
    reducing,
    value,
)


@pytest.fixture
def clock() -> Iterator[ManualClock]:
    with ManualClock(1_000) as manual:
        yield manual


# --- life ------------------------------------------------------------------------------------------------------------


@each_kind
def test_value_is_there_until_its_time_to_live_is_over(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    clock.advance(TTL - 1)
    assert states.do(read) == found
    clock.advance(1)
    assert states.do(read) == nothing


@each_kind
def test_read_removes_expired_values(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, _, _ = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    clock.advance(TTL)
    assert states.size() == 1
    states.do(read)
    assert states.size() == 0


@each_kind
def test_read_does_not_prolong_a_life_by_default(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder().update_ttl_on_create_and_write())
    states.do(write)
    clock.advance(TTL - 1)
    assert states.do(read) == found
    clock.advance(1)
    assert states.do(read) == nothing


@each_kind
def test_read_renews_the_ttl_if_configured(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder().update_ttl_on_read_and_write())
    states.do(write)
    for _ in range(5):
        clock.advance(TTL - 1)
        assert states.do(read) == found
    clock.advance(TTL)
    assert states.do(read) == nothing


@each_kind
def test_disabled_time_to_live_keeps_values_for_ever(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, _ = KINDS[kind]
    states = States(descriptor(), builder().set_update_type(StateTtlConfig.UpdateType.Disabled))
    states.do(write)
    clock.advance(TTL * 1_000)
    assert states.do(read) == found


@each_kind
def test_expired_value_is_returned_once_where_it_may_be(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder().return_expired_if_not_cleaned_up())
    states.do(write)
    clock.advance(TTL * 3)
    assert states.do(read) == found
    assert states.do(read) == nothing


@each_kind
def test_state_is_separate_for_each_key(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write, "old")
    clock.advance(TTL - 1)
    states.do(write, "new")
    clock.advance(1)
    assert (states.do(read, "old"), states.do(read, "new")) == (nothing, found)


@each_kind
def test_cleared_state_is_gone_before_its_time(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, _, nothing = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    states.do(lambda s: s.clear())
    assert (states.do(read), states.size()) == (nothing, 0)


def test_write_renews_the_ttl(clock: ManualClock) -> None:
    states = States(value(), builder())
    states.do(lambda s: s.update(1))
    clock.advance(TTL - 1)
    states.do(lambda s: s.update(2))
    clock.advance(TTL - 1)
    assert states.do(lambda s: s.value()) == 2


def test_none_clears_a_value(clock: ManualClock) -> None:
    states = States(value(), builder())
    states.do(lambda s: s.update(1))
    states.do(lambda s: s.update(None))
    assert (states.do(lambda s: s.value()), states.size()) == (None, 0)


def test_values_have_their_declared_width(clock: ManualClock) -> None:
    states = States(ValueStateDescriptor("s", Types.BYTE()), builder())
    states.do(lambda s: s.update(100.5))
    assert states.do(lambda s: s.value()) == 100
    with pytest.raises(UserFunctionError, match="ValueOverflowError: value: declared as BYTE"):
        states.do(lambda s: s.update(200))


def test_value_without_declared_type_is_a_copy(clock: ManualClock) -> None:
    kept = [1]
    states = States(ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()), builder())
    states.do(lambda s: s.update(kept))
    kept.append(2)
    assert states.do(lambda s: s.value()) == [1]


@each_kind
def test_values_expire_in_batch_mode_too(kind: str, clock: ManualClock) -> None:
    descriptor, write, read, found, nothing = KINDS[kind]
    described = descriptor()
    described.enable_time_to_live(builder().build())
    operator = KeyedProcessOperator(OnState(described))
    with OperatorHarness(operator, key_selectors=[lambda element: "k"], is_batch=True) as h:
        h.process_batch([("k", what) for what in (write, read, lambda s: clock.advance(TTL), read)])
        h.end()
        assert h.values == [[None], [found], [None], [nothing]]


# --- lists and maps, one by one --------------------------------------------------------------------------------------


def test_elements_of_a_list_expire_one_by_one(clock: ManualClock) -> None:
    states = States(list_of(), builder())
    states.do(lambda s: s.add(1))
    clock.advance(60)
    states.do(lambda s: s.add_all([2, 3]))
    clock.advance(40)
    assert states.do(lambda s: s.get()) == [2, 3]
    clock.advance(60)
    assert states.do(lambda s: s.get()) == []


def test_expired_elements_are_shown_with_living_ones_where_they_may_be(clock: ManualClock) -> None:
    states = States(list_of(), builder().return_expired_if_not_cleaned_up())
    states.do(lambda s: s.add(1))
    clock.advance(TTL)
    states.do(lambda s: s.add(2))
    assert states.do(lambda s: s.get()) == [1, 2]


def test_renewing_read_of_a_list_keeps_the_living_elements_alone(clock: ManualClock) -> None:
    states = States(list_of(), builder().update_ttl_on_read_and_write().return_expired_if_not_cleaned_up())
    states.do(lambda s: s.add(1))
    clock.advance(TTL)
    states.do(lambda s: s.add(2))
    assert states.do(lambda s: s.get()) == [1, 2]
    assert states.do(lambda s: s.get()) == [2]


def test_update_replaces_a_list_and_no_elements_clear_it(clock: ManualClock) -> None:
    states = States(list_of(), builder())
    states.do(lambda s: s.add(1))
    states.do(lambda s: s.update([2, 3]))
    assert states.do(lambda s: s.get()) == [2, 3]
    states.do(lambda s: s.add_all([]))
    assert states.do(lambda s: s.get()) == [2, 3]
    states.do(lambda s: s.update([]))
    assert states.size() == 0


def test_entries_of_a_map_expire_one_by_one(clock: ManualClock) -> None:
    states = States(map_of(), builder())
    states.do(lambda s: s.put_all({"x": 1, "y": 2}))
    clock.advance(60)
    states.do(lambda s: s.put("y", 3))
    clock.advance(40)
    assert states.do(lambda s: (s.get("x"), s.get("y"), s.contains("x"))) == (None, 3, False)
    assert states.do(lambda s: list(s.items())) == [("y", 3)]
    clock.advance(60)
    assert states.do(lambda s: list(s.keys())) == []


def test_read_of_a_map_entry_renews_that_entry_alone(clock: ManualClock) -> None:
    states = States(map_of(), builder().update_ttl_on_read_and_write())
    states.do(lambda s: s.put_all({"x": 1, "y": 2}))
    clock.advance(60)
    assert states.do(lambda s: s.get("x")) == 1
    clock.advance(60)
    assert states.do(lambda s: dict(s.items())) == {"x": 1}


def test_removed_map_entry_is_gone_and_the_last_one_takes_the_map_along(clock: ManualClock) -> None:
    states = States(map_of(), builder())
    states.do(lambda s: s.put_all({"x": 1, "y": 2}))
    states.do(lambda s: s.remove("x"))
    states.do(lambda s: s.remove("unknown"))
    assert states.do(lambda s: dict(s.items())) == {"y": 2}
    states.do(lambda s: s.remove("y"))
    assert (states.do(lambda s: s.is_empty()), states.size()) == (True, 0)


def test_map_of_expired_entries_is_empty_once_they_are_removed(clock: ManualClock) -> None:
    states = States(map_of(), builder())
    states.do(lambda s: s.put("x", 1))
    clock.advance(TTL)
    assert states.do(lambda s: s.is_empty()) is False
    states.do(lambda s: s.get("x"))
    assert states.do(lambda s: s.is_empty()) is True


def test_map_may_be_changed_while_it_is_read(clock: ManualClock) -> None:
    def remove_all(state: Any) -> int:
        return sum(state.remove(key) is None for key, _ in state.items())

    states = States(map_of(), builder())
    states.do(lambda s: s.put_all({"x": 1, "y": 2}))
    assert (states.do(remove_all), states.size()) == (2, 0)


# --- values that are added to ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("descriptor", [reducing, aggregating])
def test_adding_renews_the_ttl_and_starts_from_empty_after_expiry(
    descriptor: Callable[[], StateDescriptor], clock: ManualClock
) -> None:
    states = States(descriptor(), builder())
    states.do(lambda s: s.add(1))
    clock.advance(TTL - 1)
    states.do(lambda s: s.add(2))
    clock.advance(TTL - 1)
    assert states.do(lambda s: s.get()) == 3
    clock.advance(1)
    states.do(lambda s: s.add(4))
    assert states.do(lambda s: s.get()) == 4


@pytest.mark.parametrize("descriptor", [reducing, aggregating])
def test_adding_continues_from_an_expired_value_if_it_may_be_returned(
    descriptor: Callable[[], StateDescriptor], clock: ManualClock
) -> None:
    states = States(descriptor(), builder().return_expired_if_not_cleaned_up())
    states.do(lambda s: s.add(1))
    clock.advance(TTL)
    states.do(lambda s: s.add(2))
    assert states.do(lambda s: s.get()) == 3


@pytest.mark.parametrize(("descriptor", "merged"), [(reducing, 4), (aggregating, 4), (list_of, [4])])
def test_merging_leaves_expired_values_out(
    descriptor: Callable[[], StateDescriptor], merged: Any, clock: ManualClock
) -> None:
    states = States(descriptor(), builder())
    states.do(lambda s: s.add(1), "old")
    clock.advance(TTL)
    states.do(lambda s: s.add(4), "new")
    states.do(lambda s: s.merge("target", ["old", "new"]))
    assert (states.do(lambda s: s.get(), "target"), states.size()) == (merged, 1)


@pytest.mark.parametrize("descriptor", [reducing, aggregating])
def test_merging_renews_the_ttl_of_the_one_live_value(
    descriptor: Callable[[], StateDescriptor], clock: ManualClock
) -> None:
    states = States(descriptor(), builder())
    states.do(lambda s: s.add(1), "old")
    clock.advance(60)
    states.do(lambda s: s.add(4), "new")
    clock.advance(60)
    states.do(lambda s: s.merge("target", ["old", "new"]))
    clock.advance(TTL - 1)
    assert states.do(lambda s: s.get(), "target") == 4


@pytest.mark.parametrize(("descriptor", "merged"), [(reducing, 5), (aggregating, 5), (list_of, [1, 4])])
def test_merging_combines_living_values(
    descriptor: Callable[[], StateDescriptor], merged: Any, clock: ManualClock
) -> None:
    states = States(descriptor(), builder())
    states.do(lambda s: s.add(1), "a")
    states.do(lambda s: s.add(4), "b")
    states.do(lambda s: s.merge("target", ["a", "b"]))
    assert (states.do(lambda s: s.get(), "target"), states.size()) == (merged, 1)
