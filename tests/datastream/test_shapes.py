"""Jobs with graphs of many shapes give the expected results, in both modes and at several parallelisms."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from firesteel.common import Configuration, Row, Types
from firesteel.datastream import OutputTag, RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.functions import (
    CoMapFunction,
    CoProcessFunction,
    KeyedCoProcessFunction,
    KeyedProcessFunction,
    MapFunction,
    ProcessFunction,
)
from firesteel.datastream.state import ValueStateDescriptor
from firesteel.testing import run_local

INT = Types.INT()


@pytest.fixture(params=["STREAMING", "BATCH"])
def mode(request: Any) -> RuntimeExecutionMode:
    return RuntimeExecutionMode[request.param]


@pytest.fixture(params=[1, 3])
def env(request: Any, mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(request.param)
    env.set_runtime_mode(mode)
    return env


def elements(env: StreamExecutionEnvironment) -> Counter[Any]:
    return Counter(run_local(env, batch_elements=2).elements)


def counted(*values: Any) -> Counter[Any]:
    return Counter(values)


class Sides(CoMapFunction):
    def map1(self, value: Any) -> Any:
        return value

    def map2(self, value: Any) -> Any:
        return -value


def test_diamond(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1, 2, 3], INT).map(lambda n: n * 10, INT)
    source.map(lambda n: n + 1, INT).union(source.filter(lambda n: n > 10)).collect_async()
    assert elements(env) == counted(11, 21, 31, 20, 30)


def test_union_with_itself_has_each_element_twice(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1, 2, 3], INT)
    source.union(source, source).map(lambda n: n, INT).collect_async()
    assert elements(env) == counted(*[1, 2, 3] * 3)


def test_stream_connected_with_itself(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1, 2, 3], INT)
    source.connect(source).map(Sides(), INT).collect_async()
    assert elements(env) == counted(1, 2, 3, -1, -2, -3)


class Matches(KeyedCoProcessFunction):
    """Counts the elements of a key over both inputs; tells the count at the end."""

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", INT))

    def process_element1(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)
        return None

    process_element2 = process_element1

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


def test_keyed_stream_connected_with_itself(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(list(range(7)), INT).key_by(lambda n: n % 2, INT)
    keyed.connect(keyed).process(Matches()).collect_async()
    assert elements(env) == counted((0, 8), (1, 6))


def test_independent_pipelines_run_in_one_job(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2], INT).map(lambda n: n + 1, INT).collect_async()
    env.from_collection(["a", "b"], Types.STRING()).key_by(lambda s: s).reduce(lambda a, b: a + b).collect_async()
    assert elements(env) == counted(2, 3, "a", "b")


class CountAtEnd(KeyedProcessFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", INT))

    def process_element(self, value: Any, ctx: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        ctx.timer_service().register_event_time_timer(1)

    def on_timer(self, timestamp: int, ctx: Any) -> Any:
        yield ctx.get_current_key(), self.count.value()


def test_keyed_results_feed_the_next_key_and_meet_their_source_again(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([("a", 1), ("b", 2), ("a", 3)], Types.TUPLE([Types.STRING(), INT]))
    counts = source.key_by(lambda e: e[0]).process(CountAtEnd())
    counts.key_by(lambda e: e[1]).process(CountAtEnd()).union(source.map(lambda e: e)).collect_async()
    assert elements(env) == counted((1, 1), (2, 1), ("a", 1), ("b", 2), ("a", 3))


SIDE, OTHER = OutputTag("side", INT), OutputTag("other", Types.STRING())


class Splits(ProcessFunction):
    def process_element(self, value: int, ctx: Any) -> Any:
        yield value
        yield SIDE, value * 10
        if value > 1:
            yield OTHER, f"{value}"


class SplitsBoth(CoProcessFunction):
    def process_element1(self, value: Any, ctx: Any) -> Any:
        yield SIDE, value

    def process_element2(self, value: Any, ctx: Any) -> Any:
        yield OTHER, f"second {value}"


def test_side_outputs_of_one_operator_have_separate_consumers(env: StreamExecutionEnvironment) -> None:
    main = env.from_collection([1, 2], INT).process(Splits(), INT)
    main.get_side_output(SIDE).map(lambda n: n + 1, INT).collect_async()
    main.get_side_output(SIDE).union(main).collect_async()
    main.get_side_output(OTHER).collect_async()
    assert elements(env) == counted(11, 21, 10, 20, 1, 2, "2")


def test_side_output_that_nobody_reads_is_dropped(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2], INT).process(Splits(), INT).collect_async()
    assert elements(env) == counted(1, 2)


def test_side_outputs_of_a_co_process(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([1], INT)
    main = source.connect(source).process(SplitsBoth(), INT)
    main.collect_async()
    main.get_side_output(SIDE).collect_async()
    main.get_side_output(OTHER).collect_async()
    assert elements(env) == counted(1, "second 1")


def halves(value: int) -> Any:
    yield value // 2
    yield SIDE, value


def test_map_and_flat_map_write_side_outputs_too(env: StreamExecutionEnvironment) -> None:
    source = env.from_collection([4, 6], INT)
    flat = source.flat_map(halves, INT)
    flat.get_side_output(SIDE).collect_async()
    flat.collect_async()
    mapped = source.map(lambda n: (OTHER, "four") if n == 4 else n, INT)
    mapped.get_side_output(OTHER).collect_async()
    mapped.collect_async()
    assert elements(env) == counted(4, 6, 2, 3, "four", 6)


class CountsCalls(MapFunction):
    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", INT))

    def map(self, value: Any) -> Any:
        self.count.update((self.count.value() or 0) + 1)
        return value, self.count.value()


def test_map_flat_map_and_filter_on_keys_have_state(env: StreamExecutionEnvironment) -> None:
    keyed = env.from_collection(["a", "b", "a"], Types.STRING()).key_by(lambda s: s, Types.STRING())
    keyed.map(CountsCalls()).collect_async()
    assert elements(env) == counted(("a", 1), ("b", 1), ("a", 2))


# --- fields --------------------------------------------------------------------------------------------------------

ROW = Types.ROW_NAMED(["k", "n", "s"], [Types.STRING(), INT, Types.STRING()])
TUPLE = Types.TUPLE([Types.STRING(), INT, Types.STRING()])
VALUES = [("a", 3, "x"), ("a", 1, "y"), ("a", 3, "z"), ("a", 1, "w")]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("sum", ("a", 8, "x")),
        ("min", ("a", 1, "x")),
        ("max", ("a", 3, "x")),
        ("min_by", ("a", 1, "y")),
        ("max_by", ("a", 3, "x")),
    ],
)
@pytest.mark.parametrize("kind", ["tuple", "row", "row by name"])
def test_rolling_aggregates_of_fields(
    env: StreamExecutionEnvironment, mode: RuntimeExecutionMode, method: str, expected: Any, kind: str
) -> None:
    values = VALUES if kind == "tuple" else [Row(*value) for value in VALUES]
    keyed = env.from_collection(values, TUPLE if kind == "tuple" else ROW).key_by(lambda e: e[0])
    getattr(keyed, method)("n" if kind == "row by name" else 1).map(lambda e: tuple(e)).collect_async()
    found = run_local(env).elements
    assert found[-1] == expected
    assert len(found) == (1 if mode is RuntimeExecutionMode.BATCH else 4)


def test_projection_keeps_fields_in_the_order_asked_for(env: StreamExecutionEnvironment) -> None:
    env.from_collection(VALUES[:1], TUPLE).project(2, 0, 2).collect_async()
    assert elements(env) == counted(("x", "a", "x"))
