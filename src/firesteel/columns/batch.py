"""A column batch: what flows between the operators of a table program, as one element of a stream."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa


class Kind(IntEnum):
    """What a row of a changelog does. Flink: `types.RowKind`, with the same numbers."""

    INSERT = 0
    UPDATE_BEFORE = 1
    UPDATE_AFTER = 2
    DELETE = 3


@dataclass(frozen=True, slots=True, eq=False)
class ColumnBatch:
    """Rows as columns, and what each row does.

    Attributes:
        columns: One Arrow array per column, all of one length.
        length: The number of rows, which columns alone do not tell where there are none.
        kinds: A `Kind` per row (int8), None: all are inserted.
        holds_records: For who counts the records of a stream.
    """

    holds_records: ClassVar[bool] = True

    columns: tuple[pa.Array, ...]
    length: int
    kinds: np.ndarray[Any, Any] | None = None

    def __len__(self) -> int:
        return self.length

    def with_columns(self, columns: Sequence[pa.Array]) -> ColumnBatch:
        """Return other columns for the same rows."""
        return ColumnBatch(tuple(columns), self.length, self.kinds)

    def take(self, indices: Any) -> ColumnBatch:
        """Return the rows at these positions."""
        indices = np.asarray(indices)
        kinds = None if self.kinds is None else self.kinds[indices]
        arrow = pa.array(indices)
        return ColumnBatch(tuple(column.take(arrow) for column in self.columns), len(indices), kinds)

    def filter(self, mask: Any) -> ColumnBatch:
        """Return the rows where a boolean numpy array is true."""
        if mask.all():
            return self
        return self.take(np.flatnonzero(mask))

    def slice(self, start: int, stop: int) -> ColumnBatch:
        """Return the rows from `start` to before `stop`."""
        kinds = None if self.kinds is None else self.kinds[start:stop]
        return ColumnBatch(tuple(c.slice(start, stop - start) for c in self.columns), stop - start, kinds)

    def kinds_or_inserts(self) -> np.ndarray[Any, Any]:
        """Return the kinds, also where all rows are inserted."""
        return np.zeros(self.length, np.int8) if self.kinds is None else self.kinds

    def __reduce__(self) -> tuple[Any, ...]:
        """Travel in Arrow's stream format, which holds no more than these rows."""
        if not self.columns:
            return ColumnBatch, ((), self.length, self.kinds)
        names = [str(index) for index in range(len(self.columns))]
        record_batch = pa.RecordBatch.from_arrays(list(self.columns), names)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, record_batch.schema) as writer:
            writer.write_batch(record_batch)
        return _from_bytes, (sink.getvalue().to_pybytes(), self.kinds)


def _from_bytes(data: bytes, kinds: Any) -> ColumnBatch:
    record_batch = pa.ipc.open_stream(data).read_next_batch()
    return ColumnBatch(tuple(record_batch.columns), record_batch.num_rows, kinds)


def concat(batches: Sequence[ColumnBatch]) -> ColumnBatch:
    """Return the rows of several batches of the same columns, in their order; there is at least one batch."""
    if len(batches) == 1:
        return batches[0]
    columns = [pa.concat_arrays([batch.columns[i] for batch in batches]) for i in range(len(batches[0].columns))]
    kinds = None
    if any(batch.kinds is not None for batch in batches):
        kinds = np.concatenate([batch.kinds_or_inserts() for batch in batches])
    return ColumnBatch(tuple(columns), sum(map(len, batches)), kinds)
