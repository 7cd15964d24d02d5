"""The state access of functions: each state is created once, with the class that its descriptor selects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from firesteel.functions.state import StateDescriptor
from firesteel.operators.chain.operator_errors import StateMigrationError
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.states import (
    KeyedAggregatingState,
    KeyedListState,
    KeyedMapState,
    KeyedReducingState,
    KeyedValueState,
    has_ttl,
    table_name,
)
from firesteel.operators.state.ttl_states import WITH_TIME_TO_LIVE

if TYPE_CHECKING:
    from firesteel.functions.state import (
        AggregatingStateDescriptor,
        ListStateDescriptor,
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

    def _make(self, kind: type[Any], descriptor: StateDescriptor) -> object:
        """Create the state of a descriptor. A separate class handles a time to live, so others do not pay for it."""
        limited = has_ttl(descriptor)
        other = self._backend.tables.get(table_name(descriptor, self._namespaced, not limited))
        if other is not None and len(other):
            raise StateMigrationError(descriptor.name, limited)
        return (WITH_TIME_TO_LIVE[kind] if limited else kind)(self._backend, descriptor, self._namespaced)
