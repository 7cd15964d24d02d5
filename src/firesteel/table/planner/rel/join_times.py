"""What the condition of a join says about times: rows of the same window, or bounds on the difference of two times."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from firesteel.columns.column_types import DataType, LocalZonedTimestampType, TimestampType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_rowtime, is_time
from firesteel.table.planner.rel.rex_tools import conjuncts
from firesteel.table.planner.rel.window_columns import same_windows


@dataclass(frozen=True, slots=True)
class TimeBounds:
    """Bounds on the difference of two time attributes: `low <= left - right <= high` (ms).

    Attributes:
        times: The index of each in its input.
        rest: The parts of the condition that say something else.
    """

    times: tuple[int, int]
    low: int
    high: int
    rest: list[Rex]


def keeps_times(join: rel.Join) -> bool:
    """Return whether time attributes remain such in a join's columns: its state ends with a window, or with time."""
    return same_windows(join) is not None or time_bounds(join) is not None


def time_bounds(join: rel.Join) -> TimeBounds | None:
    """Return the bounds on the difference of two times in a join's condition, None: it has not both."""
    if join.kind in ("SEMI", "ANTI") or (not join.left_keys and join.kind != "INNER"):
        return None
    width = len(join.left.row_type)
    types = [*join.left.row_type.field_types(), *join.right.row_type.field_types()]
    low: int | None = None
    high: int | None = None
    times: tuple[int, int] | None = None
    rest = []
    for part in [] if join.condition is None else conjuncts(join.condition):
        bound = _time_bound(part, width, types)
        # The kernel bounds one pair of times; the bounds of another pair are an ordinary condition.
        if bound is None or (times is not None and bound[0] != times):
            rest.append(part)
            continue
        times, lower, upper = bound
        low = lower if low is None else low if lower is None else max(low, lower)
        high = upper if high is None else high if upper is None else min(high, upper)
    for a, b in zip(join.left_keys, join.right_keys, strict=True):
        # Equal times are a bound, too; as keys alone they would keep rows for ever.
        if is_rowtime(types[a]) and is_rowtime(types[width + b]):
            times, low, high = (a, b), 0, 0
    return None if times is None or low is None or high is None else TimeBounds(times, low, high, rest)


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
    if isinstance(rex, Call) and rex.function == "CAST" and _keeps_times(rex.operands[0].type, rex.type):
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


def _keeps_times(kind: DataType, cast: DataType) -> bool:
    """Return whether a cast keeps the difference of two times, unlike one to dates or into another time zone."""
    for times in (TimestampType, LocalZonedTimestampType):
        if isinstance(kind, times) and isinstance(cast, times):
            return kind.precision <= cast.precision
    return False
