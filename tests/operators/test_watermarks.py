from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from firesteel.common import Duration, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.functions.operator_descriptors import ExtractTimestampOperator, TimestampsAndWatermarksOperator
from firesteel.operators.chain.operator import MAX_WATERMARK
from firesteel.testing import ManualClock, OperatorHarness

EVERY_200_MS = 200


class Itself(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return int(value)


def harness(strategy: WatermarkStrategy, **settings: Any) -> OperatorHarness:
    """Takes `(timestamp, value)` elements."""
    return OperatorHarness(TimestampsAndWatermarksOperator(strategy, True), **settings)


def pairs(*values: int) -> list[Any]:
    return [(value, value) for value in values]


def test_extracted_timestamp_goes_before_the_value() -> None:
    with OperatorHarness(ExtractTimestampOperator(Itself())) as h:
        h.process_batch([3, 1])
        assert h.values == [(3, 3), (1, 1)]


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [
        (WatermarkStrategy.for_monotonous_timestamps(), 8),
        (WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_millis(5)), 3),
    ],
)
def test_periodic_watermark_is_behind_the_largest_timestamp(strategy: WatermarkStrategy, expected: int) -> None:
    with ManualClock(0) as clock, harness(strategy) as h:
        h.process_batch(pairs(9, 7))
        assert (h.elements, h.watermarks) == ([((9, 9), 9), ((7, 7), 7)], [])
        clock.advance(EVERY_200_MS)
        h.advance_processing_time(clock.now_ms)
        h.advance_processing_time(clock.now_ms)
        assert h.watermarks == [expected]


@pytest.mark.parametrize(("interval", "expected"), [("0 ms", []), ("1 s", []), ("100 ms", [8])])
def test_interval_of_periodic_watermarks(interval: str, expected: list[int]) -> None:
    """As in Flink, there are none if the interval is 0."""
    options = {"pipeline.auto-watermark-interval": interval}
    with ManualClock(0) as clock, harness(WatermarkStrategy.for_monotonous_timestamps(), configuration=options) as h:
        h.process_batch(pairs(9))
        clock.advance(100)
        h.process_batch(pairs(5))
        assert h.watermarks == expected


def test_no_watermarks_gives_only_the_final_one() -> None:
    with ManualClock(0) as clock, harness(WatermarkStrategy.no_watermarks()) as h:
        h.process_batch(pairs(9))
        clock.advance(1000)
        h.advance_processing_time(clock.now_ms)
        h.watermark(77)
        h.end()
        assert h.watermarks == [MAX_WATERMARK]


def test_batch_mode_gives_only_the_final_watermark() -> None:
    with ManualClock(0) as clock, harness(WatermarkStrategy.for_monotonous_timestamps(), is_batch=True) as h:
        h.process_batch(pairs(9))
        clock.advance(1000)
        h.advance_processing_time(clock.now_ms)
        h.end()
        assert h.watermarks == [MAX_WATERMARK]


def test_silent_stream_turns_idle_and_the_next_element_ends_that() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_millis(500))
    with ManualClock(0) as clock, harness(strategy) as h:
        h.process_batch(pairs(9))
        assert h.operator.next_processing_time() == 500
        clock.advance(500)
        h.advance_processing_time(clock.now_ms)
        assert (h.idle_changes, h.operator.next_processing_time()) == ([True], None)
        h.process_batch(pairs(10))
        assert h.idle_changes == [True, False]


class Punctuated:
    """A watermark after each multiple of ten."""

    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        if event % 10 == 0:
            output.emit_watermark(event_timestamp)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def test_watermark_of_a_punctuated_generator_follows_its_element() -> None:
    strategy = replace(WatermarkStrategy.no_watermarks(), generator_kind="custom", generator_supplier=Punctuated)
    with harness(strategy) as h:
        seen: list[Any] = []
        h.operator.output.connect(_Listener(seen), None)
        h.process_batch(pairs(1, 10, 2, 20, 3))
        assert seen == [[1, 10], "watermark 10", [2, 20], "watermark 20", [3]]


class _Listener:
    def __init__(self, seen: list[Any]) -> None:
        self._seen = seen

    def process(self, values: list[Any], timestamps: Any) -> None:
        assert timestamps == [value for _, value in values]
        self._seen.append([value for _, value in values])

    def watermark(self, timestamp: int) -> None:
        self._seen.append(f"watermark {timestamp}")

    def idle(self, is_idle: bool) -> None:
        pass

    def end(self) -> None:
        pass


def test_restored_generator_continues_from_its_largest_timestamp() -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps()
    with ManualClock(0) as clock, harness(strategy) as first:
        first.process_batch(pairs(50))
        with harness(strategy, snapshot=first.snapshot()) as second:
            second.process_batch(pairs(7))
            clock.advance(EVERY_200_MS)
            second.advance_processing_time(clock.now_ms)
            assert second.watermarks == [49]
