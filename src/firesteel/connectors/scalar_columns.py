"""Column types of connectors that store scalars, and arrays of them where the other system has arrays."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns import column_types as t
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_connector import Column

_SCALARS = (
    *(t.BooleanType, t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType, t.FloatType, t.DoubleType, t.DecimalType),
    *(t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType),
    *(t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType),
)


def check_scalars(columns: Sequence[Column], owner: str, has_arrays: bool) -> None:
    """Check that columns are scalars, or arrays of them.

    Args:
        columns: The columns of a table.
        owner: What does not have other types, for messages.
        has_arrays: Whether it has arrays.

    Raises:
        ValidationException: a column has another type. Flink: `AbstractDialect.validate`.
    """
    for column in columns:
        kind = column.type
        while has_arrays and isinstance(kind, t.ArrayType):
            kind = kind.element_type
        if not isinstance(kind, _SCALARS):
            raise ValidationException(f"The {owner} doesn't support type: {type_text(column.type)}.")
