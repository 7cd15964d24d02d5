from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream import OutputTag
from firesteel.datastream.functions import AggregateFunction, ProcessWindowFunction, WindowFunction
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.datastream.window import (
    ContinuousEventTimeTrigger,
    ContinuousProcessingTimeTrigger,
    CountTrigger,
    EventTimeSessionWindows,
    GlobalWindows,
    PurgingTrigger,
    TimeWindow,
    TumblingEventTimeWindows,
    TumblingProcessingTimeWindows,
)
from firesteel.functions.operator_descriptors import WindowOperator
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import ManualClock, OperatorHarness

LATE = OutputTag("late", Types.INT())
TEN = TumblingEventTimeWindows.of(Time.milliseconds(10))
GAP_5 = EventTimeSessionWindows.with_gap(Time.milliseconds(5))


class Elements(ProcessWindowFunction):
    """Emits `(key, start, elements)`, sorted."""

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, sorted(elements)


def harness(
    assigner: Any,
    aggregation: Any = None,
    function: Any = None,
    trigger: Any = None,
    lateness: int = 0,
    late_tag: Any = None,
    **settings: Any,
) -> OperatorHarness:
    descriptor = WindowOperator(
        assigner, trigger or assigner.get_default_trigger(None), lateness, late_tag, aggregation, function
    )
    return OperatorHarness(descriptor, key_selectors=[lambda value: "k"], **settings)


def add(a: int, b: int) -> int:
    return a + b


# --- event time ----------------------------------------------------------------------------------------------------


def test_window_fires_when_the_watermark_passes_its_last_millisecond() -> None:
    with harness(TEN, add) as h:
        h.process_batch([1, 2, 4], [0, 9, 10])
        h.watermark(8)
        assert h.take() == []
        h.watermark(9)
        assert h.elements == [(3, 9)]
        h.end()
        assert h.elements == [(3, 9), (4, 19)]


def test_an_element_behind_the_watermark_counts_while_its_window_is_open() -> None:
    with harness(TEN, add) as h:
        h.process(1, 5)
        h.watermark(8)
        h.process(2, 3)
        h.watermark(9)
        assert h.values == [3]


def test_late_element_goes_to_the_side_output_and_nowhere_else() -> None:
    with harness(TEN, add, late_tag=LATE) as h:
        h.process(1, 5)
        h.watermark(9)
        h.process(2, 9)
        assert (h.values, h.side_output(LATE)) == ([1], [2])


def test_late_element_without_a_side_output_is_dropped() -> None:
    with harness(TEN, add) as h:
        h.watermark(9)
        h.process(2, 9)
        h.end()
        assert h.values == []


def test_allowed_lateness_fires_again_for_each_late_element_until_it_is_over() -> None:
    with harness(TEN, add, lateness=5, late_tag=LATE) as h:
        h.process(1, 5)
        h.watermark(9)
        h.process(2, 5)
        h.watermark(13)
        h.process(4, 5)
        h.watermark(14)
        h.process(8, 5)
        assert (h.values, h.side_output(LATE)) == ([1, 3, 7], [8])


def test_state_of_a_window_is_gone_when_its_lateness_is_over() -> None:
    with harness(TEN, None, Elements(), lateness=5) as h:
        h.process(1, 5)
        h.watermark(14)
        assert not any(table.data for table in h.operator.backend.tables.values())  # type: ignore[attr-defined]


def test_element_without_event_time_is_an_error_with_a_hint() -> None:
    with harness(TEN, add) as h, pytest.raises(UserFunctionError, match="assign_timestamps_and_watermarks"):
        h.process(1)


# --- sessions ------------------------------------------------------------------------------------------------------


def test_element_between_two_sessions_makes_one_of_them() -> None:
    with harness(GAP_5, None, Elements()) as h:
        h.process_batch([1, 8, 5], [1, 8, 5])
        h.end()
        assert h.elements == [(("k", 1, [1, 5, 8]), 12)]


def test_merged_sessions_reduce_their_values() -> None:
    with harness(GAP_5, add) as h:
        h.process_batch([1, 8, 5, 100], [1, 8, 5, 100])
        h.end()
        assert h.values == [14, 100]


def test_session_fires_at_its_own_end_only() -> None:
    with harness(GAP_5, add) as h:
        h.process(1, 0)
        h.watermark(3)
        h.process(2, 4)
        h.watermark(7)
        assert h.values == []
        h.watermark(8)
        assert h.elements == [(3, 8)]


def test_late_element_that_touches_an_open_session_joins_it() -> None:
    with harness(GAP_5, add, late_tag=LATE) as h:
        h.process(1, 10)
        h.watermark(12)
        h.process(2, 6)
        h.process(4, 5)
        h.process(8, -1)
        h.end()
        assert (h.values, h.side_output(LATE)) == ([7], [8])


def test_count_trigger_counts_over_merged_sessions() -> None:
    with harness(GAP_5, add, trigger=CountTrigger.of(3)) as h:
        h.process_batch([1, 8], [1, 8])
        assert h.take() == []
        h.process(5, 5)
        assert h.take() == [14]


# --- triggers ------------------------------------------------------------------------------------------------------


def test_purging_trigger_removes_fired_elements() -> None:
    trigger = PurgingTrigger.of(CountTrigger.of(2))
    with harness(GlobalWindows.create(), add, trigger=trigger) as h:
        h.process_batch([1, 2, 3, 4, 5])
        h.end()
        assert h.values == [3, 7]


def test_continuous_event_time_trigger_fires_at_intervals_and_at_the_end() -> None:
    trigger = ContinuousEventTimeTrigger.of(Time.milliseconds(4))
    with harness(TEN, add, trigger=trigger) as h:
        h.process(1, 1)
        h.watermark(4)
        assert h.take() == [1]
        h.process(2, 5)
        h.watermark(8)
        assert h.take() == [3]
        h.process(4, 9)
        h.watermark(9)
        assert h.take() == [7]


def test_processing_time_windows_fire_by_the_clock() -> None:
    with ManualClock(1003) as clock, harness(TumblingProcessingTimeWindows.of(Time.milliseconds(10)), add) as h:
        h.process_batch([1, 2])
        assert h.operator.next_processing_time() == 1009
        clock.advance(6)
        h.advance_processing_time(clock.now_ms)
        assert h.values == [3]


def test_continuous_processing_time_trigger_fires_at_intervals() -> None:
    trigger = ContinuousProcessingTimeTrigger.of(Time.milliseconds(4))
    windows = TumblingProcessingTimeWindows.of(Time.milliseconds(100))
    with ManualClock(1000) as clock, harness(windows, add, trigger=trigger) as h:
        h.process(1)
        for now in (1004, 1006, 1008):
            clock.now_ms = now
            h.advance_processing_time(now)
        assert h.values == [1, 1]


# --- functions and their state -------------------------------------------------------------------------------------


class Average(AggregateFunction):
    def create_accumulator(self) -> Any:
        return 0, 0

    def add(self, value: Any, accumulator: Any) -> Any:
        return accumulator[0] + value, accumulator[1] + 1

    def get_result(self, accumulator: Any) -> Any:
        return accumulator[0] / accumulator[1]

    def merge(self, a: Any, b: Any) -> Any:
        return a[0] + b[0], a[1] + b[1]


def test_aggregate_function_gives_one_result_per_window_also_over_merged_ones() -> None:
    with harness(TEN, Average()) as tumbling, harness(GAP_5, Average()) as session:
        for h in (tumbling, session):
            h.process_batch([2, 7, 3], [1, 7, 4])
            h.end()
            assert h.values == [4.0]


class Apply(WindowFunction):
    def apply(self, key: Any, window: Any, inputs: Any) -> Any:
        return [(key, window, sum(inputs))]


def test_window_function_gets_key_window_and_aggregate() -> None:
    with harness(TEN, add, Apply()) as h:
        h.process_batch([1, 2], [1, 2])
        h.end()
        assert h.values == [("k", TimeWindow(0, 10), 3)]


class CountFirings(ProcessWindowFunction):
    """Counts firings per window and over all windows of the key."""

    per_window = ValueStateDescriptor("count", Types.INT())

    def process(self, key: Any, context: Any, elements: Any) -> Any:
        counts = []
        for store in (context.window_state(), context.global_state()):
            state = store.get_state(self.per_window)
            state.update((state.value() or 0) + 1)
            counts.append(state.value())
        yield tuple(counts)

    def clear(self, context: Any) -> None:
        context.window_state().get_state(self.per_window).clear()


def test_window_state_ends_with_its_window_and_global_state_does_not() -> None:
    with harness(TEN, None, CountFirings(), lateness=5) as h:
        h.process(1, 1)
        h.watermark(9)
        h.process(1, 2)
        h.process(1, 11)
        h.watermark(50)
        assert h.values == [(1, 1), (2, 2), (1, 3)]
        tables = {name: table.data for name, table in h.operator.backend.tables.items()}  # type: ignore[attr-defined]
        assert (tables["@count"], tables["count"]) == ({}, {"k": 3})


@pytest.mark.parametrize("cut", range(6))
def test_snapshot_anywhere_changes_nothing(cut: int) -> None:
    def feed(h: OperatorHarness, step: int) -> None:
        steps: list[Any] = [
            lambda: h.process_batch([1, 2], [1, 8]),
            lambda: h.watermark(4),
            lambda: h.process(3, 5),
            lambda: h.watermark(20),
            lambda: h.process_batch([4, 5], [21, 5]),
            lambda: h.end(),
        ]
        steps[step]()

    whole = harness(GAP_5, None, Elements(), late_tag=LATE)
    first = harness(GAP_5, None, Elements(), late_tag=LATE)
    for step in range(6):
        feed(whole, step)
    for step in range(cut):
        feed(first, step)
    second = harness(GAP_5, None, Elements(), late_tag=LATE, snapshot=first.snapshot())
    for step in range(cut, 6):
        feed(second, step)
    assert first.elements + second.elements == whole.elements
    assert first.side_output(LATE) + second.side_output(LATE) == whole.side_output(LATE) == [5]


def test_batch_mode_sees_nothing_late_and_fires_once_per_window() -> None:
    with harness(TEN, add, late_tag=LATE, is_batch=True) as h:
        h.process_batch([1, 2], [15, 5])
        h.watermark(100)
        h.process(4, 6)
        assert h.values == []
        h.end()
        assert (h.elements, h.side_output(LATE)) == ([(6, 9), (1, 19)], [])


def test_batch_mode_fires_processing_time_windows_at_the_end_of_a_key() -> None:
    with harness(TumblingProcessingTimeWindows.of(Time.seconds(100)), add, is_batch=True) as h:
        h.process_batch([1, 2])
        h.end()
        assert sum(h.values) == 3
