"""The calls of aggregate functions, over the states of groups: built-in ones, those of users, DISTINCT and ORDER BY."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType, RowField, RowType
from firesteel.columns.functions.accumulators import State
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import UserFunction
from firesteel.columns.row_keys import freeze
from firesteel.columns.user_results import result_column, row_columns, row_tuples
from firesteel.columns.value_text import session_zone
from firesteel.columns.values import to_python

__all__ = ["CallPlan", "UserAggregate", "aggregate_call"]


@dataclass(frozen=True)
class CallPlan:
    """The runtime part of an aggregate call; see `rel.AggregateCall`."""

    function: str | UserFunction
    arguments: tuple[int, ...]
    type: DataType
    distinct: bool = False
    condition: int | None = None
    order_by: tuple[tuple[int, bool, bool], ...] = ()


class _Call(Protocol):
    """A call of an aggregate function, over the states of groups."""

    def close(self) -> None: ...
    def new(self) -> State: ...
    def arguments(self, batch: ColumnBatch) -> list[Cell]: ...
    def add(self, state: State, values: Cell) -> None: ...
    def retract(self, state: State, values: Cell) -> None: ...
    def value(self, state: State) -> object: ...


class _BuiltIn:
    """A call of a built-in function."""

    def __init__(self, plan: CallPlan, input_types: tuple[DataType, ...], retracts: bool) -> None:
        assert isinstance(plan.function, str)
        aggregate = find_aggregate(plan.function)
        assert aggregate is not None, plan.function
        self._plan = plan
        self._accumulator = aggregate.create([input_types[i] for i in plan.arguments], plan.type, retracts)
        self.new = self._accumulator.new
        self.value = self._accumulator.value

    def close(self) -> None:
        """Do nothing: there is no user function to close."""

    def add(self, state: State, values: Sequence[Cell]) -> None:
        """Add a row's values."""
        self._accumulator.add(state, *values)

    def retract(self, state: State, values: Sequence[Cell]) -> None:
        """Retract a row's values."""
        self._accumulator.retract(state, *values)

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values of each row, or None for rows that the FILTER rejects."""
        return _filtered(_columns(batch, self._plan.arguments), batch, self._plan)


def _columns(batch: ColumnBatch, indexes: tuple[int, ...]) -> list[object]:
    if not indexes:
        return [()] * batch.length
    return list(zip(*(pylist(batch.columns[i]) for i in indexes), strict=True))


def _filtered(rows: list[Cell], batch: ColumnBatch, plan: CallPlan) -> list[Cell]:
    if plan.condition is None:
        return rows
    marks = pylist(batch.columns[plan.condition])
    return [row if mark else None for row, mark in zip(rows, marks, strict=True)]


class _Distinct:
    """Passes each distinct value on once, by counting its occurrences."""

    def __init__(self, call: _BuiltIn | UserAggregate | _Sorted) -> None:
        self._call = call
        self.close = call.close
        self.arguments = call.arguments

    def new(self) -> list[Cell]:
        """Return an empty count map and the state of the call."""
        return [{}, self._call.new()]

    def add(self, state: State, values: Sequence[Cell]) -> None:
        """Add a row's values; only a new value reaches the call."""
        seen, key = state[0], freeze(list(values))
        count = seen.get(key, 0)
        seen[key] = count + 1
        if count == 0:
            self._call.add(state[1], values)

    def retract(self, state: State, values: Sequence[Cell]) -> None:
        """Retract a row's values; only the last occurrence of a value is retracted from the call."""
        seen, key = state[0], freeze(list(values))
        count = seen.get(key, 0) - 1
        if count <= 0:
            seen.pop(key, None)
            self._call.retract(state[1], values)
        else:
            seen[key] = count

    def value(self, state: State) -> object:
        """Return the result of the call."""
        return self._call.value(state[1])


class _Buffered:
    # The part of calls whose state is their rows.

    def new(self) -> list[Cell]:
        """Return an empty buffer."""
        return []

    def add(self, state: State, values: object) -> None:
        """Buffer a row."""
        state.append(values)

    def retract(self, state: State, values: object) -> None:
        """Remove the first one of equal rows, if there is one."""
        sought = freeze(values)
        # By `freeze`, since NaN differs from itself.
        place = next((place for place, known in enumerate(state) if freeze(known) == sought), None)
        if place is not None:
            del state[place]


class _Sorted(_Buffered):
    """Buffers the rows and adds them in order when the result is read (WITHIN GROUP, ORDER BY of a call)."""

    def __init__(self, call: _BuiltIn | UserAggregate, plan: CallPlan) -> None:
        self._call = call
        self._plan = plan
        self.close = call.close

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values and sort values of each row."""
        order = _columns(batch, tuple(i for i, _, _ in self._plan.order_by))
        rows = self._call.arguments(batch)
        return [None if row is None else (row, by) for row, by in zip(rows, order, strict=True)]

    def value(self, state: State) -> object:
        """Return the result over the sorted rows."""
        rows = list(state)
        for place, (_, descending, nulls_first) in reversed(list(enumerate(self._plan.order_by))):
            # Least important column first: sorting is stable, so each pass keeps the order of those before it among
            # equals.
            rows.sort(key=lambda row: _sort_key(row[1][place], descending, nulls_first), reverse=descending)
        inner = self._call.new()
        for values, _ in rows:
            self._call.add(inner, values)
        return self._call.value(inner)


def _sort_key(value: object, descending: bool, nulls_first: bool) -> tuple[bool, object]:
    """Return the sort key of a value for `reverse=descending`, which puts NULL first or last as required."""
    if value is None:
        return nulls_first == descending, 0
    return nulls_first != descending, freeze(value)


class UserAggregate:
    """A user-defined aggregate function, called with values as Python programs see them."""

    def __init__(self, plan: CallPlan, input_types: tuple[DataType, ...], context: KernelContext) -> None:
        self._plan = plan
        self._types = [input_types[i] for i in plan.arguments]
        assert not isinstance(plan.function, str)
        self._function = plan.function.func
        self._wrapper = plan.function
        self._zone = session_zone(context.configuration)
        self._wrapper.open(context.function_context)

    def close(self) -> None:
        """Close the user function."""
        self._wrapper.close()

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values of each row, or None for rows that the FILTER rejects."""
        arguments = zip(self._plan.arguments, self._types, strict=True)
        columns = [to_python(batch.columns[i], kind, zone=self._zone) for i, kind in arguments]
        rows = list(zip(*columns, strict=True)) if columns else [()] * batch.length
        return _filtered(rows, batch, self._plan)

    def new(self) -> list[Cell]:
        """Return a new accumulator, wrapped in a list."""
        return [self._function.create_accumulator()]

    def add(self, state: State, values: Sequence[Cell]) -> None:
        """Call `accumulate`."""
        self._function.accumulate(state[0], *values)

    def retract(self, state: State, values: Sequence[Cell]) -> None:
        """Call `retract`."""
        self._function.retract(state[0], *values)

    def value(self, state: State) -> object:
        """Return the result of `get_value` as Arrow represents it."""
        return _result(self._function.get_value(state[0]), self._plan.type, self._wrapper.name)

    def rows(self, state: State) -> list[tuple[Cell, ...]]:
        """Return the rows that `emit_value` yields."""
        kind, name = self._plan.type, self._wrapper.name
        row_type = kind if isinstance(kind, RowType) else RowType([RowField("f0", kind)])
        rows = row_tuples(self._function.emit_value(state[0]), row_type, name)
        return list(zip(*map(pylist, row_columns(rows, row_type, name)), strict=True))


def _result(value: Cell, kind: DataType, name: str) -> Cell:
    return pylist(result_column([value], kind, name))[0]


class _PandasAggregate(_Buffered):
    """A pandas aggregate function: buffers the rows and is called with columns when the result is read."""

    def __init__(self, plan: CallPlan, input_types: tuple[DataType, ...], context: KernelContext) -> None:
        self._plan = plan
        self._types = [input_types[i] for i in plan.arguments]
        assert not isinstance(plan.function, str)
        self._function = plan.function
        self._function.open(context.function_context)

    def close(self) -> None:
        """Close the user function."""
        self._function.close()

    def arguments(self, batch: ColumnBatch) -> list[Cell]:
        """Return the argument values of each row, or None for rows that the FILTER rejects."""
        return _filtered(_columns(batch, self._plan.arguments), batch, self._plan)

    def value(self, state: State) -> object:
        """Call the function with one Series per argument and return the result."""
        import pandas as pd

        columns = [pd.Series([row[i] for row in state]) for i in range(len(self._types))]
        return _result(self._function.eval(*columns), self._plan.type, self._function.name)


def aggregate_call(plan: CallPlan, input_types: tuple[DataType, ...], retracts: bool, context: KernelContext) -> _Call:
    """Return the call of a plan; `retracts` tells whether rows can be retracted."""
    call: _BuiltIn | UserAggregate | _Sorted
    if isinstance(plan.function, str):
        call = _BuiltIn(plan, input_types, retracts)
    elif plan.function.func_type == "pandas":
        return _PandasAggregate(plan, input_types, context)
    else:
        call = UserAggregate(plan, input_types, context)
    if plan.order_by:
        call = _Sorted(call, plan)
    return _Distinct(call) if plan.distinct else call
