"""Avro of columns of tables. Flink: `AvroToRowDataConverters` and `RowDataToAvroConverters`."""

from __future__ import annotations

import datetime
from dataclasses import replace
from decimal import Context, Decimal
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import map_types
from firesteel.connectors.formats.avro import codec
from firesteel.connectors.formats.avro.derived_schema import is_millis, without_null

_WIDE = Context(prec=100)
_SCALARS: dict[type[t.DataType], codec.AvroPart] = {
    t.CharType: codec.TEXT,
    t.VarCharType: codec.TEXT,
    t.DateType: codec.DATE,
    t.TimeType: codec.TIME,
}


def column_fields(kind: t.RowType, schema: object) -> list[codec.AvroField]:
    """Return the fields of rows.

    The writer may have used other types than the derived ones. Numbers and bytes without a logical type are read as the
    derived schema stores them.

    Args:
        kind: The type of the rows.
        schema: The reader schema of the record as JSON data, with all references to types expanded.
    """
    declared = {field["name"]: field for field in without_null(schema)["fields"]}
    return [_field(field, declared[field.name]) for field in kind.fields]


def _field(field: t.RowField, declared: dict[str, Any]) -> codec.AvroField:
    default = declared.get("default", codec.REQUIRED)
    if isinstance(field.data_type, (t.BinaryType, t.VarBinaryType)) and isinstance(default, str):
        default = default.encode("iso-8859-1")  # so that JSON has any byte as a character
    return codec.AvroField(field.name, _part(field.data_type, declared["type"]), default)


def _part(kind: t.DataType, schema: object) -> codec.AvroPart:
    part = _not_null(kind, without_null(schema))
    return part.or_null() if kind.is_nullable else replace(part.or_null(), read=_present(part.read))


def _present(read: codec.Convert) -> codec.Convert:
    def present(value: object) -> object:
        if value is None:
            raise ValueError("found null in a column that is NOT NULL")
        return read(value)

    return present


def _not_null(kind: t.DataType, schema: Any) -> codec.AvroPart:
    if isinstance(kind, t.RowType):
        return codec.record(column_fields(kind, schema))
    if isinstance(kind, t.ArrayType):
        return codec.elements(_part(kind.element_type, schema["items"]))
    if isinstance(kind, (t.MapType, t.MultisetType)):
        return codec.entries(_part(map_types(kind)[1], schema["values"]))
    if isinstance(kind, t.DecimalType):
        return _decimals(kind.scale)
    if isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        zone = None if isinstance(kind, t.TimestampType) else datetime.UTC
        return codec.timestamps(is_millis(kind), zone, kind.precision)
    return _SCALARS.get(type(kind), codec.SAME)


def _decimals(scale: int) -> codec.AvroPart:
    def read(value: object) -> Any:
        if not isinstance(value, bytes):
            return value
        return Decimal(int.from_bytes(value, "big", signed=True)).scaleb(-scale, _WIDE)

    return codec.AvroPart(read)
