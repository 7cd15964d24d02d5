"""FLOOR and CEIL of dates, times and timestamps to a unit."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import CallSite, Column, Kernel, Operands, Resolved, Types
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.signatures import literal_text
from firesteel.columns.functions.time_zones import to_instant, to_local
from firesteel.columns.type_families import DATETIMES

# Arrow's name of each unit, and its multiple. Weeks begin on Sunday, as in Calcite.
_UNITS: dict[str, tuple[str, int]] = {
    "MILLENNIUM": ("year", 1000),
    "CENTURY": ("year", 100),
    "DECADE": ("year", 10),
    "YEAR": ("year", 1),
    "QUARTER": ("quarter", 1),
    "MONTH": ("month", 1),
    "WEEK": ("week", 1),
    "DAY": ("day", 1),
    "HOUR": ("hour", 1),
    "MINUTE": ("minute", 1),
    "SECOND": ("second", 1),
    "MILLISECOND": ("millisecond", 1),
}


def resolve_rounding(name: str, types: Types, operands: Operands) -> Resolved:
    """Return the operand and result types of `FLOOR(x TO unit)` or `CEIL(x TO unit)`."""
    if len(types) != 2:
        raise wrong_count(name, len(types), "1 or 2")
    if not isinstance(types[0], (*DATETIMES, t.TimeType)):
        raise cannot_apply(name, types, f"{name}(<DATETIME> TO <TIME_UNIT>)")
    unit = literal_text(operands, 1)
    if unit not in _UNITS:
        raise FunctionError(f"{name} does not take the unit {unit}; it takes {', '.join(_UNITS)}")
    return list(types), types[0]


def bind_rounding(call: CallSite, up: bool) -> Kernel:
    """Return the kernel that rounds down or up to a unit."""
    unit, multiple = _UNITS[call.literal(1).upper()]
    options: dict[str, Any] = {"unit": unit, "multiple": multiple, "week_starts_monday": False}
    zoned = isinstance(call.types[0], t.LocalZonedTimestampType)
    target = call.arrow_type

    def kernel(columns: list[Column], length: int) -> Column:
        column = to_local(columns[0], call.context.time_zone) if zoned else columns[0]
        if pa.types.is_time(target):
            return _round_time(column, call, up)
        if pa.types.is_date(column.type):
            column = column.cast(pa.timestamp("us"))
        rounded = pc.floor_temporal(column, **options)
        if up:  # At the start of a month Arrow's ceiling is one unit too high.
            rounded = pc.if_else(pc.equal(rounded, column), column, pc.ceil_temporal(column, **options))
        return to_instant(rounded, call.context.time_zone) if zoned else rounded.cast(target)

    return kernel


def _round_time(column: Column, call: CallSite, up: bool) -> Column:
    millis = {"hour": 3_600_000, "minute": 60_000, "second": 1000}.get(_UNITS[call.literal(1).upper()][0], 1)
    number = column.cast(pa.int32()).cast(pa.int64())
    shifted = pc.add(number, millis - 1) if up else number
    rounded = pc.multiply(pc.divide(shifted, millis), millis)
    wrapped = pc.subtract(rounded, pc.multiply(pc.divide(rounded, 86_400_000), 86_400_000))
    return wrapped.cast(pa.int32()).cast(pa.time32("ms"))
