"""Values of None in every kind of state and of windows, in memory and on disk, compared with Flink's rule.

The rule: what a function gives back is no value if it is None. A state then has none, and a window does not fire.
Elements of lists and values of maps may be None.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream.functions import AggregateFunction, KeyedProcessFunction, ProcessWindowFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.datastream.window import (
    EventTimeSessionWindows,
    EventTimeTrigger,
    TumblingEventTimeWindows,
)
from firesteel.functions.operator_descriptors import KeyedProcessOperator, ReduceOperator, WindowOperator
from firesteel.testing import OperatorHarness

ANY = Types.PICKLED_BYTE_ARRAY()
MEMORY: dict[str, str] = {}
DISK = {"state.backend.type": "rocksdb", "state.backend.rocksdb.memory.fixed-per-slot": "1b"}


def reduced(first: int, second: int | None) -> int | None:
    assert first is not None
    return None if second is None or (first + second) % 3 == 0 else first + second


class Sum(AggregateFunction):
    """Has neither an accumulator at the beginning nor at a multiple of 3, and no result at a multiple of 5."""

    def create_accumulator(self) -> Any:
        return None

    def add(self, value: Any, accumulator: Any) -> Any:
        return self.merge(0 if accumulator is None else accumulator, value)

    def get_result(self, accumulator: Any) -> Any:
        return accumulator if accumulator % 5 else None

    def merge(self, acc_a: Any, acc_b: Any) -> Any:
        return acc_a + acc_b if (acc_a + acc_b) % 3 else None


def added(stored: Any, value: Any) -> Any:
    return None if value is None else Sum().add(value, stored)


def folded(stored: Any, value: Any) -> Any:
    return value if stored is None else reduced(stored, value)


class Accesses(KeyedProcessFunction):
    """Processes elements `(key, action, value)`: one access to a state."""

    def __init__(self, ttl: StateTtlConfig | None) -> None:
        self.ttl = ttl

    def open(self, runtime_context: Any) -> None:
        descriptors = (
            ValueStateDescriptor("value", ANY),
            ListStateDescriptor("list", ANY),
            MapStateDescriptor("map", ANY, ANY),
            ReducingStateDescriptor("reducing", reduced, ANY),
            AggregatingStateDescriptor("aggregating", Sum(), ANY),
        )
        for descriptor in descriptors if self.ttl else ():
            descriptor.enable_time_to_live(self.ttl)
        self.value = runtime_context.get_state(descriptors[0])
        self.list = runtime_context.get_list_state(descriptors[1])
        self.map = runtime_context.get_map_state(descriptors[2])
        self.reducing = runtime_context.get_reducing_state(descriptors[3])
        self.aggregating = runtime_context.get_aggregating_state(descriptors[4])

    def process_element(self, value: Any, ctx: Any) -> Any:
        _, action, argument = value
        yield ACTIONS[action](self, argument)


ACTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "value write": lambda states, argument: states.value.update(argument),
    "value read": lambda states, argument: states.value.value(),
    "list add": lambda states, argument: states.list.add(argument),
    "list replace": lambda states, argument: states.list.update([argument, None]),
    "list read": lambda states, argument: list(states.list.get()),
    "map put": lambda states, argument: states.map.put(argument, None if argument in (2, 4) else argument),
    "map remove": lambda states, argument: states.map.remove(argument),
    "map read": lambda states, argument: (states.map.get(argument), states.map.contains(argument)),
    "map items": lambda states, argument: dict(states.map.items()),
    "map is empty": lambda states, argument: states.map.is_empty(),
    "reducing add": lambda states, argument: states.reducing.add(argument),
    "reducing read": lambda states, argument: states.reducing.get(),
    "aggregating add": lambda states, argument: states.aggregating.add(argument),
    "aggregating read": lambda states, argument: states.aggregating.get(),
}


class Value:
    def __init__(self) -> None:
        self.stored: Any = None

    def update(self, value: Any) -> None:
        self.stored = value

    def value(self) -> Any:
        return self.stored


class List(list[Any]):
    def add(self, value: Any) -> None:
        self.append(value)

    def update(self, values: list[Any]) -> None:
        self[:] = values

    def get(self) -> list[Any]:
        return self


class Map(dict[Any, Any]):
    def put(self, key: Any, value: Any) -> None:
        self[key] = value

    def remove(self, key: Any) -> None:
        self.pop(key, None)

    def contains(self, key: Any) -> bool:
        return key in self

    def is_empty(self) -> bool:
        return not self


class Combined:
    def __init__(self, add: Callable[[Any, Any], Any], result: Callable[[Any], Any]) -> None:
        self.stored, self.added, self.result = None, add, result

    def add(self, value: Any) -> None:
        self.stored = self.added(self.stored, value)

    def get(self) -> Any:
        return None if self.stored is None else self.result(self.stored)


class Model:
    """The states of a key."""

    def __init__(self) -> None:
        self.value, self.list, self.map = Value(), List(), Map()
        self.reducing = Combined(folded, lambda stored: stored)
        self.aggregating = Combined(added, Sum().get_result)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("ttl", [None, StateTtlConfig.new_builder(Time.hours(1)).build()], ids=["kept", "with ttl"])
@pytest.mark.parametrize("configuration", [MEMORY, DISK], ids=["memory", "disk"])
def test_states_of_all_kinds(configuration: dict[str, str], ttl: StateTtlConfig | None, seed: int) -> None:
    chosen, models = random.Random(seed), {key: Model() for key in "abcd"}

    def harness(snapshot: bytes | None) -> OperatorHarness:
        operator = KeyedProcessOperator(Accesses(ttl))
        return OperatorHarness(operator, key_selectors=[lambda e: e[0]], configuration=configuration, snapshot=snapshot)

    running = harness(None)
    for _ in range(800):
        if chosen.random() < 0.05:
            running = harness(running.snapshot())
        key, action, argument = chosen.choice("abcd"), chosen.choice(list(ACTIONS)), chosen.choice([None, *range(1, 7)])
        running.process((key, action, argument))
        assert running.take() == [ACTIONS[action](models[key], argument)], (key, action, argument)


class Show(ProcessWindowFunction):
    def process(self, key: Any, context: Any, elements: Any) -> Any:
        yield key, context.window().start, list(elements)


def windows(kind: str, assigner: Any, aggregation: Any, configuration: dict[str, str], saved: Any) -> OperatorHarness:
    lateness = 5 if kind == "any time" else 0
    descriptor = WindowOperator(assigner, EventTimeTrigger(), lateness, None, aggregation, Show())
    return OperatorHarness(descriptor, key_selectors=[lambda e: e[0]], configuration=configuration, snapshot=saved)


class OfElements:
    """The functions of a window over elements `(key, value)`, or None for a key without a value."""

    def reduce(self, first: Any, second: Any) -> Any:
        found = reduced(first[1], second[1])
        return None if found is None else (first[0], found)


class SumOfElements(Sum):
    def add(self, value: Any, accumulator: Any) -> Any:
        return super().add(value[1], accumulator)


def contents(aggregation: Any, values: list[int]) -> Any:
    """Return what a window of some values fires with, None for nothing."""
    stored, add = None, folded if isinstance(aggregation, OfElements) else added
    for value in values:
        stored = add(stored, value)
    if stored is None:
        return None
    return ("a", stored) if isinstance(aggregation, OfElements) else aggregation.get_result(stored)


@pytest.mark.parametrize("aggregation", [OfElements(), SumOfElements()], ids=["reduce", "aggregate"])
@pytest.mark.parametrize("kind", ["at end", "any time"])
@pytest.mark.parametrize("configuration", [MEMORY, DISK], ids=["memory", "disk"])
def test_windows_of_what_functions_give_back(configuration: dict[str, str], kind: str, aggregation: Any) -> None:
    chosen = random.Random(1)
    assigner = TumblingEventTimeWindows.of(Time.milliseconds(100))
    elements = [(chosen.randrange(1, 7), chosen.randrange(5000)) for _ in range(200)]
    running = windows(kind, assigner, aggregation, configuration, None)
    for value, time in elements:
        if chosen.random() < 0.05:
            running = windows(kind, assigner, aggregation, configuration, running.snapshot())
        running.process(("a", value), time)
        running.end_batch()
        list(running.operator.state_parts(full=False))
    running.end()
    expected = []
    for start in range(0, 5000, 100):
        found = contents(aggregation, [value for value, time in elements if start <= time < start + 100])
        if found is not None:
            expected.append(("a", start, [found]))
    assert sorted(running.values) == expected
    assert 10 < len(expected) < 45


@pytest.mark.parametrize("aggregation", [OfElements(), SumOfElements()], ids=["reduce", "aggregate"])
@pytest.mark.parametrize("configuration", [MEMORY, DISK], ids=["memory", "disk"])
def test_sessions_that_merge_to_none_begin_anew(configuration: dict[str, str], aggregation: Any) -> None:
    assigner = EventTimeSessionWindows.with_gap(Time.milliseconds(10))
    running = windows("sessions", assigner, aggregation, configuration, None)
    for value, time in ((1, 0), (2, 18), (1, 9)):  # The third joins the first two, whose values are 1 + 2.
        running.process(("a", value), time)
    running.end()
    assert running.values == [("a", 0, [contents(aggregation, [1])])]


@pytest.mark.parametrize("configuration", [MEMORY, DISK], ids=["memory", "disk"])
def test_reduction_of_a_stream_to_none_begins_anew(configuration: dict[str, str]) -> None:
    for is_batch, results in ((False, [1, None, 4, 9]), (True, [9])):
        descriptor = ReduceOperator(lambda a, b: None if a + b == 3 else a + b)
        keys = [lambda value: "a"]
        running = OperatorHarness(descriptor, key_selectors=keys, is_batch=is_batch, configuration=configuration)
        running.process_batch([1, 2, 4, 5])
        running.end()
        assert running.values == results


def test_a_batch_has_no_result_of_a_key_that_was_reduced_to_none() -> None:
    descriptor = ReduceOperator(lambda a, b: None)
    running = OperatorHarness(descriptor, key_selectors=[lambda value: "a"], is_batch=True)
    running.process_batch([1, 2])
    running.end()
    assert running.values == []
