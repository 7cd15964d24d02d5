from __future__ import annotations

from decimal import Decimal
from enum import IntEnum
from typing import Any

import pytest

from firesteel.common import Row, Time, Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import KeyedCoProcessFunction, KeyedProcessFunction, ReduceFunction, WindowFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.time_domain import TimeDomain
from firesteel.datastream.window import EventTimeTrigger, TumblingEventTimeWindows
from firesteel.functions.operator_descriptors import (
    CoProcessOperator,
    FlatMapOperator,
    KeyedProcessOperator,
    MapOperator,
    ReduceOperator,
    WindowOperator,
)
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import ManualClock, OperatorHarness


def first(value: Any) -> Any:
    return value[0]


def keyed(descriptor: Any, **settings: Any) -> OperatorHarness:
    return OperatorHarness(descriptor, key_selectors=[first, first], **settings)


# --- reduce --------------------------------------------------------------------------------------------------------


def add(a: Any, b: Any) -> Any:
    return a[0], a[1] + b[1]


def test_reduce_emits_each_intermediate_value_with_the_timestamp_of_its_element() -> None:
    with keyed(ReduceOperator(add)) as h:
        h.process_batch([("a", 1), ("b", 5), ("a", 2)], [10, 20, 30])
        assert h.elements == [(("a", 1), 10), (("b", 5), 20), (("a", 3), 30)]


class CountingReduce(ReduceFunction):
    """Adds, and counts in a state of its own how often it did so for the key."""

    def open(self, runtime_context: Any) -> None:
        self.calls = runtime_context.get_state(ValueStateDescriptor("calls", Types.INT()))

    def reduce(self, a: Any, b: Any) -> Any:
        self.calls.update((self.calls.value() or 0) + 1)
        return a[0], a[1] + b[1], self.calls.value()


@pytest.mark.parametrize("is_batch", [False, True])
def test_reduce_function_has_state_of_the_key(is_batch: bool) -> None:
    with keyed(ReduceOperator(CountingReduce()), is_batch=is_batch) as h:
        h.process_batch([("a", 1), ("b", 5), ("a", 2), ("b", 6), ("a", 3)])
        h.end()
        last = {value[0]: value for value in h.values}
        assert last == {"a": ("a", 6, 2), "b": ("b", 11, 1)}


def test_reduce_fails_beyond_the_declared_width() -> None:
    with (
        keyed(ReduceOperator(add, Types.TUPLE([Types.STRING(), Types.SHORT()]))) as h,
        pytest.raises(UserFunctionError, match=r"ValueOverflowError: field \[1\]: declared as SHORT .* int 32768"),
    ):
        h.process_batch([("a", 32767), ("a", 1)])


@pytest.mark.parametrize("timestamps", [None, [3, 1, 2]])
def test_reduce_in_batch_mode_emits_the_final_value_of_each_key_at_the_end_of_time(timestamps: Any) -> None:
    with keyed(ReduceOperator(add), is_batch=True) as h:
        h.process_batch([("a", 1), ("b", 5), ("a", 2)], timestamps)
        assert h.values == []
        h.end()
        assert sorted(h.elements) == [(("a", 3), 2**63 - 1), (("b", 5), 2**63 - 1)]


@pytest.mark.parametrize("kind", [list, Row])
def test_reduce_function_may_change_the_stored_value(kind: Any) -> None:
    def reduce(a: Any, b: Any) -> Any:
        a[1] += b[1]
        return a

    make = (lambda *v: Row(*v)) if kind is Row else (lambda *v: list(v))
    with keyed(ReduceOperator(reduce)) as h:
        h.process_batch([make("a", 1), make("a", 2), make("a", 4)])
        assert [value[1] for value in h.values] == [1, 3, 7]


# --- process, state --------------------------------------------------------------------------------------------------


class Remember(KeyedProcessFunction):
    """One state of each kind, all fed with the value."""

    def open(self, runtime_context: Any) -> None:
        self.value = runtime_context.get_state(ValueStateDescriptor("value", Types.BYTE()))
        self.list = runtime_context.get_list_state(ListStateDescriptor("list", Types.INT()))
        self.map = runtime_context.get_map_state(MapStateDescriptor("map", Types.INT(), Types.STRING()))
        self.sum = runtime_context.get_reducing_state(ReducingStateDescriptor("sum", lambda a, b: a + b, Types.SHORT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        number = value[1]
        self.value.update(number)
        self.list.add(number)
        self.map.put(number, str(number))
        self.sum.add(number)
        yield self.value.value(), self.list.get(), sorted(self.map.keys()), self.sum.get()


def test_states_are_apart_by_key_and_have_their_declared_width() -> None:
    with keyed(KeyedProcessOperator(Remember())) as h:
        h.process_batch([("a", 1), ("b", 100), ("a", 27)])
        assert h.values == [(1, [1], [1], 1), (100, [100], [100], 100), (27, [1, 27], [1, 27], 28)]
        for value in (128, 32768):
            with pytest.raises(UserFunctionError, match="ValueOverflowError: value: declared as BYTE"):
                h.process(("a", value))


def test_states_are_restored() -> None:
    with keyed(KeyedProcessOperator(Remember())) as h:
        h.process(("a", 1))
        with keyed(KeyedProcessOperator(Remember()), snapshot=h.snapshot()) as other:
            other.process(("a", 2))
            assert other.values == [(2, [1, 2], [1, 2], 3)]


class Gather(KeyedProcessFunction):
    """Yields the same list that it keeps in state and changes later."""

    def open(self, runtime_context: Any) -> None:
        self.state = runtime_context.get_state(ValueStateDescriptor("seen", Types.PICKLED_BYTE_ARRAY()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        seen = self.state.value() or []
        seen.append(value[1])
        self.state.update(seen)
        yield seen
        yield ctx.get_current_key(), seen


def test_emitted_values_do_not_change_with_the_state() -> None:
    with keyed(KeyedProcessOperator(Gather())) as h:
        h.process_batch([("a", 1), ("a", 2)])
        assert h.values == [[1], ("a", [1]), [1, 2], ("a", [1, 2])]


class PutAll(KeyedProcessFunction):
    """Puts its input into a map state, optionally with a time to live."""

    def __init__(self, limited: bool) -> None:
        self.descriptor = MapStateDescriptor("map", Types.STRING(), Types.INT())
        if limited:
            self.descriptor.enable_time_to_live(StateTtlConfig.new_builder(Time.hours(1)).build())

    def open(self, runtime_context: Any) -> None:
        self.map = runtime_context.get_map_state(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.map.put_all(value[1])
        yield dict(self.map.items())


@pytest.mark.parametrize("limited", [False, True])
def test_several_entries_of_a_map_are_given_as_dict_or_as_pairs(limited: bool) -> None:
    with keyed(KeyedProcessOperator(PutAll(limited))) as h:
        h.process_batch([("a", {"x": 1}), ("a", {"y": 2}.items()), ("a", [("x", 3)])])
        assert h.values == [{"x": 1}, {"x": 1, "y": 2}, {"x": 3, "y": 2}]


def test_state_is_refused_under_another_kind() -> None:
    class Twice(KeyedProcessFunction):
        def open(self, runtime_context: Any) -> None:
            runtime_context.get_state(ValueStateDescriptor("s", Types.INT()))
            runtime_context.get_list_state(ListStateDescriptor("s", Types.INT()))

        def process_element(self, value: Any, ctx: Any) -> Any: ...

    with pytest.raises(UserFunctionError, match="requested as KeyedListState, but earlier as KeyedValueState"):
        keyed(KeyedProcessOperator(Twice()))


def test_aggregating_state_gives_the_result_of_its_accumulator() -> None:
    from firesteel.datastream.functions import AggregateFunction, MapFunction

    class Mean(AggregateFunction):
        def create_accumulator(self) -> Any:
            return [0, 0]

        def add(self, value: Any, accumulator: Any) -> Any:
            accumulator[0] += value
            accumulator[1] += 1
            return accumulator

        def get_result(self, accumulator: Any) -> Any:
            return accumulator[0] / accumulator[1]

        def merge(self, a: Any, b: Any) -> Any:
            return [a[0] + b[0], a[1] + b[1]]

    class RunningMean(MapFunction):
        def open(self, runtime_context: Any) -> None:
            descriptor = AggregatingStateDescriptor("mean", Mean(), Types.PICKLED_BYTE_ARRAY())
            self.mean = runtime_context.get_aggregating_state(descriptor)

        def map(self, value: Any) -> Any:
            self.mean.add(value[1])
            return self.mean.get()

    with keyed(MapOperator(RunningMean(), keyed=True)) as h:
        h.process_batch([("a", 1), ("b", 10), ("a", 2)])
        assert h.values == [1.0, 10.0, 1.5]


def test_keyed_flat_map_may_return_none() -> None:
    with keyed(FlatMapOperator(lambda value: None if value[1] == 1 else [value, value], keyed=True)) as h:
        h.process_batch([("a", 1), ("a", 2)])
        assert h.values == [("a", 2)] * 2


# --- timers ----------------------------------------------------------------------------------------------------------


class Timers(KeyedProcessFunction):
    """Processes elements `(key, action, timestamp)`."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, what, timestamp = value
        getattr(ctx.timer_service(), what)(timestamp)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        is_event_time = ctx.time_domain() == TimeDomain.EVENT_TIME
        yield ctx.get_current_key(), timestamp, ctx.timer_service().current_watermark() if is_event_time else "clock"


EVENT, DELETE = "register_event_time_timer", "delete_event_time_timer"
CLOCK = "register_processing_time_timer"


def test_timers_fire_in_order_of_time_once_each() -> None:
    with keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("b", EVENT, 20), ("a", EVENT, 10), ("a", EVENT, 10), ("a", EVENT, 30)])
        h.watermark(9)
        assert h.take() == []
        h.watermark(20)
        assert h.elements == [(("a", 10, 20), 10), (("b", 20, 20), 20)]


def test_deleted_timer_does_not_fire_and_may_be_registered_again() -> None:
    with keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("a", EVENT, 10), ("b", EVENT, 10), ("a", DELETE, 10), ("c", DELETE, 10)])
        h.process_batch([("d", EVENT, 10), ("d", DELETE, 10), ("d", EVENT, 10)])
        h.watermark(10)
        assert sorted(key for key, _, _ in h.values) == ["b", "d"]


def test_final_watermark_fires_all_timers_of_event_time_and_none_of_the_clock() -> None:
    with ManualClock(5), keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("a", EVENT, 2**63 - 1), ("a", CLOCK, 100)])
        h.end()
        assert [timestamp for _, timestamp, _ in h.values] == [2**63 - 1]


def test_timers_of_the_clock_that_are_due_at_the_end_of_input_fire() -> None:
    with ManualClock(50), keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("a", CLOCK, 40), ("b", CLOCK, 50), ("c", CLOCK, 51)])
        h.end()
        assert [timestamp for _, timestamp, _ in h.values] == [40, 50]


def test_timers_of_the_clock_fire_when_it_is_time() -> None:
    with ManualClock(5), keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("a", CLOCK, 100), ("b", CLOCK, 50)])
        assert h.operator.next_processing_time() == 50
        h.advance_processing_time(99)
        assert h.elements == [(("b", 50, "clock"), 50)]


def test_restored_timers_fire() -> None:
    with keyed(KeyedProcessOperator(Timers())) as h:
        h.process_batch([("a", EVENT, 20), ("b", EVENT, 10)])
        h.watermark(5)
        with keyed(KeyedProcessOperator(Timers()), snapshot=h.snapshot()) as other:
            other.watermark(30)
            assert [key for key, _, _ in other.values] == ["b", "a"]


class Again(KeyedProcessFunction):
    """A timer that registers the next one, indefinitely."""

    def process_element(self, value: Any, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(10)
        ctx.timer_service().register_processing_time_timer(10)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        ctx.timer_service().register_event_time_timer(timestamp + 10)
        yield timestamp, ctx.time_domain()


def test_timer_that_registers_another_one_due_fires_both() -> None:
    with ManualClock(0), keyed(KeyedProcessOperator(Again())) as h:
        h.process(("a", 1))
        h.watermark(35)
        assert [timestamp for timestamp, _ in h.values] == [10, 20, 30]


def test_batch_mode_fires_all_timers_after_a_key_and_ignores_those_they_register() -> None:
    with keyed(KeyedProcessOperator(Again()), is_batch=True) as h:
        h.process_batch([("a", 1), ("b", 1)])
        h.end()
        assert h.values == [(10, TimeDomain.EVENT_TIME), (10, TimeDomain.PROCESSING_TIME)] * 2


# --- two inputs ------------------------------------------------------------------------------------------------------

SIDE = OutputTag("side", Types.STRING())


class Both(KeyedCoProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.last = runtime_context.get_state(ValueStateDescriptor("last", Types.STRING()))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield f"{self.last.value()} {value[1]}"

    def process_element2(self, value: Any, ctx: Any) -> Any:
        self.last.update(value[1])
        yield SIDE, value[1]


def test_inputs_of_a_co_process_function_share_the_state_of_a_key() -> None:
    with keyed(CoProcessOperator(Both(), keyed=True)) as h:
        h.process(("a", "x"), input_index=1)
        h.process_batch([("a", "y"), ("b", "z")])
        assert (h.values, h.side_output(SIDE)) == (["x y", "None z"], ["x"])


def test_batch_mode_gives_the_elements_of_both_inputs_in_order_of_event_time() -> None:
    with keyed(CoProcessOperator(Both(), keyed=True), is_batch=True) as h:
        h.process_batch([("a", "early"), ("a", "late")], [1, 9])
        h.process_batch([("a", "x")], [5], input_index=1)
        h.end(inputs=2)
        assert h.values == ["None early", "x late"]


# --- keys ----------------------------------------------------------------------------------------------------------


class Color(IntEnum):
    RED = 1


LIKE_ONE = [
    1,
    1.0,
    True,
    Decimal(1),
    Color.RED,
    (1,),
    (1.0,),
    (True,),
    ((True,), "a"),
    ((1,), "a"),
    Row(1),
    Row(True),
    [1],
    [True],
    {"a": 1},
    (1, [1]),
]


class CountOfKey(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.INT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(5)
        yield ctx.get_current_key(), self.count.value()

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


@pytest.mark.parametrize("is_batch", [False, True])
def test_keys_without_type_are_distinguished_by_class_like_their_pickled_bytes(is_batch: bool) -> None:
    descriptor, select = KeyedProcessOperator(CountOfKey()), [lambda value: value]
    with OperatorHarness(descriptor, key_selectors=select, is_batch=is_batch) as h:
        h.process_batch(LIKE_ONE)
        h.process_batch(LIKE_ONE)
        if not is_batch:
            h = OperatorHarness(descriptor, key_selectors=select, snapshot=h.snapshot())
        h.end()
        fired = h.values[2::3] if is_batch else h.values
        assert [(type(key), key, count) for key, count in fired] == [(type(key), key, 2) for key in LIKE_ONE]


def test_keys_of_one_declared_type_are_one_key() -> None:
    descriptor = KeyedProcessOperator(CountOfKey(), Types.INT())
    with OperatorHarness(descriptor, key_selectors=[lambda value: value]) as h:
        h.process_batch([1, True])
        assert h.values == [(1, 1), (1, 2)]


def test_window_function_gets_the_key_that_the_selector_gave() -> None:
    class Keys(WindowFunction):
        def apply(self, key: Any, window: Any, inputs: Any) -> Any:
            yield key, len(list(inputs))

    windows = WindowOperator(TumblingEventTimeWindows(10, 0), EventTimeTrigger(), 0, None, None, Keys())
    with OperatorHarness(windows, key_selectors=[lambda value: value]) as h:
        h.process_batch([1, 1.0, True, 1.0], [1, 1, 1, 1])
        h.end()
        assert [(type(key), count) for key, count in h.values] == [(int, 1), (float, 2), (bool, 1)]


class KeepFloat(KeyedProcessFunction):
    """Emits a FLOAT as its state returns it right after the update."""

    def open(self, runtime_context: Any) -> None:
        self.kept = runtime_context.get_state(ValueStateDescriptor("kept", Types.FLOAT()))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.kept.update(value[1])
        yield self.kept.value()


def test_float_state_is_rounded_to_32_bits_at_each_update() -> None:
    with keyed(KeyedProcessOperator(KeepFloat())) as h:
        h.process_batch([("a", 0.1), ("a", 1e300)])
        assert h.values == [0.10000000149011612, float("inf")]
