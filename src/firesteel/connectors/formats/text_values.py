"""Values as the text of CSV and JSON, read and written as Flink does it."""

from __future__ import annotations

import base64
import binascii
import datetime
import re
from collections.abc import Callable
from decimal import Context, Decimal, InvalidOperation
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import double_text, float_text
from firesteel.common.values.decimals import fitted

Read = Callable[[str], Any]
Write = Callable[[Any], str]

_WIDE = Context(prec=100)
_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_INTEGER = re.compile(r"[+-]?[0-9]+")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9}))?(Z?)")
_TIME = re.compile(r"(\d{2}:\d{2}(?::\d{2})?)(?:\.(\d{1,9}))?Z?")


def reader_of(kind: t.DataType, is_iso: bool = False) -> Read:
    """Return the function that parses a text; it raises ValueError for invalid text.

    Args:
        kind: A type that has no parts.
        is_iso: Timestamps have a `T` (ISO-8601); else a blank (SQL).
    """
    if type(kind) in _BITS:
        return _integer(1 << _BITS[type(kind)] - 1, kind)
    if isinstance(kind, t.DecimalType):
        return lambda text: decimal_of(text, kind)
    if isinstance(kind, t.TimestampType):
        return lambda text: _timestamp(text, is_iso, False, kind.precision)
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda text: _timestamp(text, is_iso, True, kind.precision).replace(tzinfo=datetime.UTC)
    read = _READERS.get(type(kind))
    if read is None:
        raise NotImplementedError(f"Values of {kind!r} have no text representation")
    return read


def _integer(bound: int, kind: t.DataType) -> Read:
    def read(text: str) -> int:
        text = text.strip()
        if not _INTEGER.fullmatch(text) or not -bound <= (number := int(text)) < bound:
            raise ValueError(f"{text!r} is no {kind.type_name()}")
        return number

    return read


def decimal_of(text: str, kind: t.DecimalType) -> Decimal | None:
    """Return the number, rounded to the scale; None if it has too many digits."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a number") from None
    if not number.is_finite():
        raise ValueError(f"{text!r} is not a number")
    return fitted(number, kind.precision, kind.scale)


def _double(text: str) -> float:
    text = text.strip()
    if not _DOUBLE.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    return float(text.rstrip("fFdD") if text[-1] in "fFdD" else text.replace("Infinity", "inf"))


def _timestamp(text: str, is_iso: bool, has_zone: bool, precision: int) -> datetime.datetime:
    found = _TIMESTAMP.fullmatch(text)
    if found is None or (text[10] == "T") != is_iso or bool(found[4]) != has_zone:
        shape = f"yyyy-MM-dd{'T' if is_iso else ' '}HH:mm:ss[.SSS]{'Z' if has_zone else ''}"
        raise ValueError(f"{text!r} is not a timestamp of the form {shape}")
    digits = (found[3] or "")[:precision][:6]
    moment = datetime.datetime.fromisoformat(f"{found[1]} {found[2]}")
    return moment.replace(microsecond=int(digits.ljust(6, "0"))) if digits else moment


def _time(text: str) -> datetime.time:
    found = _TIME.fullmatch(text)
    if found is None:
        raise ValueError(f"{text!r} is not a time of the form HH:mm:ss")
    time = datetime.time.fromisoformat(found[1])
    return time.replace(microsecond=int(found[2][:6].ljust(6, "0"))) if found[2] else time


def _bytes(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text!r} is not base64") from error


_READERS: dict[type[t.DataType], Read] = {
    t.BooleanType: lambda text: text.strip().lower() == "true",
    t.FloatType: _double,
    t.DoubleType: _double,
    t.CharType: str,
    t.VarCharType: str,
    t.BinaryType: _bytes,
    t.VarBinaryType: _bytes,
    t.DateType: lambda text: datetime.date.fromisoformat(text.strip()),
    t.TimeType: _time,
    t.DayTimeIntervalType: lambda text: datetime.timedelta(milliseconds=int(text.strip())),
    t.YearMonthIntervalType: lambda text: int(text.strip()),
}


def writer_of(kind: t.DataType, is_iso: bool = False, is_plain: bool = False) -> Write:
    """Return the function that returns the text of a value (as returned by `pyarrow.Array.to_pylist`).

    Args:
        kind: A type that has no parts.
        is_iso: Timestamps get a `T` (ISO-8601); else a blank (SQL).
        is_plain: Decimals get no exponent.
    """
    separator = "T" if is_iso else " "
    if isinstance(kind, t.TimestampType):
        return lambda value: _moment(value, separator)
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: _moment(value.astimezone(datetime.UTC).replace(tzinfo=None), separator) + "Z"
    if isinstance(kind, t.DecimalType):
        return lambda value: decimal_text(value, is_plain)
    return _WRITERS.get(type(kind), str)


def decimal_text(value: Decimal, is_plain: bool) -> str:
    """Return a decimal without trailing zeros."""
    shortest = value.normalize(_WIDE) if value else Decimal(0)
    return f"{shortest:f}" if is_plain else str(shortest)


def _moment(value: datetime.datetime, separator: str) -> str:
    if not value.microsecond:
        return value.isoformat(separator, "seconds")
    return value.isoformat(separator, "microseconds").rstrip("0")


def _time_text(value: datetime.time) -> str:
    return value.isoformat("microseconds").rstrip("0") if value.microsecond else value.isoformat("seconds")


_WRITERS: dict[type[t.DataType], Write] = {
    t.BooleanType: lambda value: "true" if value else "false",
    t.FloatType: float_text,
    t.DoubleType: double_text,
    t.BinaryType: lambda value: base64.b64encode(value).decode(),
    t.VarBinaryType: lambda value: base64.b64encode(value).decode(),
    t.DateType: lambda value: value.isoformat(),
    t.TimeType: _time_text,
    t.DayTimeIntervalType: lambda value: str(value // datetime.timedelta(milliseconds=1)),
}
