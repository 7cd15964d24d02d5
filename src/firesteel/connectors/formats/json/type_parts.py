"""JSON of values of declared types. Flink: `JsonRowDeserializationSchema` and `JsonRowSerializationSchema`.

Times are in UTC and end with `Z` (RFC 3339), other than in tables.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.common.unchanged import unchanged
from firesteel.common.values.java_text import boolean_text, java_formatter, to_java_string
from firesteel.common.values.whole_numbers import WHOLE_BITS
from firesteel.connectors.formats.json.codec import Elements, Entries, Fields, Part, Scalar, quoted
from firesteel.connectors.formats.json.scalars import (
    integer_reader,
    number_text,
    read_boolean,
    read_bytes,
    read_decimal,
    read_double,
    read_text,
    string_of,
)
from firesteel.connectors.formats.row_fields import first_fields
from firesteel.connectors.formats.scalar_types import ScalarTypes
from firesteel.connectors.formats.text_values import bytes_text
from firesteel.connectors.formats.time_texts import clock_text, clock_time, iso_date, timestamp, timestamp_text

_OFFSET = re.compile(r"[+-]\d{2}(:?\d{2})?$")


def type_part(type_info: TypeInformation[Any]) -> Part:
    """Return how values of a type are written and read; values of unknown types are as the JSON parser returns them."""
    if isinstance(type_info, ExternalTypeInfo):
        return type_part(type_info.type_info)
    if type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return Scalar(read_bytes, lambda value: quoted(bytes_text(value)))
    if isinstance(type_info, ElementTypeInfo):
        return Elements(type_part(type_info.element_type))
    if isinstance(type_info, MapTypeInfo):
        return Entries(type_part(type_info.key_type), type_part(type_info.value_type), dict.items)
    if isinstance(type_info, RowTypeInfo):
        names, parts = type_info.get_field_names(), map(type_part, type_info.get_field_types())
        return Fields(tuple(names), tuple(parts), lambda row: first_fields(row, names), is_tuple=True)
    return _SCALARS.of(type_info) or _ANY


# --- times -----------------------------------------------------------------------------------------------------------


def _of_text(read: Callable[[str], Any]) -> Callable[[object], Any]:
    return lambda value: read(string_of(value))


def _instant(text: str) -> Instant:
    moment = datetime.datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError(f"{text!r} has no time zone")
    return Instant.of_epoch_milli(round(moment.timestamp() * 1000))


def _time(text: str) -> datetime.time:
    return clock_time(_without_zone(text))


def _timestamp(text: str) -> datetime.datetime:
    return timestamp(_without_zone(text), "T")


def _without_zone(text: str) -> str:
    """Return a time without its suffix.

    Raises:
        ValueError: the suffix is not that of UTC.
    """
    if not text.endswith("Z"):
        found = "" if _OFFSET.search(text) else ", which is missing"
        raise ValueError(f"{text!r} must be in UTC, with the suffix Z{found}")
    return text[:-1]


# --- values of unknown types -----------------------------------------------------------------------------------------


def _any_text(value: object) -> str:
    return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)


def _plain(value: object) -> Any:
    """Return a value in a form that `json.dumps` accepts."""
    if isinstance(value, (bytes, bytearray)):
        return bytes_text(value)
    if isinstance(value, datetime.datetime):
        return f"{timestamp_text(value, 'T')}Z"
    if isinstance(value, datetime.time):
        return f"{clock_text(value)}Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Instant):
        return to_java_string(value, Types.INSTANT())
    if isinstance(value, (list, tuple, Row)):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value


def _float_writer(type_info: TypeInformation[Any]) -> Callable[[Any], str]:
    text = java_formatter(type_info)
    return lambda value: number_text(text(value))


_instant_text = java_formatter(Types.INSTANT())
_ANY = Scalar(unchanged, _any_text)
_TEXT = Scalar(read_text, quoted)
_DATE = Scalar(_of_text(iso_date), lambda value: quoted(value.isoformat()))
_TIME = Scalar(_of_text(_time), lambda value: quoted(clock_text(value) + "Z"))
_TIMESTAMP = Scalar(_of_text(_timestamp), lambda value: quoted(timestamp_text(value, "T") + "Z"))
_BASIC: dict[BasicType, Scalar] = {
    BasicType.STRING: _TEXT,
    BasicType.CHAR: _TEXT,
    BasicType.BOOLEAN: Scalar(read_boolean, boolean_text),
    **{
        kind: Scalar(integer_reader(bits, kind.name, cuts=kind in (BasicType.INT, BasicType.LONG)), str)
        for kind, bits in WHOLE_BITS.items()
    },
    BasicType.BIG_INT: Scalar(integer_reader(None, "BIG_INT", cuts=False), str),
    BasicType.FLOAT: Scalar(read_double, _float_writer(Types.FLOAT())),
    BasicType.DOUBLE: Scalar(read_double, _float_writer(Types.DOUBLE())),
    BasicType.BIG_DEC: Scalar(read_decimal, str),
    BasicType.INSTANT: Scalar(_of_text(_instant), lambda value: quoted(_instant_text(value))),
}
_TIMES: tuple[tuple[type, Scalar], ...] = (
    (DateTypeInfo, _DATE),
    (TimeTypeInfo, Scalar(_TIME.read, lambda value: quoted(clock_text(value.replace(microsecond=0)) + "Z"))),
    (TimestampTypeInfo, _TIMESTAMP),
)
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Scalar] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _DATE,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: _TIME,
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: _TIMESTAMP,
}
_SCALARS = ScalarTypes(_BASIC, _LOCAL, _TIMES)
