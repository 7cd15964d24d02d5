"""Types and schemas of Delta tables. Flink: `io.delta.flink.sink.Conversions`, of Delta's connector for Flink."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from deltalake import Field, Schema
from deltalake.schema import ArrayType, DataType, MapType, PrimitiveType, StructType

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import map_types
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.stored_columns import StoredTable
from firesteel.connectors.table_connector import Column

_PLAIN: dict[type[t.DataType], str] = {
    t.BooleanType: "boolean",
    t.TinyIntType: "byte",
    t.SmallIntType: "short",
    t.IntType: "integer",
    t.BigIntType: "long",
    t.FloatType: "float",
    t.DoubleType: "double",
    t.CharType: "string",
    t.VarCharType: "string",
    t.BinaryType: "binary",
    t.VarBinaryType: "binary",
    t.DateType: "date",
    t.TimestampType: "timestamp_ntz",
    t.LocalZonedTimestampType: "timestamp",
}
"""Delta's primitive types by those of SQL, apart from decimals. TIME, intervals and others have none."""

_SQL: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "byte": t.TinyIntType(),
    "short": t.SmallIntType(),
    "integer": t.IntType(),
    "long": t.BigIntType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "string": t.VarCharType(t.MAX_LENGTH),
    "binary": t.VarBinaryType(t.MAX_LENGTH),
    "date": t.DateType(),
    "timestamp_ntz": t.TimestampType(6),
    "timestamp": t.LocalZonedTimestampType(6),
}

_PARTITIONED = (t.BooleanType, t.IntegralType, t.DecimalType, t.CharType, t.VarCharType, t.DateType)
"""Types of partition columns, whose values are texts in the log. Others have texts on which writers differ."""


class _NoCounterpartError(Exception):
    """Delta has no type for a SQL type, or SQL none for one of Delta's; its text is the argument."""


def _delta_type(kind: t.DataType) -> DataType:
    if isinstance(kind, t.DecimalType):
        return PrimitiveType(f"decimal({kind.precision},{kind.scale})")
    if isinstance(kind, t.ArrayType):
        return ArrayType(_delta_type(kind.element_type), contains_null=kind.element_type.is_nullable)
    if isinstance(kind, t.MapType | t.MultisetType):
        key, value = map_types(kind)
        return MapType(_delta_type(key), _delta_type(value), value_contains_null=value.is_nullable)
    if isinstance(kind, t.RowType):
        return StructType([_field(f.name, f.data_type, f.description) for f in kind.fields])
    if type(kind) not in _PLAIN:
        raise _NoCounterpartError(type_text(kind))
    return PrimitiveType(_PLAIN[type(kind)])


def _field(name: str, kind: t.DataType, comment: str | None) -> Field:
    metadata = {} if comment is None else {"comment": comment}
    return Field(name, _delta_type(kind), nullable=kind.is_nullable, metadata=metadata)


def sql_type(found: DataType, column: str) -> t.DataType:
    """Return the SQL type of a Delta type.

    Raises:
        ValidationException: SQL has no such type; the message names the column.
    """
    try:
        return _sql_type(found)
    except _NoCounterpartError as error:
        raise ValidationException(
            f"Column '{column}' has the type {error} in the Delta table, which is not supported; supported: "
            f"{', '.join(_SQL)}, decimal, array, map and struct"
        ) from None


def _sql_type(found: DataType) -> t.DataType:
    if isinstance(found, ArrayType):
        return t.ArrayType(_optional(found.element_type, found.contains_null))
    if isinstance(found, MapType):
        return t.MapType(_optional(found.key_type, False), _optional(found.value_type, found.value_contains_null))
    if isinstance(found, StructType):
        return t.RowType([t.RowField(f.name, _optional(f.type, f.nullable)) for f in found.fields])
    name = str(getattr(found, "type", found))
    if name.startswith("decimal("):
        precision, scale = name[len("decimal(") : -1].split(",")
        return t.DecimalType(int(precision), int(scale))
    if name not in _SQL:
        raise _NoCounterpartError(name)
    return _SQL[name]


def _optional(found: DataType, is_nullable: bool) -> t.DataType:
    kind = _sql_type(found)
    return kind if is_nullable else kind.not_null()


def schema_of(columns: Sequence[Column]) -> Schema:
    """Return the Delta schema of columns.

    Raises:
        ValidationException: a column has a type that Delta does not have.
    """
    fields = []
    for column in columns:
        try:
            fields.append(_field(column.name, column.type, column.comment))
        except _NoCounterpartError as error:
            raise ValidationException(
                f"Column '{column.name}' has the type {type_text(column.type)}, but Delta has no type for {error}"
            ) from None
    return Schema(fields)


def check_partitions(columns: Sequence[Column], keys: Sequence[str]) -> None:
    """Check the types of partition columns.

    Raises:
        ValidationException: a type is not supported there.
    """
    for column in columns:
        if column.name in keys and not isinstance(column.type, _PARTITIONED):
            raise ValidationException(
                f"Column '{column.name}' of the type {type_text(column.type)} cannot be a partition column of a Delta "
                "table; booleans, integers, decimals, texts and dates can"
            )


def stored_table(schema: Schema, path: str) -> StoredTable:
    """Return the columns of a Delta table, whose path is for messages."""
    types = {field.name: partial(sql_type, field.type, field.name) for field in schema.fields}
    required = [field.name for field in schema.fields if not field.nullable]
    return StoredTable(f"Delta table {path}", types, required, _fits)


def _fits(declared: t.DataType, stored: t.DataType) -> bool:
    """Return whether values of both types have the same Delta type; whether they may be NULL does not matter."""
    try:
        return _shape(_delta_type(declared)) == _shape(_delta_type(stored))
    except _NoCounterpartError:
        return False


def _shape(kind: DataType) -> object:
    if isinstance(kind, StructType):
        return [(field.name, _shape(field.type)) for field in kind.fields]
    if isinstance(kind, ArrayType):
        return "array", _shape(kind.element_type)
    if isinstance(kind, MapType):
        return "map", _shape(kind.key_type), _shape(kind.value_type)
    return str(kind.type)
