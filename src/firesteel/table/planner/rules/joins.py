"""Classification of joins by their condition: regular, interval, window or temporal."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from firesteel.columns.column_types import DataType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import LookupSource
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_proctime, is_rowtime, is_time
from firesteel.table.planner.rel.equi_joins import Sides, join_parts, joined_type, split_keys
from firesteel.table.planner.rel.projections import first_columns
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    refs,
    row_type,
)
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.planner.rel.window_columns import window_columns

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import ResolveContext


def make_join(
    left: Rel,
    right: Rel,
    kind: str,
    condition: Rex | None,
    context: ResolveContext,
    time: Rex | None,
    null_aware: bool = False,
    state_ttl: tuple[str | None, str | None] = (None, None),
) -> Rel:
    """Return the node of a join.

    Args:
        left: The left input.
        right: The right input.
        kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI.
        condition: The condition over the columns of both inputs.
        context: The shared context of resolution.
        time: The expression of FOR SYSTEM_TIME AS OF over the left input, or None.
        null_aware: Whether the join implements NOT IN.
        state_ttl: The times to live of the state of both inputs, from the hint STATE_TTL.

    Raises:
        ValidationException: such a join is not supported.
    """
    width = len(left.row_type)
    parts = [] if condition is None else conjuncts(condition)
    sides = split_keys(left, right, parts)
    sides.state_ttl = state_ttl
    grown = len(sides.left.row_type) > width or len(sides.right.row_type) > len(right.row_type)
    node = _special(sides, kind, context, time, null_aware)
    if not grown or kind in ("SEMI", "ANTI"):
        return (
            node if len(node.row_type) == width or kind not in ("SEMI", "ANTI") else first_columns(node, left.row_type)
        )
    columns = refs(node.row_type)
    start = len(sides.left.row_type)
    chosen = (*columns[:width], *columns[start : start + len(right.row_type)])
    names = joined_type(left.row_type, right.row_type, kind).names
    return rel.Project(node, chosen, row_type(names, [c.type for c in chosen]))


def _special(sides: Sides, kind: str, context: ResolveContext, time: Rex | None, null_aware: bool) -> Rel:
    if time is not None:
        return _temporal(sides, kind, time)
    if not context.is_streaming:
        return join_parts(sides, kind, null_aware, sides.rest)
    window = _window_join(sides, kind, null_aware)
    if window is not None:
        return window
    interval = _interval_join(sides, kind) if kind not in ("SEMI", "ANTI") else None
    if interval is not None:
        return interval
    sides.left, sides.right = _materialized(sides.left), _materialized(sides.right)
    return join_parts(sides, kind, null_aware, sides.rest)


def _materialized(node: Rel) -> Rel:
    """Return the node without time attributes: a regular join has none."""
    if not any(is_time(kind) for kind in node.row_type.field_types()):
        return node
    types = [without_time_attribute(kind) for kind in node.row_type.field_types()]
    return rel.Project(node, refs(node.row_type), row_type(node.row_type.names, types))


# --- window joins ----------------------------------------------------------------------------------------------------


def _window_join(sides: Sides, kind: str, null_aware: bool) -> Rel | None:
    left, right = window_columns(sides.left), window_columns(sides.right)
    if left is None or right is None:
        return None
    pairs = list(zip(sides.left_keys, sides.right_keys, strict=True))
    if (left[0], right[0]) not in pairs or (left[1], right[1]) not in pairs:
        return None
    return rel.WindowJoin(join_parts(sides, kind, null_aware, sides.rest), left[:2], right[:2])


# --- temporal joins --------------------------------------------------------------------------------------------------


def _temporal(sides: Sides, kind: str, time: Rex) -> Rel:
    if kind not in ("INNER", "LEFT"):
        raise ValidationException(f"Temporal table join currently only supports INNER JOIN and LEFT JOIN, found {kind}")
    if not isinstance(time, InputRef) or not is_time(time.type):
        raise ValidationException(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
        )
    scan = _lookup_scan(sides.right)
    if is_proctime(time.type):
        if scan is not None:
            return _lookup(sides, kind, scan)
        # Which rows of the right table a row would find depends on how fast both are read.
        raise TableException(
            "Processing-time temporal join is not supported yet. The right table needs a connector with lookups."
        )
    times = [i for i, t in enumerate(sides.right.row_type.field_types()) if is_rowtime(t)]
    if not times:
        raise ValidationException(
            "Event-Time Temporal Table Join requires both primary key and row time attribute in versioned table, but "
            "no row time attribute can be found."
        )
    return rel.TemporalJoin(join_parts(sides, kind, False, sides.rest), time.index, times[0])


def _lookup_scan(node: object) -> rel.TableScan | None:
    if isinstance(node, rel.TableScan):
        return node if isinstance(node.source, LookupSource) else None
    if isinstance(node, rel.Project | rel.Filter):
        return _lookup_scan(node.input)
    return None


def _lookup(sides: Sides, kind: str, scan: rel.TableScan) -> Rel:
    right = sides.right
    if right is not scan:
        raise ValidationException(
            "A lookup join needs a plain connector table on the right, without further operations"
        )
    keys = tuple(sides.right_keys)
    if not keys:
        raise ValidationException("Temporal table join requires an equality condition on fields of the lookup table.")
    names = [scan.row_type.names[key] for key in keys]
    types = joined_type(sides.left.row_type, right.row_type, kind)
    condition = conjunction(sides.rest)
    assert isinstance(scan.source, LookupSource)
    lookup = scan.source.lookup(names)
    return rel.LookupJoin(sides.left, scan.table, lookup, kind, tuple(sides.left_keys), keys, condition, types)


# --- interval joins --------------------------------------------------------------------------------------------------


def _interval_join(sides: Sides, kind: str) -> Rel | None:
    """Return the interval join that bounds on the difference of two times make, None: there are not both bounds."""
    if not sides.left_keys and kind != "INNER":
        return None
    width = len(sides.left.row_type)
    types = [*sides.left.row_type.field_types(), *sides.right.row_type.field_types()]
    low: int | None = None
    high: int | None = None
    times: tuple[int, int] | None = None
    rest = []
    for part in sides.rest:
        bound = _time_bound(part, width, types)
        if bound is None or (times is not None and bound[0] != times):
            rest.append(part)
            continue
        times, lower, upper = bound
        low = lower if low is None else low if lower is None else max(low, lower)
        high = upper if high is None else high if upper is None else min(high, upper)
    for a, b in zip(sides.left_keys, sides.right_keys, strict=True):
        if is_rowtime(types[a]) and is_rowtime(types[width + b]):
            times, low, high = (a, b), 0, 0
    if times is None or low is None or high is None:
        return None
    is_event_time = is_rowtime(types[times[0]])
    return rel.IntervalJoin(join_parts(sides, kind, False, rest), times[0], times[1], low, high, is_event_time)


_FLIPPED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _time_bound(
    part: object, width: int, types: list[DataType]
) -> tuple[tuple[int, int], int | None, int | None] | None:
    """Return `((left time, right time), low, high)` of `left - right` for a comparison of two times."""
    if not (isinstance(part, Call) and part.function in (*_FLIPPED, "=")):
        return None
    a, b = (_time_and_offset(operand, types) for operand in part.operands)
    if a is None or b is None or (a[0] < width) == (b[0] < width):
        return None
    operator = part.function
    if a[0] >= width:
        a, b, operator = b, a, _FLIPPED.get(operator, operator)
    # left + a <op> right + b  =>  left - right <op> b - a
    difference = b[1] - a[1]
    times = (a[0], b[0] - width)
    bounds = {
        "<": (None, difference - 1),
        "<=": (None, difference),
        ">": (difference + 1, None),
        ">=": (difference, None),
        "=": (difference, difference),
    }
    return (times, *bounds[operator])


def _time_and_offset(rex: object, types: list[DataType]) -> tuple[int, int] | None:
    """Return the time attribute that an expression is, and the milliseconds that it adds."""
    if isinstance(rex, InputRef):
        return (rex.index, 0) if is_time(types[rex.index]) else None
    if isinstance(rex, Call) and rex.function == "CAST":
        return _time_and_offset(rex.operands[0], types)
    if isinstance(rex, Call) and rex.function in ("+", "-") and len(rex.operands) == 2:
        a, b = rex.operands
        if rex.function == "+" and isinstance(a, Literal):
            a, b = b, a
        inner = _time_and_offset(a, types)
        if inner is None or not isinstance(b, Literal) or not isinstance(b.value, datetime.timedelta):
            return None
        amount = b.value // datetime.timedelta(milliseconds=1)
        return inner[0], inner[1] + (amount if rex.function == "+" else -amount)
    return None
