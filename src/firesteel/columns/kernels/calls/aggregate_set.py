"""The aggregate calls of one operator, applied to the rows of a group.

Why: `docs/decisions/0032-aggregates-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan, UserAggregate, aggregate_call

Arguments = tuple[Cell, ...]
"""The argument values of each call, or None for a call whose FILTER rejects the row."""


class AggregateSet:
    """Adds, retracts and merges rows for all calls.

    Args:
        retracts: Whether rows can be retracted.
    """

    def __init__(
        self, calls: tuple[CallPlan, ...], input_types: tuple[DataType, ...], retracts: bool, context: KernelContext
    ) -> None:
        self._calls = [aggregate_call(call, input_types, retracts, context) for call in calls]
        self._plans = calls

    def close(self) -> None:
        """Close the user functions."""
        for call in self._calls:
            call.close()

    def new(self) -> list[Cell]:
        """Return the states of a group without rows."""
        return [call.new() for call in self._calls]

    def arguments(self, batch: ColumnBatch) -> Iterable[Arguments]:
        """Return the arguments of all calls, row by row."""
        if not self._calls:
            return [()] * batch.length
        return zip(*(call.arguments(batch) for call in self._calls), strict=True)

    def add(self, states: list[Cell], arguments: Arguments) -> None:
        """Add a row."""
        for call, state, values in zip(self._calls, states, arguments, strict=True):
            if values is not None:
                call.add(state, values)

    def retract(self, states: list[Cell], arguments: Arguments) -> None:
        """Retract a row."""
        for call, state, values in zip(self._calls, states, arguments, strict=True):
            if values is not None:
                call.retract(state, values)

    def values(self, states: list[Cell]) -> tuple[Cell, ...]:
        """Return the results of all calls."""
        return tuple(call.value(state) for call, state in zip(self._calls, states, strict=True))

    def rows(self, states: list[Cell]) -> list[tuple[Cell, ...]]:
        """Return the result rows of the only call, a table aggregate function."""
        call = self._calls[0]
        assert isinstance(call, UserAggregate)
        return call.rows(states[0])
