"""Views of states show the last version while a batch changes the tables, whatever the batch does."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from firesteel.common import Types
from firesteel.datastream.state import (
    AggregatingStateDescriptor,
    ListStateDescriptor,
    MapStateDescriptor,
    ReducingStateDescriptor,
    ValueStateDescriptor,
)
from firesteel.operators.state import served_table
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore
from tests.operators.ttl_states import Sum

KEYS = ("a", "b", "c")
STATES = ("value", "list", "map", "reducing", "aggregating")


def extended(first: Any, second: Any) -> Any:
    """Change the first one in place."""
    first.extend(second)
    return first


class ServedMachine(RuleBasedStateMachine):
    """States of each kind beside what their views must show: the values as of the last version."""

    @initialize()
    def begin(self) -> None:
        self.backend = KeyedStateBackend(Types.STRING(), 128)
        store = StateStore(self.backend)
        self.states: dict[str, Any] = {
            "value": store.get_state(ValueStateDescriptor("value", Types.LIST(Types.INT()))),
            "list": store.get_list_state(ListStateDescriptor("list", Types.INT())),
            "map": store.get_map_state(MapStateDescriptor("map", Types.INT(), Types.INT())),
            "reducing": store.get_reducing_state(
                ReducingStateDescriptor("reducing", extended, Types.PICKLED_BYTE_ARRAY())
            ),
            "aggregating": store.get_aggregating_state(
                AggregatingStateDescriptor("aggregating", Sum(), Types.PICKLED_BYTE_ARRAY())
            ),
        }
        self.batch = 0
        self.version: dict[str, dict[str, Any]] = {}
        self.write(False)

    def now(self) -> dict[str, dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {name: {} for name in STATES}
        for name, state in self.states.items():
            for key in KEYS:
                self.backend.current_key = key
                if name == "value":
                    value = state.value()
                elif name == "map":
                    value = dict(state.items()) or None
                else:
                    value = list(state.get() or ()) if name != "aggregating" else state.get()
                found[name][key] = value or None
        return found

    @rule(on=st.booleans())
    def look(self, on: bool) -> None:
        """Make the views, between two batches; or let them go away."""
        self.write(False)
        for name, (table, kind) in self.backend.described_tables().items():
            assert name in STATES
            if on:
                self.backend.served_table(table, kind, self.batch)
            else:
                self.backend.served.pop(table, None)

    @rule(name=st.sampled_from(STATES), key=st.sampled_from(KEYS), number=st.integers(0, 3))
    def add(self, name: str, key: str, number: int) -> None:
        self.backend.current_key = key
        state = self.states[name]
        match name:
            case "value":
                state.update([*(state.value() or ()), number])
            case "map":
                state.put(number, number + len(dict(state.items())))
            case "reducing":
                state.add([number + 1])
            case _:
                state.add(number + 1)

    @rule(name=st.sampled_from(STATES), key=st.sampled_from(KEYS), number=st.integers(0, 3))
    def take_away(self, name: str, key: str, number: int) -> None:
        self.backend.current_key = key
        state = self.states[name]
        if name == "map" and number:
            state.remove(number)
        elif name == "list" and number:
            state.update([number] * number)
        else:
            state.clear()

    @rule(full=st.booleans())
    def write(self, full: bool) -> None:
        for _ in self.backend.full() if full else self.backend.delta():
            pass
        self.batch += 1
        self.backend.publish(self.batch)
        self.version = self.now()

    @invariant()
    def views_show_the_last_version(self) -> None:
        for name, (table, kind) in self.backend.described_tables().items():
            view = self.backend.served.get(table)
            if view is None:
                continue
            found, batch = view.read(KEYS)
            shown = {
                key: sum(value) if value is not None and kind == "aggregating" else value
                for key, value in zip(KEYS, found, strict=True)
            }
            assert (shown, batch) == (self.version[name], self.batch)


TestServed = ServedMachine.TestCase
TestServed.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_a_view_that_nobody_reads_goes_away(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = KeyedStateBackend(Types.STRING(), 128)
    state = StateStore(backend).get_state(ValueStateDescriptor("value", Types.INT()))
    backend.current_key = "a"
    state.update(1)
    view = backend.served_table("value", "value", 0)
    assert view.read(["a", "b"]) == ([1, None], 0)
    backend.publish(1)
    assert backend.served == {"value": view}
    monkeypatch.setattr(served_table, "UNUSED_AFTER_S", -1.0)
    backend.publish(2)
    assert backend.served == {}


def test_a_full_version_shows_what_a_batch_has_removed() -> None:
    backend = KeyedStateBackend(Types.STRING(), 128)
    state = StateStore(backend).get_state(ValueStateDescriptor("value", Types.INT()))
    for backend.current_key in ("a", "b"):
        state.update(1)
    view = backend.served_table("value", "value", 0)
    backend.current_key = "a"
    state.clear()
    assert view.read("ab") == ([1, 1], 0)
    list(backend.full())
    backend.publish(1)
    assert view.read("ab") == ([None, 1], 1)
