"""What functions return: one result where one is wanted, and where there may be many anything that can be iterated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import firesteel.datastream.functions as api
from firesteel.cep import CEP, Pattern
from firesteel.common import Time, Types, WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.window import TumblingEventTimeWindows
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local

WINDOWS = TumblingEventTimeWindows.of(Time.milliseconds(10))


def _numbers() -> DataStream[int]:
    timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env.from_collection([1, 2], Types.LONG()).assign_timestamps_and_watermarks(timed)


def _key(number: int) -> int:
    return 0


def _joined(function: Any) -> DataStream[Any]:
    numbers = _numbers()
    return numbers.join(numbers).where(_key).equal_to(_key).window(WINDOWS).apply(function)


def _co_grouped(function: Any) -> DataStream[Any]:
    numbers = _numbers()
    return numbers.co_group(numbers).where(_key).equal_to(_key).window(WINDOWS).apply(function)


class _Join(api.JoinFunction[int, int, Any]):
    def join(self, first: int, second: int) -> Any:
        yield first


class _Maps(api.CoMapFunction[int, int, Any]):
    def map1(self, value: int) -> Any:
        return value

    def map2(self, value: int) -> Any:
        yield value


class _Sum(api.AggregateFunction[int, int, Any]):
    def create_accumulator(self) -> int:
        return 0

    def add(self, value: int, accumulator: int) -> int:
        return accumulator + value

    def get_result(self, accumulator: int) -> Any:
        yield accumulator

    def merge(self, acc_a: int, acc_b: int) -> int:
        return acc_a + acc_b


def _yields(*values: object) -> Iterator[object]:
    yield values


YIELDING: dict[str, tuple[Callable[[], object], str]] = {
    "join": (lambda: _joined(_Join()), "a FlatJoinFunction"),
    "join by a function": (lambda: _joined(_yields), "a FlatJoinFunction"),
    "two maps": (lambda: _numbers().connect(_numbers()).map(_Maps()), r"flat_map\(\)"),
    "aggregate": (lambda: _numbers().key_by(_key).window(WINDOWS).aggregate(_Sum()), "a ProcessWindowFunction"),
    "pattern": (lambda: CEP.pattern(_numbers(), Pattern.begin("a")).select(_yields), r"flat_select\(\)"),
}


@pytest.mark.parametrize("place", YIELDING)
def test_functions_of_one_result_do_not_yield(place: str) -> None:
    call, instead = YIELDING[place]
    with pytest.raises(TypeError, match=rf"returns one result; found .*, which yields: use {instead}"):
        call()


def _flat_join(result: object) -> api.FlatJoinFunction[int, int, Any]:
    class Join(api.FlatJoinFunction[int, int, Any]):
        def join(self, first: int, second: int) -> Any:
            return result

    return Join()


def _elements(stream: DataStream[Any]) -> list[object]:
    stream.collect_async()
    return run_local(stream.get_execution_environment()).elements


def test_arrays_are_many_results() -> None:
    assert _elements(_joined(_flat_join(np.array([7, 8])))) == [7, 8] * 4
    assert _elements(_co_grouped(lambda first, second: np.array([7, 8]))) == [7, 8]
    assert _elements(_joined(_flat_join(None))) == _elements(_co_grouped(lambda first, second: None)) == []


@pytest.mark.parametrize("result", [0, False])
def test_what_cannot_be_iterated_is_refused_also_if_it_is_false(result: object) -> None:
    for stream in (_joined(_flat_join(result)), _co_grouped(lambda first, second: result)):
        with pytest.raises(UserFunctionError, match="object is not iterable"):
            _elements(stream)
