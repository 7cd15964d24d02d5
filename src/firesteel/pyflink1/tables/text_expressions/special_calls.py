"""Calls that are no functions by their names: properties of windows, orders, intervals, time attributes."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expression_functions.expression_enums import TimeIntervalUnit
from firesteel.table.expressions import (
    and_,
    array,
    e,
    if_then_else,
    map_,
    not_,
    or_,
    pi,
    row,
    row_interval,
    with_columns,
    without_columns,
)
from firesteel.table.syntax.unresolved import Lit

_Expression = Expression[object]


def _rows(count: _Expression) -> _Expression:
    node = node_of(count)
    value = node.value if isinstance(node, Lit) else None
    if not isinstance(value, int):
        raise ValueError(f"A number of rows is expected before '.rows', found {count}")
    return row_interval(value)


def _field(operand: _Expression, field: _Expression) -> _Expression:
    node = node_of(field)
    if not isinstance(node, Lit) or not isinstance(node.value, str | int):
        raise ValueError(f"get() takes the name or position of a field, found {field}")
    return operand.get(node.value)


_INTERVALS = tuple(
    name
    for unit in ("year", "quarter", "month", "week", "day", "hour", "minute", "second", "milli")
    for name in (unit, f"{unit}s")
)

INTERVALS: dict[str, Callable[[_Expression], _Expression]] = {
    **{name: attrgetter(name) for name in _INTERVALS},
    "rows": _rows,
}
"""Calls after a number, by their names in lower case."""

_PROPERTIES = ("asc", "desc", "start", "end", "rowtime", "proctime", "flatten", "distinct")
PROPERTIES: dict[str, Callable[[_Expression], _Expression]] = {
    **{name: attrgetter(name) for name in _PROPERTIES},
    "todate": attrgetter("to_date"),
    "totime": attrgetter("to_time"),
    "totimestamp": attrgetter("to_timestamp"),
}
"""Calls without further arguments, by their names in lower case."""

UNIT_CALLS: dict[str, Callable[[_Expression, TimeIntervalUnit], _Expression]] = {
    "extract": lambda operand, unit: operand.extract(unit),
    "floor": lambda operand, unit: operand.floor(unit),
    "ceil": lambda operand, unit: operand.ceil(unit),
}
"""Calls whose argument may be a unit of time."""

SPECIAL_CALLS: dict[str, Callable[..., object]] = {
    "in": lambda operand, *values: operand.in_(*values),
    "get": _field,
    "array": array,
    "map": map_,
    "row": row,
    "not": not_,
    "and": and_,
    "or": or_,
    "ifthenelse": if_then_else,
    "withcolumns": with_columns,
    "withoutcolumns": without_columns,
    "pi": pi,
    "e": e,
}
"""Calls with another name or form today, by their names in lower case."""
