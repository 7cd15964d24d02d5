"""The first row of each partition in event time. Flink: `RowTimeDeduplicateKeepFirstRowFunction`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import taken_entries
from firesteel.columns.kernel import MIN_WATERMARK, Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.rows.past_rows import PastRows, PlacedRows
from firesteel.columns.kernels.rows.row_order import int64_values
from firesteel.columns.kernels.rows.segments import first_of_segments
from firesteel.columns.kernels.times.time_queue import TimedRows
from firesteel.columns.kernels.times.time_windows import US, millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import lexical_order
from firesteel.columns.rows import batch_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class FirstRowFactory:
    """Plan that keeps the first row of each partition; `time` is the index of the rowtime column."""

    partition: tuple[int, ...]
    time: int
    types: tuple[DataType, ...]

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout("first in time", self.types, self.partition)

    def make(self) -> Kernel:
        """Return the kernel."""
        return FirstRow(self)


class FirstRow(TimedKernel):
    """Emits the first row of each partition when the watermark passes it, so that no later row can replace it.

    Rows before the watermark are dropped as late.

    State: the rows that wait for the watermark, and the keys of those that have been emitted. Only these expire.
    """

    def __init__(self, plan: FirstRowFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._late = LateRows(context)
        self._waiting = WaitingRows(self._plan.partition, context)
        self._keys = tuple(range(len(self._plan.partition)))
        self._emitted = PastRows(self._keys, 1, context)
        types = list(map(arrow_type, self._plan.types))
        for keys, found, written in taken_entries(context, "row"):
            # An earlier release kept by key the time of the row that waits and that row, or nothing.
            waiting = batch_of([first[1] for first in found if first], types)
            self._waiting.add(waiting, millis_of(waiting.columns[self._plan.time]))
            is_emitted = np.array([not first for first in found], bool)
            emitted = batch_of(
                [key[1:] for key, first in zip(keys, found, strict=True) if not first],
                [types[index] for index in self._plan.partition],
            )
            self._emitted.add_former(emitted, np.zeros(emitted.length, np.int64), written[is_emitted])

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep the first row of each partition whose first row has not been emitted."""
        column = batch.columns[self._plan.time]
        is_timed = column.is_valid().to_numpy(zero_copy_only=False)
        times = np.floor_divide(int64_values(column), US)
        is_late = is_timed & (times < self._watermark)
        self._late.add(int(is_late.sum()))
        in_time = is_timed & ~is_late
        rows, times = batch.filter(in_time), times[in_time]
        if rows.length:
            first, _ = self._first(rows, times, np.arange(rows.length))
            self._waiting.add(rows.take(first), times[first])

    def _first(self, rows: ColumnBatch, times: Array, arrivals: Array) -> tuple[Array, Array]:
        """Return the places of the first rows of partitions that have emitted none, by time, and their key numbers."""
        numbers = self._emitted.find(rows.select(self._plan.partition), self._keys)
        order = lexical_order([numbers, times, arrivals])
        order = order[first_of_segments(numbers[order])]
        order = order[self._emitted.lasts(numbers[order]) == MIN_WATERMARK]
        order = order[lexical_order([times[order], arrivals[order]])]
        return order, numbers[order]

    def watermark(self, timestamp: int) -> int:
        """Emit the first rows up to the watermark."""
        self._watermark = timestamp
        due = self._waiting.take(timestamp)
        if due is not None:
            self._emit(due)
        return timestamp

    def _emit(self, due: TimedRows) -> None:
        first, numbers = self._first(due.rows, due.times, due.arrivals)
        if len(first):
            rows = due.rows.take(first)
            counts = self._emitted.counts(numbers) + 1
            self._emitted.add(
                PlacedRows(rows.select(self._plan.partition), numbers, counts, np.zeros(len(first), np.int64))
            )
            self.context.emit(rows)

    def flush(self) -> None:
        """Write what has changed since the last version."""
        self._waiting.flush()
        self._emitted.flush()
