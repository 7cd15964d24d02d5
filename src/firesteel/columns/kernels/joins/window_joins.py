"""Joins of rows in the same window. Flink: `WindowJoinOperator`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch, merged
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.joins.column_joins import CompleteJoin
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.rows.row_log import RowLog
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.state_layout import Layout
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock

_AT_ONCE = 1 << 14
"""Number of rows from which on segments are not merged for a join."""


@dataclass(frozen=True)
class WindowJoinFactory:
    """Plan of a join of rows in the same window, emitted when the window ends.

    Attributes:
        ends: Index of the window end column of each input.
        clock: The clock on which the windows lie.
    """

    join: JoinPlan
    ends: tuple[int, int]
    clock: WindowClock = UTC_CLOCK

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return self.join.state_layout("window join")

    def make(self) -> Kernel:
        """Return the kernel."""
        return WindowJoin(self)


class WindowJoin(TimedKernel):
    """Stores the rows of both sides until their window ends, and joins them then.

    State: a `RowLog` per side, with a bucket per end of a window.
    """

    def __init__(self, plan: WindowJoinFactory) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Compile the condition and open the state."""
        super().open(context)
        self._join = CompleteJoin(self._plan.join, context)
        self._late = LateRows(context, "left"), LateRows(context, "right")
        self._sides = (RowLog(context.table("left")), RowLog(context.table("right")))

    def close(self) -> None:
        """Close the user functions."""
        self._join.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store rows until their window ends; late ones are dropped."""
        column = self._plan.ends[index]
        batch = batch.without_nulls(column)
        ends = millis_of(batch.columns[column])
        groups = key_groups(batch, self._plan.join.keys[index], self.context.max_parallelism)
        is_early = self._plan.clock.timers(ends - 1) > self._watermark
        self._late[index].add(len(ends) - int(is_early.sum()))
        for end in np.unique(ends[is_early]).tolist():
            is_due = np.flatnonzero(ends == end)
            self._sides[index].append(batch.take(is_due), groups[is_due], end)

    def watermark(self, timestamp: int) -> int:
        """Join the windows that have ended."""
        self._watermark = timestamp
        left, right = self._sides
        ends = {*left.buckets(), *right.buckets()}
        due = sorted(end for end in ends if self._plan.clock.timer(end - 1) <= timestamp)
        if due:  # The windows are part of the keys, so all of them can be joined at once.
            self._join.join([*_window_rows(left, due)], [*_window_rows(right, due)])
        for end in due:
            left.remove(end)
            right.remove(end)
        return timestamp

    def end(self) -> None:
        """Join all windows of a bounded query."""
        self.watermark(MAX_WATERMARK)


def _window_rows(side: RowLog, ends: Sequence[int]) -> Iterator[ColumnBatch]:
    return merged((segment for end in ends for segment in side.rows(end)), _AT_ONCE)
