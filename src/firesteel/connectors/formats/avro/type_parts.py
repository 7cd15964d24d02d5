"""Avro of values of declared types. Flink: `AvroRowDeserializationSchema`, `AvroRowSerializationSchema`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.connectors.formats.avro import codec

Typed = tuple[TypeInformation[Any], codec.AvroPart]
"""A type, and how its values are read and written."""

_SCALARS: dict[str, tuple[Callable[[], TypeInformation[Any]], codec.AvroPart]] = {
    "string": (Types.STRING, codec.TEXT),
    "enum": (Types.STRING, codec.SAME),
    "int": (Types.INT, codec.SAME),
    "long": (Types.LONG, codec.SAME),
    "float": (Types.FLOAT, codec.SAME),
    "double": (Types.DOUBLE, codec.SAME),
    "boolean": (Types.BOOLEAN, codec.SAME),
    "bytes": (lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()), codec.SAME),
    "fixed": (lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()), codec.SAME),
}
_LOGICAL: dict[str, tuple[Callable[[], TypeInformation[Any]], codec.AvroPart]] = {
    "date": (Types.SQL_DATE, codec.DATE),
    "time-millis": (Types.SQL_TIME, codec.TIME),
    "time-micros": (Types.SQL_TIME, codec.TIME),
    "timestamp-millis": (Types.SQL_TIMESTAMP, codec.timestamps(is_millis=True)),
    "timestamp-micros": (Types.SQL_TIMESTAMP, codec.timestamps(is_millis=False)),
    "decimal": (Types.BIG_DEC, codec.SAME),
}


def avro_type(schema: object) -> TypeInformation[Any]:
    """Return the type of the values of a schema, as Flink's `AvroSchemaConverter` does.

    Args:
        schema: The schema as JSON data.

    Raises:
        ValueError: the schema has a type that is not supported, such as a union of two types besides null.

    Example:
        >>> avro_type({"type": "record", "name": "Person", "fields": [{"name": "age", "type": ["null", "int"]}]})
        RowTypeInfo(age: Integer)
    """
    return typed_part(schema, {})[0]


def typed_part(schema: Any, known: dict[str, Any]) -> Typed:
    """Return the type of the values of a schema, and how they are read and written; rows are read as tuples.

    Args:
        schema: The schema as JSON data.
        known: Named schemas that the schema may refer to; those in it are added.

    Raises:
        ValueError: as `avro_type`.
    """
    if isinstance(schema, list):
        variants = [variant for variant in schema if variant != "null"]
        if len(variants) != 1:
            raise ValueError(f"Avro: a union must have exactly one type besides null, found {schema}")
        return typed_part(variants[0], known)
    if isinstance(schema, str):
        return typed_part(known[schema], known) if schema in known else _scalar(schema)
    known |= {schema["name"]: schema} if "name" in schema else {}
    type_info, part = _complex(schema, known)
    return type_info, part.or_null()


def _complex(schema: dict[str, Any], known: dict[str, Any]) -> Typed:
    kind = schema["type"]
    if kind == "record":
        names = [field["name"] for field in schema["fields"]]
        typed = [typed_part(field["type"], known) for field in schema["fields"]]
        parts = [codec.AvroField(name, part) for name, (_, part) in zip(names, typed, strict=True)]
        return Types.ROW_NAMED(names, [type_info for type_info, _ in typed]), codec.record(parts)
    if kind == "array":
        type_info, part = typed_part(schema["items"], known)
        return Types.OBJECT_ARRAY(type_info), codec.elements(part)
    if kind == "map":
        type_info, part = typed_part(schema["values"], known)
        return Types.MAP(Types.STRING(), type_info), codec.entries(part)
    if schema.get("logicalType") in _LOGICAL:
        made, part = _LOGICAL[schema["logicalType"]]
        return made(), part
    return typed_part(kind, known)


def _scalar(name: str) -> Typed:
    if name not in _SCALARS:
        raise ValueError(f"Avro: type {name!r} is not supported")
    made, part = _SCALARS[name]
    return made(), part
