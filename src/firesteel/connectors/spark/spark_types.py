"""SQL types of Spark's types. PySpark itself is not imported here."""

from __future__ import annotations

from typing import Any

from firesteel.columns import column_types as t
from firesteel.common.table_errors import ValidationException

_PLAIN: dict[str, t.DataType] = {
    "boolean": t.BooleanType(),
    "byte": t.TinyIntType(),
    "short": t.SmallIntType(),
    "integer": t.IntType(),
    "long": t.BigIntType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "char": t.VarCharType(t.MAX_LENGTH),
    "varchar": t.VarCharType(t.MAX_LENGTH),
    "string": t.VarCharType(t.MAX_LENGTH),
    "binary": t.VarBinaryType(t.MAX_LENGTH),
    "date": t.DateType(),
    "timestamp": t.LocalZonedTimestampType(6),
    "timestamp_ntz": t.TimestampType(6),
}


def sql_type(kind: Any, column: str) -> t.DataType:
    """Return the nullable SQL type of a Spark type.

    Args:
        kind: A `pyspark.sql.types.DataType`.
        column: The column, for the message.

    Raises:
        ValidationException: SQL has no such type.
    """
    name = kind.typeName()
    if name == "decimal":
        return t.DecimalType(kind.precision, kind.scale)
    if name == "array":
        return t.ArrayType(_nested(kind.elementType, kind.containsNull, column))
    if name == "map":
        return t.MapType(_nested(kind.keyType, False, column), _nested(kind.valueType, kind.valueContainsNull, column))
    if name == "struct":
        fields = [t.RowField(f.name, _nested(f.dataType, f.nullable, f"{column}.{f.name}")) for f in kind.fields]
        return t.RowType(fields)
    plain = _PLAIN.get(name.partition(" ")[0])  # a string may have a collation
    if plain is None:
        raise ValidationException(
            f"Column '{column}' has Spark's type {kind.simpleString()}, which has no counterpart; read a view of Spark "
            "that casts or omits it"
        )
    return plain


def _nested(kind: object, is_nullable: bool, column: str) -> t.DataType:
    found = sql_type(kind, column)
    return found if is_nullable else found.not_null()


def bare(kind: t.DataType) -> t.DataType:
    """Return a type without its nullability and that of its parts."""
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(bare(kind.element_type))
    if isinstance(kind, t.MapType):
        return t.MapType(bare(kind.key_type), bare(kind.value_type))
    if isinstance(kind, t.RowType):
        return t.RowType([t.RowField(field.name, bare(field.data_type)) for field in kind.fields])
    return kind.nullable()
