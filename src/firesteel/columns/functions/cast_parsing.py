"""Parsing of strings by CAST. Flink: `BinaryStringDataUtil` and `DateTimeUtils`."""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Callable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.accumulators import fit_decimal
from firesteel.errors import FiresteelError

_TRUE = frozenset(["t", "true", "y", "yes", "1"])
_FALSE = frozenset(["f", "false", "n", "no", "0"])
# Flink takes no digits but 0 to 9, and Python many more.
_INTEGER = re.compile(r"([+-]?\d*)(\.\d*)?", re.ASCII)
_DOUBLE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?|NaN|Infinity)", re.ASCII)
_HEX_DOUBLE = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\s*(\d+)\s*(?:-\s*(\d+)\s*(?:-\s*(\d+)\s*)?)?", re.ASCII)
_TIME = re.compile(
    r"\s*(\d+)\s*(?::\s*(\d+)\s*(?::\s*(\d+)\s*(?:\.([^:+-]*))?)?)?(?:([+-])\s*(\d+)\s*(?::\s*(\d+)\s*)?)?", re.ASCII
)
_TIMESTAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?", re.ASCII)
_DAY = datetime.timedelta(days=1)
_DAY_MS = 86_400_000
_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}


class CastError(FiresteelError, ValueError):
    """Raised for a value that CAST cannot convert; TRY_CAST returns NULL instead."""


def parse_boolean(text: str) -> bool:
    """Return the boolean that a string names."""
    lower = text.lower()
    if lower in _TRUE or lower in _FALSE:
        return lower in _TRUE
    raise CastError(f"Cannot parse '{text}' as BOOLEAN.")


def integer_parser(data_type: t.DataType) -> Callable[[str], int]:
    """Return the string parser of an integer type; it ignores digits after a decimal point."""
    limit = 1 << (_BITS[type(data_type)] - 1)

    def parse(text: str) -> int:
        stripped = text.strip(" ")
        match = _INTEGER.fullmatch(stripped)
        if match is None or stripped in ("", "+", "-", "."):
            raise CastError(f"For input string: '{text}'. Invalid character found.")
        digits = match.group(1)
        value = int(digits) if digits not in ("", "+", "-") else 0
        if not -limit <= value < limit:
            raise CastError(f"For input string: '{text}'. Overflow.")
        return value

    return parse


def parse_double(text: str) -> float:
    """Parse a floating point number as Java's `Double.parseDouble` does."""
    stripped = text.strip()
    number = stripped.rstrip("dDfF") if stripped[-1:] in tuple("dDfF") else stripped
    if _HEX_DOUBLE.fullmatch(number):
        return float.fromhex(number)
    if _DOUBLE.fullmatch(stripped) is None:
        raise CastError(f"For input string: '{text}'")
    return float(number)


def decimal_parser(data_type: t.DecimalType) -> Callable[[str], Decimal | None]:
    """Return the string parser of a decimal type; a number with too many digits becomes NULL."""

    def parse(text: str) -> Decimal | None:
        stripped = text.strip()
        if _DECIMAL.fullmatch(stripped) is None:
            raise CastError(f"For input string: '{text}'. Invalid character found.")
        try:
            number = Decimal(stripped)
        except InvalidOperation:  # an exponent out of all bounds
            raise CastError(f"For input string: '{text}'. Too many digits in the exponent.") from None
        return fit_decimal(number, data_type)

    return parse


def parse_date(text: str) -> datetime.date:
    """Parse a date: `2024-01-02`, `2024-1`, `2024`, or the date part of a timestamp."""
    match = _DATE.fullmatch(text[: text.find(" ")] if text.find(" ") > 0 else text)
    try:
        if match is None:
            raise ValueError(text)
        return datetime.date(*(int(part or 1) for part in match.groups()))
    except (ValueError, OverflowError):
        raise CastError(f"For input string: '{text}' is not a DATE, such as '2024-01-31'") from None


def parse_time(text: str) -> datetime.time:
    """Parse a time of day: `03:04:05.678`, `03:04` or `03`.

    As in Flink the parts are added whatever they are, and an offset behind them, too. But Flink goes on to compute with
    times beyond the day, such as 24:00:00, which Arrow can't hold.
    """
    match = _TIME.fullmatch(text)
    if match is None:
        raise CastError(f"For input string: '{text}' is not a TIME, such as '12:30:00'")
    hours, minutes, seconds, fraction, sign, more_hours, more_minutes = match.groups()
    ms = (int(hours) * 60 + int(minutes or 0)) * 60_000 + int(seconds or 0) * 1000 + _millis(fraction or "")
    offset = (int(more_hours or 0) * 60 + int(more_minutes or 0)) * 60_000
    ms += -offset if sign == "-" else offset
    if ms >= _DAY_MS or ms < -_DAY_MS:
        raise CastError(f"For input string: '{text}' is not a TIME before 24:00:00")
    return (datetime.datetime.min + datetime.timedelta(milliseconds=ms % _DAY_MS)).time()


def _millis(fraction: str) -> int:
    """Return the milliseconds of the digits after a point: the fourth one rounds, and other characters count as 0."""
    digits = [int(digit) if digit.isascii() and digit.isdigit() else 0 for digit in fraction.strip().ljust(4, "0")]
    return digits[0] * 100 + digits[1] * 10 + digits[2] + (digits[3] >= 5)


def parse_timestamp(text: str) -> datetime.datetime:
    """Parse `2024-01-02 03:04:05.678` or `2024-01-02`; digits beyond microseconds are cut off.

    24:00:00 is the start of the next day.
    """
    match = _TIMESTAMP.fullmatch(text)
    try:
        if match is None:
            raise ValueError(text)
        *numbers, fraction = match.groups()
        return moment_of([int(number or 0) for number in numbers], int(((fraction or "") + "000000")[:6]))
    except (ValueError, OverflowError):
        raise CastError(f"For input string: '{text}' is not a TIMESTAMP, such as '2024-01-31 12:30:00.123'") from None


def moment_of(numbers: Sequence[int], micros: int) -> datetime.datetime:
    """Return the timestamp of year, month, day, hour, minute and second; hour 24 is that of the next day.

    A day up to 31 that its month does not have is the last one of the month, as for Java's resolver SMART.

    Raises:
        ValueError: there is no such timestamp.
    """
    year, month, day, hour, minute, second = numbers
    if 28 < day <= 31 and 1 <= month <= 12:
        day = min(day, calendar.monthrange(year, month)[1])
    if hour == 24 and not (minute or second or micros):
        return datetime.datetime(year, month, day) + _DAY
    return datetime.datetime(year, month, day, hour, minute, second, micros)


def text_parser(target: t.DataType) -> Callable[[str], Any] | None:
    """Return the string parser of a type, or None if strings cannot be cast to it."""
    if isinstance(target, t.IntegralType):
        return integer_parser(target)
    if isinstance(target, t.DecimalType):
        return decimal_parser(target)
    return _PARSERS.get(type(target))


_PARSERS: dict[type[t.DataType], Callable[[str], object]] = {
    t.BooleanType: parse_boolean,
    t.FloatType: parse_double,
    t.DoubleType: parse_double,
    t.DateType: parse_date,
    t.TimeType: parse_time,
}
