"""User code that yields without end fails with the name of its operator, before it fills memory or disk."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.common.files import spill_file
from firesteel.common.values import bounded_results
from firesteel.common.values.bounded_results import EndlessResultsError, OutputReserveError, all_of
from firesteel.common.watermark_strategy import TimestampAssigner
from firesteel.datastream import (
    AsyncDataStream,
    AsyncFunction,
    BroadcastProcessFunction,
    CoFlatMapFunction,
    CoProcessFunction,
    KeyedProcessFunction,
    OutputTag,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table import DataTypes, StreamTableEnvironment, TableAggregateFunction
from firesteel.table.expressions import col
from firesteel.table.udf import udtaf, udtf
from firesteel.task import slot_tasks
from firesteel.testing import run_local

SIDE = OutputTag("side", Types.INT())


def endless(*_: Any) -> Any:
    yield from itertools.count()


class Process(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return endless()


class Sides(ProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        for number in itertools.count():
            yield SIDE, number


class Timers(KeyedProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> None:
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        return endless()


class OfWindow(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        return endless()


class CoProcess(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        return endless()

    def process_element2(self, value: Any, ctx: Any) -> Any:
        return endless()


class CoFlat(CoFlatMapFunction):
    def flat_map1(self, value: Any) -> Any:
        return endless()

    def flat_map2(self, value: Any) -> Any:
        return endless()


class Broadcast(BroadcastProcessFunction):
    def process_element(self, value: Any, ctx: Any) -> Any:
        return endless()

    def process_broadcast_element(self, value: Any, ctx: Any) -> Any:
        return endless()


class Async(AsyncFunction):
    async def async_invoke(self, value: Any) -> Any:
        return endless()


class Zero(TimestampAssigner):
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 0


def timed(stream: Any) -> Any:
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Zero())
    return stream.assign_timestamps_and_watermarks(strategy)


def sides(stream: Any) -> Any:
    found = stream.process(Sides(), Types.INT())
    found.get_side_output(SIDE).rebalance().map(str).collect_async()
    return found


def broadcast(stream: Any) -> Any:
    rules = stream.broadcast(MapStateDescriptor("rules", Types.INT(), Types.INT()))
    return stream.connect(rules).process(Broadcast(), Types.INT())


WINDOW = TumblingEventTimeWindows.of(Time.seconds(1))
OPERATORS: dict[str, Callable[[Any], Any]] = {
    "flat_map": lambda s: s.flat_map(endless, Types.INT()),
    "flat_map without type": lambda s: s.flat_map(endless),
    "flat_map with time": lambda s: timed(s).flat_map(endless, Types.INT()),
    "keyed flat_map": lambda s: s.key_by(lambda n: n).flat_map(endless, Types.INT()),
    "process": lambda s: s.process(Process(), Types.INT()),
    "side outputs": sides,
    "timer": lambda s: timed(s).key_by(lambda n: n).process(Timers(), Types.INT()),
    "window": lambda s: timed(s).key_by(lambda n: n).window(WINDOW).process(OfWindow(), Types.INT()),
    "count window": lambda s: s.key_by(lambda n: n).count_window(1).process(OfWindow(), Types.INT()),
    "co_process": lambda s: s.connect(s).process(CoProcess(), Types.INT()),
    "co_flat_map": lambda s: s.connect(s).flat_map(CoFlat(), Types.INT()),
    "broadcast": broadcast,
}


def program(operator: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    stream = env.from_collection([7], Types.INT())
    endless_stream = OPERATORS[operator](stream).name("the endless one")
    endless_stream.map(lambda n: n, Types.INT()).name("the next one").rebalance().map(str).collect_async()
    return env


@pytest.mark.parametrize("operator", OPERATORS)
def test_results_of_one_call_are_bounded_in_number(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_results, "MOST_RESULTS", 20_000)
    with pytest.raises(UserFunctionError, match=r"'the endless one': EndlessResultsError: one call has returned 2\d,"):
        run_local(program(operator))


@pytest.mark.parametrize("operator", OPERATORS)
def test_spilled_results_leave_space_on_the_disk(operator: str, monkeypatch: pytest.MonkeyPatch) -> None:
    full = SimpleNamespace(f_bavail=5, f_frsize=4096, f_blocks=100)
    monkeypatch.setattr(spill_file.os, "fstatvfs", lambda _: full)
    monkeypatch.setattr(slot_tasks, "_PENDING_BYTES", 1 << 10)
    text = r"'the endless one': EndlessResultsError: one call has returned .* the disk of .* is almost full: 20,480 "
    with pytest.raises(UserFunctionError, match=text):
        run_local(program(operator))


def test_large_output_of_finite_calls_names_its_vertex(monkeypatch: pytest.MonkeyPatch) -> None:
    full = SimpleNamespace(f_bavail=5, f_frsize=4096, f_blocks=100)
    monkeypatch.setattr(spill_file.os, "fstatvfs", lambda _: full)
    monkeypatch.setattr(slot_tasks, "_PENDING_BYTES", 1 << 10)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(list(range(5)), Types.INT()).flat_map(lambda _: list(range(900)), Types.INT()).name(
        "the large one"
    ).rebalance().map(str).collect_async()
    with pytest.raises(OutputReserveError, match=r"the output of '.*the large one.*' is spilled .* is almost full"):
        run_local(env)


def test_results_of_many_calls_are_not_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_results, "MOST_RESULTS", 9_000)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(list(range(5)), Types.INT()).flat_map(lambda _: iter(range(9_000)), Types.INT()).collect_async()
    assert len(run_local(env).elements) == 45_000


def test_results_that_are_needed_as_a_whole_are_bounded_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_results, "MOST_BYTES", 2 << 20)
    assert all_of(iter(range(10_000))) == list(range(10_000))
    with pytest.raises(EndlessResultsError, match=r"they take about [\d,]+ bytes, allowed are 2,097,152"):
        all_of(endless())


def test_results_of_async_functions_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_results, "MOST_BYTES", 2 << 20)
    env = StreamExecutionEnvironment.get_execution_environment()
    stream = env.from_collection([7], Types.INT())
    AsyncDataStream.unordered_wait(stream, Async(), Time.seconds(60), 1, Types.INT()).name("async").collect_async()
    with pytest.raises(UserFunctionError, match="'async': EndlessResultsError"):
        run_local(env)


class Total(TableAggregateFunction):
    def create_accumulator(self) -> list[int]:
        return [0]

    def accumulate(self, accumulator: Any, number: int) -> None:
        accumulator[0] += number

    def emit_value(self, accumulator: Any) -> Any:
        return endless()


ENDLESS_TABLE = udtf(endless, result_types=[DataTypes.INT()])
TABLES: dict[str, Callable[[Any], Any]] = {
    "table function": lambda t: t.join_lateral(ENDLESS_TABLE(col("n")).alias("r")).select(col("r")),
    "table aggregate": lambda t: t.flat_aggregate(
        udtaf(Total(), result_type=DataTypes.INT(), accumulator_type=DataTypes.ARRAY(DataTypes.INT()))(col("n")).alias(
            "r"
        )
    ).select(col("r")),
}


@pytest.mark.parametrize("kind", TABLES)
def test_results_of_table_functions_are_bounded(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_results, "MOST_BYTES", 2 << 20)
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.to_changelog_stream(TABLES[kind](t_env.from_elements([(1,)], ["n"]))).collect_async()
    with pytest.raises(UserFunctionError, match="EndlessResultsError: one call has returned"):
        run_local(env)
