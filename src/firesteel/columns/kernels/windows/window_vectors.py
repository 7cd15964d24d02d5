"""Vectorized window aggregation: adds whole batches, where `WindowAggregate` adds row by row."""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.groups.group_vectors import covers, fold, load, store
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.rows import keys_of, signs_of

_MOST_GROUPS = 0.5
"""Maximum groups per row."""


class WindowVectors:
    """The windows of one operator, updated by whole batches.

    Args:
        keys: The key columns.
        calls: The aggregate calls.
        table: Maps key, start and end to the values of the key, the accumulators and the number of rows.
        by_end: The entries of the table, by the end of their window.
        empty: Returns new accumulators of a window without rows.
        max_parallelism: The number of key groups.
    """

    def __init__(
        self,
        keys: tuple[int, ...],
        calls: Sequence[VectorCall],
        table: StateTable,
        by_end: MutableMapping[int, set[object]],
        empty: Callable[[], list[object]],
        max_parallelism: int,
    ) -> None:
        self._keys = keys
        self._calls = calls
        self._table = table
        self._by_end = by_end
        self._empty = empty
        self._max_parallelism = max_parallelism

    def add(self, batch: ColumnBatch, rows: Array, starts: Array, ends: Array) -> bool:
        """Add rows to windows, or retract them.

        Args:
            batch: The rows.
            rows: The row index of each assignment of a row to a window; a row may be in several windows.
            starts: The window start of each assignment (ms).
            ends: The window end of each assignment (ms).

        Returns:
            False if the batch cannot be vectorized; nothing has changed, and the caller has to add row by row.
        """
        if not covers(self._calls, batch, retracts=True):
            return False
        if not len(rows):
            return True
        # With tumbling windows each row is in one, in its order, and need not be copied.
        if len(rows) != batch.length or (rows[1:] <= rows[:-1]).any():
            batch = batch.take(rows)
        groups = RowGroups([*(batch.columns[key] for key in self._keys), pa.array(starts), pa.array(ends)], len(rows))
        if groups.count > _MOST_GROUPS * len(rows):
            return False  # The states, which are Python objects, cost more than the rows.
        first = groups.first_rows()
        keys = keys_of(batch.take(first), self._keys, self._max_parallelism)
        windows = zip(keys, starts[first].tolist(), ends[first].tolist(), strict=True)
        entries = [(*key, start, end) for key, start, end in windows]
        states = list(map(self._table.data.get, entries))
        before = load(self._calls, [self._empty() if state is None else state[1] for state in states])
        if before is None:
            return False
        after = store(self._calls, fold(self._calls, before, groups, batch), groups.count)
        put, by_end = self._table.put, self._by_end
        signs = signs_of(batch)
        sizes = groups.sizes if signs is None else groups.fold(np.add, np.zeros(groups.count, np.int64), signs)
        for entry, state, accumulators, size in zip(entries, states, after, sizes.tolist(), strict=True):
            if state is None:
                by_end[entry[-1]].add(entry)
                put(entry, [entry[1:-2], accumulators, size])
            else:
                put(entry, [state[0], accumulators, state[2] + size])
        return True
