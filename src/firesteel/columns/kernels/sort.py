"""Sorting. Flink: `RowTimeSortOperator` and, in BATCH mode, `SortOperator`, `SortLimitOperator` and `LimitOperator`."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.bounded_sort import BoundedSort
from firesteel.columns.kernels.rows.row_order import Order, sorted_places
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.rows import batch_of
from firesteel.columns.state_layout import STATELESS, Layout, rows_layout
from firesteel.columns.values import arrow_type

__all__ = ["LimitFactory", "SortFactory"]


@dataclass(frozen=True)
class LimitFactory:
    """Plan of a sort in BATCH mode, of a limit, or of both.

    Attributes:
        order: The order; without one, rows stay as they come.
        offset: The number of first rows to leave out.
        fetch: The maximum number of rows after them, None for all.
    """

    order: Order
    offset: int = 0
    fetch: int | None = None

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return BoundedSort(self.order, self.offset, self.fetch)


@dataclass(frozen=True)
class SortFactory:
    """Plan of a sort by time in streaming mode.

    Attributes:
        order: The order, by the rowtime column first.
        types: The types of the columns.
        time: The rowtime column.
    """

    order: Order
    types: tuple[DataType, ...]
    time: int

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout("waiting", self.types, (), self.order)

    def make(self) -> Kernel:
        """Return the kernel."""
        return TimeSort(self)


class TimeSort(TimedKernel):
    """Keeps rows until the watermark, and then emits them in order; late ones are dropped."""

    def __init__(self, plan: SortFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Restore the rows that wait."""
        super().open(context)
        self._late = LateRows(context)
        self._waiting = WaitingRows((), context)
        self._take_over_rows()

    def _take_over_rows(self) -> None:
        """Take over rows that earlier releases kept one by one, numbered in the order of their arrival."""
        former = self.context.table("rows")
        entries = sorted(former.data)
        if entries:
            types = [arrow_type(kind) for kind in self._plan.types]
            self.process(0, batch_of([former.data[entry][1] for entry in entries], types))
            for entry in entries:
                former.remove(entry)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows that are not late."""
        batch = self._late.with_time(batch, self._plan.time)
        times = millis_of(batch.columns[self._plan.time])
        self._late.add(self._waiting.add_later(batch, times, self._watermark))

    def watermark(self, timestamp: int) -> int:
        """Emit the rows up to the watermark."""
        self._watermark = timestamp
        due = self._waiting.take(timestamp)
        if due is not None:
            self.context.emit(due.rows.take(sorted_places(due.rows.columns, self._plan.order, due.arrivals)))
        return timestamp

    def flush(self) -> None:
        """Write the rows to the state."""
        self._waiting.flush()
