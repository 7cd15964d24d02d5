"""The first row of each partition in event time. Flink: `RowTimeDeduplicateKeepFirstRowFunction`."""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.row_order import int64_values
from firesteel.columns.kernels.windows import US
from firesteel.columns.rows import INSERT, RowOutput, keys_of, rows_of
from firesteel.columns.values import arrow_type

_EMITTED = ()
"""The state of a partition whose first row has been emitted."""


@dataclass(frozen=True)
class FirstRowFactory:
    """Plan that keeps the first row of each partition; `time` is the index of the rowtime column."""

    partition: tuple[int, ...]
    time: int
    types: tuple[DataType, ...]

    def make(self) -> Kernel:
        """Return the kernel."""
        return FirstRow(self)


class FirstRow(TimedKernel):
    """Emits the first row of each partition when the watermark passes it, so that no later row can replace it.

    Rows before the watermark are dropped as late.

    State: `row` maps a key to the time of its first row (ms) and that row, or to `_EMITTED`.
    """

    def __init__(self, plan: FirstRowFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the table, and index the restored rows by time."""
        super().open(context)
        self._table = expiring_table(context, "row")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)
        self._late = LateRows(context)
        self._number = count()
        self._waiting = [(first[0], next(self._number), key) for key, first in self._table.data.items() if first]
        heapify(self._waiting)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep the rows that are the first of their partition so far."""
        column = batch.columns[self._plan.time]
        is_timed = column.is_valid().to_numpy(zero_copy_only=False)
        times = np.floor_divide(int64_values(column), US)
        is_late = is_timed & (times < self._watermark)
        self._late.add(int(is_late.sum()))
        keys = keys_of(batch, self._plan.partition, self.context.max_parallelism)
        self._table.prefetch(keys)
        # Most rows are of partitions whose first row has been emitted; those do not become Python values.
        firsts = list(map(self._table.data.get, keys))
        places = [place for place in np.flatnonzero(is_timed & ~is_late).tolist() if firsts[place] != _EMITTED]
        rows = rows_of(batch.take(np.array(places, np.int64)))
        for place, time, row in zip(places, times[places].tolist(), rows, strict=True):
            first = self._table.data.get(keys[place])
            if first is None or time < first[0]:
                self._table.put(keys[place], (time, row))
                # The number keeps the heap from comparing keys, which may have no order.
                heappush(self._waiting, (time, next(self._number), keys[place]))

    def watermark(self, timestamp: int) -> int:
        """Emit the first rows up to the watermark."""
        self._watermark = timestamp
        while self._waiting and self._waiting[0][0] <= timestamp:
            time, _, key = heappop(self._waiting)
            first = self._table.data.get(key)
            # A row that an earlier one has replaced is still in the heap, where removing it would cost a search.
            if first and first[0] == time:
                self._table.put(key, _EMITTED)
                self._output.add(INSERT, first[1])
        self._output.flush()
        return timestamp
