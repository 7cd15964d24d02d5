"""Functions belong to the operator that they are added to, as they are then: PyFlink pickles them in that call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

import firesteel.datastream.functions as api
from firesteel.cep import CEP, Pattern
from firesteel.common import Types, WatermarkStrategy
from firesteel.datastream import DataStream, StreamExecutionEnvironment
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local


class Numbered(api.MapFunction[Any, Any], api.CoMapFunction[Any, Any, Any]):
    """Numbers its calls."""

    def __init__(self, first: int = 1) -> None:
        self.next = first

    def map(self, value: object) -> object:
        number, self.next = self.next, self.next + 1
        return value, number

    map1 = map2 = map


@pytest.fixture
def env() -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    return env


class _Adds(api.ProcessFunction[int, int]):
    def __init__(self, added: Callable[[], int]) -> None:
        self._added = added

    def process_element(self, value: int, ctx: object) -> Iterator[int]:
        yield value + self._added()


def _by_filter(numbers: DataStream[int], chosen: Callable[[], int]) -> DataStream[Any]:
    return numbers.flat_map(lambda n: range(n, n + 3)).filter(lambda n: n == 10 + chosen())


def _by_key(numbers: DataStream[int], chosen: Callable[[], int]) -> DataStream[Any]:
    class Key(api.KeyedProcessFunction[int, int, int]):
        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            yield ctx.get_current_key()

    return numbers.key_by(lambda n: n + chosen()).process(Key())


def _by_pattern(numbers: DataStream[int], chosen: Callable[[], int]) -> DataStream[Any]:
    matches = CEP.pattern(numbers, Pattern.begin("one").where(lambda n: chosen() >= 0)).in_processing_time()
    return matches.select(lambda match: match["one"][0] + chosen())


ADDED: dict[str, Callable[[DataStream[int], Callable[[], int]], DataStream[Any]]] = {
    "map": lambda numbers, chosen: numbers.map(lambda n: n + chosen()),
    "flat_map": lambda numbers, chosen: numbers.flat_map(lambda n: [n + chosen()]),
    "filter": _by_filter,
    "process": lambda numbers, chosen: numbers.process(_Adds(chosen)),
    "key": _by_key,
    "pattern": _by_pattern,
}


@pytest.mark.parametrize("place", ADDED)
def test_a_function_keeps_the_variables_that_it_was_added_with(place: str, env: StreamExecutionEnvironment) -> None:
    numbers = env.from_collection([10], Types.INT())
    for number in range(3):
        ADDED[place](numbers, lambda: number).collect_async()  # noqa: B023 - on purpose
    assert sorted(run_local(env).elements) == [10, 11, 12]


def test_an_assigner_keeps_the_variables_that_it_was_added_with(env: StreamExecutionEnvironment) -> None:
    class Timed(api.ProcessFunction[int, int]):
        def process_element(self, value: int, ctx: Any) -> Iterator[int]:
            yield ctx.timestamp()

    for number in range(3):
        timed = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(lambda n, _: n + number)  # noqa: B023
        env.from_source(NumberSequenceSource(10, 10), timed, "timed").process(Timed()).collect_async()
        env.from_collection([20]).assign_timestamps_and_watermarks(timed).process(Timed()).collect_async()
    assert sorted(run_local(env).elements) == [10, 11, 12, 20, 21, 22]


def test_a_pattern_that_goes_on_growing_does_not_change_those_in_use(env: StreamExecutionEnvironment) -> None:
    numbers, growing = env.from_collection([1, 2], Types.INT()), Pattern.begin("n").where(lambda n: n > 0)
    for _ in range(2):
        CEP.pattern(numbers, growing).in_processing_time().select(lambda match: match["n"][0]).collect_async()
        growing.where(lambda n: n > 1)
    assert sorted(run_local(env).elements) == [1, 2, 2]


def test_an_object_that_is_changed_later_stays_as_it_was_added(env: StreamExecutionEnvironment) -> None:
    numbered, numbers = Numbered(), env.from_collection([0])
    numbers.map(numbered).collect_async()
    numbered.next = 7
    numbers.map(numbered).collect_async()
    assert sorted(run_local(env).elements) == [(0, 1), (0, 7)]


def test_operators_that_got_the_same_object_have_one_each(env: StreamExecutionEnvironment) -> None:
    numbered, numbers = Numbered(), env.from_collection(["a", "b"])
    numbers.map(numbered).map(numbered).collect_async()
    assert run_local(env).elements == [(("a", 1), 1), (("b", 2), 2)]


def test_operators_of_two_inputs_that_got_the_same_object_have_one_each(env: StreamExecutionEnvironment) -> None:
    numbered, numbers = Numbered(), env.from_collection(["a"])
    for _ in range(2):
        numbers.connect(env.from_collection(["b"])).map(numbered).map(lambda pair: pair[1]).collect_async()
    assert sorted(run_local(env).elements) == [1, 1, 2, 2]


def test_exit_fails_the_operator_and_not_its_process(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1, 2]).map(lambda n: exit("over")).collect_async()
    with pytest.raises(UserFunctionError, match="operator 'Map': SystemExit: over; on record 1"):
        run_local(env)


class _Leaves(Numbered):
    def __setstate__(self, state: object) -> None:
        raise SystemExit("not here")


def test_a_function_that_cannot_be_copied_fails_the_job_and_not_the_program(env: StreamExecutionEnvironment) -> None:
    env.from_collection([1]).map(_Leaves()).collect_async()
    with pytest.raises((Exception, SystemExit), match="not here"):
        run_local(env)
