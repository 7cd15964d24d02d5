from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.functions import AggregateFunction, MapFunction
from firesteel.functions import operator_descriptors
from firesteel.functions.missing_returns import MAY_RETURN_NOTHING, MUST_RETURN, warn_of_missing_returns
from firesteel.table import DataTypes
from firesteel.table.udf import udf


def told(define: Callable[[Any], Any]) -> list[str]:
    """Return what is said of a program, which gets a stream of texts."""
    env = StreamExecutionEnvironment.get_execution_environment()
    define(env.from_collection(["a"], Types.STRING()))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_missing_returns(env.get_stream_graph().nodes.values())
    assert {warning.filename for warning in caught} <= {__file__}
    return [str(warning.message).partition(" has no 'return', so ")[0].rpartition(">.")[2] for warning in caught]


def slip(value: Any, *others: Any) -> Any:
    value.upper()


def slip_with_guard(value: Any) -> Any:
    if value:
        return
    value.upper()


def slip_around_another(value: Any) -> Any:
    def inner() -> int:
        return 1

    inner()


def explicit(value: Any) -> None:
    return None


def sometimes(value: Any) -> Any:
    if value:
        return value


def always_raises(value: Any) -> Any:
    raise ValueError(value)


@functools.wraps(slip)
def wrapped(value: Any) -> Any:
    slip(value)
    return value


class Slip(MapFunction):  # type: ignore[type-arg]
    def map(self, value: Any) -> Any:
        value.upper()


class Sum(AggregateFunction):  # type: ignore[type-arg]
    def create_accumulator(self) -> list[int]:
        return [0]

    def add(self, value: Any, accumulator: list[int]) -> Any:
        accumulator[0] += 1

    def get_result(self, accumulator: list[int]) -> int:
        return accumulator[0]

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        pass


@pytest.mark.parametrize("function", [slip, slip_with_guard, slip_around_another, functools.partial(slip), Slip()])
def test_a_map_without_return_is_told(function: Any) -> None:
    assert len(told(lambda stream: stream.map(function).print())) == 1


@pytest.mark.parametrize(
    "function",
    [explicit, sometimes, always_raises, wrapped, lambda value: None, str.upper, print, functools.partial(max)],
)
def test_results_that_may_be_none_are_not_told(function: Any) -> None:
    assert told(lambda stream: stream.map(function).print()) == []


def test_a_map_for_its_effects_is_not_told() -> None:
    assert told(lambda stream: stream.map(slip)) == []
    assert told(lambda stream: stream.map(explicit).map(slip)) == []


def test_a_function_that_is_used_twice_is_told_once() -> None:
    def program(stream: Any) -> None:
        stream.map(slip).map(slip).print()
        stream.map(slip).print()

    assert told(program) == ["slip()"]


@pytest.mark.parametrize(
    "program",
    [
        lambda stream: stream.filter(slip),
        lambda stream: stream.key_by(slip).reduce(max),
        lambda stream: stream.key_by(len).reduce(slip),
        lambda stream: stream.partition_custom(slip, len),
        lambda stream: stream.partition_custom(max, slip),
    ],
)
def test_other_functions_are_told(program: Any) -> None:
    assert told(lambda stream: program(stream).print()) == ["slip()"]


def test_an_aggregation_is_told_but_its_merge() -> None:
    assert told(lambda stream: stream.key_by(len).count_window(2).aggregate(Sum()).print()) == ["Sum.add()"]


def test_the_message_names_function_operator_and_lines() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection(["a"], Types.STRING()).map(slip).print()
    nodes = env.get_stream_graph().nodes.values()
    with pytest.warns(UserWarning, match=r"^slip\(\) has no 'return', so Map at .*py:\d+ gets None for each") as caught:
        warn_of_missing_returns(nodes)
    assert caught[0].lineno == inspect.getsourcelines(slip)[1]


def test_a_scalar_function_of_tables_is_told() -> None:
    with pytest.warns(UserWarning, match=r"slip\(\) has no 'return', so the SQL function is NULL for each row"):
        udf(slip, result_type=DataTypes.STRING())


def test_each_operator_with_functions_of_users_is_in_a_table() -> None:
    all_of_them = {
        kind
        for kind in vars(operator_descriptors).values()
        if isinstance(kind, type) and issubclass(kind, operator_descriptors.OperatorDescriptor) and is_dataclass(kind)
    }
    names = {"function", "aggregation", "key_selector", "partitioner", "timestamp_assigner"}
    with_functions = {kind for kind in all_of_them if names & {field.name for field in fields(kind)}}
    assert set(MUST_RETURN) | set(MAY_RETURN_NOTHING) == with_functions
    assert not set(MUST_RETURN) & set(MAY_RETURN_NOTHING)
