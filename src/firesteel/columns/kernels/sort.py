"""Sorting. Flink: `RowTimeSortOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.rank import row_key
from firesteel.columns.kernels.row_order import Order
from firesteel.columns.kernels.windows import times_of
from firesteel.columns.rows import RowOutput, rows_of
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class SortFactory:
    """Plan of a sort.

    Attributes:
        time: In streaming mode, the index of the rowtime column, which comes first in the order.
        fetch: The maximum number of rows; only in batch mode.
    """

    order: Order
    types: tuple[DataType, ...]
    time: int | None
    offset: int = 0
    fetch: int | None = None

    def make(self) -> Kernel:
        """Return the kernel."""
        return Sort(self)


class Sort(TimedKernel):
    """Buffers rows until the watermark (streaming) or the end of input (batch), then emits them in order."""

    def __init__(self, plan: SortFactory) -> None:
        super().__init__()
        self._plan = plan
        self._key = row_key(plan.order)
        self._numbers = count()

    def open(self, context: KernelContext) -> None:
        """Open the table of buffered rows."""
        super().open(context)
        self._table = context.table("rows")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)
        self._late = LateRows(context)
        if self._table.data:
            # Entries are numbered in the order of arrival, and a restored job must not write over those that wait.
            self._numbers = count(max(key[1] for key in self._table.data) + 1)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Buffer rows; in streaming mode late ones are dropped."""
        time = self._plan.time
        times = [None] * batch.length if time is None else times_of(batch.columns[time])
        for at, row in zip(times, rows_of(batch), strict=True):
            if at is None or at > self._watermark:
                self._table.put((0, next(self._numbers)), (at, row))
            else:
                self._late.add(1)

    def watermark(self, timestamp: int) -> int:
        """Emit the rows up to the watermark."""
        self._watermark = timestamp
        if self._plan.time is not None:
            due = [(key, row) for key, (at, row) in self._table.data.items() if at <= timestamp]
            for key, _ in due:
                self._table.remove(key)
            self._output.extend(sorted((row for _, row in due), key=self._key))
            self._output.flush()
        return timestamp

    def end(self) -> None:
        """Emit all rows of a bounded query."""
        plan = self._plan
        if plan.time is None:
            rows = [row for _, row in self._table.data.values()]
            if plan.order:
                rows.sort(key=self._key)
            stop = None if plan.fetch is None else plan.offset + plan.fetch
            self._output.extend(rows[plan.offset : stop])
            self._table.data.clear()
            self._output.flush()
