"""The calls of an operator that rank values, and the conversion of their values from and to the row path's states."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from firesteel.columns.expiring_state import values_of
from firesteel.columns.kernel import KernelContext, StateTable
from firesteel.columns.kernels.calls.ranked_values import MARK, VectorRanked
from firesteel.columns.kernels.calls.vector_calls import VectorCall


class RankedCalls:
    """The calls whose values are rows of their own; the states of groups have a mark in their places.

    Args:
        calls: All calls of the operator.
    """

    def __init__(self, calls: Sequence[VectorCall]) -> None:
        self._calls = [(place, call) for place, call in enumerate(calls) if isinstance(call, VectorRanked)]

    def __bool__(self) -> bool:
        return bool(self._calls)

    def open(self, key_types: Sequence[pa.DataType], context: KernelContext, ttl_ms: int) -> None:
        """Read the values of all groups, which may have a time to live."""
        for place, call in self._calls:
            call.open(key_types, context, f"values {place}", ttl_ms)

    def may_take(self, table: StateTable) -> bool:
        """Return whether no group has a value that was retracted before it came: it must stay in the row path."""
        states = values_of(table).data.values()
        return all(call.may_take(state[1][place]) for state in states for place, call in self._calls)

    def take(self, table: StateTable) -> bool:
        """Take all values out of the states of the groups, and return whether they were there: all states change."""
        groups = values_of(table)
        found = {
            entry: state
            for entry, state in groups.data.items()
            if any(state[1][place] != MARK for place, _ in self._calls)
        }
        for place, call in self._calls:
            call.take({entry: state[1][place] for entry, state in found.items()})
        for entry, state in found.items():
            for place, _ in self._calls:
                state[1][place] = list(MARK)
            groups.put(entry, state)  # No row has come, so groups are as old as they were.
        return bool(found)

    def give(self, table: StateTable) -> None:
        """Move all values to the states of the groups, as the row path keeps them."""
        groups = values_of(table)
        given = [(place, call, call.give()) for place, call in self._calls]
        for entry, state in list(table.data.items()):
            for place, call, states in given:
                if state[1][place] == MARK:
                    state[1][place] = states.get(entry) or call.new()
            groups.put(entry, state)
