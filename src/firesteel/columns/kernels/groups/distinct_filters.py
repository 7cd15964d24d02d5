"""DISTINCT aggregates as aggregates with a FILTER: a column tells which rows bring or take away a distinct value.

As Flink's `DistinctInfo`, calls with the same arguments share their values, whatever their FILTERs.

Why: `docs/decisions/0047-order-and-distinct-values-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import values_of
from firesteel.columns.kernel import KernelContext, StateTable
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.groups.distinct_values import DistinctPlan, DistinctValues
from firesteel.columns.rows import signs_of
from firesteel.columns.values import arrow_type


class DistinctFilters:
    """The distinct values of all calls of one operator. Calls with the same arguments share them.

    Args:
        keys: The key columns.
        calls: All calls of the operator.
        input_types: The types of the columns.
        retracts: Whether rows can be retracted.

    Attributes:
        calls: The calls, with FILTERs instead of DISTINCT; `add_columns` adds their columns.
        counts_null: Whether NULL is a value of a call, which is none here.
    """

    def __init__(
        self, keys: tuple[int, ...], calls: Sequence[CallPlan], input_types: Sequence[DataType], retracts: bool
    ) -> None:
        self._numbers: dict[tuple[tuple[int, ...], int | None], int] = {}
        self._by_call = [
            self._numbers.setdefault((call.arguments, call.condition), len(self._numbers)) if call.distinct else None
            for call in calls
        ]
        self.calls = [
            call if number is None else replace(call, distinct=False, condition=len(input_types) + number)
            for call, number in zip(calls, self._by_call, strict=True)
        ]
        by_arguments: dict[tuple[int, ...], list[int]] = {}
        for (arguments, _), number in self._numbers.items():
            by_arguments.setdefault(arguments, []).append(number)
        conditions = [condition for _, condition in self._numbers]
        self._shares = list(by_arguments.values())
        self._plans = [
            DistinctPlan(
                *(keys, arguments, tuple(conditions[number] for number in numbers)),
                tuple(arrow_type(input_types[i]) for i in (*keys, *arguments)),
                retracts,
            )
            for arguments, numbers in by_arguments.items()
        ]
        self._values: list[DistinctValues] = []
        self.counts_null = any(call.distinct and str(call.function).upper() == "ARRAY_AGG" for call in calls)

    def __bool__(self) -> bool:
        return bool(self._plans)

    @property
    def has_nested(self) -> bool:
        """Return whether arguments are nested: such values are not kept as columns."""
        return any(pa.types.is_nested(kind) for plan in self._plans for kind in plan.types)

    def open(self, context: KernelContext, ttl_ms: int = 0) -> None:
        """Read the state of groups with a time to live."""
        self._values = [
            DistinctValues(plan, [f"distinct {number}" for number in numbers], context, ttl_ms)
            for plan, numbers in zip(self._plans, self._shares, strict=True)
        ]

    def add_columns(self, batch: ColumnBatch, begins: Array | None = None) -> ColumnBatch | None:
        """Return a batch with the columns of the FILTERs, or None if a value is retracted that is not there.

        Args:
            batch: The rows.
            begins: Which rows are of groups that are not there, or have expired; None if no group expires.
        """
        found: dict[int, pa.Array] = {}
        for values, numbers in zip(self._values, self._shares, strict=True):
            masks = values.first_or_last(batch, signs_of(batch), begins)
            if masks is None:
                return None
            found.update(zip(numbers, map(pa.array, masks), strict=True))
        return batch.with_columns([*batch.columns, *(found[number] for number in sorted(found))])

    def accept(self) -> None:
        """Count the rows of the last batch."""
        for values in self._values:
            values.accept()

    def flush(self) -> None:
        """Write what has changed since the last version."""
        for values in self._values:
            values.flush()

    def give(self, table: StateTable) -> None:
        """Move all values to the states of the groups, as the calls that go row by row keep them."""
        if self._are_in(table):
            return
        counts: dict[int, dict[Cell, dict[Cell, int]]] = {}
        for values, numbers in zip(self._values, self._shares, strict=True):
            counts.update(zip(numbers, values.take(), strict=True))
        for entry, state in list(table.data.items()):
            for place, number in self._places():
                state[1][place] = [dict(counts[number].get(entry[1:], {})), state[1][place]]
            values_of(table).put(entry, state)

    def take(self, table: StateTable) -> bool:
        """Take all values out of the states of the groups, and return whether they were there: all states change."""
        if not self._are_in(table):
            return False
        counts: list[dict[Cell, dict[Cell, int]]] = [{} for _ in self._numbers]
        for entry, state in list(table.data.items()):
            for place, number in self._places():
                counts[number][entry[1:]], state[1][place] = state[1][place]
            values_of(table).put(entry, state)  # No row has come, so groups are as old as they were.
        for values, numbers in zip(self._values, self._shares, strict=True):
            for place, number in enumerate(numbers):
                values.put(place, counts[number])
        return True

    def _places(self) -> list[tuple[int, int]]:
        """Return the place of each DISTINCT call, and the number of its values."""
        return [(place, number) for place, number in enumerate(self._by_call) if number is not None]

    def _are_in(self, table: StateTable) -> bool:
        """Return whether the states of the groups hold the values; they do in all groups or in none."""
        first = next(iter(table.data.values()), None)
        if first is None:
            return False
        # The states of some functions begin with a `dict`, too, and no other has a list behind it.
        values, *rest = first[1][self._places()[0][0]]
        return isinstance(values, dict) and len(rest) == 1 and isinstance(rest[0], list)
