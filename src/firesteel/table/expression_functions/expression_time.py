"""Functions of expressions over time: intervals, time attributes and parts of dates."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from firesteel.table.expression_functions.expression_base import ExpressionBase, unary
from firesteel.table.syntax.unresolved import Apply, Lit, TypeName, Unresolved
from firesteel.table.types import DataTypes

if TYPE_CHECKING:
    from collections.abc import Callable

    from firesteel.columns.column_types import DataType
    from firesteel.table.expression import Expression, TimeIntervalUnit

_MILLISECONDS = {
    "week": 7 * 86_400_000,
    "day": 86_400_000,
    "hour": 3_600_000,
    "minute": 60_000,
    "second": 1000,
    "milli": 1,
}
_MONTHS = {"year": 12, "quarter": 3, "month": 1}


def _interval(unit: str) -> property:
    def make(self: TimeMethods) -> Expression[Any]:
        return self._wrap(_interval_node(self._node, unit))

    make.__doc__ = f"An interval of so many {unit}s."
    return property(make)


def _interval_node(count: Unresolved, unit: str) -> Unresolved:
    if unit in _MONTHS:
        one, kind = _MONTHS[unit], DataTypes.INTERVAL(DataTypes.MONTH()).not_null()
        if isinstance(count, Lit) and isinstance(count.value, int | float | Decimal):
            return Lit(count.value * one, kind)
        return Apply("*", (count, Lit(one, kind)))
    step = timedelta(milliseconds=_MILLISECONDS[unit])
    kind = DataTypes.INTERVAL(DataTypes.SECOND(3)).not_null()
    if isinstance(count, Lit) and isinstance(count.value, int | float):
        return Lit(count.value * step, kind)
    return Apply("*", (count, Lit(step, kind)))


def _cast(make_type: Callable[[], DataType], doc: str) -> property:
    def cast(self: TimeMethods) -> Expression[Any]:
        return self._wrap(Apply("CAST", (self._node, TypeName(make_type()))))

    cast.__doc__ = doc
    return property(cast)


class TimeMethods(ExpressionBase):
    """Intervals, time attributes, windows and parts of dates."""

    year = years = _interval("year")
    quarter = quarters = _interval("quarter")
    month = months = _interval("month")
    week = weeks = _interval("week")
    day = days = _interval("day")
    hour = hours = _interval("hour")
    minute = minutes = _interval("minute")
    second = seconds = _interval("second")
    milli = millis = _interval("milli")

    start = unary("WINDOW_START", "The inclusive start of a window, given by its alias.")
    end = unary("WINDOW_END", "The exclusive end of a window, given by its alias.")
    rowtime = unary("WINDOW_ROWTIME", "The rowtime attribute of a window; of a column: declares it.")
    proctime = unary("WINDOW_PROCTIME", "The processing time of a window; of a column: declares it.")

    to_date = _cast(DataTypes.DATE, "A text `yyyy-MM-dd` as DATE.")
    to_time = _cast(DataTypes.TIME, "A text `HH:mm:ss` as TIME.")
    to_timestamp = _cast(lambda: DataTypes.TIMESTAMP(3), "A text `yyyy-MM-dd HH:mm:ss[.SSS]` as TIMESTAMP(3).")

    def extract(self, time_interval_unit: TimeIntervalUnit) -> Expression[Any]:
        """Return a part of a date, time or interval as a number.

        Args:
            time_interval_unit: The part; parts of a time or interval only apply to such values.
        """
        return self._wrap(Apply("EXTRACT", (Lit(time_interval_unit.name), self._node)))
