"""A function of a program is opened once in each subtask, before its calls, and closed after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Configuration, Time, Types, WatermarkStrategy
from firesteel.datastream import AsyncDataStream, StreamExecutionEnvironment
from firesteel.datastream import functions as api
from firesteel.datastream.state import MapStateDescriptor
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local

PAIR = Types.TUPLE([Types.STRING(), Types.LONG()])
BROADCAST = MapStateDescriptor("rules", Types.INT(), Types.INT())
WINDOWS = TumblingEventTimeWindows.of(Time.seconds(1))
SUBTASKS = 2

calls: list[tuple[int, str]] = []
"""(identity of a function, method) of each call."""


def note(function: object, name: str) -> None:
    """Note a call; functions that are pickled by value refer to this one by its name."""
    calls.append((id(function), name))


def key(value: Any) -> Any:
    return value[0]


def keyed(stream: Any) -> Any:
    return stream.key_by(key, Types.STRING())


def traced(kind: type, **results: Any) -> Any:
    """Return a function of a class, whose methods return the results and note that they were called."""

    def method(name: str) -> Callable[..., Any]:
        def call(self: Any, *arguments: Any) -> Any:
            note(self, name)
            found = results.get(name)
            return found(*arguments) if callable(found) else found

        return call

    return type(kind.__name__, (kind,), {name: method(name) for name in ("open", "close", *results)})()


class Asked(api.AsyncFunction):
    """Traced as the others; its method is a coroutine."""

    def open(self, runtime_context: Any) -> None:
        note(self, "open")

    async def async_invoke(self, value: Any) -> Any:
        note(self, "async_invoke")
        return [value]

    def timeout(self, value: Any) -> Any:
        return []

    def close(self) -> None:
        note(self, "close")


def reducing() -> Any:
    return traced(api.ReduceFunction, reduce=lambda first, second: first)


def summing() -> Any:
    same: Any = {"get_result": lambda total: total, "merge": lambda first, second: first}
    return traced(api.AggregateFunction, create_accumulator=0, add=lambda value, total: total + 1, **same)


PLACES: dict[str, Callable[[Any], Any]] = {
    "map": lambda stream: stream.map(traced(api.MapFunction, map=1)),
    "flat_map": lambda stream: stream.flat_map(traced(api.FlatMapFunction, flat_map=None)),
    "filter": lambda stream: stream.filter(traced(api.FilterFunction, filter=True)),
    "process": lambda stream: stream.process(traced(api.ProcessFunction, process_element=None)),
    "key_by": lambda stream: stream.key_by(traced(api.KeySelector, get_key=key)).map(key),
    "partitioner": lambda stream: stream.partition_custom(traced(api.Partitioner, partition=0), key),
    "key of a partitioner": lambda stream: stream.partition_custom(
        lambda _, n: n - 1, traced(api.KeySelector, get_key=1)
    ),
    "map by key": lambda stream: keyed(stream).map(traced(api.MapFunction, map=1)),
    "filter by key": lambda stream: keyed(stream).filter(traced(api.FilterFunction, filter=True)),
    "flat_map by key": lambda stream: keyed(stream).flat_map(traced(api.FlatMapFunction, flat_map=None)),
    "process by key": lambda stream: keyed(stream).process(traced(api.KeyedProcessFunction, process_element=None)),
    "reduce": lambda stream: keyed(stream).reduce(reducing()),
    "reduce of windows": lambda stream: keyed(stream).window(WINDOWS).reduce(reducing()),
    "aggregate of windows": lambda stream: keyed(stream).window(WINDOWS).aggregate(summing()),
    "apply of windows": lambda stream: keyed(stream).window(WINDOWS).apply(traced(api.WindowFunction, apply=())),
    "process of windows": lambda stream: (
        keyed(stream).window(WINDOWS).reduce(max, traced(api.ProcessWindowFunction, process=()))
    ),
    "apply of all windows": lambda stream: stream.window_all(WINDOWS).apply(traced(api.AllWindowFunction, apply=())),
    "process of all windows": lambda stream: stream.window_all(WINDOWS).process(
        traced(api.ProcessAllWindowFunction, process=())
    ),
    "two maps": lambda stream: stream.connect(stream).map(traced(api.CoMapFunction, map1=1, map2=2)),
    "two flat_maps": lambda stream: stream.connect(stream).flat_map(
        traced(api.CoFlatMapFunction, flat_map1=None, flat_map2=None)
    ),
    "two processes": lambda stream: stream.connect(stream).process(
        traced(api.CoProcessFunction, process_element1=None, process_element2=None)
    ),
    "two processes by key": lambda stream: (
        keyed(stream)
        .connect(keyed(stream))
        .process(traced(api.KeyedCoProcessFunction, process_element1=None, process_element2=None))
    ),
    "broadcast": lambda stream: stream.connect(stream.broadcast(BROADCAST)).process(
        traced(api.BroadcastProcessFunction, process_element=None, process_broadcast_element=None)
    ),
    "broadcast by key": lambda stream: (
        keyed(stream)
        .connect(stream.broadcast(BROADCAST))
        .process(traced(api.KeyedBroadcastProcessFunction, process_element=None, process_broadcast_element=None))
    ),
    "asynchronous": lambda stream: AsyncDataStream.unordered_wait(stream, Asked(), Time.seconds(9)),
}


def run(place: str) -> None:
    calls.clear()
    env = StreamExecutionEnvironment.get_execution_environment(Configuration())
    env.set_parallelism(SUBTASKS)
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda pair, _: pair[1])
    pairs = env.from_collection([("a", 1000), ("b", 2000), ("a", 1001), ("b", 2001)], PAIR)
    PLACES[place](pairs.rebalance().assign_timestamps_and_watermarks(timed)).map(str).collect_async()
    run_local(env)


@pytest.mark.parametrize("place", PLACES)
def test_a_function_is_opened_before_its_calls_and_closed_after_them(place: str) -> None:
    run(place)
    assert any(name not in ("open", "close") for _, name in calls)
    functions = {function for function, _ in calls}
    assert 1 <= len(functions) <= SUBTASKS
    for function in functions:
        of_function = [name for called, name in calls if called == function]
        assert (of_function[0], of_function[-1]) == ("open", "close")
        assert (of_function.count("open"), of_function.count("close")) == (1, 1)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("hook", ["open", "close"])
def test_an_error_of_a_hook_fails_the_job(place: str, hook: str, monkeypatch: pytest.MonkeyPatch) -> None:
    class Fails(list[tuple[int, str]]):
        def append(self, call: tuple[int, str]) -> None:
            if call[1] == hook:
                raise RuntimeError("a failing hook")

    monkeypatch.setattr(f"{__name__}.calls", Fails())
    with pytest.raises(UserFunctionError, match="a failing hook"):
        run(place)
