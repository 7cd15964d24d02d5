"""Descriptors of classes that a program has derived describe and make the same states as those of firesteel."""

from __future__ import annotations

from operator import add
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.datastream import AggregateFunction
from firesteel.datastream import state as states
from firesteel.operators.state.descriptions import description_of
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore


class Counts(AggregateFunction):
    """Counts values."""

    def create_accumulator(self) -> int:
        return 0

    def add(self, value: Any, accumulator: int) -> int:
        return accumulator + 1

    def get_result(self, accumulator: int) -> int:
        return accumulator

    def merge(self, a: int, b: int) -> int:
        return a + b


ARGUMENTS: dict[type[states.StateDescriptor], tuple[Any, ...]] = {
    states.ValueStateDescriptor: (Types.INT(),),
    states.ListStateDescriptor: (Types.INT(),),
    states.MapStateDescriptor: (Types.STRING(), Types.INT()),
    states.ReducingStateDescriptor: (add, Types.INT()),
    states.AggregatingStateDescriptor: (Counts(), Types.INT()),
}


def test_all_descriptors_are_known() -> None:
    found = {one for one in vars(states).values() if isinstance(one, type) and issubclass(one, states.StateDescriptor)}
    assert found - {states.StateDescriptor} == set(ARGUMENTS)


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_derived_descriptor_makes_the_same_state(kind: type[Any]) -> None:
    own = type("Own", (kind,), {})
    described = [description_of(each("s", *ARGUMENTS[kind])) for each in (kind, own)]
    assert described[0] == described[1]
    store = StateStore(KeyedStateBackend(None, 128))
    name = "get_state" if kind is states.ValueStateDescriptor else f"get_{described[0]['kind']}_state"
    made = [getattr(store, name)(each("s", *ARGUMENTS[kind])) for each in (kind, own)]
    assert type(made[0]) is type(made[1])
