"""Top-N of windows. Flink: `WindowRankOperator`, and `RowTimeWindowDeduplicateOperator`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import MAX_WATERMARK, KernelContext, LateRows, WindowKernel
from firesteel.columns.kernels.ranks.row_ranks import ranked, ranks
from firesteel.columns.kernels.rows.key_numbers import groups_by
from firesteel.columns.kernels.times.time_queue import TimedRows
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import lexical_order
from firesteel.columns.rows import batch_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.ranks.rank import RankFactory

_AT_ONCE = 100_000
"""Number of rows that wait, at least, before those with a rank behind the last one are dropped."""


class WindowRank(WindowKernel):
    """Top-N of each window, emitted when the window ends.

    State: the rows of open windows. Those that are no longer among the best are dropped now and then.
    """

    def __init__(self, plan: RankFactory) -> None:
        super().__init__()
        assert plan.window_end is not None
        self._plan = plan
        self._end = plan.window_end
        self._kept = 0

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._late = LateRows(context)
        self._waiting = WaitingRows(self._plan.partition, context)
        self._take_former(context)

    def _take_former(self, context: KernelContext) -> None:
        """Take over the rows of releases before 1.0, which had a list of rows per partition."""
        table = context.table("rows")
        rows = [row for _, best in table.data.values() for row in best]
        if rows:
            self._add(batch_of(rows, [arrow_type(kind) for kind in self._plan.types]))
        for key in list(table.data):
            table.remove(key)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped."""
        self._add(batch.without_nulls(self._end))
        # At twice what was left the last time, so that each row is ranked a constant number of times.
        if self._waiting.count > 2 * self._kept + _AT_ONCE:
            self._waiting.keep(self._best)
            self._kept = self._waiting.count

    def _add(self, rows: ColumnBatch) -> None:
        timers = self._plan.clock.timers(millis_of(rows.columns[self._end]) - 1)
        self._late.add(self._waiting.add_later(rows, timers, self._watermark))

    def _best(self, waiting: TimedRows) -> Array:
        """Return the places of rows that may be in a result."""
        order, found = ranks(self._plan, waiting.rows, groups_by(waiting.rows, self._plan.partition).codes)
        return np.sort(order[found <= self._plan.end])

    def watermark(self, timestamp: int) -> int:
        """Emit the windows that have ended, in the order of their ends."""
        watermark = self._advance(timestamp)
        if self.context.is_streaming or timestamp == MAX_WATERMARK:
            due = self._waiting.take(watermark)
            if due is not None:
                due = due.take(lexical_order([due.times, due.arrivals]))
                self.context.emit(ranked(self._plan, due.rows, groups_by(due.rows, self._plan.partition).codes))
        return watermark

    def flush(self) -> None:
        """Write the rows to the state."""
        self._waiting.flush()

    def end(self) -> None:
        """Emit all windows of a bounded query."""
        self.watermark(MAX_WATERMARK)
