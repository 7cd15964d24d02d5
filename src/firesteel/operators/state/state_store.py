"""The state access of functions: each state is created once, with the class that its descriptor selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from firesteel.functions.state import ListStateDescriptor, StateDescriptor
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_table import Table
from firesteel.operators.state.states import (
    KeyedAggregatingState,
    KeyedListState,
    KeyedMapState,
    KeyedReducingState,
    KeyedValueState,
    has_ttl,
    table_name,
)
from firesteel.operators.state.ttl import begun, without_time
from firesteel.operators.state.ttl_states import WITH_TIME_TO_LIVE

if TYPE_CHECKING:
    from firesteel.functions.state import (
        AggregatingStateDescriptor,
        MapStateDescriptor,
        ReducingStateDescriptor,
        ValueStateDescriptor,
    )

S = TypeVar("S")


class StateStore:
    """The states of an operator by descriptor; implements the `get_state` family of all contexts."""

    def __init__(self, backend: KeyedStateBackend, namespaced: bool = False) -> None:
        self._backend = backend
        self._namespaced = namespaced
        self._states: dict[str, object] = {}

    def get_state(self, state_descriptor: ValueStateDescriptor[object]) -> KeyedValueState:
        """Return the value state of a descriptor."""
        return self._state(KeyedValueState, state_descriptor)

    def get_list_state(self, state_descriptor: ListStateDescriptor[object]) -> KeyedListState:
        """Return the list state of a descriptor."""
        return self._state(KeyedListState, state_descriptor)

    def get_map_state(self, state_descriptor: MapStateDescriptor[object, object]) -> KeyedMapState:
        """Return the map state of a descriptor."""
        return self._state(KeyedMapState, state_descriptor)

    def get_reducing_state(self, state_descriptor: ReducingStateDescriptor[object]) -> KeyedReducingState:
        """Return the reducing state of a descriptor."""
        return self._state(KeyedReducingState, state_descriptor)

    def get_aggregating_state(
        self, state_descriptor: AggregatingStateDescriptor[object, object, object]
    ) -> KeyedAggregatingState:
        """Return the aggregating state of a descriptor."""
        return self._state(KeyedAggregatingState, state_descriptor)

    def _state(self, kind: type[S], descriptor: StateDescriptor) -> S:
        state = self._states.get(descriptor.name)
        if state is None:
            state = self._states[descriptor.name] = self._make(kind, descriptor)
        if not isinstance(state, kind):
            raise TypeError(
                f"state {descriptor.name!r} was requested as {kind.__name__}, but earlier as {type(state).__name__}"
            )
        return state

    def _make(self, kind: type, descriptor: StateDescriptor) -> object:
        """Create the state of a descriptor. A separate class handles a time to live, so others do not pay for it."""
        limited = has_ttl(descriptor)
        state = (WITH_TIME_TO_LIVE[kind] if limited else kind)(self._backend, descriptor, self._namespaced)
        before = self._backend.tables.pop(table_name(descriptor, self._namespaced, not limited), None)
        if before is not None:
            self._switch(before, table_name(descriptor, self._namespaced, limited), descriptor)
        return state

    def _switch(self, before: Table, name: str, descriptor: StateDescriptor) -> None:
        """Take over what was restored with a time to live that is now off, or without one: life begins now."""
        table = self._backend.changing_table(name)
        convert = begun if has_ttl(descriptor) else without_time
        is_list = isinstance(descriptor, ListStateDescriptor)
        for entry, stored in before.entries():
            table.load(entry, convert(stored, is_list))
            table.dirty.append(entry)
