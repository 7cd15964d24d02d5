"""SQL values as JSON text, as JSON_STRING, JSON_OBJECT and JSON_ARRAY write them. Flink: `JsonGenerateUtils`."""

from __future__ import annotations

import base64
import datetime
import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import UTC, double_text, map_types

Writer = Callable[[Any], str]


def json_writer(data_type: t.DataType) -> Writer:
    """Return a function that writes a value of this type as JSON text; keys of objects are sorted."""
    write = _writer(data_type)
    return lambda value: "null" if value is None else write(value)


def has_json(data_type: t.DataType) -> bool:
    """Return whether there is JSON for the values of a type; not for dates, times of day and intervals, as in Flink."""
    if isinstance(data_type, t.ArrayType):
        return has_json(data_type.element_type)
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        key_type, value_type = map_types(data_type)
        return isinstance(key_type, (t.CharType, t.VarCharType)) and has_json(value_type)
    if isinstance(data_type, t.RowType):
        return all(map(has_json, data_type.field_types()))
    return type(data_type) in _WRITERS or isinstance(data_type, t.IntegralType)


def quote(text: str) -> str:
    """Return a string as a JSON string literal."""
    return json.dumps(text, ensure_ascii=False)


def object_text(pairs: dict[str, str]) -> str:
    """Return a JSON object from keys and the JSON texts of their values, with sorted keys as in Flink."""
    return "{" + ",".join(f"{quote(key)}:{pairs[key]}" for key in sorted(pairs)) + "}"


def _writer(data_type: t.DataType) -> Writer:
    plain = _WRITERS.get(type(data_type))
    if plain is not None:
        return plain
    if isinstance(data_type, t.IntegralType):
        return str
    if isinstance(data_type, t.ArrayType):
        element = json_writer(data_type.element_type)
        return lambda value: f"[{','.join(map(element, value))}]"
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        item = json_writer(map_types(data_type)[1])
        return lambda value: object_text({str(k): item(v) for k, v in value})
    if isinstance(data_type, t.RowType):
        fields = [json_writer(field) for field in data_type.field_types()]
        return lambda value: object_text(
            {name: field(item) for field, (name, item) in zip(fields, value.items(), strict=True)}
        )
    raise AssertionError(f"{data_type} was checked by `has_json`")


def _iso(value: datetime.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat()
    text = text.rstrip("0") if value.microsecond else text
    return text if value.tzinfo is None else text + "Z"


def _number(value: float) -> str:
    """Return a floating point number as `BigDecimal` writes it, which has no -0.0; a FLOAT has the digits of a DOUBLE.

    JSON has no infinity and no NaN: Flink writes them as texts.
    """
    if not math.isfinite(value):
        return quote(double_text(value))
    return str(Decimal(double_text(value))) if value else "0.0"


def _base64(value: bytes) -> str:
    return quote(base64.b64encode(value).decode())


_WRITERS: dict[type[t.DataType], Writer] = {
    t.CharType: quote,
    t.VarCharType: quote,
    t.BooleanType: lambda value: "true" if value else "false",
    t.VariantType: str,
    t.DecimalType: str,
    t.FloatType: _number,
    t.DoubleType: _number,
    t.TimestampType: lambda value: quote(_iso(value)),
    t.LocalZonedTimestampType: lambda value: quote(_iso(value.astimezone(UTC))),
    t.BinaryType: _base64,
    t.VarBinaryType: _base64,
}
