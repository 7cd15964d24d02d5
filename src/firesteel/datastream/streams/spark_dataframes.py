"""Conversion between Spark DataFrames and elements of streams. PySpark itself is not imported here."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

from firesteel.common.time import Instant
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row

_SIMPLE: dict[str, Callable[[], TypeInformation[Any]]] = {
    "boolean": Types.BOOLEAN,
    "byte": Types.BYTE,
    "short": Types.SHORT,
    "integer": Types.INT,
    "long": Types.LONG,
    "float": Types.FLOAT,
    "double": Types.DOUBLE,
    "string": Types.STRING,
    "varchar": Types.STRING,
    "char": Types.STRING,
    "binary": lambda: Types.PRIMITIVE_ARRAY(Types.BYTE()),
    "date": Types.SQL_DATE,
    "timestamp_ntz": Types.SQL_TIMESTAMP,
    "timestamp": Types.INSTANT,
    "decimal": Types.BIG_DEC,
}
"""Flink's types by the names of Spark's types."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def elements_of(dataframe: Any) -> tuple[list[Row], TypeInformation[Any]]:
    """Fetch a DataFrame and return its rows and their type.

    Raises:
        TypeError: a column has a type that streams do not support.
    """
    schema = dataframe.schema
    convert = _converter(schema)
    return [convert(row) for row in dataframe.toArrow().to_pylist()], _type_info(schema)


def _type_info(kind: Any) -> TypeInformation[Any]:
    """Return the Flink type of a Spark type."""
    name = kind.typeName()
    if name == "struct":
        return Types.ROW_NAMED(kind.fieldNames(), [_type_info(field.dataType) for field in kind.fields])
    if name == "array":
        return Types.LIST(_type_info(kind.elementType))
    if name == "map":
        return Types.MAP(_type_info(kind.keyType), _type_info(kind.valueType))
    if name not in _SIMPLE:
        raise TypeError(f"from_spark() does not support columns of type {kind.simpleString()}; cast them first")
    return _SIMPLE[name]()


def _converter(kind: Any) -> Callable[[Any], Any]:
    """Return the conversion from Arrow values of a Spark type to elements."""
    convert = _CONVERTERS.get(kind.typeName(), lambda kind: lambda value: value)(kind)
    return lambda value: None if value is None else convert(value)


def _struct(kind: Any) -> Callable[[Any], Any]:
    names = kind.fieldNames()
    fields = [(field.name, _converter(field.dataType)) for field in kind.fields]

    def convert(value: Any) -> Row:
        row = Row(*(field(value[name]) for name, field in fields))
        row.set_field_names(names)
        return row

    return convert


def _array(kind: Any) -> Callable[[Any], Any]:
    element = _converter(kind.elementType)
    return lambda value: [element(item) for item in value]


def _map(kind: Any) -> Callable[[Any], Any]:
    key, item = _converter(kind.keyType), _converter(kind.valueType)
    return lambda value: {key(k): item(v) for k, v in value}


def _instant(kind: object) -> Callable[[Any], Any]:
    def convert(value: datetime) -> Instant:
        seconds, micros = divmod((value - _EPOCH) // _MICROSECOND, 1_000_000)
        return Instant(seconds, micros * 1000)

    return convert


_CONVERTERS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "struct": _struct,
    "array": _array,
    "map": _map,
    "timestamp": _instant,
}


def spark_value(element: object) -> object:
    """Return an element in the form that `SparkSession.createDataFrame` accepts."""
    if isinstance(element, (Row, tuple)):
        return tuple(map(spark_value, element))
    if isinstance(element, list):
        return [spark_value(item) for item in element]
    if isinstance(element, dict):
        return {spark_value(key): spark_value(value) for key, value in element.items()}
    if isinstance(element, Instant):
        return _EPOCH + timedelta(seconds=element.seconds, microseconds=element.nanos // 1000)
    return element
