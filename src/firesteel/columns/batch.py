"""Column batches: the elements that flow between the operators of a table program.

Why: `docs/decisions/0028-columns-in-arrow-and-numpy.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from pickle import PickleBuffer
from typing import Any, ClassVar, SupportsIndex

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array


class Kind(IntEnum):
    """The kind of change that a changelog row makes. Flink: `types.RowKind`, with the same numbers."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBatch:
    """Rows stored as columns, each with its row kind.

    Attributes:
        columns: One Arrow array per column, all of the same length.
        length: The number of rows. It is stored because a batch without columns still has rows.
        kinds: A `Kind` per row (int8), or None if every row is an insert.
        holds_records: Marks the element as a batch, so that record counters add `length` instead of 1.
    """

    holds_records: ClassVar[bool] = True
    DATA_FIELDS: ClassVar = ("schema", "rows", "length", "kinds")

    columns: tuple[pa.Array, ...]
    length: int
    kinds: np.ndarray[Any, Any] | None = None

    def __len__(self) -> int:
        return self.length

    def with_columns(self, columns: Sequence[pa.Array]) -> ColumnBatch:
        """Return a batch with the same rows and kinds but other columns."""
        return ColumnBatch(tuple(columns), self.length, self.kinds)

    def take(self, indices: object) -> ColumnBatch:
        """Return the rows at these positions."""
        indices = np.asarray(indices, np.int64)
        kinds = None if self.kinds is None else self.kinds[indices]
        arrow = pa.array(indices)
        return ColumnBatch(tuple(column.take(arrow) for column in self.columns), len(indices), kinds)

    def select(self, columns: Iterable[int]) -> ColumnBatch:
        """Return some columns of the rows, without their kinds."""
        return ColumnBatch(tuple(self.columns[column] for column in columns), self.length)

    def without_nulls(self, column: int) -> ColumnBatch:
        """Return the rows that have a value in a column."""
        values = self.columns[column]
        return self.filter(values.is_valid().to_numpy(zero_copy_only=False)) if values.null_count else self

    def has_null(self, columns: Iterable[int]) -> Array:
        """Return per row whether it has NULL in one of some columns."""
        found = np.zeros(self.length, bool)
        for column in columns:
            if self.columns[column].null_count:
                found |= self.columns[column].is_null().to_numpy(zero_copy_only=False)
        return found

    @property
    def nbytes(self) -> int:
        """The size of the values in bytes."""
        return sum(column.nbytes for column in self.columns)

    @property
    def types(self) -> list[pa.DataType]:
        """The types of the columns."""
        return [column.type for column in self.columns]

    @property
    def held_bytes(self) -> int:
        """The size in bytes of the memory that the batch keeps: of a slice, that of the whole."""
        return sum(column.get_total_buffer_size() for column in self.columns)

    def filter(self, mask: np.ndarray[Any, Any]) -> ColumnBatch:
        """Return the rows where a boolean numpy array is true."""
        if mask.all():
            return self
        return self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> ColumnBatch:
        """Return the rows from `start` (inclusive) to `stop` (exclusive)."""
        kinds = None if self.kinds is None else self.kinds[start:stop]
        return ColumnBatch(tuple(c.slice(start, stop - start) for c in self.columns), stop - start, kinds)

    def kinds_or_inserts(self) -> np.ndarray[Any, Any]:
        """Return the kinds as an array, also if every row is an insert."""
        return np.zeros(self.length, np.int8) if self.kinds is None else self.kinds

    def __reduce_ex__(self, protocol: SupportsIndex) -> tuple[object, ...]:
        """Serialize in Arrow's format, which writes only the rows of a sliced array."""
        if not self.columns:
            return ColumnBatch, ((), self.length, self.kinds)
        record_batch = self._record_batch()
        schema, rows = record_batch.schema.serialize().to_pybytes(), record_batch.serialize()
        # The pickler reads a buffer in place, so that it is copied once.
        data = PickleBuffer(rows) if protocol.__index__() >= 5 else rows.to_pybytes()
        return _from_buffer, (schema, data, self.kinds)

    @classmethod
    def joined(cls, batches: Sequence[ColumnBatch]) -> ColumnBatch | None:
        """Return at least two batches as one, of which they are slices; None if they are not alike, or too much."""
        types = batches[0].types
        for batch in batches:
            if batch.kinds is not None or not types or batch.types != types:
                return None
        try:
            return concat(batches)
        except pa.ArrowInvalid:  # more text than a column can have
            return None

    @classmethod
    def from_data(cls, schema: bytes, rows: bytes, length: int, kinds: Array | None) -> ColumnBatch:
        """Return the batch with some fields, which anyone may have written.

        Raises:
            pyarrow.ArrowInvalid: it is damaged.
        """
        if not schema:
            return cls((), length, kinds)
        batch = _from_buffer(schema, rows, kinds)
        for column in batch.columns:
            column.validate(full=True)
        return batch

    @property
    def schema(self) -> bytes:
        """The types of the columns in Arrow's format; empty without columns."""
        return self._record_batch().schema.serialize().to_pybytes() if self.columns else b""

    @property
    def rows(self) -> bytes:
        """The columns in Arrow's format, which has only the rows of a sliced array; empty without columns."""
        return self._record_batch().serialize().to_pybytes() if self.columns else b""

    def _record_batch(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(list(self.columns), [str(index) for index in range(len(self.columns))])


def _from_buffer(schema: bytes, data: bytes, kinds: np.ndarray[Any, Any] | None) -> ColumnBatch:
    record_batch = pa.ipc.read_record_batch(data, _schema(schema))
    return ColumnBatch(tuple(record_batch.columns), record_batch.num_rows, kinds)


@lru_cache(256)
def _schema(data: bytes) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(data))


def _from_bytes(data: bytes, kinds: np.ndarray[Any, Any] | None) -> ColumnBatch:
    """Read a batch in the files of earlier releases."""
    record_batch = pa.ipc.open_stream(data).read_next_batch()
    return ColumnBatch(tuple(record_batch.columns), record_batch.num_rows, kinds)


def slices(batch: ColumnBatch, rows: int) -> Iterator[ColumnBatch]:
    """Yield the rows of a batch in order as batches of at most this number of rows."""
    if 0 < batch.length <= rows:
        yield batch
        return
    for start in range(0, batch.length, rows):
        yield batch.slice(start, min(start + rows, batch.length))


def merged(batches: Iterable[ColumnBatch], rows: int) -> Iterator[ColumnBatch]:
    """Yield the rows of batches in order as batches of at least this number of rows, except for the last one."""
    waiting: list[ColumnBatch] = []
    count = 0
    for batch in batches:
        waiting.append(batch)
        count += batch.length
        if count >= rows:
            yield concat(waiting)
            waiting, count = [], 0
    if waiting:
        yield concat(waiting)


def concat(batches: Sequence[ColumnBatch]) -> ColumnBatch:
    """Concatenate at least one batch of the same columns, in order."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.columns[i] for batch in batches]) for i in range(len(batches[0].columns))]
    kinds = None
    if any(batch.kinds is not None for batch in batches):
        kinds = np.concatenate([batch.kinds_or_inserts() for batch in batches])
    return ColumnBatch(tuple(columns), sum(map(len, batches)), kinds)
