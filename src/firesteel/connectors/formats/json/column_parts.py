"""JSON of columns of tables. Flink: `JsonParserToRowDataConverters` and `RowDataToJsonConverters`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.value_text import map_types
from firesteel.common.values.decimals import fitted
from firesteel.connectors.formats.json.codec import Elements, Entries, Fields, Part, Scalar, quoted
from firesteel.connectors.formats.json.scalars import (
    integer_reader,
    number_text,
    read_boolean,
    read_bytes,
    read_decimal,
    read_double,
    read_text,
    scalar_text,
    string_of,
)
from firesteel.connectors.formats.text_values import Style, reader_of, writer_of

_INTEGERS: dict[type[t.DataType], tuple[int, bool]] = {
    t.TinyIntType: (8, False),
    t.SmallIntType: (16, False),
    t.IntType: (32, True),
    t.BigIntType: (64, True),
}
"""The bits of each integer type, and whether a fraction is cut off."""

_READERS: dict[type[t.DataType], Callable[[Any], Any]] = {
    t.BooleanType: read_boolean,
    t.FloatType: read_double,
    t.DoubleType: read_double,
    t.CharType: read_text,
    t.VarCharType: read_text,
    t.BinaryType: read_bytes,
    t.VarBinaryType: read_bytes,
}
_TIMES = (t.DateType, t.TimeType, t.TimestampType, t.LocalZonedTimestampType)
_STRINGS = (t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType, *_TIMES)


def column_part(kind: t.DataType, style: Style, plain_decimals: bool) -> Part:
    """Return how values of a column, as `pyarrow.Array.to_pylist` returns them, are written and read.

    Args:
        kind: The type.
        style: How timestamps are written.
        plain_decimals: Whether decimals are written without an exponent.

    Raises:
        NotImplementedError: JSON has no such values.
    """

    def child(inner: t.DataType) -> Part:
        return column_part(inner, style, plain_decimals)

    if isinstance(kind, t.RowType):
        return Fields(tuple(kind.field_names()), tuple(map(child, kind.field_types())), lambda row: list(row.values()))
    if isinstance(kind, t.ArrayType):
        return Elements(child(kind.element_type))
    if isinstance(kind, (t.MapType, t.MultisetType)):
        key, item = map_types(kind)
        return Entries(child(key), child(item), lambda pairs: pairs)
    return Scalar(_reader(kind, style), _writer(kind, style, plain_decimals))


def _reader(kind: t.DataType, style: Style) -> Callable[[Any], Any]:
    if type(kind) in _INTEGERS:
        bits, cuts = _INTEGERS[type(kind)]
        return integer_reader(bits, kind.type_name(), cuts)
    if isinstance(kind, t.DecimalType):
        return lambda value: fitted(read_decimal(value), kind.precision, kind.scale)
    if type(kind) in _READERS:
        return _READERS[type(kind)]
    read, text_of = reader_of(kind, style), string_of if isinstance(kind, _TIMES) else scalar_text
    return lambda value: read(text_of(value))


def _writer(kind: t.DataType, style: Style, plain_decimals: bool) -> Callable[[Any], str]:
    text = writer_of(kind, style, plain_decimals)
    if isinstance(kind, (t.FloatType, t.DoubleType)):
        return lambda value: number_text(text(value))
    return (lambda value: quoted(text(value))) if isinstance(kind, _STRINGS) else text
