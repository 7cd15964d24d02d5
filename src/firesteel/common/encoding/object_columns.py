"""Columns of objects: rows, keys in canonical form, arrays of numpy, and records of firesteel's own classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.common.encoding.kinds import FORM_CLASSES, Kind, NotATreeError, Value, Values
from firesteel.common.encoding.plain_columns import PLAIN_WRITERS, write_tuples
from firesteel.common.encoding.record_classes import is_changeable, is_record, name_of, parts_of
from firesteel.common.keys.canonical_keys import ValueKey
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.time import Instant
from firesteel.common.types import Row

if TYPE_CHECKING:
    from firesteel.common.encoding.column_writer import ColumnWriter, Write


def write_arrays(writer: ColumnWriter, values: Values) -> None:
    """Write arrays of numpy."""
    if any((value.dtype.hasobject and value.dtype.kind != "O") or value.dtype.names for value in values):
        writer.opaque(values)
    elif not writer.wrote_shared(values):
        writer.data.append(Kind.ARRAY)
        parts = [
            (value.dtype.str, value.shape, list(value.flat) if value.dtype.hasobject else value.tobytes())
            for value in values
        ]
        writer.keep(parts)
        write_tuples(writer, parts)


def write_scalars(writer: ColumnWriter, values: Values) -> None:
    """Write scalars of numpy of one type."""
    if values[0].dtype.hasobject or values[0].dtype.names:
        writer.opaque(values)
        return
    writer.data.append(Kind.SCALAR)
    write_tuples(writer, [(value.dtype.str, value.tobytes()) for value in values])


def write_rows(writer: ColumnWriter, values: Sequence[Row]) -> None:
    """Write rows; those with the same fields are together."""
    first = values[0]
    names, width = first._fields, len(first._values)
    if len(values) > 1 and any(row._fields != names or len(row._values) != width for row in values):
        _write_row_groups(writer, values)
        return
    if writer.wrote_shared(values):
        return
    writer.data.append(Kind.ROW)
    writer.column([None if names is None else tuple(names)])
    writer.number(width)
    writer.data += bytes([row._row_kind.value for row in values])
    for part in zip(*[row._values for row in values], strict=True):
        writer.column(part)


def _write_row_groups(writer: ColumnWriter, values: Sequence[Row]) -> None:
    groups: dict[object, list[Row]] = {}
    for row in values:
        groups.setdefault(_shape(row), []).append(row)
    if len(groups) > 0xFF:
        raise NotATreeError
    places = {shape: place for place, shape in enumerate(groups)}
    writer.groups(bytes([places[_shape(row)] for row in values]), groups.values())


def _shape(row: Row) -> object:
    return None if row._fields is None else tuple(row._fields), len(row._values)


def write_instants(writer: ColumnWriter, values: Sequence[Instant]) -> None:
    """Write instants."""
    writer.of_ints(Kind.INSTANT, [value.seconds for value in values])
    writer.ints([value.nanos for value in values])


def write_value_keys(writer: ColumnWriter, values: Sequence[ValueKey]) -> None:
    """Write keys in canonical form."""
    # Only keys that can be rebuilt without running anything are data.
    if all(is_made_of(value[1], FORM_CLASSES) for value in values):
        writer.data.append(Kind.VALUE_KEY)
        writer.column([value[1] for value in values])
    else:
        writer.opaque(values)


def write_records(writer: ColumnWriter, values: Values) -> None:
    """Write objects of a class in `record_classes`; small ones of one that can be joined cost less as one."""
    kind: Value = type(values[0])
    whole = kind.joined(values) if len(values) > 1 and hasattr(kind, "joined") else None
    if whole is not None:
        writer.data.append(Kind.JOINED)
        writer.ints(list(map(len, values)))
        values = [whole]
    if is_changeable(kind) and writer.wrote_shared(values):
        return
    fields, rows = parts_of(values)
    writer.keep(rows)
    writer.data.append(Kind.RECORD)
    write_tuples(writer, [(name_of(kind), *fields)])
    for part in zip(*rows, strict=True) if fields else ():
        writer.column(part)


_WRITERS: dict[type, Write] = {
    **PLAIN_WRITERS,
    Row: write_rows,
    Instant: write_instants,
    ValueKey: write_value_keys,
}


def writer_of(kind: type) -> Write | None:
    """Return how to write values of a class, None if they are no data."""
    write = _WRITERS.get(kind)
    if write is not None:
        return write
    if kind.__module__ == "numpy":
        return write_arrays if kind.__name__ == "ndarray" else write_scalars
    written_as = kind.__dict__.get("WRITTEN_AS")
    if written_as is not None:
        return _WRITERS[written_as]
    return write_records if is_record(kind) else None
