"""Side outputs and broadcast states that are mistaken for others are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import DataStream, OutputTag, StreamExecutionEnvironment
from firesteel.datastream.functions import ProcessFunction
from firesteel.datastream.state import MapStateDescriptor
from firesteel.errors import InvalidProgramError
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.testing import run_local

TAG = OutputTag("late", Types.INT())


class Yields(ProcessFunction[int, Any]):
    """Yields what a function returns."""

    def __init__(self, result_of: Callable[[int], object]) -> None:
        self._result_of = result_of

    def process_element(self, value: int, ctx: object) -> Iterator[object]:
        yield self._result_of(value)


@pytest.fixture
def numbers() -> DataStream[int]:
    return StreamExecutionEnvironment.get_execution_environment().from_collection([1, 2], Types.INT())


@pytest.mark.parametrize("result_of", [lambda n: (TAG,), lambda n: (TAG, n, n)])
def test_a_tag_with_other_than_one_value_is_refused(
    numbers: DataStream[int], result_of: Callable[[int], object]
) -> None:
    numbers.process(Yields(result_of)).get_side_output(TAG).collect_async()
    with pytest.raises(UserFunctionError, match=r"a function yields \(OutputTag, value\) for a side output"):
        run_local(numbers.get_execution_environment())


def test_empty_tuples_are_results(numbers: DataStream[int]) -> None:
    numbers.process(Yields(lambda n: ())).collect_async()
    assert run_local(numbers.get_execution_environment()).elements == [(), ()]


def test_tags_have_no_subclasses() -> None:
    with pytest.raises(TypeError, match="OutputTag has no subclasses"):
        type("Late", (OutputTag,), {})


def test_a_side_output_has_one_type(numbers: DataStream[int]) -> None:
    main, other = numbers.process(Yields(lambda n: (TAG, n))), numbers.map(lambda n: n)
    for stream in (main, main, other):
        stream.get_side_output(TAG)
    with pytest.raises(InvalidProgramError, match="side output 'late' was read as Integer before, found String"):
        main.get_side_output(OutputTag("late", Types.STRING()))
    numbers.get_side_output(OutputTag("late", Types.STRING()))


def test_a_union_has_no_side_outputs(numbers: DataStream[int]) -> None:
    with pytest.raises(InvalidProgramError, match="a union is none"):
        numbers.union(numbers).get_side_output(TAG)


def test_broadcast_states_have_different_names(numbers: DataStream[int]) -> None:
    states = [MapStateDescriptor("rules", Types.STRING(), kind) for kind in (Types.INT(), Types.STRING())]
    with pytest.raises(ValueError, match="states of different names, found 'rules', 'rules'"):
        numbers.broadcast(*states)
