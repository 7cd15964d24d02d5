from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream.functions import AggregateFunction, KeyedProcessFunction
from firesteel.datastream.operator_descriptors import KeyedProcessOperator
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.operators.errors import UserFunctionError
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.states import KeyedValueState
from firesteel.testing import ManualClock, OperatorHarness

TTL = 100
"""How long all states live here (ms)."""

Do = Callable[[Any], Any]
"""What is done to the state of the element's key; its result is emitted."""


class Sum(AggregateFunction):
    """The accumulator is a list, changed in place; the result is its sum."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return sum(accumulator)

    def merge(self, a: Any, b: Any) -> Any:
        return a + b


def value() -> StateDescriptor:
    return ValueStateDescriptor("s", Types.INT())


def list_of() -> StateDescriptor:
    return ListStateDescriptor("s", Types.INT())


def map_of() -> StateDescriptor:
    return MapStateDescriptor("s", Types.STRING(), Types.INT())


def reducing() -> StateDescriptor:
    return ReducingStateDescriptor("s", lambda a, b: a + b, Types.INT())


def aggregating() -> StateDescriptor:
    return AggregatingStateDescriptor("s", Sum(), Types.PICKLED_BYTE_ARRAY())


GETTERS = {
    ValueStateDescriptor: "get_state",
    ListStateDescriptor: "get_list_state",
    MapStateDescriptor: "get_map_state",
    ReducingStateDescriptor: "get_reducing_state",
    AggregatingStateDescriptor: "get_aggregating_state",
}

KINDS: dict[str, tuple[Callable[[], StateDescriptor], Do, Do, Any, Any]] = {
    "value": (value, lambda s: s.update(7), lambda s: s.value(), 7, None),
    "list": (list_of, lambda s: s.add(7), lambda s: s.get(), [7], []),
    "map": (map_of, lambda s: s.put("x", 7), lambda s: dict(s.items()), {"x": 7}, {}),
    "map get": (map_of, lambda s: s.put("x", 7), lambda s: s.get("x"), 7, None),
    "map contains": (map_of, lambda s: s.put("x", 7), lambda s: s.contains("x"), True, False),
    "map keys": (map_of, lambda s: s.put("x", 7), lambda s: list(s.keys()), ["x"], []),
    "map values": (map_of, lambda s: s.put("x", 7), lambda s: list(s.values()), [7], []),
    "reducing": (reducing, lambda s: s.add(7), lambda s: s.get(), 7, None),
    "aggregating": (aggregating, lambda s: s.add(7), lambda s: s.get(), 7, None),
}
"""Kind and way to read -> descriptor, write, read, what is read, what is read where nothing is."""

each_kind = pytest.mark.parametrize("kind", KINDS)


class OnState(KeyedProcessFunction):
    """An element is `(key, what to do to the state)`."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: Any) -> None:
        self.state = getattr(runtime_context, GETTERS[type(self.descriptor)])(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield [value[1](self.state)]


def builder() -> StateTtlConfig.Builder:
    """Nothing but reads and what a test asks for removes expired values."""
    return StateTtlConfig.new_builder(Time.milliseconds(TTL)).disable_cleanup_in_background()


class States:
    """The state of one descriptor in a harness, by key."""

    def __init__(
        self, descriptor: StateDescriptor, ttl: StateTtlConfig.Builder | None, snapshot: bytes | None = None
    ) -> None:
        if ttl is not None:
            descriptor.enable_time_to_live(ttl.build())
        operator = KeyedProcessOperator(OnState(descriptor))
        self.harness = OperatorHarness(operator, key_selectors=[lambda element: element[0]], snapshot=snapshot)

    def do(self, what: Do, key: str = "k") -> Any:
        """The result of doing that to the state of the key."""
        self.harness.process((key, what))
        return self.harness.take()[0][0]

    def size(self) -> int:
        """How many keys have something stored."""
        return self.harness.num_keyed_state_entries()


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
def test_read_removes_what_it_finds_expired(kind: str, clock: ManualClock) -> None:
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
def test_read_begins_the_life_anew_where_asked_for(kind: str, clock: ManualClock) -> None:
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
def test_keys_live_apart(kind: str, clock: ManualClock) -> None:
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


def test_write_begins_the_life_of_a_value_anew(clock: ManualClock) -> None:
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
    states.do(lambda s: s.update(200))
    assert states.do(lambda s: s.value()) == -56


def test_value_without_declared_type_is_a_copy(clock: ManualClock) -> None:
    kept = [1]
    states = States(ValueStateDescriptor("s", Types.PICKLED_BYTE_ARRAY()), builder())
    states.do(lambda s: s.update(kept))
    kept.append(2)
    assert states.do(lambda s: s.value()) == [1]


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
def test_adding_begins_the_life_anew_and_starts_from_nothing_where_it_was_over(
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
def test_adding_goes_on_from_an_expired_value_where_that_may_be_shown(
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


@pytest.mark.parametrize(("descriptor", "merged"), [(reducing, 5), (aggregating, 5), (list_of, [1, 4])])
def test_merging_combines_living_values(
    descriptor: Callable[[], StateDescriptor], merged: Any, clock: ManualClock
) -> None:
    states = States(descriptor(), builder())
    states.do(lambda s: s.add(1), "a")
    states.do(lambda s: s.add(4), "b")
    states.do(lambda s: s.merge("target", ["a", "b"]))
    assert (states.do(lambda s: s.get(), "target"), states.size()) == (merged, 1)


# --- clean-up --------------------------------------------------------------------------------------------------------


def fill(states: States, write: Do, keys: int) -> None:
    for key in range(keys):
        states.do(write, f"key {key}")


@each_kind
def test_incremental_cleanup_visits_so_many_entries_per_access(kind: str, clock: ManualClock) -> None:
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


def test_incremental_cleanup_leaves_what_lives(clock: ManualClock) -> None:
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


def test_each_record_cleans_up_where_asked_for(clock: ManualClock) -> None:
    with OperatorHarness(KeyedProcessOperator(Untouched()), key_selectors=[lambda element: element[0]]) as h:
        h.process_batch([(key, True) for key in range(10)])
        clock.advance(TTL)
        h.process_batch([])
        assert h.num_keyed_state_entries() == 10
        h.process(("a", False))
        assert h.num_keyed_state_entries() == 8
        h.process_batch([("a", False)] * 3)
        assert h.num_keyed_state_entries() == 2


def test_records_clean_up_nothing_unless_asked_for(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(2, False))
    states.do(lambda s: s.update(1))
    clock.advance(TTL)
    states.do(lambda s: None)
    assert states.size() == 1


def test_background_cleanup_is_on_by_default(clock: ManualClock) -> None:
    states = States(value(), StateTtlConfig.new_builder(Time.milliseconds(TTL)))
    fill(states, lambda s: s.update(1), 5)
    clock.advance(TTL)
    for _ in range(2):
        states.do(lambda s: s.value(), "unknown")
    assert states.size() == 0


def test_compaction_filter_cleans_up_incrementally(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_in_rocksdb_compact_filter(1_000))
    fill(states, lambda s: s.update(1), 5)
    clock.advance(TTL)
    for _ in range(2):
        states.do(lambda s: s.value(), "unknown")
    assert states.size() == 0


def test_disabled_cleanup_leaves_expired_values_until_they_are_read(clock: ManualClock) -> None:
    states = States(value(), builder())
    fill(states, lambda s: s.update(1), 5)
    clock.advance(TTL)
    for _ in range(10):
        states.do(lambda s: s.value(), "unknown")
    assert states.size() == 5


def test_what_a_cleanup_removed_is_gone_from_the_next_version_too(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(100, False))
    states.do(lambda s: s.update(1), "old")
    operator = states.harness.operator
    assert isinstance(operator, KeyedOperator)
    versions = [operator.backend.delta()]
    clock.advance(TTL)
    for _ in range(2):
        states.do(lambda s: s.value(), "unknown")
    versions.append(operator.backend.delta())
    other = States(value(), builder()).harness.operator
    assert isinstance(other, KeyedOperator)
    for version in versions:
        other.backend.load(version)
    assert [len(table.data) for table in other.backend.tables.values()] == [0, 0]


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
def test_full_snapshot_leaves_expired_values_out_where_asked_for(kind: str, clock: ManualClock) -> None:
    descriptor, write, _, _, _ = KINDS[kind]
    states = States(descriptor(), builder().cleanup_full_snapshot())
    states.do(write, "old")
    clock.advance(TTL)
    states.do(write, "new")
    restored = States(descriptor(), builder(), states.harness.snapshot())
    assert (states.size(), restored.size()) == (2, 1)


def test_snapshot_keeps_expired_values_unless_asked_for(clock: ManualClock) -> None:
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
def test_state_without_time_to_live_is_not_restored_with_one(kind: str, clock: ManualClock) -> None:
    descriptor, write, _, _, _ = KINDS[kind]
    states = States(descriptor(), None)
    states.do(write)
    message = "StateMigrationError: state 's' was restored without a time to live and is asked for with one"
    with pytest.raises(UserFunctionError, match=message):
        States(descriptor(), builder(), states.harness.snapshot())


@each_kind
def test_state_with_time_to_live_is_not_restored_without_one(kind: str, clock: ManualClock) -> None:
    descriptor, write, _, _, _ = KINDS[kind]
    states = States(descriptor(), builder())
    states.do(write)
    with pytest.raises(UserFunctionError, match="restored with a time to live and is asked for without one"):
        States(descriptor(), None, states.harness.snapshot())


# --- states and settings ---------------------------------------------------------------------------------------------


def test_state_without_time_to_live_is_of_the_plain_class() -> None:
    states = States(value(), None)
    assert type(states.harness.operator.function.state) is KeyedValueState  # type: ignore[attr-defined]


def test_time_to_live_must_be_positive() -> None:
    with pytest.raises(ValueError, match="must be positive, not 0 ms"):
        StateTtlConfig.new_builder(Time.milliseconds(0)).build()


def test_incremental_cleanup_of_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="size must be 0 or more, not -1"):
        builder().cleanup_incrementally(-1, False)


def test_incremental_cleanup_of_size_0_removes_nothing(clock: ManualClock) -> None:
    states = States(value(), builder().cleanup_incrementally(0, True))
    states.do(lambda s: s.update(1))
    clock.advance(TTL)
    states.do(lambda s: s.value(), "unknown")
    assert states.size() == 1
