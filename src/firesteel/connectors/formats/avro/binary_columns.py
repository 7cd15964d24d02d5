"""Messages in Avro's binary encoding as columns: each field of all messages is read at once.

A reader takes the places of a field in all messages and returns its values; the places are then those of the next
field. What has no reader here, or does not fit its type, is left to fastavro, which tells what is wrong with it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.decimal_words import decimals_of, from_int64
from firesteel.columns.values import arrow_type
from firesteel.connectors.formats.avro.avro_type import AvroType
from firesteel.connectors.formats.avro.derived_schema import is_millis
from firesteel.connectors.formats.avro.message_bytes import Messages, NotColumnarError

_DAY_MILLIS = 86_400_000
_FIRST_DAY, _LAST_DAY = -719_162, 2_932_896
"""The days that Python's dates have, from 0001-01-01 to 9999-12-31."""

Reader = Callable[[Messages, "Array | None"], pa.Array]
"""Reads a value of each of some messages; None stands for all."""


def read_columns(messages: Messages, schema: AvroType, kind: t.RowType, defaults: Mapping[str, object]) -> ColumnBatch:
    """Return the rows of messages.

    Args:
        messages: The messages.
        schema: The type with which they were written.
        kind: The type of the rows.
        defaults: By name, what the reader schema has for fields that were not written.

    Raises:
        NotColumnarError: they are left to fastavro.
    """
    length = len(messages.places)
    columns = _record(schema, kind, defaults)(messages, None)
    return ColumnBatch(tuple(columns), length)


def _record(
    schema: AvroType, kind: t.RowType, defaults: Mapping[str, object]
) -> Callable[[Messages, Array | None], list[pa.Array]]:
    if schema.name != "record":
        raise NotColumnarError
    wanted = dict(zip(kind.field_names(), kind.field_types(), strict=True))
    written = {name: _reader(field, wanted.get(name)) for name, field in schema.fields}
    if any(name not in written and defaults.get(name, ...) is not None for name in wanted):
        raise NotColumnarError

    def read(messages: Messages, rows: Array | None) -> list[pa.Array]:
        found = {name: field(messages, rows) for name, field in written.items()}
        length = len(messages.places) if rows is None else len(rows)
        return [found[name] if name in found else pa.nulls(length, arrow_type(wanted[name])) for name in wanted]

    return read


def _reader(schema: AvroType, kind: t.DataType | None) -> Reader:
    """Return the reader of values; of those that nobody wants if there is no type."""
    if not schema.branches:
        return _present(schema, kind)
    null = schema.null
    if null is None:
        raise NotColumnarError
    present, is_required = _present(schema.branches[1 - null], kind), kind is not None and not kind.is_nullable

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        branches = messages.varints(rows)
        if not np.isin(branches, (0, 1)).all():
            raise NotColumnarError
        is_there = branches != null
        if is_there.all():
            return present(messages, rows)
        if is_required:
            raise NotColumnarError
        chosen = np.flatnonzero(is_there)
        values = present(messages, chosen if rows is None else rows[chosen])
        return values.take(pa.array(np.cumsum(is_there) - 1, mask=~is_there))

    return read


def _present(schema: AvroType, kind: t.DataType | None) -> Reader:
    """Return the reader of values that are not null."""
    if kind is None:
        return _skipped(schema)
    if isinstance(kind, t.RowType):
        return _structs(schema, kind)
    for types, make in READERS:
        if isinstance(kind, types):
            return make(schema, kind)
    raise NotColumnarError


def _skipped(schema: AvroType) -> Reader:
    name = schema.name
    if name == "record":
        fields = [_reader(field, None) for _, field in schema.fields]

        def skip(messages: Messages, rows: Array | None) -> pa.Array:
            for field in fields:
                skipped = field(messages, rows)
            return skipped if fields else pa.nulls(len(messages.places) if rows is None else len(rows))

        return skip
    if name in ("int", "long", "enum"):
        return lambda messages, rows: pa.array(messages.varints(rows))
    if name in ("string", "bytes"):
        return lambda messages, rows: pa.array(messages.texts(rows)[1])
    width = {"boolean": 1, "float": 4, "double": 8, "fixed": schema.size}.get(name)
    if width is None:
        raise NotColumnarError
    return lambda messages, rows: pa.array(messages.take(rows, width).sum(axis=1))


def _structs(schema: AvroType, kind: t.RowType) -> Reader:
    read, names = _record(schema, kind, {}), kind.field_names()
    if not names:
        raise NotColumnarError
    return lambda messages, rows: pa.StructArray.from_arrays(read(messages, rows), names)


def _integers(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name not in ("int", "long") or schema.logical:
        raise NotColumnarError
    target = arrow_type(kind)
    limits = np.iinfo(target.to_pandas_dtype())

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        return pa.array(_between(messages.varints(rows), limits.min, limits.max)).cast(target)

    return read


def _floats(schema: AvroType, kind: t.DataType) -> Reader:
    width = {"float": 4, "double": 8}.get(schema.name)
    if width is None or (width == 8 and isinstance(kind, t.FloatType)):
        raise NotColumnarError
    target = arrow_type(kind)
    return lambda messages, rows: pa.array(messages.take(rows, width).view(f"<f{width}")[:, 0]).cast(target)


def _booleans(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name != "boolean":
        raise NotColumnarError
    return lambda messages, rows: pa.array(_between(messages.take(rows, 1)[:, 0], 0, 1).astype(bool))


def _texts(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name != "string" or schema.logical:
        raise NotColumnarError

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        try:
            return _binary(*messages.texts(rows)).cast(pa.string())
        except pa.ArrowInvalid as error:  # not UTF-8
            raise NotColumnarError from error

    return read


def _bytes(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name != "bytes" or schema.logical:
        raise NotColumnarError
    return lambda messages, rows: _binary(*messages.texts(rows)).cast(arrow_type(kind))


def _binary(data: Array, lengths: Array) -> pa.Array:
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if offsets[-1] >= 2**31:
        raise NotColumnarError
    buffers = [None, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), len(lengths), buffers)


def _dates(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name != "int" or schema.logical not in (None, "date"):
        raise NotColumnarError

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        return pa.array(_between(messages.varints(rows), _FIRST_DAY, _LAST_DAY).astype(np.int32)).cast(pa.date32())

    return read


def _times(schema: AvroType, kind: t.DataType) -> Reader:
    if schema.name != "int" or schema.logical not in (None, "time-millis"):
        raise NotColumnarError

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        millis = _between(messages.varints(rows), 0, _DAY_MILLIS - 1)
        return pa.array(millis.astype(np.int32)).cast(pa.time32("ms")).cast(arrow_type(kind))

    return read


def _timestamps(schema: AvroType, kind: t.DataType) -> Reader:
    assert isinstance(kind, (t.TimestampType, t.LocalZonedTimestampType))
    logical = schema.logical or f"timestamp-{'millis' if is_millis(kind) else 'micros'}"
    micros = {"timestamp-millis": 1000, "timestamp-micros": 1}.get(logical.removeprefix("local-"))
    if schema.name != "long" or micros is None:
        raise NotColumnarError
    per_day, step = _DAY_MILLIS * 1000 // micros, 10 ** max(0, 6 - kind.precision)

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        values = _between(messages.varints(rows), _FIRST_DAY * per_day, (_LAST_DAY + 1) * per_day - 1) * micros
        return pa.array(values // step * step).cast(pa.timestamp("us")).cast(arrow_type(kind))

    return read


def _decimals(schema: AvroType, kind: t.DataType) -> Reader:
    assert isinstance(kind, t.DecimalType)
    if schema.name != "bytes" or schema.logical not in (None, "decimal"):
        raise NotColumnarError
    is_same = schema.logical is None or (schema.scale == kind.scale and schema.precision <= kind.precision)
    if not is_same or kind.precision > 18:
        raise NotColumnarError
    most = 10**kind.precision - 1

    def read(messages: Messages, rows: Array | None) -> pa.Array:
        data, lengths = messages.texts(rows)
        if (lengths > 8).any() or (lengths < 1).any():
            raise NotColumnarError
        starts = np.cumsum(lengths) - lengths
        values = np.where(data[starts] >= 0x80, -1, 0)
        for number in range(int(lengths.max(initial=0))):
            active = np.flatnonzero(lengths > number)
            values[active] = (values[active] << 8) | data[starts[active] + number]
        return decimals_of(from_int64(_between(values, -most, most)), arrow_type(kind), None)

    return read


def _between(values: Array, least: int, most: int) -> Array:
    if ((values < least) | (values > most)).any():
        raise NotColumnarError
    return values


READERS: Sequence[tuple[tuple[type[t.DataType], ...], Callable[[AvroType, t.DataType], Reader]]] = (
    ((t.TinyIntType, t.SmallIntType, t.IntType, t.BigIntType), _integers),
    ((t.FloatType, t.DoubleType), _floats),
    ((t.BooleanType,), _booleans),
    ((t.CharType, t.VarCharType), _texts),
    ((t.BinaryType, t.VarBinaryType), _bytes),
    ((t.DateType,), _dates),
    ((t.TimeType,), _times),
    ((t.TimestampType, t.LocalZonedTimestampType), _timestamps),
    ((t.DecimalType,), _decimals),
)
"""The types that are read as columns, besides rows; the others (arrays, maps, multisets) by fastavro."""
