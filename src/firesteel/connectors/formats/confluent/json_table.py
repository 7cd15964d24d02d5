"""JSON in Confluent's wire format, as its `KafkaJsonSchemaSerializer` writes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial

from firesteel.columns import column_types as t
from firesteel.connectors.formats.confluent.messages import ConfluentMessages, divided
from firesteel.connectors.formats.json import table as json_table
from firesteel.connectors.formats.schema_registry import RegisteredSchema
from firesteel.connectors.formats.table_format import Columns
from firesteel.connectors.table_options import Options

_SIMPLE: Mapping[type[t.DataType], Mapping[str, str]] = {
    t.BooleanType: {"type": "boolean"},
    t.TinyIntType: {"type": "integer", "connect.type": "int8"},
    t.SmallIntType: {"type": "integer", "connect.type": "int16"},
    t.IntType: {"type": "integer", "connect.type": "int32"},
    t.BigIntType: {"type": "integer", "connect.type": "int64"},
    t.FloatType: {"type": "number", "connect.type": "float32"},
    t.DoubleType: {"type": "number", "connect.type": "float64"},
    t.DecimalType: {"type": "number"},
}
_TEXT = {"type": "string"}
"""All other types are written as text: times, and bytes in Base64."""


def make(columns: Columns, options: Options) -> ConfluentMessages:
    """Return the format: options of `json`, and those of the registry.

    Raises:
        ValidationException: an option is missing or invalid.
    """
    registry, inner = divided(options)
    schema = partial(RegisteredSchema, json.dumps(json_schema(columns)), "JSON")
    return ConfluentMessages(columns, registry, json_table.make(columns, inner), schema, b"")


def json_schema(columns: Columns) -> object:
    """Return the JSON schema of columns.

    Example:
        >>> json_schema(Columns(("id",), (t.BigIntType(False),)))["properties"]
        {'id': {'type': 'integer', 'connect.type': 'int64'}}
    """
    fields = zip(columns.names, columns.types, strict=True)
    return {"type": "object", "title": "record", "properties": {name: _schema(kind) for name, kind in fields}}


def _schema(data_type: t.DataType) -> object:
    found = _of_not_null(data_type)
    return {"oneOf": [{"type": "null"}, found]} if data_type.is_nullable else found


def _of_not_null(data_type: t.DataType) -> object:
    if isinstance(data_type, t.ArrayType):
        return {"type": "array", "items": _schema(data_type.element_type)}
    if isinstance(data_type, t.MapType):
        return {"type": "object", "additionalProperties": _schema(data_type.value_type)}
    if isinstance(data_type, t.RowType):
        return {"type": "object", "properties": {field.name: _schema(field.data_type) for field in data_type.fields}}
    return dict(_SIMPLE.get(type(data_type), _TEXT))
