"""Extraction, differences, formatting and conversion of dates and times."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.calendar import add_months, months_between
from firesteel.columns.functions.accumulators import quotient, wrap
from firesteel.columns.functions.cast_parsing import CastError, parse_date, parse_timestamp
from firesteel.columns.functions.function import (
    Bind,
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    may_fail,
    per_row,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.java_dates import finest_unit, java_formatter, java_parser
from firesteel.columns.functions.lenient_dates import lenient_formatter, lenient_ms, lenient_parser, sql_moment
from firesteel.columns.functions.old_calendar import DAY_MS, instant_ms, local_ms
from firesteel.columns.functions.signatures import BIGINT, STRING, literal_text, signature
from firesteel.columns.functions.time_zones import (
    instant_datetime,
    local_datetime,
    to_local,
)
from firesteel.columns.rex import Literal
from firesteel.columns.type_families import DATETIMES, INTERVALS, STRINGS
from firesteel.columns.type_rules import any_nullable
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import UTC, time_zone
from firesteel.columns.years import within_years

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
DEFAULT_FORMAT = "yyyy-MM-dd HH:mm:ss"

_PARTS: dict[str, Callable[[object], object]] = {
    "YEAR": pc.year,
    "QUARTER": pc.quarter,
    "MONTH": pc.month,
    "WEEK": pc.iso_week,
    "DAY": pc.day,
    "DOY": pc.day_of_year,
    "DOW": lambda x: pc.day_of_week(x, count_from_zero=False, week_start=7),
    "ISODOW": lambda x: pc.day_of_week(x, count_from_zero=False, week_start=1),
    "ISOYEAR": pc.iso_year,
    "DECADE": lambda x: pc.divide(pc.year(x), 10),
    "CENTURY": lambda x: pc.divide(pc.add(pc.year(x), 99), 100),
    "MILLENNIUM": lambda x: pc.divide(pc.add(pc.year(x), 999), 1000),
}
# Parts of a time of day: (milliseconds % second number) // first number.
_DAY_PARTS = {
    "HOUR": (3_600_000, 86_400_000),
    "MINUTE": (60_000, 3_600_000),
    "SECOND": (1000, 60_000),
    "MILLISECOND": (1, 1000),
}
_FRACTIONS = {"MICROSECOND": 1, "NANOSECOND": 1000}
"""Parts of a second finer than milliseconds, by what a microsecond has of them."""

_PART_NAMES = {"DAYOFYEAR": "DOY", "DAYOFMONTH": "DAY", "DAYOFWEEK": "DOW"}
# Parts of an interval, in months or milliseconds: divided by the first number, modulo the second.
_MONTH_PARTS = {"YEAR": (12, 0), "QUARTER": (1, 12), "MONTH": (1, 12)}
_INTERVAL_PARTS = {
    "DAY": (86_400_000, 0),
    "HOUR": (3_600_000, 24),
    "MINUTE": (60_000, 60),
    "SECOND": (1000, 60),
}


def _resolve_extract(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("EXTRACT", len(types), "2")
    unit = literal_text(operands, 0)
    _check_part("EXTRACT", unit, types[1], types)
    return list(types), t.BigIntType(types[1].is_nullable)


def _check_part(name: str, unit: str | None, data_type: t.DataType, types: Types) -> None:
    if isinstance(data_type, DATETIMES):
        known: Any = (*_PARTS, *_DAY_PARTS, *_FRACTIONS, "EPOCH")
    elif isinstance(data_type, t.TimeType):
        known = (*_DAY_PARTS, *_FRACTIONS)
    elif isinstance(data_type, INTERVALS):
        known = _MONTH_PARTS if isinstance(data_type, t.YearMonthIntervalType) else _INTERVAL_PARTS
    else:
        raise cannot_apply(name, types, "EXTRACT(<TIME_UNIT> FROM <DATETIME_INTERVAL>)")
    if unit not in known:
        raise FunctionError(f"firesteel does not support {unit} of this type; it takes {', '.join(known)}")


def _part_kernel(unit: str, index: int) -> Bind:
    def bind(call: CallSite) -> Kernel:
        data_type = call.types[index]
        if isinstance(data_type, INTERVALS):
            return per_row(lambda _: lambda *args: _interval_part(unit, args[index]))(call)
        zoned = isinstance(data_type, t.LocalZonedTimestampType)

        def kernel(columns: list[Column], length: int) -> Column:
            column = to_local(columns[index], call.context.time_zone) if zoned else columns[index]
            return _part(unit, column).cast(pa.int64())

        return kernel

    return bind


def _part(unit: str, column: Column) -> Column:
    """Return a part of dates, times or timestamps.

    Flink divides the milliseconds since the epoch towards zero. Before 1970 a time of day therefore belongs to the next
    day, and its parts are negative.
    """
    if pa.types.is_date(column.type) and unit in _PARTS:
        return _PARTS[unit](column)
    if unit in _FRACTIONS:
        return pc.multiply(_rest(_microseconds(column), 1_000_000), _FRACTIONS[unit])
    milliseconds = _milliseconds(column)
    if unit in _PARTS:
        return _PARTS[unit](pc.divide(milliseconds, 86_400_000).cast(pa.int32()).cast(pa.date32()))
    if unit == "EPOCH":
        return pc.divide(milliseconds, 1000)
    divisor, modulus = _DAY_PARTS[unit]
    return pc.divide(_rest(milliseconds, modulus), divisor)


def _rest(numbers: Column, modulus: int) -> Column:
    """Return remainders with the signs of the numbers."""
    return pc.subtract(numbers, pc.multiply(pc.divide(numbers, modulus), modulus))


def _microseconds(column: Column) -> Column:
    """Return the microseconds since the epoch, or since midnight."""
    if pa.types.is_date(column.type):
        return pc.multiply(column.cast(pa.int32()).cast(pa.int64()), 86_400_000_000)
    return column.cast(pa.time64("us") if pa.types.is_time(column.type) else pa.timestamp("us")).cast(pa.int64())


def _milliseconds(column: Column) -> Column:
    """Return the milliseconds since the epoch, or since midnight, rounded down."""
    micros = _microseconds(column)
    return pc.divide(pc.subtract(micros, pc.if_else(pc.less(micros, 0), 999, 0)), 1000)


def _interval_part(unit: str, value: datetime.timedelta) -> int:
    divisor, modulus = (_MONTH_PARTS if isinstance(value, int) else _INTERVAL_PARTS)[unit]
    number = value if isinstance(value, int) else value // datetime.timedelta(milliseconds=1)
    part = quotient(number, divisor)
    part = part if not modulus else part - modulus * quotient(part, modulus)
    return quotient(part - 1, 3) + 1 if unit == "QUARTER" else part


def _bind_extract(call: CallSite) -> Kernel:
    return _part_kernel(call.literal(0).upper(), 1)(call)


def _part_function(name: str) -> Function:
    """Return YEAR(x), MONTH(x), ..., which are EXTRACT with a fixed unit."""
    unit = _PART_NAMES.get(name, name)

    def resolve(types: Types, operands: Operands) -> Resolved:
        if len(types) != 1:
            raise wrong_count(name, len(types), "1")
        _check_part(name, unit, types[0], types)
        return list(types), t.BigIntType(types[0].is_nullable)

    return Function(name, resolve, _part_kernel(unit, 0))


_UNIT_MICROS = {
    "MICROSECOND": 1,
    "MILLISECOND": 1000,
    "SECOND": 1_000_000,
    "MINUTE": 60_000_000,
    "HOUR": 3_600_000_000,
    "DAY": 86_400_000_000,
    "WEEK": 7 * 86_400_000_000,
}
_UNIT_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _unit(name: str, operands: Operands) -> str:
    unit = (literal_text(operands, 0) or "").removeprefix("SQL_TSI_")
    if unit not in _UNIT_MICROS and unit not in _UNIT_MONTHS:
        raise FunctionError(
            f"{name} does not take the unit {unit!r}; it takes {', '.join([*_UNIT_MICROS, *_UNIT_MONTHS])}"
        )
    return unit


def _resolve_difference(types: Types, operands: Operands) -> Resolved:
    if len(types) != 3:
        raise wrong_count("TIMESTAMPDIFF", len(types), "3")
    unit = _unit("TIMESTAMPDIFF", operands)
    if not all(isinstance(x, (*DATETIMES, t.NullType)) for x in types[1:]):
        raise cannot_apply("TIMESTAMPDIFF", types, "TIMESTAMPDIFF(<TIME_UNIT>, <DATETIME>, <DATETIME>)")
    zoned = [isinstance(x, t.LocalZonedTimestampType) for x in types[1:]]
    if any(zoned) and not all(zoned):
        found = " and ".join(map(type_text, types[1:]))
        raise FunctionError(f"TIMESTAMPDIFF takes two points in time of one kind, and not {found}; cast one of them")
    digits = 6 if unit == "MICROSECOND" else 3  # Flink subtracts milliseconds
    target = t.LocalZonedTimestampType(digits) if any(zoned) else t.TimestampType(digits)
    casts = [target.with_nullable(x.is_nullable) for x in types[1:]]
    return [types[0], *casts], t.IntType(any_nullable(types[1:]))


def _bind_difference(call: CallSite) -> Kernel:
    unit = _unit("TIMESTAMPDIFF", call.operands)
    if unit in _UNIT_MONTHS:
        months = _UNIT_MONTHS[unit]
        return per_row(lambda _: lambda u, a, b: quotient(months_between(a, b), months))(call)
    micros = _UNIT_MICROS[unit]
    return per_row(lambda _: lambda u, a, b: wrap(quotient((b - a) // datetime.timedelta(microseconds=1), micros), 32))(
        call
    )


def _resolve_addition(types: Types, operands: Operands) -> Resolved:
    if len(types) != 3:
        raise wrong_count("TIMESTAMPADD", len(types), "3")
    unit = _unit("TIMESTAMPADD", operands)
    if unit == "MICROSECOND":  # Flink's intervals have milliseconds
        raise FunctionError("TIMESTAMPADD does not take the unit 'MICROSECOND'; the smallest one is MILLISECOND")
    moment = types[2]
    if not isinstance(types[1], t.IntegralType) or not isinstance(moment, (*DATETIMES, t.TimeType)):
        raise cannot_apply("TIMESTAMPADD", types, "TIMESTAMPADD(<TIME_UNIT>, <INTEGER>, <DATETIME>)")
    result: t.DataType = moment
    if isinstance(moment, t.DateType) and unit in _UNIT_MICROS and unit not in ("DAY", "WEEK"):
        result = t.TimestampType(6, moment.is_nullable)
    return [types[0], types[1], result], result.with_nullable(any_nullable(types[1:]))


def _bind_addition(call: CallSite) -> Kernel:
    unit = _unit("TIMESTAMPADD", call.operands)

    def add(_: str, count: int, moment: Any) -> Any:
        if unit in _UNIT_MONTHS:
            return add_months(moment, count * _UNIT_MONTHS[unit])
        delta = datetime.timedelta(microseconds=count * _UNIT_MICROS[unit])
        if isinstance(moment, datetime.time):
            return (datetime.datetime.combine(datetime.date(2000, 1, 1), moment) + delta).time()
        return moment + delta

    return per_row(lambda _: within_years(add))(call)


def _bind_date_format(call: CallSite) -> Kernel:
    """Format the times of a pattern's finest unit once each; most columns have few of them, and many instants."""
    slow, pattern = per_row(lambda site: within_years(_date_format(site)))(call), call.literal(1)
    unit = None if pattern is None else finest_unit(pattern)
    if unit is None or not isinstance(call.types[0], DATETIMES):
        return slow
    zoned = isinstance(call.types[0], t.LocalZonedTimestampType)

    def kernel(columns: list[Column], length: int) -> Column:
        moments = to_local(columns[0], call.context.time_zone) if zoned else columns[0]
        return slow([pc.floor_temporal(moments, unit=unit), *columns[1:]], length)

    return kernel


def _date_format(call: CallSite) -> Callable[[Any, str], str | None]:
    zone = call.context.time_zone

    def text(value: Any, pattern: str) -> str | None:
        if isinstance(value, str):
            found = lenient_ms(value)
            return None if found is None else lenient_formatter(pattern)(found)
        return java_formatter(pattern)(local_datetime(value, zone) if value.tzinfo else value)

    return text


def _parse(text: str, pattern: str | None) -> datetime.datetime | None:
    if pattern is not None and pattern != DEFAULT_FORMAT:
        moment = java_parser(pattern)(text)
        return sql_moment(text) if moment is None else moment
    try:
        return parse_timestamp(text)
    except CastError:
        return None


def _to_timestamp(text: str, pattern: str | None = None) -> datetime.datetime | None:
    moment = _parse(text, pattern)
    return moment and moment.replace(microsecond=moment.microsecond // 1000 * 1000)


def _to_date(text: str, pattern: str | None = None) -> datetime.date | None:
    if pattern is not None:
        millis = lenient_parser(pattern)(text)
        return None if millis is None else _date_of(millis // DAY_MS)
    try:
        return parse_date(text)
    except CastError:
        return None


def _date_of(days: int) -> datetime.date | None:
    """Return a date by its days since 1970, None if Python has no such date."""
    try:
        return _EPOCH.date() + datetime.timedelta(days=days)
    except OverflowError:
        return None


def _to_timestamp_ltz(call: CallSite) -> Callable[..., object]:
    if not isinstance(call.types[0], STRINGS):
        return _instant_of_number

    def parse(text: str, pattern: str | None = None, zone: str | None = None) -> datetime.datetime | None:
        moment = _to_timestamp(text, pattern)
        return moment and instant_datetime(moment, time_zone(zone) if zone else UTC)

    return parse


def _instant_of_number(number: int | float | Decimal, precision: int = 3) -> datetime.datetime | None:
    if precision not in (0, 3):
        raise FunctionError(f"The precision value '{precision}' for TO_TIMESTAMP_LTZ is unsupported; give 0 or 3")
    unit = 1_000_000 if precision == 0 else 1000
    if math.isnan(number):
        number = 0  # as Java converts it
    elif isinstance(number, Decimal):
        number = (
            number if precision == 0 else int(number)
        )  # cut towards zero, while fractions of others are rounded down
    try:
        return _EPOCH + datetime.timedelta(microseconds=int(number * unit) // 1000 * 1000)
    except OverflowError:
        return None


def _resolve_to_timestamp_ltz(types: Types, operands: Operands) -> Resolved:
    result = t.LocalZonedTimestampType(3)
    if types and isinstance(types[0], t.NumericType):
        precision = operands[1].value if len(types) > 1 and isinstance(operands[1], Literal) else None
        if isinstance(precision, int) and precision < 0:
            raise FunctionError(f"Invalid function call: the precision of TO_TIMESTAMP_LTZ is {precision}; give 0 or 3")
        return signature("TO_TIMESTAMP_LTZ", result, "NUMERIC", "INTEGER", optional=1, nullable=True)(types, operands)
    return signature("TO_TIMESTAMP_LTZ", result, *["CHARACTER"] * 3, optional=2, nullable=True)(types, operands)


def _from_unixtime(call: CallSite) -> Callable[..., str]:
    zone = call.context.time_zone

    def text(seconds: int, pattern: str = DEFAULT_FORMAT) -> str:
        return lenient_formatter(pattern)(local_ms(wrap(seconds * 1000, 64), zone))

    return text


def _unix_timestamp(call: CallSite) -> Callable[..., int]:
    context = call.context

    def seconds(text: str | None = None, pattern: str = DEFAULT_FORMAT) -> int:
        if text is None:
            return context.clock_us() // 1_000_000
        millis = lenient_parser(pattern)(text)
        return -(2**63) if millis is None else quotient(instant_ms(millis, context.time_zone), 1000)

    return seconds


def _convert_tz(text: str, source: str, target: str) -> str | None:
    millis = lenient_ms(text)
    if millis is None:
        return None
    instant = instant_ms(millis, time_zone(source))
    return lenient_formatter(DEFAULT_FORMAT)(local_ms(instant, time_zone(target)))


def _has_pattern(call: CallSite) -> bool:
    """Return whether a call may fail: some texts are no patterns."""
    return len(call.operands) > 1


_TEXT = "CHARACTER"

FUNCTIONS = [
    Function("EXTRACT", _resolve_extract, _bind_extract),
    *map(
        _part_function,
        ("YEAR", "QUARTER", "MONTH", "WEEK", "DAYOFYEAR", "DAYOFMONTH", "DAYOFWEEK", "HOUR", "MINUTE", "SECOND"),
    ),
    Function("TIMESTAMPDIFF", _resolve_difference, _bind_difference),
    Function("TIMESTAMPADD", _resolve_addition, _bind_addition, fails=may_fail),
    Function(
        "DATE_FORMAT",
        signature("DATE_FORMAT", STRING, "TIMESTAMP|CHARACTER", _TEXT, nullable=True),
        _bind_date_format,
        fails=may_fail,
    ),
    Function(
        "TO_TIMESTAMP",
        signature("TO_TIMESTAMP", t.TimestampType(3), _TEXT, _TEXT, optional=1, nullable=True),
        per_row(lambda call: _to_timestamp),
        fails=_has_pattern,
    ),
    Function(
        "TO_DATE",
        signature("TO_DATE", t.DateType(), _TEXT, _TEXT, optional=1, nullable=True),
        per_row(lambda call: _to_date),
        fails=_has_pattern,
    ),
    Function("TO_TIMESTAMP_LTZ", _resolve_to_timestamp_ltz, per_row(_to_timestamp_ltz), fails=_has_pattern),
    Function(
        "FROM_UNIXTIME",
        signature("FROM_UNIXTIME", STRING, "INTEGER", _TEXT, optional=1, nullable=True),
        per_row(_from_unixtime),
        fails=may_fail,
    ),
    Function(
        "UNIX_TIMESTAMP",
        signature("UNIX_TIMESTAMP", BIGINT, _TEXT, _TEXT, optional=2),
        per_row(_unix_timestamp),
        momentary=lambda operands: not operands,
        fails=_has_pattern,
    ),
    Function(
        "CONVERT_TZ",
        signature("CONVERT_TZ", STRING, _TEXT, _TEXT, _TEXT, nullable=True),
        per_row(lambda call: _convert_tz),
        fails=may_fail,
    ),
]
