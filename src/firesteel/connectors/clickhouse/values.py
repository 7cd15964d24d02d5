"""Values of columns in the lines of ClickHouse's format JSONEachRow."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.pylist import pylist
from firesteel.columns.type_text import type_text
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.text_values import reader_of, writer_of
from firesteel.connectors.table_connector import Column

Convert = Callable[[Cell], Cell]
Write = Callable[[Cell], str]

_NUMBERS = (t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType)
_FLOATS = (t.FloatType, t.DoubleType)
_TEXTS = (t.CharType, t.VarCharType)
_TIMES = (t.DateType, t.TimestampType)


def check_types(columns: Sequence[Column]) -> None:
    """Check that ClickHouse has a type for each column.

    Raises:
        ValidationException: it has none.
    """
    for column in columns:
        if not _is_known(column.type):
            raise ValidationException(
                f"Column '{column.name}' is {type_text(column.type)}; tables of ClickHouse may have BOOLEAN, integers, "
                "FLOAT, DOUBLE, DECIMAL, CHAR, VARCHAR, STRING, DATE, TIMESTAMP, TIMESTAMP_LTZ(0) and arrays of these"
            )


def _is_known(kind: t.DataType) -> bool:
    if isinstance(kind, t.ArrayType):
        return _is_known(kind.element_type)
    if isinstance(kind, t.LocalZonedTimestampType):
        return kind.precision == 0
    return isinstance(kind, (t.BooleanType, t.DecimalType, *_NUMBERS, *_FLOATS, *_TEXTS, *_TIMES))


def selected(column: Column, name: str) -> str:
    """Return the expression that reads a column: a moment is read as seconds, whatever the zone of the server."""
    return f"toUnixTimestamp({name}) AS {name}" if isinstance(column.type, t.LocalZonedTimestampType) else name


def lines_of(batch: ColumnBatch, columns: Sequence[Column]) -> list[str]:
    """Return a line per row.

    Raises:
        ValueError: a value is not a number, which JSON has not.
    """
    heads = [f"{json.dumps(column.name)}:" for column in columns]
    values = [
        [f"{head}{_written(value, write)}" for value in pylist(array)]
        for head, array, write in zip(heads, batch.columns, [_writer(c.type) for c in columns], strict=True)
    ]
    return [f"{{{','.join(fields)}}}" for fields in zip(*values, strict=True)]


def batch_of_lines(lines: Sequence[bytes], columns: Sequence[Column]) -> ColumnBatch:
    """Return the rows of lines.

    Raises:
        ValueError: a value does not fit its column.
    """
    # A float would lose digits of a DECIMAL.
    rows = [json.loads(line, parse_float=Decimal) for line in lines]
    arrays = []
    for column in columns:
        read = _reader(column.type)
        arrays.append(to_arrow([_read(row[column.name], read) for row in rows], column.type))
    return ColumnBatch(tuple(arrays), len(rows))


def _read(value: object, read: Convert) -> object:
    return None if value is None else read(value)


def _written(value: object, write: Write) -> str:
    return "null" if value is None else write(value)


def _writer(kind: t.DataType) -> Write:
    """Return what writes a value as JSON."""
    if isinstance(kind, t.ArrayType):
        element = _writer(kind.element_type)
        return lambda values: f"[{','.join(_written(value, element) for value in values)}]"
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: str(int(value.timestamp()))
    if isinstance(kind, t.DecimalType):
        return "{:f}".format
    if isinstance(kind, _FLOATS):
        return _finite
    if isinstance(kind, t.BooleanType):
        return lambda value: str(int(value))
    if isinstance(kind, _NUMBERS):
        return str
    text = writer_of(kind)
    return lambda value: json.dumps(text(value))


def _reader(kind: t.DataType) -> Convert:
    if isinstance(kind, t.ArrayType):
        element = _reader(kind.element_type)
        return lambda values: [_read(value, element) for value in values]
    if isinstance(kind, t.LocalZonedTimestampType):
        return lambda value: datetime.datetime.fromtimestamp(int(value), datetime.UTC)
    if isinstance(kind, _FLOATS):
        return float
    if isinstance(kind, t.DecimalType):
        return lambda value: Decimal(str(value))
    if isinstance(kind, t.BooleanType):
        return lambda value: bool(int(value))
    if isinstance(kind, _NUMBERS):
        return int
    return reader_of(kind)


def _finite(value: float) -> str:
    if not math.isfinite(value):
        raise ValueError(f"JSON has no number {value}, which ClickHouse needs")
    return repr(value)
