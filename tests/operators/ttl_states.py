"""Harnesses with one state of each kind and a time to live."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from firesteel.common import Time, Types
from firesteel.datastream.functions import AggregateFunction, KeyedProcessFunction
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    StateDescriptor,
    StateTtlConfig,
    ValueStateDescriptor,
)
from firesteel.functions.operator_descriptors import KeyedProcessOperator
from firesteel.testing import OperatorHarness

TTL = 100
"""How long all states live here (ms)."""

Do = Callable[[Any], Any]
"""An action on the state of the element's key; its result is emitted."""


class Sum(AggregateFunction):
    """The accumulator is a list, changed in place; the result is its sum."""

    def create_accumulator(self) -> Any:
        return []

    def add(self, value: Any, accumulator: Any) -> Any:
        accumulator.append(value)
        return accumulator

    def get_result(self, accumulator: Any) -> Any:
        return sum(accumulator)

    def merge(self, a: Any, b: Any) -> Any:
        return a + b


def value() -> StateDescriptor:
    return ValueStateDescriptor("s", Types.INT())


def list_of() -> StateDescriptor:
    return ListStateDescriptor("s", Types.INT())


def map_of() -> StateDescriptor:
    return MapStateDescriptor("s", Types.STRING(), Types.INT())


def reducing() -> StateDescriptor:
    return ReducingStateDescriptor("s", lambda a, b: a + b, Types.INT())


def aggregating() -> StateDescriptor:
    return AggregatingStateDescriptor("s", Sum(), Types.PICKLED_BYTE_ARRAY())


GETTERS = {
    ValueStateDescriptor: "get_state",
    ListStateDescriptor: "get_list_state",
    MapStateDescriptor: "get_map_state",
    ReducingStateDescriptor: "get_reducing_state",
    AggregatingStateDescriptor: "get_aggregating_state",
}

KINDS: dict[str, tuple[Callable[[], StateDescriptor], Do, Do, Any, Any]] = {
    "value": (value, lambda s: s.update(7), lambda s: s.value(), 7, None),
    "list": (list_of, lambda s: s.add(7), lambda s: s.get(), [7], []),
    "map": (map_of, lambda s: s.put("x", 7), lambda s: dict(s.items()), {"x": 7}, {}),
    "map get": (map_of, lambda s: s.put("x", 7), lambda s: s.get("x"), 7, None),
    "map contains": (map_of, lambda s: s.put("x", 7), lambda s: s.contains("x"), True, False),
    "map keys": (map_of, lambda s: s.put("x", 7), lambda s: list(s.keys()), ["x"], []),
    "map values": (map_of, lambda s: s.put("x", 7), lambda s: list(s.values()), [7], []),
    "reducing": (reducing, lambda s: s.add(7), lambda s: s.get(), 7, None),
    "aggregating": (aggregating, lambda s: s.add(7), lambda s: s.get(), 7, None),
}
"""Kind and way to read -> descriptor, write, read, what is read, what is read where nothing is."""

each_kind = pytest.mark.parametrize("kind", KINDS)


class OnState(KeyedProcessFunction):
    """Processes elements `(key, access to the state)`."""

    def __init__(self, descriptor: StateDescriptor) -> None:
        self.descriptor = descriptor

    def open(self, runtime_context: Any) -> None:
        self.state = getattr(runtime_context, GETTERS[type(self.descriptor)])(self.descriptor)

    def process_element(self, value: Any, ctx: Any) -> Any:
        yield [value[1](self.state)]


def builder() -> StateTtlConfig.Builder:
    """Only reads and explicit cleanups remove expired values."""
    return StateTtlConfig.new_builder(Time.milliseconds(TTL)).disable_cleanup_in_background()


class States:
    """The state of one descriptor in a harness, by key."""

    def __init__(
        self, descriptor: StateDescriptor, ttl: StateTtlConfig.Builder | None, snapshot: bytes | None = None
    ) -> None:
        if ttl is not None:
            descriptor.enable_time_to_live(ttl.build())
        operator = KeyedProcessOperator(OnState(descriptor))
        self.harness = OperatorHarness(operator, key_selectors=[lambda element: element[0]], snapshot=snapshot)

    def do(self, what: Do, key: str = "k") -> Any:
        """The result of doing that to the state of the key."""
        self.harness.process((key, what))
        return self.harness.take()[0][0]

    def size(self) -> int:
        """How many keys have something stored."""
        return self.harness.num_keyed_state_entries()
