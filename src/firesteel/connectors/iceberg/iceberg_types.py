"""Types and schemas of Iceberg tables. Flink: `org.apache.iceberg.flink.FlinkSchemaUtil`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from typing import Any

from pyiceberg import types as iceberg
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.columns.value_text import map_types
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.stored_columns import StoredTable
from firesteel.connectors.table_connector import Column

_FIRST_PARTITION_ID = 1000

_PLAIN: dict[type[t.DataType], iceberg.IcebergType] = {
    t.BooleanType: iceberg.BooleanType(),
    t.TinyIntType: iceberg.IntegerType(),
    t.SmallIntType: iceberg.IntegerType(),
    t.IntType: iceberg.IntegerType(),
    t.BigIntType: iceberg.LongType(),
    t.FloatType: iceberg.FloatType(),
    t.DoubleType: iceberg.DoubleType(),
    t.CharType: iceberg.StringType(),
    t.VarCharType: iceberg.StringType(),
    t.VarBinaryType: iceberg.BinaryType(),
    t.DateType: iceberg.DateType(),
    t.TimeType: iceberg.TimeType(),
    t.TimestampType: iceberg.TimestampType(),
    t.LocalZonedTimestampType: iceberg.TimestamptzType(),
}

_SQL: dict[type[Any], Callable[[Any], t.DataType]] = {
    iceberg.BooleanType: lambda _: t.BooleanType(),
    iceberg.IntegerType: lambda _: t.IntType(),
    iceberg.LongType: lambda _: t.BigIntType(),
    iceberg.FloatType: lambda _: t.FloatType(),
    iceberg.DoubleType: lambda _: t.DoubleType(),
    iceberg.DecimalType: lambda x: t.DecimalType(x.precision, x.scale),
    iceberg.DateType: lambda _: t.DateType(),
    iceberg.TimeType: lambda _: t.TimeType(),
    iceberg.TimestampType: lambda _: t.TimestampType(6),
    iceberg.TimestamptzType: lambda _: t.LocalZonedTimestampType(6),
    iceberg.TimestampNanoType: lambda _: t.TimestampType(9),
    iceberg.TimestamptzNanoType: lambda _: t.LocalZonedTimestampType(9),
    iceberg.StringType: lambda _: t.VarCharType(t.MAX_LENGTH),
    iceberg.UUIDType: lambda _: t.BinaryType(16),
    iceberg.FixedType: lambda x: t.BinaryType(len(x)),
    iceberg.BinaryType: lambda _: t.VarBinaryType(t.MAX_LENGTH),
    iceberg.ListType: lambda x: t.ArrayType(_optional(x.element_type, x.element_required)),
    iceberg.MapType: lambda x: t.MapType(_optional(x.key_type, True), _optional(x.value_type, x.value_required)),
    iceberg.StructType: lambda x: t.RowType(
        [t.RowField(field.name, _optional(field.field_type, field.required), field.doc) for field in x.fields]
    ),
}


def sql_type(found: object, column: str) -> t.DataType:
    """Return the SQL type of an Iceberg type. Flink: `TypeToFlinkType`.

    Raises:
        ValidationException: Flink has no such type; the message names the column.
    """
    try:
        return _sql_type(found)
    except KeyError:
        known = ", ".join(sorted(str(kind()) for kind in _SQL if kind in _NAMED))
        raise ValidationException(
            f"Column '{column}' has the type {found} in the Iceberg table, which is not supported; supported: {known}, "
            "decimal, fixed, list, map and struct"
        ) from None


_NAMED = frozenset(type(kind) for kind in _PLAIN.values()) | {iceberg.UUIDType}


def _sql_type(found: object) -> t.DataType:
    return _SQL[type(found)](found)


def _optional(found: object, is_required: bool) -> t.DataType:
    kind = _sql_type(found)
    return kind.not_null() if is_required else kind


class _NoCounterpart(Exception):
    """Iceberg has no type for a SQL type, whose text is the argument."""


class _Fields:
    """Makes Iceberg types of SQL types, with field ids of its own. Flink: `FlinkTypeToType`."""

    def __init__(self) -> None:
        self._ids = count(1)

    def field(self, name: str, kind: t.DataType, doc: str | None = None) -> iceberg.NestedField:
        """Return a field of a struct."""
        identifier = next(self._ids)
        return iceberg.NestedField(identifier, name, self.type_of(kind), required=not kind.is_nullable, doc=doc)

    def type_of(self, kind: t.DataType) -> object:
        """Return the type of values.

        Raises:
            _NoCounterpart: Iceberg has no such type.
        """
        plain = _PLAIN.get(type(kind))
        if plain is not None:
            return plain
        if isinstance(kind, t.DecimalType):
            return iceberg.DecimalType(kind.precision, kind.scale)
        if isinstance(kind, t.BinaryType):
            return iceberg.FixedType(kind.length)
        if isinstance(kind, t.ArrayType):
            return iceberg.ListType(
                next(self._ids), self.type_of(kind.element_type), element_required=not kind.element_type.is_nullable
            )
        if isinstance(kind, (t.MapType, t.MultisetType)):
            return self._map(*map_types(kind))
        if isinstance(kind, t.RowType):
            return iceberg.StructType(*(self.field(f.name, f.data_type, f.description) for f in kind.fields))
        raise _NoCounterpart(type_text(kind))

    def _map(self, key: t.DataType, value: t.DataType) -> object:
        ids = next(self._ids), next(self._ids)
        return iceberg.MapType(
            ids[0], self.type_of(key), ids[1], self.type_of(value), value_required=not value.is_nullable
        )


def schema_of(columns: Sequence[Column], primary_key: Sequence[str]) -> Schema:
    """Return the Iceberg schema of columns; the primary key becomes the identifier fields.

    Raises:
        ValidationException: a column has a type that Iceberg does not have.
    """
    fields = _Fields()
    made = []
    for column in columns:
        try:
            made.append(fields.field(column.name, column.type, column.comment))
        except _NoCounterpart as error:
            raise ValidationException(
                f"Column '{column.name}' has the type {type_text(column.type)}, but Iceberg has no type for {error}"
            ) from None
    keys = [field.field_id for field in made if field.name in primary_key]
    return Schema(*made, identifier_field_ids=keys)


def partition_spec_of(schema: Schema, keys: Sequence[str]) -> PartitionSpec:
    """Return the spec that partitions by the values of columns."""
    return PartitionSpec(
        *(
            PartitionField(schema.find_field(key).field_id, _FIRST_PARTITION_ID + index, IdentityTransform(), key)
            for index, key in enumerate(keys)
        )
    )


def partition_keys_of(schema: Schema, spec: PartitionSpec) -> tuple[str, ...]:
    """Return the partition columns; none if any partition field is transformed. Flink: `FlinkCatalog`."""
    if not all(isinstance(field.transform, IdentityTransform) for field in spec.fields):
        return ()
    return tuple(schema.find_field(field.source_id).name for field in spec.fields)


def stored_table(schema: Schema, name: str) -> StoredTable:
    """Return the columns of an Iceberg table, whose name is for messages."""
    types = {field.name: partial(sql_type, field.field_type, field.name) for field in schema.fields}
    required = [field.name for field in schema.fields if field.required]
    return StoredTable(f"Iceberg table {name}", types, required, _fits)


def _fits(declared: t.DataType, stored: t.DataType) -> bool:
    """Return whether values of both types have the same Iceberg type; field ids and nullability do not matter."""
    try:
        return bool(_shape(_Fields().type_of(declared)) == _shape(_Fields().type_of(stored)))
    except _NoCounterpart:
        return False


def _shape(kind: object) -> object:
    if isinstance(kind, iceberg.StructType):
        return [(field.name, _shape(field.field_type)) for field in kind.fields]
    if isinstance(kind, iceberg.ListType):
        return "list", _shape(kind.element_type)
    if isinstance(kind, iceberg.MapType):
        return "map", _shape(kind.key_type), _shape(kind.value_type)
    return str(kind)
