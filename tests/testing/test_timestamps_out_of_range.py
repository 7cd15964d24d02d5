"""Timestamps outside 64 bits fail the job, wherever a program makes them; nothing would ever be due at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.watermark_strategy import TimestampAssigner, WatermarkGenerator
from firesteel.datastream import KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.datastream.window import EventTimeSessionWindows, TumblingEventTimeWindows
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local

LAST = 2**63 - 1


class At(TimestampAssigner):
    def __init__(self, time: int) -> None:
        self._time = time

    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return self._time


def strategy(time: int) -> WatermarkStrategy:
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(At(time))


def with_times(env: StreamExecutionEnvironment, time: int) -> Any:
    return env.from_collection([7], Types.INT()).assign_timestamps_and_watermarks(strategy(time)).key_by(str)


class Timer(KeyedProcessFunction):
    def __init__(self, register: str, time: int) -> None:
        self._register, self._time = register, time

    def process_element(self, value: Any, ctx: Any) -> Any:
        getattr(ctx.timer_service(), self._register)(self._time)
        return []


class Watermarks(WatermarkGenerator):
    def on_event(self, event: Any, event_timestamp: int, output: Any) -> None:
        output.emit_watermark(LAST + 1)

    def on_periodic_emit(self, output: Any) -> None:
        pass


def of_a_source(env: StreamExecutionEnvironment, time: int) -> None:
    env.from_source(NumberSequenceSource(7, 7), strategy(time), "numbers", Types.LONG()).collect_async()


def a_tumbling_window(env: StreamExecutionEnvironment, time: int) -> None:
    tumbling = TumblingEventTimeWindows.of(Time.hours(1))
    with_times(env, time).window(tumbling).reduce(max).collect_async()


def a_window_with_lateness(env: StreamExecutionEnvironment, time: int) -> None:
    tumbling = TumblingEventTimeWindows.of(Time.hours(1))
    with_times(env, time).window(tumbling).allowed_lateness(1).reduce(max).collect_async()


def a_session(env: StreamExecutionEnvironment, time: int) -> None:
    with_times(env, time).window(EventTimeSessionWindows.with_gap(Time.hours(1))).reduce(max).collect_async()


def generated_watermarks(env: StreamExecutionEnvironment, _: int) -> None:
    generated = WatermarkStrategy.for_generator(Watermarks)
    env.from_collection([7], Types.INT()).assign_timestamps_and_watermarks(generated).collect_async()


PROGRAMS: list[tuple[Callable[..., None], int]] = [
    (of_a_source, LAST + 1),
    (of_a_source, -LAST - 2),
    (lambda env, time: with_times(env, time).map(str).collect_async(), LAST + 1),
    (lambda env, time: with_times(env, time).map(str).collect_async(), -LAST - 2),
    (a_tumbling_window, LAST - 10),
    (a_window_with_lateness, LAST - 10),
    (a_session, LAST - 10),
    (lambda env, t: with_times(env, 1).process(Timer("register_event_time_timer", t)).collect_async(), LAST + 1),
    (lambda env, t: with_times(env, 1).process(Timer("register_processing_time_timer", t)).collect_async(), LAST + 1),
    (generated_watermarks, 0),
]


@pytest.mark.parametrize("number", range(len(PROGRAMS)))
def test_a_timestamp_outside_64_bits_fails_the_job(number: int) -> None:
    build, time = PROGRAMS[number]
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    build(env, time)
    with pytest.raises(UserFunctionError, match=r"ValueOverflowError: .* found int .*, which is out of range"):
        run_local(env)


@pytest.mark.parametrize("time", [LAST - 3_600_000, -LAST + 7_200_000])
def test_the_first_and_last_windows_of_64_bits_fire(time: int) -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    a_tumbling_window(env, time)
    assert run_local(env).elements == [7]


def test_a_bound_is_subtracted_within_64_bits() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    bounded = WatermarkStrategy.for_bounded_out_of_orderness(Duration.of_days(1)).with_timestamp_assigner(At(-LAST))
    env.from_collection([7], Types.INT()).assign_timestamps_and_watermarks(bounded).collect_async()
    assert run_local(env).elements == [7]
