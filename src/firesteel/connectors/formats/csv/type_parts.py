"""CSV of values of declared types. Flink: `CsvRowDeserializationSchema` and `CsvRowSerializationSchema`."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.values.java_parsing import (
    parse_boolean,
    parse_decimal,
    parse_double,
    parse_integer,
    trimmed,
)
from firesteel.common.values.java_text import java_formatter
from firesteel.common.values.whole_numbers import WHOLE_BITS
from firesteel.connectors.formats.csv.codec import Elements, Fields, Part, Scalar
from firesteel.connectors.formats.row_fields import all_fields
from firesteel.connectors.formats.scalar_types import ScalarTypes
from firesteel.connectors.formats.text_values import bytes_text, parse_bytes
from firesteel.connectors.formats.time_texts import (
    instant_of,
    local_time,
    moment_of,
    sql_date,
    sql_time,
    sql_timestamp,
    timestamp,
    timestamp_text,
)


def type_part(type_info: TypeInformation[Any], separator: str | None = None) -> Part:
    """Return how values of a type are written and read.

    Args:
        type_info: The type.
        separator: Text between the elements of an array; None for that of the dialect.

    Raises:
        ValueError: CSV has no such values.
    """
    if isinstance(type_info, ExternalTypeInfo):
        return type_part(type_info.type_info, separator)
    if type_info == Types.PRIMITIVE_ARRAY(Types.BYTE()):
        return Scalar(parse_bytes, bytes_text)
    if isinstance(type_info, ElementTypeInfo):
        return Elements(type_part(type_info.element_type), separator)
    if isinstance(type_info, RowTypeInfo):
        names, fields = type_info.get_field_names(), map(type_part, type_info.get_field_types())
        return Fields(tuple(fields), lambda row: all_fields(row, names))
    found = _SCALARS.of(type_info)
    if found is None:
        raise ValueError(f"CSV: the type {type_info!r} is not supported")
    return found


def _instant(text: str) -> Instant:
    return instant_of(timestamp(trimmed(text), " ", "Z"))


def _instant_text(value: Instant) -> str:
    return timestamp_text(moment_of(value), " ") + "Z"


def _local_timestamp(text: str) -> datetime.datetime:
    return timestamp(trimmed(text), " ")


_TEXT = Scalar(str, str)
_DATE = Scalar(sql_date, datetime.date.isoformat)
_BASIC: dict[BasicType, Scalar] = {
    BasicType.STRING: _TEXT,
    BasicType.CHAR: _TEXT,
    BasicType.BOOLEAN: Scalar(parse_boolean, java_formatter(Types.BOOLEAN()), is_bare=True),
    **{
        kind: Scalar(partial(parse_integer, bits=bits, name=kind.name), str, is_bare=True)
        for kind, bits in WHOLE_BITS.items()
    },
    BasicType.BIG_INT: Scalar(partial(parse_integer, bits=None, name="BIG_INT"), str, is_bare=True),
    BasicType.FLOAT: Scalar(parse_double, java_formatter(Types.FLOAT()), is_bare=True),
    BasicType.DOUBLE: Scalar(parse_double, java_formatter(Types.DOUBLE()), is_bare=True),
    BasicType.BIG_DEC: Scalar(parse_decimal, str, is_bare=True),
    BasicType.INSTANT: Scalar(_instant, _instant_text),
}
_TIMES: tuple[tuple[type, Scalar], ...] = (
    (DateTypeInfo, _DATE),
    (TimeTypeInfo, Scalar(sql_time, java_formatter(Types.SQL_TIME()))),
    (TimestampTypeInfo, Scalar(sql_timestamp, java_formatter(Types.SQL_TIMESTAMP()))),
)
_LOCAL: dict[LocalTimeTypeInfo.TimeType, Scalar] = {
    LocalTimeTypeInfo.TimeType.LOCAL_DATE: _DATE,
    LocalTimeTypeInfo.TimeType.LOCAL_TIME: Scalar(
        local_time, java_formatter(LocalTimeTypeInfo(LocalTimeTypeInfo.TimeType.LOCAL_TIME))
    ),
    LocalTimeTypeInfo.TimeType.LOCAL_DATE_TIME: Scalar(_local_timestamp, lambda value: timestamp_text(value, " ")),
}
_SCALARS = ScalarTypes(_BASIC, _LOCAL, _TIMES)
