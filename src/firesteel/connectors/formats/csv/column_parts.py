"""CSV of columns of tables. Flink: `CsvToRowDataConverters` and `RowDataToCsvConverters`."""

from __future__ import annotations

from firesteel.columns import column_types as t
from firesteel.connectors.formats.csv.codec import Elements, Fields, Part, Scalar
from firesteel.connectors.formats.text_values import Style, reader_of, writer_of

_BARE = (
    t.BooleanType,
    t.TinyIntType,
    t.SmallIntType,
    t.IntType,
    t.BigIntType,
    t.DecimalType,
    t.FloatType,
    t.DoubleType,
    t.DayTimeIntervalType,
    t.YearMonthIntervalType,
)


def column_part(kind: t.DataType, plain_decimals: bool) -> Part:
    """Return how values of a column, as `pyarrow.Array.to_pylist` returns them, are written and read.

    Args:
        kind: The type of the column.
        plain_decimals: Whether decimals are written with all digits of their scale.

    Raises:
        NotImplementedError: CSV has no such values.
    """
    if isinstance(kind, t.ArrayType):
        return Elements(column_part(kind.element_type, plain_decimals))
    if isinstance(kind, t.RowType):
        fields = tuple(column_part(field, plain_decimals) for field in kind.field_types())
        return Fields(fields, lambda row: list(row.values()))
    return Scalar(reader_of(kind, Style.CSV), writer_of(kind, Style.CSV, plain_decimals), is_bare(kind))


def is_bare(kind: t.DataType) -> bool:
    """Return whether the texts of values are never quoted."""
    return isinstance(kind, _BARE)
