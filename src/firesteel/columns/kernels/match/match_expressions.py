"""Conditions and measures of MATCH_RECOGNIZE over the rows of matches."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.evaluate import compile_rex
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.calls.vectorized import mergeable_calls, vector_calls
from firesteel.columns.kernels.match.match_pattern import ALL_ROWS, Groups
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_threads import Taken
from firesteel.columns.lazy_calls import true_rows
from firesteel.columns.rex import Call, InputRef, Literal, Rex, constant
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.match.match import MatchFactory

_Part = Callable[[Taken], pa.Array]


class MatchExpression:
    """An expression over matches.

    Its aggregates and navigation functions are computed first, and the rest as over rows of their results.

    Attributes:
        may_fail: Whether it may raise an error for some rows.
        aggregates: Its aggregates.
    """

    def __init__(self, rex: Rex, plan: MatchFactory, groups: Groups, context: KernelContext) -> None:
        parts: list[Call] = []
        rest = _split(rex, parts)
        self._parts = [_part(part, plan, groups, context) for part in parts]
        self._rest = compile_rex(rest, plan.settings.context(context))
        self.aggregates = [part for part in self._parts if isinstance(part, Aggregate)]
        self.may_fail = self._rest.may_fail or any(aggregate.may_fail for aggregate in self.aggregates)

    def column(self, taken: Taken) -> pa.Array:
        """Return the value of the expression for each match."""
        return self._rest(ColumnBatch(tuple([part(taken) for part in self._parts]), len(taken)))

    def holds(self, taken: Taken) -> Array:
        """Return whether the expression is TRUE of each match; a condition is about its last row."""
        return true_rows(self.column(taken), len(taken))


def _split(rex: Rex, parts: list[Call]) -> Rex:
    """Return an expression over the values of those of its parts that are about a match, which are added."""
    if not isinstance(rex, Call):
        return rex
    if rex.function == "MATCH_PROCTIME":
        return replace(rex, function="PROCTIME")
    if rex.function in _OVER_MATCH or rex.function.startswith("AGGREGATE "):
        if rex not in parts:
            parts.append(rex)
        return InputRef(parts.index(rex), rex.type)
    return replace(rex, operands=tuple(_split(operand, parts) for operand in rex.operands))


_OVER_MATCH = frozenset({"MATCH_REF", "MATCH_ROWTIME", "FIRST", "LAST"})


def _part(part: Call, plan: MatchFactory, groups: Groups, context: KernelContext) -> _Part:
    match part.function:
        case "MATCH_REF":
            return _reference(part, groups, 0, True)
        case "MATCH_ROWTIME":
            time = plan.order[0][0]
            return lambda taken: taken.rows.column(time, taken.lasts)
        case "FIRST" | "LAST":
            inner = part.operands[0]
            assert isinstance(inner, Call)
            return _reference(inner, groups, _offset(part), part.function == "LAST")
    return Aggregate(part, plan, groups, context)


def _reference(part: Call, groups: Groups, offset: int, is_last: bool) -> _Part:
    """Return the column of a row of a variable, so many rows after its first one or before its last one."""
    steps, reference = groups.steps(str(constant(part.operands[0]))), part.operands[1]
    assert isinstance(reference, InputRef)
    column = reference.index

    def values(taken: Taken) -> pa.Array:
        return taken.rows.column(column, taken.place(steps, offset, is_last))

    return values


def _offset(call: Call) -> int:
    """Return how many rows a navigation function goes on."""
    offset = constant(call.operands[1]) if len(call.operands) > 1 else 0
    assert isinstance(offset, int)
    return offset


def _variable(rex: object) -> str | None:
    if isinstance(rex, Call):
        if rex.function == "MATCH_REF":
            return str(constant(rex.operands[0]))
        return next((name for name in map(_variable, rex.operands) if name is not None), None)
    return None


class Aggregate:
    """A call of an aggregate function over the rows of a variable or subset, or over all rows.

    Attributes:
        may_fail: Whether an argument may raise an error for some rows.
        steps: The steps whose rows it has.
        running: Adds further rows to states that are numbers; None if it must see all rows at once.
        carried: Which fields of matches are its state; None if it is computed from all rows.
    """

    def __init__(self, part: Call, plan: MatchFactory, groups: Groups, context: KernelContext) -> None:
        name = part.function.removeprefix("AGGREGATE ")
        variable, *arguments = part.operands
        own = _variable(arguments[0]) if arguments else None
        self.steps = groups.steps(own or str(constant(variable)))
        self._columns: list[int] = []
        plain = [_plain(argument, self._columns) for argument in arguments]
        self._arguments = [compile_rex(argument, plan.settings.context(context)) for argument in plain]
        self.may_fail = any(argument.may_fail for argument in self._arguments)
        types = tuple(argument.type for argument in arguments)
        call = CallPlan(name, tuple(range(len(arguments))), part.type)
        self._type = arrow_type(part.type)
        self._by_rows = AggregateSet((call,), types, False, context)
        numbers = [found for found in mergeable_calls([call], types) or () if found.is_mergeable]
        self._vector = next(iter(numbers or vector_calls([call], types) or ()), None)
        self.running = None if self.may_fail or not numbers else numbers[0]
        self.carried: slice[int, int, None] | None = None

    def __call__(self, taken: Taken) -> pa.Array:
        """Return the value of the aggregate for each match."""
        vector = self._vector
        if vector is not None and self.carried is not None:
            return vector.column(*vector.results(list(taken.fields[self.carried])))
        matches, places = taken.all_places(self.steps)
        rows = self._values(taken.rows, places)
        if vector is None or not vector.covers(rows):
            return self._row_by_row(rows, matches, len(taken))
        empty = [np.repeat(part, len(taken)) for part in self.initial(vector)]
        groups = RowGroups.numbered(matches, len(taken))
        return vector.column(*vector.results(vector.fold(groups, empty, vector.contributions(rows))))

    def initial(self, vector: VectorCall) -> list[Array]:
        """Return the state without rows."""
        return vector.load(self._by_rows.new())

    def contributions(self, vector: VectorCall, rows: MatchRows, places: Array) -> list[Array]:
        """Return what rows add to states."""
        return vector.contributions(self._values(rows, places))

    def _values(self, rows: MatchRows, places: Array) -> ColumnBatch:
        """Return the arguments of rows."""
        values = rows.take(self._columns, places)
        return ColumnBatch(tuple([argument(values) for argument in self._arguments]), len(places))

    def _row_by_row(self, rows: ColumnBatch, matches: Array, count: int) -> pa.Array:
        states = [self._by_rows.new() for _ in range(count)]
        for match, values in zip(matches.tolist(), self._by_rows.arguments(rows), strict=True):
            self._by_rows.add(states[match], values)
        return pa.array([self._by_rows.values(state)[0] for state in states], self._type)


def is_about_row(rex: object, name: str) -> bool:
    """Return whether a condition of a variable is about the row alone."""
    if not isinstance(rex, Call):
        return isinstance(rex, InputRef | Literal)
    if rex.function in ("FIRST", "LAST") or rex.function.startswith("AGGREGATE "):
        return False
    if rex.function == "MATCH_REF":
        return constant(rex.operands[0]) in (name, ALL_ROWS)
    return all(is_about_row(operand, name) for operand in rex.operands)


def _plain(rex: Rex, columns: list[int]) -> Rex:
    """Return an expression over those columns of a row that it is about, which are added."""
    if not isinstance(rex, Call):
        return rex
    if rex.function == "MATCH_REF":
        reference = rex.operands[1]
        assert isinstance(reference, InputRef)
        if reference.index not in columns:
            columns.append(reference.index)
        return InputRef(columns.index(reference.index), reference.type)
    return replace(rex, operands=tuple(_plain(operand, columns) for operand in rex.operands))
