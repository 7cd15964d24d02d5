"""Interval joins by whole batches. Flink: `TimeIntervalJoin`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import row_hashes
from firesteel.columns.kernel import MAX_WATERMARK, MIN_WATERMARK, Kernel, KernelContext, TimedKernel
from firesteel.columns.kernels.joins.column_joins import PairMatcher
from firesteel.columns.kernels.joins.join_plan import JoinPlan
from firesteel.columns.kernels.joins.timed_side import TimedSide
from firesteel.columns.kernels.rows.row_order import int64_values
from firesteel.columns.kernels.rows.segments import parts_of
from firesteel.columns.kernels.times.time_windows import US
from firesteel.columns.orders import stable_order
from firesteel.columns.rows import batch_of
from firesteel.columns.state_layout import Layout

_PAIRS = 1 << 17
"""Number of pairs that are looked at, and about that of those emitted, at once."""
_SIDES = ("left", "right")


@dataclass(frozen=True)
class IntervalJoinFactory:
    """Plan of a join of rows whose times satisfy `low <= left - right <= high` (ms)."""

    join: JoinPlan
    left_time: int
    right_time: int
    low: int
    high: int
    is_rowtime: bool

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return self.join.state_layout("interval join")

    def make(self) -> Kernel:
        """Return the kernel."""
        return IntervalJoin(self)

    def past(self, index: int, watermark: int) -> int:
        """Return the time up to which no rows of a side have matches any more."""
        past = watermark + self.low if index == 0 else watermark - self.high
        return max(MIN_WATERMARK, min(past, MAX_WATERMARK))


class IntervalJoin(TimedKernel):
    """Keeps the rows of both sides as long as matching rows may still arrive.

    State: the rows of each side, see `TimedSide`.
    """

    def __init__(self, plan: IntervalJoinFactory) -> None:
        super().__init__()
        self._plan = plan
        self._outer = plan.join.outer

    def open(self, context: KernelContext) -> None:
        """Compile the condition and open the state."""
        super().open(context)
        self._matcher = PairMatcher(self._plan.join, context)
        keys = self._plan.join.keys
        self._sides = tuple(TimedSide(keys[index], context, name) for index, name in enumerate(_SIDES))
        for index in range(2):
            self._take_former(index)

    def _take_former(self, index: int) -> None:
        """Take over rows in the form of former releases: `[time, row, whether it has matched]` by key."""
        join, table = self._plan.join, self.context.table(_SIDES[index])
        found = [entry for entries in table.data.values() for entry in entries]
        if found:
            rows = batch_of([row for _, row, _ in found], self._matcher.types[index])
            times, marks = np.array([time for time, *_ in found]), np.array([mark for *_, mark in found], bool)
            self._sides[index].add(rows, times, marks, row_hashes(rows, join.keys[index]))
        for key in list(table.data):
            table.remove(key)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def flush(self) -> None:
        """Write what has changed."""
        for side in self._sides:
            side.flush()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows, none of which matches another one, with those of the other side that arrived before."""
        times, hashes = self._times(index, batch), self._matcher.hashes(index, batch)
        has_null = self._matcher.has_null_key(index, batch)
        # Rows that nothing can match any more do not wait.
        waits = ~has_null & (times > self._plan.past(index, self._passed_ms()))
        matched = np.zeros(batch.length, bool)
        other = self._sides[1 - index]
        found = other.find(hashes, *self._bounds(index, times))
        for start, stop in parts_of(found.counts, _PAIRS):
            part = slice(start, stop)
            places, numbers = other.there(*found.pairs(start, stop))
            if has_null.any():
                is_known = ~has_null[part][places]
                places, numbers = places[is_known], numbers[is_known]
            matched[part] = self._join(index, batch.slice(start, stop), places, numbers, waits[part])
        kept = np.flatnonzero(waits)
        self._sides[index].add(batch.take(kept), times[kept], matched[kept], hashes[kept])

    def _passed_ms(self) -> int:
        """Return the time up to which no more rows come."""
        return self._watermark if self._plan.is_rowtime else self.context.now_ms() - 1

    def _times(self, index: int, batch: ColumnBatch) -> Array:
        if not self._plan.is_rowtime:
            return np.full(batch.length, self.context.now_ms())
        column = batch.columns[self._plan.right_time if index else self._plan.left_time]
        times: Array = np.floor_divide(int64_values(column), US)
        return times

    def _bounds(self, index: int, times: Array) -> tuple[Array, Array]:
        """Return the times between which the rows lie that match rows of a side with given times, both included."""
        plan = self._plan
        return (times - plan.high, times - plan.low) if index == 0 else (times + plan.low, times + plan.high)

    def _join(self, index: int, rows: ColumnBatch, places: Array, numbers: Array, waits: Array) -> Array:
        """Emit the pairs of rows, and rows that nothing can match; return which rows have matched."""
        other = self._sides[1 - index]
        parts, orders = [], []
        matched = np.zeros(rows.length, bool)
        if len(places):
            others = other.take(numbers)
            fits = np.flatnonzero(self._matcher.fits(index, rows, places, others))
            places, numbers = places[fits], numbers[fits]
            parts.append(self._matcher.paired(index, rows.take(places), others.take(fits)))
            orders.append(places)
            matched[places] = True
            # A new mark is written with the next version, so only sides whose unmatched rows show have them.
            if self._outer[1 - index]:
                other.mark(numbers)
        if self._outer[index]:
            alone = np.flatnonzero(~matched & ~waits)
            parts.append(self._matcher.padded(index, rows.take(alone)))
            orders.append(alone)
        self._emit(parts, orders)
        return matched

    def _emit(self, parts: list[ColumnBatch], orders: list[Array]) -> None:
        parts = [ColumnBatch(part.columns, part.length) for part in parts if part.length]
        if len(parts) == 1:
            self.context.emit(parts[0])
        elif parts:
            self.context.emit(concat(parts).take(stable_order(np.concatenate(orders))))

    def watermark(self, timestamp: int) -> int:
        """Remove the rows that nothing can match any more; emit the unmatched ones of an outer side."""
        self._watermark = timestamp
        if self._plan.is_rowtime and (self.context.is_streaming or timestamp == MAX_WATERMARK):
            self._clean(timestamp)
        return timestamp

    def advance_processing_time(self, now_ms: int) -> None:
        """Do the same in processing time."""
        if not self._plan.is_rowtime:
            self._clean(now_ms - 1)

    def next_processing_time(self) -> int | None:
        """Return when rows are to be removed in processing time, or None."""
        if self._plan.is_rowtime:
            return None
        # As in Flink, half of the interval later than it could be: not each row needs a time of its own.
        slack_ms = (self._plan.high - self._plan.low) // 2
        ends = (-self._plan.low, self._plan.high)
        times = [side.first_ms() for side in self._sides]
        found = [time + end + 1 + slack_ms for time, end in zip(times, ends, strict=True) if time is not None]
        return min(found, default=None)

    def _clean(self, passed_ms: int) -> None:
        for index, side in enumerate(self._sides):
            lonely = side.expire(self._plan.past(index, passed_ms))
            if lonely is not None and self._outer[index]:
                self.context.emit(self._matcher.padded(index, lonely))

    def end(self) -> None:
        """Emit the remaining unmatched rows of outer sides; in processing time, as in Flink, time has not come yet."""
        if self._plan.is_rowtime:
            self._watermark = MAX_WATERMARK
            self._clean(MAX_WATERMARK)
