"""Conditions on subqueries as expressions over their aggregates. Calcite: `SubQueryRemoveRule`."""

from __future__ import annotations

from firesteel.columns.column_types import BigIntType, BooleanType
from firesteel.columns.rex import Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import row_type
from firesteel.table.planner.rules.null_safe import call

_FALSE, _TRUE = Literal(False, BooleanType(False)), Literal(True, BooleanType(False))
_UNKNOWN = Literal(None, BooleanType(True))
_ZERO = Literal(0, BigIntType(False))
_COUNT = BigIntType(False)


def counts(node: Rel) -> rel.Aggregate:
    """Return the number of rows of a subquery, and the number of values that are not NULL in its first column."""
    calls = (rel.AggregateCall("COUNT", (), _COUNT), rel.AggregateCall("COUNT", (0,), _COUNT))
    return rel.Aggregate(node, (), calls, row_type(["rows", "known"], [_COUNT, _COUNT]))


def bounds(node: Rel) -> rel.Aggregate:
    """Return the least and the greatest value of a subquery's column, and its counts as in `counts`."""
    kind = node.row_type.fields[0].data_type.nullable()
    calls = (rel.AggregateCall("MIN", (0,), kind), rel.AggregateCall("MAX", (0,), kind), *counts(node).calls)
    return rel.Aggregate(node, (), calls, row_type(["low", "high", "rows", "known"], [kind, kind, _COUNT, _COUNT]))


def exists(rows: Rex) -> Rex:
    """Return the value of EXISTS."""
    return call(">", call("COALESCE", rows, _ZERO), _ZERO)


def compared(kind: str, value: Rex, columns: list[Rex]) -> Rex:
    """Return the value of a comparison with ALL or ANY values of a subquery, such as `> ALL`.

    Args:
        kind: The operator and ALL or ANY; `= ANY` and `<> ALL` are `contained`.
        value: The value that is compared.
        columns: The columns of `bounds`.
    """
    low, high, rows, known = columns
    operator, word = kind.split()
    is_all = word == "ALL"
    end = {"<": low, "<=": low, ">": high, ">=": high} if is_all else {"<": high, "<=": high, ">": low, ">=": low}
    ends = [end[operator]] if operator in end else [low, high]
    holds = _joined(is_all, [call(operator, value, bound) for bound in ends])
    has_null = call(">", rows, known)
    if is_all:
        rest = call("IF", has_null, _UNKNOWN, _TRUE)
        is_empty = call("NOT", exists(rows))
        return call("OR", is_empty, call("AND", holds, rest))
    rest = call("IF", has_null, _UNKNOWN, _FALSE)
    return call("AND", exists(rows), call("OR", holds, rest))


def contained(is_found: Rex, operands: tuple[Rex, ...], columns: list[Rex]) -> Rex:
    """Return the value of IN.

    Args:
        is_found: Whether the subquery has a row that equals the operands.
        operands: The values to find.
        columns: The columns of `counts`; none if neither the operands nor the subquery can be NULL.
    """
    if not columns:
        return is_found
    rows, known = columns
    is_null = [call("IS NULL", operand) for operand in operands]
    is_unknown = _joined(False, [call(">", rows, known), *is_null])
    rest = call("IF", is_unknown, _UNKNOWN, _FALSE)
    return call("OR", is_found, call("AND", exists(rows), rest))


def equal_rows(node: Rel, is_equal: Rex) -> rel.Aggregate:
    """Return the number of rows for which a condition is true, and of those for which it is unknown."""
    tests = (is_equal, call("IS UNKNOWN", is_equal))
    tested = rel.Project(node, tests, row_type(["equal", "unknown"], [test.type for test in tests]))
    calls = tuple(rel.AggregateCall("COUNT", (), _COUNT, condition=i) for i in range(2))
    return rel.Aggregate(tested, (), calls, row_type(["equal", "unknown"], [_COUNT, _COUNT]))


def found(equal: Rex, unknown: Rex) -> Rex:
    """Return the value of IN by the columns of `equal_rows`."""
    rest = call("IF", exists(unknown), _UNKNOWN, _FALSE)
    return call("OR", exists(equal), rest)


def _joined(is_all: bool, parts: list[Rex]) -> Rex:
    result = parts[0]
    for part in parts[1:]:
        result = call("AND" if is_all else "OR", result, part)
    return result
