"""FLOOR and CEIL of dates, times and timestamps to a unit."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.cells import Array
from firesteel.columns.functions.function import CallSite, Column, Kernel, Operands, Resolved, Types
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.signatures import literal_text
from firesteel.columns.functions.time_zones import to_local
from firesteel.columns.type_families import DATETIMES

_LENGTHS = {"DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000, "MILLISECOND": 1}
"""Units that are multiples of a millisecond."""
_YEARS = {"MILLENNIUM": (1000, 1), "CENTURY": (100, 1), "DECADE": (10, 0)}
"""Units of several years, and the first year of them."""
_UNITS = (*_YEARS, "YEAR", "QUARTER", "MONTH", "WEEK", *_LENGTHS)
_DAY = _LENGTHS["DAY"]


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
    unit = call.literal(1).upper()
    zoned = isinstance(call.types[0], t.LocalZonedTimestampType)
    target = call.arrow_type

    def kernel(columns: list[Column], length: int) -> Column:
        if isinstance(columns[0], pa.Scalar):
            return kernel([pa.array([columns[0].as_py()], columns[0].type)], 1)[0]
        column = to_local(columns[0], call.context.time_zone) if zoned else columns[0]
        if pa.types.is_time(target):
            return _round_time(column, call, up)
        missing = column.is_null().to_numpy(zero_copy_only=False)
        local = _micros(column)
        # Flink subtracts the offset of the time itself, also if the clock was another one at the rounded time.
        offset = local - _micros(columns[0]) if zoned else 0
        rounded = _rounded(unit, local // 1000, up) * 1000 - offset
        moments = pa.array(rounded, mask=missing).cast(pa.timestamp("us"))
        return moments.cast(pa.timestamp("us", "UTC")).cast(target) if zoned else moments.cast(target)

    return kernel


def _micros(column: pa.Array) -> Array:
    plain = column.cast(pa.timestamp("us")) if pa.types.is_date(column.type) else column
    micros: Array = pc.fill_null(plain.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    return micros


def _rounded(unit: str, millis: Array, up: bool) -> Array:
    """Return milliseconds rounded to a unit. Avatica: `DateTimeUtils.julianDateFloor`.

    Days and parts of days are rounded as numbers. For longer units the time of day is dropped first, towards 1970, so
    that noon of the first day of a month is rounded up to its midnight.
    """
    if unit in _LENGTHS:
        length = _LENGTHS[unit]
        found: Array = -(-millis // length) * length if up else millis // length * length
        return found
    days = np.trunc(millis / _DAY).astype(np.int64)
    return _rounded_days(unit, days, up) * _DAY


def _rounded_days(unit: str, days: Array, up: bool) -> Array:
    dates = days.astype("datetime64[D]")
    months = dates.astype("datetime64[M]")
    if unit == "WEEK":  # which begins on Sunday; 1970-01-01 was a Thursday
        past = (days + 4) % 7
        found: Array = days - past + (7 * (past > 0) if up else 0)
        return found
    year = months.astype("datetime64[Y]").astype(np.int64) + 1970
    month = months.astype(np.int64) % 12
    day = (dates - months).astype(np.int64)
    is_past = (month > 0) | (day > 0)
    if unit in _YEARS:
        length, first = _YEARS[unit]
        year = (year - first) // length * length + first + (length if up else 0)
        return _first_days(year * 12)
    if unit == "YEAR":
        return _first_days((year + (up & is_past)) * 12)
    if unit == "QUARTER":  # Avatica rounds the first day of all quarters but the first up to the next one
        return _first_days(year * 12 + (month // 3 + (up & is_past)) * 3)
    return _first_days(year * 12 + month + (up & (day > 0)))


def _first_days(months: Array) -> Array:
    """Return the first days of months that are counted from year 0."""
    days: Array = (months - 1970 * 12).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return days


def _round_time(column: Column, call: CallSite, up: bool) -> Column:
    millis = {"HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}.get(call.literal(1).upper(), 1)
    number = column.cast(pa.int32()).cast(pa.int64())
    shifted = pc.add(number, millis - 1) if up else number
    rounded = pc.multiply(pc.divide(shifted, millis), millis)
    wrapped = pc.subtract(rounded, pc.multiply(pc.divide(rounded, 86_400_000), 86_400_000))
    return wrapped.cast(pa.int32()).cast(pa.time32("ms"))
