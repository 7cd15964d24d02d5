"""Rules of windows beyond firing in time: counts, triggers of the user's own, merging, lateness, functions."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import (
    AggregateFunction,
    AllWindowFunction,
    ProcessAllWindowFunction,
    ProcessWindowFunction,
    WindowFunction,
)
from firesteel.datastream.state import ReducingStateDescriptor, ValueStateDescriptor
from firesteel.datastream.window import (
    CountSlidingWindowAssigner,
    CountTrigger,
    CountTumblingWindowAssigner,
    EventTimeSessionWindows,
    EventTimeTrigger,
    GlobalWindows,
    ProcessingTimeSessionWindows,
    PurgingTrigger,
    SessionWindowTimeGapExtractor,
    SlidingEventTimeWindows,
    Trigger,
    TriggerResult,
    TumblingEventTimeWindows,
)
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import ManualClock, OperatorHarness

LATE = OutputTag("late")
SIDE = OutputTag("side")
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
GAP_5 = EventTimeSessionWindows.with_gap(Time.milliseconds(5))


def add(a: int, b: int) -> int:
    return a + b


class Show(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        window = context.window()
        yield (window.start, window.end), list(elements)
        yield SIDE, context.current_watermark()


def windows(
    assigner: Any, function: Any = None, *, aggregation: Any = None, trigger: Any = None, lateness: int = 0, **more: Any
) -> OperatorHarness:
    trigger = trigger or assigner.get_default_trigger(None)
    descriptor = WindowOperator(assigner, trigger, lateness, LATE, aggregation, function)
    return OperatorHarness(descriptor, key_selectors=[lambda value: "k"], **more)


# --- counts --------------------------------------------------------------------------------------------------------


def test_count_window_fires_when_full_and_never_partially() -> None:
    with windows(CountTumblingWindowAssigner.of(2), aggregation=add) as h:
        h.process_batch([1, 2, 3, 4, 5])
        h.end()
        assert h.values == [3, 7]


def test_sliding_count_window_fires_when_full() -> None:
    with windows(CountSlidingWindowAssigner.of(3, 2), aggregation=add) as h:
        h.process_batch([1, 2, 3, 4, 5, 6, 7])
        assert h.values == [1 + 2 + 3, 3 + 4 + 5, 5 + 6 + 7]


def test_restored_count_window_continues_counting() -> None:
    with windows(CountTumblingWindowAssigner.of(3), aggregation=add) as h:
        h.process_batch([1, 2])
        with windows(CountTumblingWindowAssigner.of(3), aggregation=add, snapshot=h.snapshot()) as other:
            other.process_batch([3, 4])
            assert other.values == [6]


def test_full_count_windows_keep_only_the_count() -> None:
    with windows(CountTumblingWindowAssigner.of(2), aggregation=add) as h:
        h.process_batch(list(range(100)))
        assert h.num_keyed_state_entries() == 1


@pytest.mark.parametrize(
    ("trigger", "sums"), [(CountTrigger.of(2), [3, 10]), (PurgingTrigger.of(CountTrigger.of(2)), [3, 7])]
)
def test_count_trigger_keeps_elements_unless_it_purges(trigger: Any, sums: list[int]) -> None:
    with windows(GlobalWindows.create(), aggregation=add, trigger=trigger) as h:
        h.process_batch([1, 2, 3, 4, 5])
        h.end()
        assert h.values == sums


# --- functions -----------------------------------------------------------------------------------------------------


class Collect(AggregateFunction):
    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        return [*accumulator, value]

    def get_result(self, accumulator: Any) -> Any:
        return sorted(accumulator)

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return [(key, window.end, list(inputs))]


class ApplyAll(AllWindowFunction):
    def apply(self, window: Any, inputs: Any) -> Any:
        return [(window.end, list(inputs))]


class ProcessAll(ProcessAllWindowFunction):
    def process(self, context: Any, elements: Any) -> Any:
        state = context.global_state().get_state(ValueStateDescriptor("windows", Types.INT()))
        state.update((state.value() or 0) + 1)
        return [(context.window().end, list(elements), state.value())]


@pytest.mark.parametrize(
    ("aggregation", "function", "expected"),
    [
        (add, None, [3]),
        (add, Apply(), [("k", 10, [3])]),
        (add, Show(), [((0, 10), [3])]),
        (Collect(), None, [[1, 2]]),
        (Collect(), Apply(), [("k", 10, [[1, 2]])]),
        (Collect(), Show(), [((0, 10), [[1, 2]])]),
        (None, Apply(), [("k", 10, [2, 1])]),
        (None, Show(), [((0, 10), [2, 1])]),
        (None, ApplyAll(), [(10, [2, 1])]),
        (add, ApplyAll(), [(10, [3])]),
        (None, ProcessAll(), [(10, [2, 1], 1)]),
    ],
)
def test_window_function_sees_the_aggregate_or_the_elements_in_order(
    aggregation: Any, function: Any, expected: list[Any]
) -> None:
    with windows(TEN, function, aggregation=aggregation) as h:
        h.process_batch([2, 1], [1, 2])
        h.end()
        assert [value for value, _ in h.elements] == expected
        assert {timestamp for _, timestamp in h.elements} == {9}


def test_window_function_writes_side_outputs_and_sees_the_watermark_that_fired_it() -> None:
    with windows(TEN, Show()) as h:
        h.process(1, 1)
        h.watermark(12)
        assert h.side_output(SIDE) == [12]


def test_element_of_overlapping_windows_is_in_each() -> None:
    sliding = SlidingEventTimeWindows.of(Time.milliseconds(10), Time.milliseconds(4), Time.milliseconds(1))
    with windows(sliding, Show()) as h:
        h.process("x", 10)
        h.end()
        assert h.values == [((1, 11), ["x"]), ((5, 15), ["x"]), ((9, 19), ["x"])]


# --- sessions ------------------------------------------------------------------------------------------------------


class ByElement(SessionWindowTimeGapExtractor):
    def extract(self, element: Any) -> int:
        return int(element)


def test_dynamic_gap_is_that_of_each_element() -> None:
    with windows(EventTimeSessionWindows.with_dynamic_gap(ByElement()), Show()) as h:
        h.process_batch([3, 10, 2], [0, 2, 30])
        h.end()
        assert h.values == [((0, 12), [3, 10]), ((30, 32), [2])]


def test_dynamic_gap_of_the_clock() -> None:
    with ManualClock(100) as clock, windows(ProcessingTimeSessionWindows.with_dynamic_gap(ByElement()), Show()) as h:
        h.process(5)
        clock.advance(4)
        h.process(7)
        h.advance_processing_time(109)
        assert h.values == []
        h.advance_processing_time(110)
        assert h.values == [((100, 111), [5, 7])]


def test_gap_of_zero_is_refused_with_the_element() -> None:
    with (
        windows(EventTimeSessionWindows.with_dynamic_gap(ByElement()), Show()) as h,
        pytest.raises(UserFunctionError, match="must be greater than 0, found 0 for 0"),
    ):
        h.process(0, 1)


def test_merged_session_within_its_lateness_fires_again_and_a_later_one_is_late() -> None:
    with windows(GAP_5, Show(), lateness=10) as h:
        h.process_batch(["a"], [0])
        h.watermark(6)
        assert h.take() == [((0, 5), ["a"])]
        h.process("b", 3)
        assert h.take() == []  # The merged session [0, 8) is not over yet.
        h.watermark(7)
        assert h.take() == [((0, 8), ["a", "b"])]
        h.process("c", 1)
        assert h.take() == [((0, 8), ["a", "b", "c"])]
        h.watermark(17)
        h.process("d", 1)
        assert (h.take(), h.side_output(LATE)) == ([], ["d"])
        assert h.num_keyed_state_entries() == 0


def test_element_between_two_sessions_merges_the_contents_of_all_three() -> None:
    with windows(GAP_5, Show(), aggregation=Collect()) as h:
        h.process_batch([1, 3, 2], [0, 8, 4])
        h.end()
        assert h.values == [((0, 13), [[1, 2, 3]])]


def test_state_per_window_is_refused_where_windows_merge() -> None:
    class KeepsState(ProcessWindowFunction):
        def process(self, key: Any, context: Any, elements: Any) -> Any:
            context.window_state().get_state(ValueStateDescriptor("mine", Types.INT()))

    with windows(GAP_5, KeepsState()) as h:
        h.process(1, 1)
        with pytest.raises(UserFunctionError, match="state 'mine': per-window state is not allowed when using merging"):
            h.watermark(100)


# --- triggers of the user's own ------------------------------------------------------------------------------------


class EverySecondAndTheEnd(Trigger[Any, Any]):
    """Fires for each second element and at the end; counts in state, also over merged windows."""

    count = ReducingStateDescriptor("count", add, Types.INT())

    def __init__(self) -> None:
        self.cleared: list[Any] = []

    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        ctx.register_event_time_timer(window.max_timestamp())
        count = ctx.get_partitioned_state(self.count)
        count.add(1)
        return TriggerResult.FIRE if count.get() % 2 == 0 else TriggerResult.CONTINUE

    def on_processing_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.CONTINUE

    def on_event_time(self, time: int, window: Any, ctx: Any) -> TriggerResult:
        return TriggerResult.FIRE_AND_PURGE if time == window.max_timestamp() else TriggerResult.CONTINUE

    def can_merge(self) -> bool:
        return True

    def on_merge(self, window: Any, ctx: Any) -> None:
        ctx.merge_partitioned_state(self.count)
        ctx.register_event_time_timer(window.max_timestamp())

    def clear(self, window: Any, ctx: Any) -> None:
        self.cleared.append(window)
        ctx.delete_event_time_timer(window.max_timestamp())
        ctx.get_partitioned_state(self.count).clear()


class Counter(ReducingStateDescriptor[int]):
    """A descriptor of the user's own."""


class CountsInItsOwn(EverySecondAndTheEnd):
    count = Counter("count", add, Types.INT())


def test_a_trigger_names_what_is_no_descriptor() -> None:
    class Wrong(EverySecondAndTheEnd):
        count: Any = "count"

    with (
        windows(TEN, Show(), trigger=Wrong()) as h,
        pytest.raises(UserFunctionError, match="takes the descriptor of a state, not 'count'"),
    ):
        h.process("a", 0)


@pytest.mark.parametrize("trigger", [EverySecondAndTheEnd(), CountsInItsOwn()])
def test_trigger_of_the_users_own_counts_over_merged_sessions(trigger: EverySecondAndTheEnd) -> None:
    with windows(GAP_5, Show(), trigger=trigger) as h:
        h.process("a", 0)
        h.process("b", 8)
        assert h.values == []
        h.process("c", 4)  # Three elements now: the counts were added.
        assert h.values == []
        h.process("d", 5)
        assert [elements for _, elements in h.take()] == [["a", "b", "c", "d"]]
        h.end()
        assert [elements for _, elements in h.take()] == [["a", "b", "c", "d"]]
        assert h.num_keyed_state_entries() == 0


def test_restored_trigger_continues_from_its_state() -> None:
    with windows(TEN, Show(), trigger=EverySecondAndTheEnd()) as h:
        h.process("a", 0)
        with windows(TEN, Show(), trigger=EverySecondAndTheEnd(), snapshot=h.snapshot()) as other:
            other.process("b", 1)
            assert [elements for _, elements in other.values] == [["a", "b"]]


def test_trigger_is_cleared_once_per_window_when_it_is_over() -> None:
    trigger = EverySecondAndTheEnd()
    with windows(TEN, Show(), trigger=trigger) as h:
        h.process_batch(["a", "b", "c"], [0, 1, 12])
        h.watermark(9)
        assert [(window.start, window.end) for window in trigger.cleared] == [(0, 10)]


class Purges(EventTimeTrigger):
    def on_element(self, element: Any, timestamp: int, window: Any, ctx: Any) -> TriggerResult:
        super().on_element(element, timestamp, window, ctx)
        return TriggerResult.PURGE if element == "forget" else TriggerResult.CONTINUE


def test_purged_window_fires_only_with_later_elements() -> None:
    with windows(TEN, Show(), trigger=Purges()) as h:
        h.process_batch(["a", "forget", "b", "c", "forget"], [1, 2, 3, 11, 12])
        h.end()
        assert h.values == [((0, 10), ["b"])]


def test_windows_that_wait_for_their_end_fire_by_it_over_all_keys() -> None:
    descriptor = WindowOperator(TEN, EventTimeTrigger(), 0, None, add, None)
    with OperatorHarness(descriptor, key_selectors=[lambda value: value % 3]) as h:
        for value, time in ((1, 25), (2, 5), (4, 1), (7, 28), (3, 5)):
            h.process(value, time)
        h.watermark(9)
        assert h.elements == [(2, 9), (4, 9), (3, 9)]
        h.watermark(28)
        h.process(10, 29)
        h.watermark(29)
        assert h.elements[3:] == [(18, 29)]


class Nothing(AggregateFunction):
    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return accumulator

    def merge(self, a: Any, b: Any) -> Any:
        return a


def test_a_window_with_the_accumulator_none_fires_nothing_as_in_flink() -> None:
    with windows(TEN, aggregation=Nothing()) as h:
        h.process(1, 5)
        h.process(2, 6)
        h.watermark(9)
        assert h.elements == []


def test_a_window_that_waited_for_its_end_is_restored_where_lateness_is_allowed() -> None:
    with windows(TEN, aggregation=add) as h:
        h.process(1, 5)
        with windows(TEN, aggregation=add, lateness=20, snapshot=h.snapshot()) as other:
            other.process(2, 6)
            other.watermark(9)
            other.process(3, 7)
            other.watermark(29)
            other.process(4, 8)
            assert (other.values, other.side_output(LATE)) == ([3, 6], [4])


def test_a_window_for_which_lateness_was_allowed_is_restored_where_it_is_not() -> None:
    with windows(TEN, aggregation=add, lateness=20) as h:
        h.process(1, 5)
        with windows(TEN, aggregation=add, snapshot=h.snapshot()) as other:
            other.process(2, 6)
            other.process(5, 15)
            other.watermark(9)
            other.watermark(19)
            other.watermark(40)
            assert other.values == [3, 5]


def test_a_window_that_waited_for_its_end_is_restored_with_a_trigger_that_counts() -> None:
    with windows(TEN, aggregation=add) as h:
        h.process(1, 5)
        with windows(TEN, aggregation=add, trigger=CountTrigger.of(2), snapshot=h.snapshot()) as other:
            other.process(2, 6)
            other.process(3, 7)
            assert other.values == [6]
            other.watermark(9)
            other.process(4, 8)
            assert (other.values, other.side_output(LATE)) == ([6], [4])
