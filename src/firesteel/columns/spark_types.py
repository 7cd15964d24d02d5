"""Spark's names of SQL types."""

from __future__ import annotations

from firesteel.columns import column_types as t
from firesteel.columns.type_text import quoted, type_text

__all__ = ["NoSparkTypeError", "spark_type"]


class NoSparkTypeError(TypeError):
    """Spark has no counterpart of a SQL type; the argument is its text."""


def spark_type(kind: t.DataType) -> str:
    """Return the name of Spark's type for a SQL type.

    Raises:
        NoSparkTypeError: Spark has no such type.

    >>> spark_type(t.ArrayType(t.DecimalType(10, 2)))
    'ARRAY<DECIMAL(10, 2)>'
    """
    if isinstance(kind, t.DecimalType):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if isinstance(kind, t.ArrayType):
        return f"ARRAY<{spark_type(kind.element_type)}>"
    if isinstance(kind, t.MapType):
        return f"MAP<{spark_type(kind.key_type)}, {spark_type(kind.value_type)}>"
    if isinstance(kind, t.RowType):
        return f"STRUCT<{', '.join(f'{quoted(field.name)}: {spark_type(field.data_type)}' for field in kind.fields)}>"
    name = _NAMES.get(type(kind))
    if name is None:
        raise NoSparkTypeError(type_text(kind))
    return name


_NAMES: dict[type[t.DataType], str] = {
    t.BooleanType: "BOOLEAN",
    t.TinyIntType: "TINYINT",
    t.SmallIntType: "SMALLINT",
    t.IntType: "INT",
    t.BigIntType: "BIGINT",
    t.FloatType: "FLOAT",
    t.DoubleType: "DOUBLE",
    t.CharType: "STRING",
    t.VarCharType: "STRING",
    t.BinaryType: "BINARY",
    t.VarBinaryType: "BINARY",
    t.DateType: "DATE",
    t.TimestampType: "TIMESTAMP_NTZ",
    t.LocalZonedTimestampType: "TIMESTAMP",
}
