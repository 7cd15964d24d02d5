"""Conversion of values of declared types from and to JSON, as in Flink's JSON schemas."""

from __future__ import annotations

import base64
import datetime
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import (
    BasicType,
    BasicTypeInfo,
    DateTypeInfo,
    ElementTypeInfo,
    ExternalTypeInfo,
    LocalTimeTypeInfo,
    MapTypeInfo,
    PrimitiveArrayTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TimeTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.types import Row
from firesteel.common.values.coercion import coercer
from firesteel.common.values.java_text import to_java_string
from firesteel.common.values.whole_numbers import in_range, parse_whole
from firesteel.connectors.formats.row_fields import first_fields

Reader = Callable[[Any], Any]

_WHOLE = (BasicType.BYTE, BasicType.SHORT, BasicType.INT, BasicType.LONG, BasicType.BIG_INT)
_DATES = (DateTypeInfo, TimeTypeInfo, TimestampTypeInfo)


def json_reader(type_info: TypeInformation[Any]) -> Reader:
    """Return the function that converts a parsed JSON value to a value of `type_info`.

    As in Flink, numbers may be written as text and text as numbers. The function raises `ValueError` or
    `TypeMismatchError` if the value cannot be converted.

    Example:
        >>> json_reader(Types.SQL_TIMESTAMP())("2021-01-09T12:00:00Z")
        datetime.datetime(2021, 1, 9, 12, 0)
    """
    read, coerce = _reader(type_info), coercer(type_info)
    if coerce is None:
        return read
    return lambda value: None if value is None else coerce(read(value))


def _reader(type_info: TypeInformation[Any]) -> Reader:
    if isinstance(type_info, BasicTypeInfo):
        return _SCALARS.get(type_info.basic_type, _same)
    if _is_bytes(type_info):
        return base64.b64decode
    return next((build(type_info) for kind, build in _READERS if isinstance(type_info, kind)), _same)


def _same(value: object) -> Any:
    return value


def _is_bytes(type_info: TypeInformation[Any]) -> bool:
    return isinstance(type_info, PrimitiveArrayTypeInfo) and type_info.element_type == Types.BYTE()


# --- scalars ---------------------------------------------------------------------------------------------------------


def _text(value: object) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return to_java_string(value, Types.DOUBLE())
    return str(value) if isinstance(value, (int, Decimal)) else value


def _whole(basic_type: BasicType) -> Reader:
    def read(value: object) -> Any:
        if isinstance(value, str):
            return parse_whole(value, basic_type)
        whole = int(value) if isinstance(value, (float, Decimal)) else value
        return in_range(whole, basic_type) if isinstance(whole, int) else whole

    return read


def _floating(value: object) -> object:
    return float(value) if isinstance(value, (str, int, Decimal)) else value


def _decimal(value: object) -> Any:
    try:
        return Decimal(value) if isinstance(value, str) else value
    except InvalidOperation:
        raise ValueError(f"{value!r} is not a number") from None


def _boolean(value: object) -> object:
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    return value


def _instant(value: str) -> object:
    moment = datetime.datetime.fromisoformat(value)
    if moment.tzinfo is None:
        raise ValueError(f"{value!r} has no time zone")
    return Instant.of_epoch_milli(round(moment.timestamp() * 1000))


def _time(value: Any) -> datetime.time:
    parsed = datetime.time.fromisoformat(value)
    _check_utc(value, parsed.utcoffset())
    return parsed.replace(tzinfo=None)


def _timestamp(value: str) -> datetime.datetime:
    parsed = datetime.datetime.fromisoformat(value)
    _check_utc(value, parsed.utcoffset())
    return parsed.replace(tzinfo=None)


def _check_utc(text: str, offset: datetime.timedelta | None) -> None:
    if offset:
        raise ValueError(f"{text!r} must be in UTC, with the suffix Z")


_SCALARS: dict[BasicType, Reader] = {
    BasicType.STRING: _text,
    **{basic_type: _whole(basic_type) for basic_type in _WHOLE},
    **dict.fromkeys((BasicType.FLOAT, BasicType.DOUBLE), _floating),
    BasicType.BIG_DEC: _decimal,
    BasicType.BOOLEAN: _boolean,
    BasicType.INSTANT: _instant,
}


# --- containers ------------------------------------------------------------------------------------------------------


def _row(type_info: RowTypeInfo) -> Reader:
    fields = list(zip(type_info.get_field_names(), map(json_reader, type_info.get_field_types()), strict=True))

    def read(value: object) -> Any:
        if isinstance(value, list) and len(value) == len(fields):
            value = dict(zip(type_info.get_field_names(), value, strict=True))
        if not isinstance(value, dict):
            raise ValueError(f"expected an object, found {value!r}")
        return [_field(name, field, value.get(name)) for name, field in fields]

    return read


def _field(name: str, reader: Reader, value: object) -> Any:
    try:
        return reader(value)
    except (ValueError, TypeError) as error:
        raise ValueError(f"field {name}: {error}") from error


def _elements(type_info: Any) -> Reader:
    element = json_reader(type_info.element_type)
    return lambda value: [element(item) for item in value] if isinstance(value, list) else value


def _map(type_info: Any) -> Reader:
    key, item = json_reader(type_info.key_type), json_reader(type_info.value_type)
    return lambda value: {key(k): item(v) for k, v in value.items()} if isinstance(value, dict) else value


_READERS: tuple[tuple[type, Callable[[Any], Reader]], ...] = (
    (RowTypeInfo, _row),
    (ElementTypeInfo, _elements),
    (MapTypeInfo, _map),
    (DateTypeInfo, lambda _: datetime.date.fromisoformat),
    (TimeTypeInfo, lambda _: _time),
    (TimestampTypeInfo, lambda _: _timestamp),
    (LocalTimeTypeInfo, lambda type_info: _reader(_DATES[type_info.time_type.value]())),
    (ExternalTypeInfo, lambda type_info: _reader(type_info.type_info)),
)


# --- writing ---------------------------------------------------------------------------------------------------------


def json_value(value: Any, type_info: TypeInformation[Any] | None = None) -> object:
    """Return a value in the form that the JSON writer accepts; without a type, convert it by its Python type.

    Example:
        >>> json_value(Row("a", datetime.time(1, 2, 3)), Types.ROW([Types.STRING(), Types.SQL_TIME()]))
        {'f0': 'a', 'f1': '01:02:03Z'}
    """
    if value is None:
        return None
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
        fields = zip(names, first_fields(value, names), type_info.get_field_types(), strict=True)
        return {name: json_value(item, field) for name, item, field in fields}
    if isinstance(type_info, MapTypeInfo):
        return {key: json_value(item, type_info.value_type) for key, item in value.items()}
    if isinstance(type_info, ElementTypeInfo) and not _is_bytes(type_info):
        return [json_value(item, type_info.element_type) for item in value]
    return _plain(value)


def _plain(value: object) -> Any:
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (datetime.datetime, datetime.time)):
        text = value.isoformat()
        return f"{text.rstrip('0') if '.' in text else text}Z"
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Instant):
        return to_java_string(value, Types.INSTANT())
    if isinstance(value, (list, tuple, Row)):
        return [_plain(item) for item in value]
    return float(value) if isinstance(value, Decimal) else value
