"""Conditions and measures of MATCH_RECOGNIZE over the rows of a match."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.cells import Cell
from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.kernel import KernelContext
from firesteel.columns.rex import Call, InputRef, Literal, Rex, constant
from firesteel.columns.row_functions import RowFunction, row_function
from firesteel.columns.rows import Row, batch_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.match.match import MatchFactory

ALL_ROWS = "*"
"""The name of all rows of a match."""


class Matched:
    """The rows of a match so far, which grows and shrinks while the match is searched.

    Args:
        start: The first row of the match.
        groups: For each variable, what its rows can be referred to by: see `groups_of`.

    Attributes:
        rows: The rows of the partition, each with its time.
        labels: The variable of each row from `start` on.
    """

    def __init__(self, start: int, groups: Mapping[str, Sequence[str]]) -> None:
        self.rows: Sequence[Cell] = []
        self.start = start
        self.labels: list[str] = []
        self._groups = groups
        self._places: dict[str, list[int]] = {group: [] for name in groups for group in groups[name]}
        self._running: dict[Aggregate, Running] = {}

    def take(self, name: str) -> None:
        """Add the next row as one of a variable."""
        place = len(self.labels)
        self.labels.append(name)
        for group in self._groups[name]:
            self._places[group].append(place)

    def copy(self) -> Matched:
        """Return the same rows, to go on otherwise."""
        copied = Matched(self.start, self._groups)
        copied.rows, copied.labels = self.rows, self.labels.copy()
        copied._places = {group: places.copy() for group, places in self._places.items()}
        return copied

    def back_to(self, length: int) -> None:
        """Leave out the rows after the first ones."""
        while len(self.labels) > length:
            for group in self._groups[self.labels.pop()]:
                self._places[group].pop()
        for running in self._running.values() if self._running else ():
            if running.count > len(self.places(running.name)):
                running.clear()

    def places(self, name: str) -> list[int]:
        """Return the positions in the match of the rows of a variable or subset, or of all rows."""
        return self._places.get(name, [])

    def running(self, aggregate: Aggregate) -> object:
        """Return the value of an aggregate, to which only those rows are added that are new since the last time."""
        running = self._running.get(aggregate)
        if running is None:
            running = self._running[aggregate] = Running(aggregate)
        places = self.places(running.name)
        running.add([self.rows[self.start + place][1] for place in places[running.count :]])
        return running.value()


def groups_of(plan: MatchFactory, names: Iterable[str]) -> dict[str, list[str]]:
    """Return for each variable its name, those of its subsets, and that of all rows, as far as expressions use them."""
    used = {name for rex in (*(rex for _, rex in plan.define), *plan.measures) for name in _names(rex)}
    return {
        name: [group for group in (ALL_ROWS, name, *(one for one, of in plan.subsets if name in of)) if group in used]
        for name in names
    }


def _names(rex: Rex) -> Iterator[str]:
    """Yield the variables and subsets that an expression refers to."""
    if isinstance(rex, Call):
        if rex.function == "MATCH_REF" or rex.function.startswith("AGGREGATE "):
            yield str(constant(rex.operands[0]))
        for operand in rex.operands:
            yield from _names(operand)


class MatchExpression:
    """An expression over a match.

    Its aggregates and navigation functions are computed first, and the rest as over a row of their results.
    """

    def __init__(self, rex: Rex, plan: MatchFactory, context: KernelContext) -> None:
        self._plan = plan
        parts: list[Call] = []
        rest = _split(rex, parts)
        self._parts = [self._part(part) for part in parts]
        self._types = [arrow_type(part.type) for part in parts]
        self._rest = compile_rex(rest, plan.settings.context(context))
        self.value: Callable[[Matched], Cell] = row_function(rest, self._parts) or self._of_batch
        """Returns the value; a condition is about the last row of the match so far."""

    def _of_batch(self, matched: Matched) -> Cell:
        row = tuple([part(matched) for part in self._parts])
        return self._rest(batch_of([row], self._types))[0].as_py()

    def _part(self, part: Call) -> Callable[[Matched], Cell]:
        function = part.function
        if function == "MATCH_REF":
            return _reference(part, 0, True)
        if function == "MATCH_ROWTIME":
            time = self._plan.order[0][0]
            return lambda matched: matched.rows[matched.start + len(matched.labels) - 1][1][time]
        if function in ("FIRST", "LAST"):
            inner = part.operands[0]
            assert isinstance(inner, Call)
            return _reference(inner, _offset(part), function == "LAST")
        aggregate = Aggregate(part, self._plan)
        return lambda matched: matched.running(aggregate)


def _split(rex: Rex, parts: list[Call]) -> Rex:
    """Return an expression over the values of those of its parts that are about a match, which are added."""
    if isinstance(rex, Call) and (rex.function in _OVER_MATCH or rex.function.startswith("AGGREGATE ")):
        if rex not in parts:
            parts.append(rex)
        return InputRef(parts.index(rex), rex.type)
    if isinstance(rex, Call):
        return replace(rex, operands=tuple(_split(operand, parts) for operand in rex.operands))
    return rex


def _reference(part: Call, offset: int, is_last: bool) -> Callable[[Matched], Cell]:
    """Return the column of a row of a variable, so many rows after its first one or before its last one."""
    name, column = str(constant(part.operands[0])), _column(part)

    def last(matched: Matched) -> Cell:
        places = matched.places(name)
        return matched.rows[matched.start + places[-1]][1][column] if places else None

    def value(matched: Matched) -> Cell:
        places = matched.places(name)
        number = len(places) - 1 - offset if is_last else offset
        return matched.rows[matched.start + places[number]][1][column] if 0 <= number < len(places) else None

    return last if is_last and not offset else value


_OVER_MATCH = frozenset({"MATCH_REF", "MATCH_ROWTIME", "MATCH_PROCTIME", "FIRST", "LAST"})


def _offset(call: Call) -> int:
    """Return how many rows a navigation function goes on."""
    offset = constant(call.operands[1]) if len(call.operands) > 1 else 0
    assert isinstance(offset, int)
    return offset


def _column(rex: object) -> int:
    if isinstance(rex, Call) and rex.function == "MATCH_REF":
        column = rex.operands[1]
        assert isinstance(column, InputRef)
        return column.index
    raise ValueError("FIRST and LAST take a column as their first argument")


def _variable(rex: object) -> str | None:
    if isinstance(rex, Call):
        if rex.function == "MATCH_REF":
            return str(constant(rex.operands[0]))
        return next((name for name in map(_variable, rex.operands) if name is not None), None)
    return None


class Aggregate:
    """A call of an aggregate function over the rows of a variable or subset, or over all rows."""

    def __init__(self, part: Call, plan: MatchFactory) -> None:
        aggregate = find_aggregate(part.function.removeprefix("AGGREGATE "))
        assert aggregate is not None
        variable, distinct, *arguments = part.operands
        name = _variable(arguments[0]) if arguments else None
        self.name = name or str(constant(variable))
        self.is_distinct = bool(constant(distinct))
        self.arguments = [_of_row(argument, plan) for argument in arguments]
        self.accumulator = aggregate.create([argument.type for argument in arguments], part.type, False)


class Running:
    """The state of an aggregate after so many rows of its variable."""

    def __init__(self, aggregate: Aggregate) -> None:
        self._aggregate, self.name = aggregate, aggregate.name
        self.clear()

    def clear(self) -> None:
        """Forget all rows."""
        self.count = 0
        self._state = self._aggregate.accumulator.new()
        self._seen: set[tuple[Cell, ...]] = set()

    def add(self, rows: list[Row]) -> None:
        """Add rows."""
        aggregate = self._aggregate
        self.count += len(rows)
        for row in rows:
            values = tuple([argument(row) for argument in aggregate.arguments])
            if aggregate.is_distinct:
                if values in self._seen:
                    continue
                self._seen.add(values)
            aggregate.accumulator.add(self._state, *values)

    def value(self) -> object:
        """Return the value of the aggregate."""
        return self._aggregate.accumulator.value(self._state)


def is_about_row(rex: object, name: str) -> bool:
    """Return whether a condition of a variable is about the row alone, and about those beside it in the partition."""
    if not isinstance(rex, Call):
        return isinstance(rex, InputRef | Literal)
    if rex.function in ("FIRST", "LAST") or rex.function.startswith("AGGREGATE "):
        return False
    if rex.function == "MATCH_REF":
        return constant(rex.operands[0]) in (name, ALL_ROWS)
    return all(is_about_row(operand, name) for operand in rex.operands)


def _of_row(rex: Rex, plan: MatchFactory) -> RowFunction:
    """Return the argument of an aggregate as a function of a row."""
    plain = _plain(rex)
    function = row_function(plain)
    if function is not None:
        return function
    compiled, types = compile_rex(plain, EvaluationContext()), [arrow_type(kind) for kind in plan.types]
    return lambda row: compiled(batch_of([row], types))[0].as_py()


def _plain(rex: Rex) -> Rex:
    if isinstance(rex, Call) and rex.function == "MATCH_REF":
        return rex.operands[1]
    if isinstance(rex, Call):
        return replace(rex, operands=tuple(_plain(operand) for operand in rex.operands))
    return rex
