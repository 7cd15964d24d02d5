"""Harnesses of functions: what they refuse, and what they say then."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.datastream import (
    KeyedProcessFunction,
    KeySelector,
    MapFunction,
    ProcessFunction,
    ProcessWindowFunction,
    StreamExecutionEnvironment,
)
from firesteel.testing import Fault, harness, keyed_harness, run_local


class Doubled(MapFunction):
    def map(self, value):
        return value * 2


class Keyed(KeyedProcessFunction):
    def process_element(self, value, ctx):
        yield ctx.get_current_key(), value


class Plain(ProcessFunction):
    def process_element(self, value, ctx):
        yield value


class Window(ProcessWindowFunction):
    def process(self, key, context, elements):
        yield key


class Last(KeySelector):
    def get_key(self, value):
        return value % 10


REFUSED: dict[str, tuple[Callable[[Any], object], Any, str]] = {
    "a class": (harness, Doubled, "found the class Doubled: write Doubled()"),
    "a keyed function": (
        harness,
        Keyed(),
        "Keyed is a KeyedProcessFunction, .*: use keyed_harness\\(function, key\\)$",
    ),
    "a plain function": (
        lambda function: keyed_harness(function, Last()),
        Plain(),
        r"Plain is a ProcessFunction, .*: use harness\(function\)$",
    ),
    "a function of windows": (harness, Window(), r"Window is a ProcessWindowFunction, .*: use run_local\(\)"),
    "a lambda": (harness, lambda n: n, r"of a plain function: name it, as in OperatorHarness\(MapOperator\(function"),
    "a number": (harness, 5, "takes one of MapFunction, .*; found int 5$"),
    "an index as key": (lambda function: keyed_harness(function, 0), Keyed(), "key takes a KeySelector or a callable"),
}


@pytest.mark.parametrize("given", REFUSED)
def test_the_error_says_how_to_test_what_has_no_such_harness(given: str) -> None:
    call, function, message = REFUSED[given]
    with pytest.raises(TypeError, match=message):
        call(function)


def test_keys_may_come_from_a_key_selector() -> None:
    with keyed_harness(Keyed(), key=Last()) as numbers:
        numbers.process(15)
        assert numbers.values == [(5, 15)]


def test_faults_that_never_happened_are_told() -> None:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.from_collection([1, 2, 3]).map(lambda n: n).collect_async()
    there, beyond = Fault(batch=1, stage=0, slot=0), Fault(batch=1, stage=7, slot=0)
    result = run_local(env, batch_elements=2, faults=[there, beyond])
    assert (result.elements, result.missed_faults) == ([1, 2, 3], [beyond])


def test_what_is_no_program_is_refused() -> None:
    with pytest.raises(TypeError, match=r"run_local\(\) takes a StreamExecutionEnvironment; found"):
        run_local(print)  # type: ignore[arg-type]
