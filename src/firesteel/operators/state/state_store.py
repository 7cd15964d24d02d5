"""The state access of functions: each state is created once, with the class that its descriptor selects."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from firesteel.functions.state import ListStateDescriptor, StateDescriptor
from firesteel.operators.state.descriptions import conversion, description_of
from firesteel.operators.state.entries import Stored
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.states import (
    KeyedAggregatingState,
    KeyedListState,
    KeyedMapState,
    KeyedReducingState,
    KeyedValueState,
    has_ttl,
    possible_table_names,
    table_name,
)
from firesteel.operators.state.ttl import rewriter
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
        """Create the state of a descriptor. A separate class handles a time to live, so others do not pay for it.

        Raises:
            StateMigrationError: the descriptor does not fit the restored state.
        """
        limited, backend = has_ttl(descriptor), self._backend
        name, other = (table_name(descriptor, self._namespaced, ttl) for ttl in (limited, not limited))
        names = [found for found in possible_table_names(descriptor, self._namespaced) if found in backend.restored]
        converts = {found: conversion(backend.restored[found], descriptor) for found in names}
        state = (WITH_TIME_TO_LIVE[kind] if limited else kind)(backend, descriptor, self._namespaced)
        is_list = isinstance(descriptor, ListStateDescriptor)
        if converts.get(name) is not None:
            self._rewrite(name, name, rewriter(limited, limited, converts[name], is_list))
        if other in backend.tables:
            self._rewrite(other, name, rewriter(not limited, limited, converts.get(other), is_list))
        for found in names:
            del backend.restored[found]
        backend.describe(name, description_of(descriptor))
        if descriptor.ttl_config is not None and limited:
            backend.times_to_live[name] = descriptor.ttl_config.get_ttl().to_milliseconds()
        return state

    def _rewrite(self, source: str, target: str, written: Callable[[Stored], Stored]) -> None:
        """Move all entries of a table to another one or to itself, so that the next version says so."""
        taken = self._backend.changing_table(source).take_all()
        table = self._backend.changing_table(target)
        for entry, stored in taken:
            table.load(entry, written(stored))
            table.dirty.append(entry)
