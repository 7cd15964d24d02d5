"""Conversion between values that fastavro reads and writes and Rows of declared types."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from types import ModuleType
from typing import Any

from firesteel.common.typeinfo import (
    ElementTypeInfo,
    MapTypeInfo,
    RowTypeInfo,
    TimestampTypeInfo,
    TypeInformation,
    Types,
)
from firesteel.common.values.coercion import coercer
from firesteel.connectors.formats.row_fields import first_fields

_SIMPLE: dict[str, Callable[[], TypeInformation[Any]]] = {
    "string": Types.STRING,
    "enum": Types.STRING,
    "int": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "boolean": Types.BOOLEAN,
    "bytes": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "fixed": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
}
_LOGICAL: dict[str, Callable[[], TypeInformation[Any]]] = {
    "date": Types.SQL_DATE,
    "time-millis": Types.SQL_TIME,
    "time-micros": Types.SQL_TIME,
    "timestamp-millis": Types.SQL_TIMESTAMP,
    "timestamp-micros": Types.SQL_TIMESTAMP,
    "decimal": Types.BIG_DEC,
}


def fastavro() -> ModuleType:
    """Import and return the package fastavro.

    Raises:
        ModuleNotFoundError: fastavro is not installed; the message says how to install it.
    """
    try:
        import fastavro as package
    except ModuleNotFoundError as error:
        message = "Avro needs the package fastavro: pip install 'firesteel[avro]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    module: ModuleType = package
    return module


def avro_type(schema: Any, known: dict[str, Any] | None = None) -> TypeInformation[Any]:
    """Return the type of the values of a schema, as Flink's `AvroSchemaConverter` does.

    Args:
        schema: The schema as JSON data.
        known: Named schemas that the schema may refer to.

    Raises:
        ValueError: the schema has a type that is not supported, such as a union of two types besides null.

    Example:
        >>> avro_type({"type": "record", "name": "Person", "fields": [{"name": "age", "type": ["null", "int"]}]})
        RowTypeInfo(age: Integer)
    """
    known = {} if known is None else known
    if isinstance(schema, list):
        variants = [variant for variant in schema if variant != "null"]
        if len(variants) != 1:
            raise ValueError(f"Avro: a union must have exactly one type besides null, found {schema}")
        return avro_type(variants[0], known)
    if isinstance(schema, str):
        return avro_type(known[schema], known) if schema in known else _simple(schema)
    known |= {schema["name"]: schema} if "name" in schema else {}
    return _complex(schema, known)


def _complex(schema: dict[str, Any], known: dict[str, Any]) -> TypeInformation[Any]:
    kind = schema["type"]
    if kind == "record":
        fields = schema["fields"]
        types = [avro_type(field["type"], known) for field in fields]
        return Types.ROW_NAMED([field["name"] for field in fields], types)
    if kind == "array":
        return Types.OBJECT_ARRAY(avro_type(schema["items"], known))
    if kind == "map":
        return Types.MAP(Types.STRING(), avro_type(schema["values"], known))
    if schema.get("logicalType") in _LOGICAL:
        return _LOGICAL[schema["logicalType"]]()
    return avro_type(kind, known)


def _simple(name: str) -> TypeInformation[Any]:
    if name not in _SIMPLE:
        raise ValueError(f"Avro: type {name!r} is not supported")
    return _SIMPLE[name]()


def avro_reader(type_info: TypeInformation[Any]) -> Callable[[Any], Any]:
    """Return the function that converts a value read by fastavro to a value of `type_info`."""
    read, coerce = _plain(type_info, _without_zone), coercer(type_info)
    return read if coerce is None else lambda value: coerce(read(value))


def avro_writer(type_info: TypeInformation[Any]) -> Callable[[Any], Any]:
    """Return the function that converts a value of `type_info` to one that fastavro writes."""
    return _plain(type_info, _in_utc)


def _without_zone(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=None)


def _in_utc(value: datetime.datetime) -> datetime.datetime:
    return value.replace(tzinfo=datetime.UTC)


def _plain(type_info: TypeInformation[Any], of_timestamp: Callable[[datetime.datetime], Any]) -> Callable[[Any], Any]:
    """Return the function that converts Rows to dicts and applies `of_timestamp` to timestamps, at any depth."""
    convert = _container(type_info, of_timestamp)
    return lambda value: None if value is None else convert(value)


def _container(type_info: object, of_timestamp: Callable[[datetime.datetime], Any]) -> Callable[[Any], Any]:
    if isinstance(type_info, TimestampTypeInfo):
        return of_timestamp
    if isinstance(type_info, RowTypeInfo):
        names = type_info.get_field_names()
        fields = [_plain(field, of_timestamp) for field in type_info.get_field_types()]
        return lambda value: dict(_fields(names, fields, value))
    if isinstance(type_info, MapTypeInfo):
        item = _plain(type_info.value_type, of_timestamp)
        return lambda value: {key: item(one) for key, one in value.items()}
    if isinstance(type_info, ElementTypeInfo) and type_info != Types.PRIMITIVE_ARRAY(Types.BYTE()):
        element = _plain(type_info.element_type, of_timestamp)
        return lambda value: [element(one) for one in value]
    return lambda value: value


def _fields(names: list[str], fields: list[Callable[[Any], Any]], value: object) -> list[tuple[str, Any]]:
    values = [value[name] for name in names] if isinstance(value, dict) else first_fields(value, names)
    return [(name, convert(one)) for name, convert, one in zip(names, fields, values, strict=True)]
