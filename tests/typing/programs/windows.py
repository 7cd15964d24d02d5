"""Windows, per key and over all elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_type

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import (
    AggregateFunction,
    AllWindowedStream,
    CountWindow,
    DataStream,
    OutputTag,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
    TimeWindow,
    WindowedStream,
    WindowFunction,
)
from firesteel.datastream.functions import ProcessAllWindowFunction
from firesteel.datastream.window import TumblingEventTimeWindows

Reading = tuple[str, int]


class Mean(AggregateFunction[Reading, tuple[int, int], float]):
    def create_accumulator(self) -> tuple[int, int]:
        return 0, 0

    def add(self, value: Reading, accumulator: tuple[int, int]) -> tuple[int, int]:
        return accumulator[0] + value[1], accumulator[1] + 1

    def get_result(self, accumulator: tuple[int, int]) -> float:
        return accumulator[0] / accumulator[1]

    def merge(self, acc_a: tuple[int, int], acc_b: tuple[int, int]) -> tuple[int, int]:
        return acc_a[0] + acc_b[0], acc_a[1] + acc_b[1]


class Labelled(ProcessWindowFunction[float, str, str, TimeWindow]):
    def process(
        self, key: str, context: ProcessWindowFunction.Context[TimeWindow], elements: Iterable[float]
    ) -> Iterable[str]:
        assert_type(context.window(), TimeWindow)
        return [f"{key} {context.window().end}: {element}" for element in elements]


class Count(WindowFunction[Reading, int, str, TimeWindow]):
    def apply(self, key: str, window: TimeWindow, inputs: Iterable[Reading]) -> Iterable[int]:
        return [len(list(inputs))]


class CountAll(ProcessAllWindowFunction[Reading, int, TimeWindow]):
    def process(
        self, context: ProcessAllWindowFunction.Context[TimeWindow], elements: Iterable[Reading]
    ) -> Iterable[int]:
        return [len(list(elements))]


def main(env: StreamExecutionEnvironment) -> None:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda value, _: value[1])
    readings = env.from_collection([("a", 1), ("b", 2)]).assign_timestamps_and_watermarks(strategy)
    assert_type(readings, DataStream[tuple[str, int]])
    by_sensor = readings.key_by(lambda reading: reading[0], Types.STRING())
    windows = by_sensor.window(TumblingEventTimeWindows.of(Time.seconds(5)))
    assert_type(windows, WindowedStream[tuple[str, int], str, TimeWindow])
    late = OutputTag("late", Types.TUPLE([Types.STRING(), Types.LONG()]))
    windows = windows.allowed_lateness(1000).side_output_late_data(late)

    assert_type(windows.aggregate(Mean()), DataStream[float])
    assert_type(windows.aggregate(Mean(), output_type=Types.DOUBLE()), DataStream[float])
    assert_type(windows.aggregate(Mean(), Labelled(), output_type=Types.STRING()), DataStream[str])
    assert_type(windows.apply(Count(), Types.INT()), DataStream[int])
    assert_type(windows.reduce(lambda first, second: max(first, second)), DataStream[tuple[str, int]])
    assert_type(windows.reduce(lambda first, second: max(first, second), Count()), DataStream[int])
    assert_type(by_sensor.count_window(3), WindowedStream[tuple[str, int], str, CountWindow])

    everything = readings.window_all(TumblingEventTimeWindows.of(Time.seconds(5)))
    assert_type(everything, AllWindowedStream[tuple[str, int], TimeWindow])
    assert_type(everything.process(CountAll()), DataStream[int])
    windows.aggregate(Mean(), Labelled()).print()
