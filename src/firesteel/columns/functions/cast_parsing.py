"""Parsing of strings by CAST. Flink: `BinaryStringDataUtil` and `DateTimeUtils`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.accumulators import fit_decimal
from firesteel.errors import FiresteelError

_TRUE = frozenset(["t", "true", "y", "yes", "1"])
_FALSE = frozenset(["f", "false", "n", "no", "0"])
_INTEGER = re.compile(r"([+-]?\d*)(\.\d*)?")
_DOUBLE = re.compile(r"[+-]?((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[dDfF]?|NaN|Infinity)")
_TIMESTAMP = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{0,9}))?)?")
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
    if _DOUBLE.fullmatch(stripped) is None:
        raise CastError(f"For input string: '{text}'")
    return float(stripped.rstrip("dDfF") if stripped[-1] in "dDfF" else stripped)


def decimal_parser(data_type: t.DecimalType) -> Callable[[str], Decimal | None]:
    """Return the string parser of a decimal type; a number with too many digits becomes NULL."""

    def parse(text: str) -> Decimal | None:
        stripped = text.strip()
        try:
            value = Decimal(stripped)
        except InvalidOperation:
            value = Decimal("NaN")
        if not value.is_finite() or "_" in stripped:
            raise CastError(f"For input string: '{text}'. Invalid character found.")
        return fit_decimal(value, data_type)

    return parse


def parse_date(text: str) -> datetime.date:
    """Parse a date: `2024-01-02`, `2024-1`, `2024`, or the date part of a timestamp."""
    parts = text.strip().split(" ")[0].split("-")
    try:
        numbers = [int(part) for part in parts]
        if not 1 <= len(numbers) <= 3:
            raise ValueError(text)
        return datetime.date(*[*numbers, 1, 1][:3])
    except ValueError:
        raise CastError(f"For input string: '{text}' is not a DATE, such as '2024-01-31'") from None


def parse_time(text: str) -> datetime.time:
    """Parse a time of day: `03:04:05.678`, `03:04` or `03`."""
    parts = text.strip().split(":")
    try:
        second, _, fraction = parts[2].partition(".") if len(parts) == 3 else ("0", "", "")
        micros = int((fraction + "000")[:3]) * 1000
        if len(parts) > 3:
            raise ValueError(text)
        return datetime.time(int(parts[0]), int(parts[1]) if len(parts) > 1 else 0, int(second), micros)
    except ValueError:
        raise CastError(f"For input string: '{text}' is not a TIME, such as '12:30:00'") from None


def parse_timestamp(text: str) -> datetime.datetime:
    """Parse `2024-01-02 03:04:05.678` or `2024-01-02`; digits beyond microseconds are cut off."""
    match = _TIMESTAMP.fullmatch(text.strip())
    try:
        if match is None:
            raise ValueError(text)
        *numbers, fraction = match.groups()
        year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
        micros = int(((fraction or "") + "000000")[:6])
        return datetime.datetime(year, month, day, hour, minute, second, micros)
    except ValueError:
        raise CastError(f"For input string: '{text}' is not a TIMESTAMP, such as '2024-01-31 12:30:00.123'") from None


def text_parser(target: t.DataType) -> Callable[[str], Any] | None:
    """Return the string parser of a type, or None if strings cannot be cast to it."""
    if isinstance(target, t.IntegralType):
        return integer_parser(target)
    if isinstance(target, t.DecimalType):
        return decimal_parser(target)
    return _PARSERS.get(type(target))


_PARSERS: dict[type[t.DataType], Callable[[str], Any]] = {
    t.BooleanType: parse_boolean,
    t.FloatType: parse_double,
    t.DoubleType: parse_double,
    t.DateType: parse_date,
    t.TimeType: parse_time,
}
