"""Avro schemas of tables. Flink: `AvroSchemaConverter`."""

from __future__ import annotations

from enum import Enum
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import map_types
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.table_format import Columns

_NAMESPACE = "org.apache.flink.avro.generated"
_ROOT = "record"
_PLAIN: dict[type[t.DataType], Any] = {
    t.NullType: "null",
    t.BooleanType: "boolean",
    t.TinyIntType: "int",
    t.SmallIntType: "int",
    t.IntType: "int",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.CharType: "string",
    t.VarCharType: "string",
    t.BinaryType: "bytes",
    t.VarBinaryType: "bytes",
    t.DateType: {"type": "int", "logicalType": "date"},
}
_MILLISECONDS = 3
_MICROSECONDS = 6
_OTHER_MAPPING = "; the format 'avro' supports it with the option 'avro.timestamp_mapping.legacy' = 'false'"


class Timestamps(Enum):
    """How timestamps are stored.

    Attributes:
        LOCAL: TIMESTAMP is a local timestamp in Avro, and TIMESTAMP_LTZ an instant.
        LEGACY: TIMESTAMP is an instant in milliseconds, as in Flink before 1.19, and TIMESTAMP_LTZ is not supported.
        GIVEN: As LEGACY, also in microseconds. Flink derives no such schema, but accepts one.
    """

    LOCAL = "local"
    LEGACY = "legacy"
    GIVEN = "given"


def row_type(columns: Columns) -> t.RowType:
    """Return the type of whole rows, which are not nullable."""
    return t.RowType([t.RowField(*pair) for pair in zip(columns.names, columns.types, strict=True)], nullable=False)


def derived_schema(columns: Columns, timestamps: Timestamps) -> dict[str, Any]:
    """Return the schema of the rows of a table as JSON data.

    Args:
        columns: The columns, which become the fields of a record.
        timestamps: How timestamps are stored.

    Raises:
        ValidationException: Avro has no such type.
    """
    schema: dict[str, Any] = _schema(row_type(columns), _ROOT, timestamps)
    return {"type": "record", "name": _ROOT, "namespace": _NAMESPACE, "fields": schema["fields"]}


def _schema(kind: t.DataType, name: str, timestamps: Timestamps) -> Any:
    schema = _not_null(kind, name, timestamps)
    return ["null", schema] if kind.is_nullable and schema != "null" else schema


def _not_null(kind: t.DataType, name: str, timestamps: Timestamps) -> object:
    if type(kind) in _PLAIN:
        return _PLAIN[type(kind)]
    if isinstance(kind, t.RowType):
        return _record(kind, name, timestamps)
    if isinstance(kind, t.ArrayType):
        return {"type": "array", "items": _schema(kind.element_type, name, timestamps)}
    if isinstance(kind, (t.MapType, t.MultisetType)):
        return {"type": "map", "values": _schema(_map_values(kind), name, timestamps)}
    if isinstance(kind, t.DecimalType):
        return {"type": "bytes", "logicalType": "decimal", "precision": kind.precision, "scale": kind.scale}
    if isinstance(kind, t.TimeType):
        _check_precision(kind, "TIME", _MILLISECONDS)
        return {"type": "int", "logicalType": "time-millis"}
    return _timestamp(kind, timestamps)


def _record(kind: t.RowType, name: str, timestamps: Timestamps) -> dict[str, Any]:
    fields = []
    for field in kind.fields:
        _check_name(field.name)
        schema = {"name": field.name, "type": _schema(field.data_type, f"{name}_{field.name}", timestamps)}
        fields.append({**schema, "default": None} if field.data_type.is_nullable else schema)
    return {"type": "record", "name": name, "fields": fields}


def _check_name(name: str) -> None:
    if not name.replace("_", "a").isalnum() or name[0].isdigit():
        raise ValidationException(
            f"Illegal character in: {name}. Names of columns in Avro consist of letters, digits and '_', and do not "
            "begin with a digit"
        )


def _map_values(kind: t.MapType | t.MultisetType) -> t.DataType:
    key, value = map_types(kind)
    if not isinstance(key, (t.CharType, t.VarCharType)):
        raise ValidationException(
            f"Avro format doesn't support non-string as key type of map. The key type is: {type_text(key)}"
        )
    return value.nullable() if isinstance(kind, t.MultisetType) else value


def _timestamp(kind: t.DataType, timestamps: Timestamps) -> dict[str, Any]:
    if not isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType)):
        raise ValidationException(f"Unsupported to derive Schema for type: {type_text(kind)}")
    is_local = isinstance(kind, t.TimestampType) and timestamps is Timestamps.LOCAL
    if isinstance(kind, t.LocalZonedTimestampType) and timestamps is not Timestamps.LOCAL:
        raise ValidationException(f"Unsupported to derive Schema for type: {type_text(kind)}{_OTHER_MAPPING}")
    _check_precision(kind, "LOCAL TIMESTAMP" if is_local else "TIMESTAMP", _MICROSECONDS)
    if timestamps is Timestamps.LEGACY:
        _check_precision(kind, "TIMESTAMP", _MILLISECONDS, _OTHER_MAPPING)
    unit = "millis" if is_millis(kind) else "micros"
    return {"type": "long", "logicalType": f"{'local-' if is_local else ''}timestamp-{unit}"}


def is_millis(kind: t.TimestampType | t.LocalZonedTimestampType) -> bool:
    """Return whether timestamps are stored in milliseconds; otherwise they are stored in microseconds."""
    return kind.precision <= _MILLISECONDS


def _check_precision(
    kind: t.LocalZonedTimestampType | t.TimeType | t.TimestampType, name: str, most: int, hint: str = ""
) -> None:
    if kind.precision > most:
        raise ValidationException(
            f"Avro does not support {name} type with precision: {kind.precision}, it only supports precision less than "
            f"or equal to {most}{hint}"
        )


def without_null(schema: Any) -> Any:
    """Return the schema of the values other than null.

    Args:
        schema: The schema as JSON data.
    """
    if isinstance(schema, list):
        return without_null(next((variant for variant in schema if variant != "null"), "null"))
    is_wrapped = isinstance(schema, dict) and not isinstance(schema["type"], str)
    return without_null(schema["type"]) if is_wrapped else schema


def shape(schema: Any) -> object:
    """Return what a schema says of values, without names of types, documentation and defaults.

    Schemas of the same shape describe the same columns.

    Args:
        schema: The schema as JSON data, with all references to types expanded.
    """
    if isinstance(schema, list):
        return ("union", sorted(map(shape, schema), key=repr))
    if isinstance(schema, str):
        return (schema,)
    kind = schema["type"]
    if not isinstance(kind, str):
        return shape(kind)
    if kind == "record":
        return (kind, [(field["name"], shape(field["type"])) for field in schema["fields"]])
    if kind in ("array", "map"):
        return (kind, shape(schema["items" if kind == "array" else "values"]))
    plain = {"enum": "string", "fixed": "bytes"}.get(kind, kind)
    logical = schema.get("logicalType")
    return (plain,) if logical is None else (plain, logical, schema.get("precision"), schema.get("scale") or 0)
