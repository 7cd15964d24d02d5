"""Values of columns as the text of CSV and JSON, read and written as Flink does it."""

from __future__ import annotations

import base64
import binascii
import datetime
from collections.abc import Callable
from decimal import Context, Decimal
from enum import Enum
from functools import partial
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import double_text, float_text
from firesteel.common.values.decimals import fitted
from firesteel.common.values.java_parsing import (
    parse_boolean,
    parse_decimal,
    parse_double,
    parse_integer,
    trimmed,
)
from firesteel.common.values.java_text import boolean_text
from firesteel.connectors.formats.time_texts import (
    clock_text,
    clock_time,
    iso_date,
    short_time,
    sql_date,
    timestamp,
    timestamp_text,
)

Read = Callable[[str], Any]
Write = Callable[[Any], str]

_WIDE = Context(prec=100)
_BITS: dict[type[t.DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}


class Style(Enum):
    """How dates, times and timestamps are written.

    Attributes:
        SQL: A blank between date and time, as in JSON by default.
        ISO: A `T` between date and time.
        UTC: As `ISO`, with a `Z` after every timestamp, as in JSON up to Flink 1.10.
        CSV: As `SQL`; values may be surrounded by blanks, dates may lack zeros and times seconds.
    """

    SQL = " "
    ISO = "T"
    UTC = "Z"
    CSV = "csv"

    @property
    def separator(self) -> str:
        """What is between date and time."""
        return "T" if self in (Style.ISO, Style.UTC) else " "

    @property
    def zone(self) -> str:
        """What is after a timestamp without time zone."""
        return "Z" if self is Style.UTC else ""


def reader_of(kind: t.DataType, style: Style = Style.SQL) -> Read:
    """Return the function that parses a text; it raises ValueError for invalid text.

    Args:
        kind: A type that has no parts.
        style: How times are written.

    Raises:
        NotImplementedError: values of the type have no text.
    """
    if type(kind) in _BITS:
        return partial(parse_integer, bits=_BITS[type(kind)], name=kind.type_name())
    if isinstance(kind, t.DecimalType):
        return lambda text: fitted(parse_decimal(text), kind.precision, kind.scale)
    if isinstance(kind, (t.DateType, t.TimeType)):
        return _day_reader(kind, style)
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        return _timestamp_reader(kind, style)
    read = _READERS.get(type(kind))
    if read is None:
        raise NotImplementedError(f"Unsupported type: {type_text(kind)}")
    return read


def _day_reader(kind: t.DateType | t.TimeType, style: Style) -> Read:
    if isinstance(kind, t.DateType):
        return sql_date if style is Style.CSV else iso_date
    if style is not Style.CSV:
        return clock_time
    step = 10 ** max(0, 6 - kind.precision)

    def read(text: str) -> datetime.time:
        time = short_time(text)
        return time.replace(microsecond=time.microsecond // step * step)

    return read


def _timestamp_reader(kind: t.TimestampType | t.LocalZonedTimestampType, style: Style) -> Read:
    trim = trimmed if style is Style.CSV else str
    separator, precision = style.separator, kind.precision
    if isinstance(kind, t.TimestampType):
        return lambda text: timestamp(trim(text), separator, style.zone, precision)
    return lambda text: timestamp(trim(text), separator, "Z", precision).replace(tzinfo=datetime.UTC)


def parse_bytes(text: str) -> bytes:
    """Return the bytes that base64 stands for, which may be surrounded by blanks.

    Raises:
        ValueError: the text is no base64.
    """
    try:
        return base64.b64decode(trimmed(text), validate=True)
    except binascii.Error as error:
        raise ValueError(f"{text[:100]!r} is not base64") from error


def bytes_text(value: bytes | bytearray) -> str:
    """Return base64."""
    return base64.b64encode(value).decode()


_READERS: dict[type[t.DataType], Read] = {
    t.BooleanType: parse_boolean,
    t.FloatType: parse_double,
    t.DoubleType: parse_double,
    t.CharType: str,
    t.VarCharType: str,
    t.BinaryType: parse_bytes,
    t.VarBinaryType: parse_bytes,
    t.DayTimeIntervalType: lambda text: datetime.timedelta(milliseconds=parse_integer(text, 64, "INTERVAL")),
    t.YearMonthIntervalType: partial(parse_integer, bits=32, name="INTERVAL"),
}


def writer_of(kind: t.DataType, style: Style = Style.SQL, is_plain: bool = False) -> Write:
    """Return the function that returns the text of a value (as returned by `pyarrow.Array.to_pylist`).

    Args:
        kind: A type that has no parts.
        style: How times are written.
        is_plain: Whether decimals are written with all digits of their scale; else shortened, with an exponent.
    """
    separator = style.separator
    if isinstance(kind, t.TimestampType):
        return lambda value: timestamp_text(value, separator) + style.zone
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: timestamp_text(value.astimezone(datetime.UTC).replace(tzinfo=None), separator) + "Z"
    if isinstance(kind, t.DecimalType):
        return "{:f}".format if is_plain else _shortest
    return _WRITERS.get(type(kind), str)


def _shortest(value: Decimal) -> str:
    return str(value.normalize(_WIDE)) if value else "0"


_WRITERS: dict[type[t.DataType], Write] = {
    t.BooleanType: boolean_text,
    t.FloatType: float_text,
    t.DoubleType: double_text,
    t.BinaryType: bytes_text,
    t.VarBinaryType: bytes_text,
    t.DateType: datetime.date.isoformat,
    t.TimeType: clock_text,
    t.DayTimeIntervalType: lambda value: str(value // datetime.timedelta(milliseconds=1)),
}
