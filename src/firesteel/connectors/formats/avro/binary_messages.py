"""Columns as messages in Avro's binary encoding: each field of all rows is written at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.decimal_words import int64_of
from firesteel.columns.kernels.rows.row_order import int64_values
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.connectors.formats.avro.avro_type import AvroType
from firesteel.connectors.formats.avro.message_bytes import NotColumnarError

_DIVISORS = {"timestamp-millis": 1000, "timestamp-micros": 1}


class _Piece(NamedTuple):
    """A part of the messages of some rows.

    Attributes:
        rows: The rows; None stands for all.
        sizes: The number of its bytes in each.
        write: Writes it to given places.
    """

    rows: Array | None
    sizes: Array
    write: Callable[[Array, Array], None]


def messages_of(batch: ColumnBatch, kind: t.RowType, schema: AvroType) -> list[bytes]:
    """Return the message of each row.

    Args:
        batch: The rows.
        kind: Their type.
        schema: The type of the record.

    Raises:
        NotColumnarError: A type or value is left to fastavro.
    """
    pieces = list(_record(batch.columns, kind, schema, None))
    sizes = np.zeros(batch.length, np.int64)
    for piece in pieces:
        sizes[_all(piece.rows)] += piece.sizes
    ends = np.cumsum(sizes)
    data, places = np.empty(int(sizes.sum()), np.uint8), ends - sizes
    starts = places.tolist()
    for piece in pieces:
        at = places[_all(piece.rows)]
        piece.write(data, at)
        places[_all(piece.rows)] = at + piece.sizes
    written = data.tobytes()
    return [written[start:end] for start, end in zip(starts, ends.tolist(), strict=True)]


def _all(rows: Array | None) -> Array | slice:
    return slice(None) if rows is None else rows


def _record(columns: Sequence[pa.Array], kind: t.RowType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    if schema.name != "record" or [name for name, _ in schema.fields] != kind.field_names():
        raise NotColumnarError
    for column, data_type, (_, field) in zip(columns, kind.field_types(), schema.fields, strict=True):
        yield from _field(column, data_type, field, rows)


def _field(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    null = schema.null
    if null is not None:
        is_null = column.is_null().to_numpy(zero_copy_only=False)
        yield _bytes(np.where(is_null, 2 * null, 2 * (1 - null)).astype(np.uint8)[:, None], rows)
        if is_null.any():
            chosen = np.flatnonzero(~is_null)
            column, rows = column.take(pa.array(chosen)), chosen if rows is None else rows[chosen]
        schema = schema.branches[1 - null]
    elif column.null_count:
        raise NotColumnarError
    if isinstance(kind, t.RowType):
        yield from _record(column.flatten(), kind, schema, rows)
        return
    write = next((write for types, write in WRITERS if isinstance(kind, types)), None)
    if write is None:
        raise NotColumnarError
    yield from write(column, kind, schema, rows)


def _bytes(values: Array, rows: Array | None) -> _Piece:
    """Return a piece of equally many bytes in each row."""
    width = values.shape[1]

    def write(data: Array, places: Array) -> None:
        data[places[:, None] + np.arange(width)] = values

    return _Piece(rows, np.full(len(values), width), write)


def _varint(values: Array, rows: Array | None) -> _Piece:
    left = ((values << 1) ^ (values >> 63)).view(np.uint64)
    sizes = np.ones(len(values), np.int64)
    for bits in range(7, 64, 7):
        sizes += left >= np.uint64(1 << bits)

    def write(data: Array, places: Array) -> None:
        for number in range(int(sizes.max(initial=0))):
            active = np.flatnonzero(sizes > number)
            part = (left[active] >> np.uint64(7 * number)).astype(np.uint8) & 0x7F
            data[places[active] + number] = part | ((sizes[active] > number + 1) << 7).astype(np.uint8)

    return _Piece(rows, sizes, write)


def _content(content: Array, lengths: Array, rows: Array | None) -> Iterator[_Piece]:
    def write(data: Array, places: Array) -> None:
        data[ranges(places, places + lengths)] = content

    yield _varint(lengths, rows)
    yield _Piece(rows, lengths, write)


def _integers(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"int", "long"}, None)
    yield _varint(int64_values(column), rows)


def _floats(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"float" if isinstance(kind, t.FloatType) else "double"}, None)
    values = np.ascontiguousarray(column.to_numpy(zero_copy_only=False))
    yield _bytes(values.view(np.uint8).reshape(len(values), values.itemsize), rows)


def _booleans(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"boolean"}, None)
    yield _bytes(column.to_numpy(zero_copy_only=False).astype(np.uint8)[:, None], rows)


def _texts(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"bytes"} if isinstance(kind, (t.BinaryType, t.VarBinaryType)) else {"string"}, None)
    column = column.cast(pa.binary())
    offsets = np.frombuffer(column.buffers()[1], np.int32, len(column) + 1, column.offset * 4).astype(np.int64)
    content = np.frombuffer(column.buffers()[2] or b"", np.uint8)[offsets[0] : offsets[-1]]
    yield from _content(content, np.diff(offsets), rows)


def _dates(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"int"}, "date")
    yield _varint(int64_values(column.cast(pa.int32())), rows)


def _times(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    _check(schema, {"int"}, "time-millis")
    yield _varint(int64_values(column.cast(pa.time32("ms")).cast(pa.int32())), rows)


def _timestamps(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    divisor = _DIVISORS.get((schema.logical or "").removeprefix("local-"))
    if divisor is None or schema.name != "long":
        raise NotColumnarError
    yield _varint(int64_values(column.cast(pa.int64())) // divisor, rows)


def _decimals(column: pa.Array, kind: t.DataType, schema: AvroType, rows: Array | None) -> Iterator[_Piece]:
    assert isinstance(kind, t.DecimalType)
    _check(schema, {"bytes"}, "decimal")
    values = int64_of(column)
    is_same = (schema.precision, schema.scale) == (kind.precision, kind.scale)
    if not isinstance(values, np.ndarray) or not is_same:
        raise NotColumnarError
    sizes = np.ones(len(values), np.int64)
    for bits in range(7, 63, 8):  # the bits of a number besides its sign
        sizes += (values >= 1 << bits) | (values < -(1 << bits))
    big = values.astype(">i8").view(np.uint8).reshape(-1, 8)
    ends = np.arange(1, len(values) + 1) * 8
    yield from _content(big.reshape(-1)[ranges(ends - sizes, ends)], sizes, rows)


def _check(schema: AvroType, names: set[str], logical: str | None) -> None:
    if schema.name not in names or schema.logical != logical:
        raise NotColumnarError


_Write = Callable[[pa.Array, t.DataType, AvroType, "Array | None"], Iterator[_Piece]]
WRITERS: Sequence[tuple[tuple[type[t.DataType], ...], _Write]] = (
    ((t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType), _integers),
    ((t.FloatType, t.DoubleType), _floats),
    ((t.BooleanType,), _booleans),
    ((t.CharType, t.VarCharType, t.BinaryType, t.VarBinaryType), _texts),
    ((t.DateType,), _dates),
    ((t.TimeType,), _times),
    ((t.TimestampType, t.LocalZonedTimestampType), _timestamps),
    ((t.DecimalType,), _decimals),
)
"""The types that are written as columns, besides rows; the others (arrays, maps, multisets) by fastavro."""
