"""Small helpers for typed expressions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from firesteel.columns.column_types import BooleanType, DataType, RowField, RowType
from firesteel.columns.functions.registry import find_function
from firesteel.columns.rex import Call, InputRef, Literal, Rex, SubqueryValue, UserCall, UserFunction
from firesteel.common.folding import fold_in_groups


def row_type(names: list[str], types: list[DataType]) -> RowType:
    """Return a row type that is NOT NULL."""
    return RowType([RowField(name, kind) for name, kind in zip(names, types, strict=True)], False)


def unique_names(names: list[str]) -> list[str]:
    """Return names of which each occurs once, as Calcite makes them: `a`, `a0`, `a1`."""
    taken: set[str] = set()
    found = []
    for name in names:
        candidate, number = name, 0
        while candidate in taken:
            candidate = f"{name}{number}"
            number += 1
        taken.add(candidate)
        found.append(candidate)
    return found


def children(rex: Rex) -> tuple[Rex, ...]:
    """Return the operands of an expression."""
    return rex.operands if isinstance(rex, Call | UserCall | SubqueryValue) else ()


def walk(rex: Rex) -> Iterator[Rex]:
    """Yield an expression and all within it, each before its operands."""
    waiting = [rex]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += reversed(children(part))


def transform(rex: Rex, change: Callable[[Rex], Rex | None]) -> Rex:
    """Return an expression with each part replaced by the result of `change`; None keeps the part."""
    changed = change(rex)
    if changed is not None:
        return changed
    if isinstance(rex, Call | UserCall | SubqueryValue):
        return with_operands(rex, tuple(transform(operand, change) for operand in rex.operands))
    return rex


def with_operands(rex: Call | UserCall | SubqueryValue, operands: tuple[Rex, ...]) -> Rex:
    """Return an expression with other operands: the same one if all of them are the same."""
    are_same = all(new is old for new, old in zip(operands, rex.operands, strict=True))
    return rex if are_same else replace(rex, operands=operands)


def subqueries_in(rexes: Iterable[Rex]) -> list[SubqueryValue]:
    """Return the subqueries in expressions, without those in operands of others."""
    found: list[SubqueryValue] = []
    waiting = [*rexes][::-1]
    while waiting:
        part = waiting.pop()
        if isinstance(part, SubqueryValue):
            found.append(part)
        else:
            waiting += reversed(children(part))
    return found


def input_refs(rex: Rex) -> set[int]:
    """Return the indexes of the columns that an expression reads."""
    return {part.index for part in walk(rex) if isinstance(part, InputRef)}


def is_deterministic(rex: Rex) -> bool:
    """Return whether an expression may move past joins and filters: how often it is computed changes no result."""
    return all(map(calls_deterministic, walk(rex)))


def calls_deterministic(part: object) -> bool:
    """Return whether the function that an expression itself calls, if any, gives equal results for equal operands."""
    if isinstance(part, UserCall):
        return bool(getattr(part.function, "deterministic", True))
    function = find_function(part.function) if isinstance(part, Call) else None
    return function is None or function.deterministic


def is_repeatable(rex: Rex) -> bool:
    """Return whether an expression may be computed at two places, which then have the same value of a row."""
    return is_deterministic(rex) and not any(map(_is_momentary, walk(rex)))


def _is_momentary(part: object) -> bool:
    if not isinstance(part, Call):
        return False
    function = find_function(part.function)
    return function is not None and function.momentary(part.operands)


def shift(rex: Rex, by: int) -> Rex:
    """Return an expression for columns shifted to the right by `by`."""
    return remap(rex, lambda index: index + by)


def remap(rex: Rex, index_of: Callable[[int], int]) -> Rex:
    """Return an expression for columns at other positions."""
    return transform(rex, lambda r: InputRef(index_of(r.index), r.type) if isinstance(r, InputRef) else None)


def inline(rex: Rex, expressions: tuple[Rex, ...]) -> Rex:
    """Return an expression over a projection as one over the projection's input."""
    return transform(rex, lambda r: expressions[r.index] if isinstance(r, InputRef) else None)


def conjuncts(rex: Rex) -> list[Rex]:
    """Return the parts of an AND."""
    return [part for part in chained(rex, "AND") if not (isinstance(part, Literal) and part.value is True)]


def conjunction(parts: Sequence[Rex]) -> Rex | None:
    """Return the AND of conditions, None where there are none."""
    if not parts:
        return None
    return fold_in_groups(_both, parts)


def _both(left: Rex, right: Rex) -> Rex:
    return Call("AND", (left, right), BooleanType(left.type.is_nullable or right.type.is_nullable))


def disjuncts(rex: Rex) -> list[Rex]:
    """Return the parts of an OR."""
    return chained(rex, "OR")


def chained(rex: Rex, function: str) -> list[Rex]:
    """Return the operands of a call of AND or OR, with those of operands in their place that call the same."""
    if isinstance(rex, Call) and rex.function == function:
        return [part for operand in rex.operands for part in chained(operand, function)]
    return [rex]


def disjunction(parts: Sequence[Rex]) -> Rex:
    """Return the OR of conditions, of which there is at least one."""
    if len(parts) == 1:
        return parts[0]
    return Call("OR", tuple(parts), BooleanType(any(part.type.is_nullable for part in parts)))


def refs(row: RowType) -> tuple[InputRef, ...]:
    """Return references to all columns."""
    return tuple(InputRef(index, field.data_type) for index, field in enumerate(row.fields))


def fits(rex: Rex, columns: int) -> bool:
    """Return whether an expression reads only the first columns."""
    return all(index < columns for index in input_refs(rex))


def result_row_type(function: UserFunction) -> RowType:
    """Return the columns of a user's table function."""
    kind = function.result_type
    if isinstance(kind, RowType):
        return kind
    return row_type(["f0"], [kind])
