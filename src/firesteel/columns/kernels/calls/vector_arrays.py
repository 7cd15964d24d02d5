"""ARRAY_AGG over arrays: the values of a group are joined as bytes, and what was joined is joined again."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall, chosen, is_text, to_numpy
from firesteel.columns.kernels.calls.vector_lists import Prefixes, joined
from firesteel.columns.kernels.calls.vector_values import objects
from firesteel.columns.pylist import pylist
from firesteel.common.encoding.array_columns import write_integers, write_numbered, write_numbers
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.functions.accumulators import State
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.columns.row_groups import RowGroups, Timeline
    from firesteel.common.encoding.column_writer import ColumnWriter


class VectorArrayAgg(VectorCall):
    """ARRAY_AGG of rows that are only inserted, of values that are not nested.

    The state of a group is the bytes of its values (see `bytes_of`), one after the other; None if it has none.

    Args:
        plan: The call.
        skips_null: Whether NULL is no value.
    """

    functions = ()
    has_steps = True

    def __init__(self, plan: CallPlan, skips_null: bool) -> None:
        super().__init__(plan)
        self._skips_null = skips_null
        self._kind = self.type.value_type

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states can be processed: all can."""
        return True

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Return numbers as results, and the values of the groups."""
        is_added = self.counted(batch) if self._skips_null else chosen(batch, self.plan.condition)
        kept = [pa.array(part.tolist(), pa.binary()) for part in states]
        added = bytes_of(batch.columns[self.plan.arguments[0]].cast(self._kind))
        prefixes = Prefixes(timeline, groups, kept, added, is_added, b"")
        after = timeline.starts + groups.sizes
        ends, nulls = prefixes.ends[after], prefixes.nulls[after]
        column = partial(self._prefixes, prefixes)
        results = Results(prefixes.ends, prefixes.nulls, column, prefixes.sizes())
        return results, _objects(prefixes.joined(ends, nulls), nulls)

    def _prefixes(self, prefixes: Prefixes, ends: Array, nulls: Array | None) -> pa.Array:
        return self._arrays(prefixes.joined(ends, nulls), nulls)

    def final(self, fields: Fields) -> pa.Array:
        """Return the values of groups as arrays, NULL for those without."""
        return self._arrays(*_parts_of(fields))

    def load(self, states: Sequence[State]) -> Fields:
        """Return the values of the states."""
        sizes = np.fromiter((len(state[1]) for state in states), np.int64, len(states))
        values = pa.array([value for state in states for value in state[1].values()], self._kind)
        return _objects([joined(part, sizes, b"") for part in bytes_of(values)], sizes == 0)

    def store(self, fields: Fields) -> list[State]:
        """Return the states, whose values are numbered from 0 on."""
        return [[len(values), dict(enumerate(values)), {}] for values in pylist(self._lists(fields))]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the states."""
        lists = self._lists(fields)
        sizes, values = lists.value_lengths().to_numpy().astype(np.int64), lists.values
        writer.begin_places(Kind.SHORT_LIST, 3)
        write_integers(writer, sizes)
        write_numbered(writer, sizes, lambda: _write(writer, values))
        writer.column([{}] * len(lists))

    def _lists(self, fields: Fields) -> pa.Array:
        """Return the values of groups as arrays, which may be empty."""
        return self._arrays(_parts_of(fields)[0], None)

    def _arrays(self, parts: Sequence[pa.Array], nulls: Array | None) -> pa.Array:
        sizes = to_numpy(pc.binary_length(parts[0])) // (_width(self._kind) + 1)
        offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        mask = None if nulls is None else pa.array(nulls)
        return pa.ListArray.from_arrays(offsets, values_of(parts, self._kind), self.type, mask=mask)


def _objects(parts: Sequence[pa.Array], nulls: Array) -> Fields:
    mask = pa.array(nulls)
    return [objects(pylist(pc.if_else(mask, None, part))) for part in parts]


def _parts_of(fields: Fields) -> tuple[list[pa.Array], Array]:
    """Return the bytes of groups, and which of them have none."""
    parts = [pa.array(part.tolist(), pa.binary()) for part in fields]
    return [part.fill_null(b"") for part in parts], to_numpy(parts[0].is_null())


def _width(kind: pa.DataType) -> int:
    """Return the number of bytes of a value, or of the length of a text."""
    return 4 if is_text(kind) else max(kind.bit_width // 8, 1)


def bytes_of(column: pa.Array) -> list[pa.Array]:
    """Return each value as bytes: as many as `_width` says, and one for whether it is there; then the texts."""
    kind, count, is_there = column.type, len(column), to_numpy(column.is_valid())
    width, texts = _width(kind), []
    if is_text(kind):
        texts = [column.cast(pa.binary()).fill_null(b"")]
        column = pc.binary_length(texts[0])
    elif pa.types.is_boolean(kind):
        column = column.cast(pa.uint8())
    start = column.offset * width
    found = np.zeros((count, width + 1), np.uint8)
    if count:
        data = np.frombuffer(column.buffers()[1], np.uint8, count * width, start).reshape(count, width)
        found[:, :width] = np.where(is_there[:, None], data, 0)
    found[:, width] = is_there
    offsets = np.arange(count + 1, dtype=np.int32) * (width + 1)
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(found)]
    return [pa.Array.from_buffers(pa.binary(), count, buffers), *texts]


def values_of(parts: Sequence[pa.Array], kind: pa.DataType) -> pa.Array:
    """Return the values whose bytes (see `bytes_of`) follow one another."""
    width = _width(kind)
    found = np.frombuffer(content_of(parts[0]), np.uint8).reshape(-1, width + 1)
    count, is_there, data = len(found), found[:, width].astype(bool), np.ascontiguousarray(found[:, :width])
    if is_text(kind):
        offsets = np.concatenate([[0], np.cumsum(data.view(np.int32))]).astype(np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(content_of(parts[1]))]
        values = pa.Array.from_buffers(kind, count, buffers)
    elif pa.types.is_boolean(kind):
        values = pa.array(data.ravel().astype(bool))
    else:
        values = pa.Array.from_buffers(kind, count, [None, pa.py_buffer(data)])
    return values if is_there.all() else pc.if_else(pa.array(is_there), values, pa.scalar(None, kind))


def content_of(texts: pa.Array) -> bytes | memoryview:
    """Return the bytes of all texts."""
    data = texts.buffers()[2]
    if data is None or not len(texts):
        return b""
    offsets = np.frombuffer(texts.buffers()[1], np.int32, len(texts) + 1, texts.offset * 4)
    return memoryview(data)[offsets[0] : offsets[-1]]


def _write(writer: ColumnWriter, values: pa.Array) -> None:
    if (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) and len(values) > values.null_count == 0:
        write_numbers(writer, values.to_numpy())
    else:
        cells: list[Cell] = pylist(values)
        writer.column(cells)
