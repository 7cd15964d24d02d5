"""Interval and temporal joins row by row, for state on disk."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort_right
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.kernel import MAX_WATERMARK, MIN_WATERMARK, Kernel, KernelContext, TimedKernel
from firesteel.columns.kernels.due_keys import DueKeys
from firesteel.columns.kernels.join_plan import JoinPlan
from firesteel.columns.kernels.row_joins import Matcher, has_null
from firesteel.columns.kernels.windows import times_of
from firesteel.columns.rows import DELETE, INSERT, UPDATE_BEFORE, Row, RowOutput, keys_of, kinds_list, rows_of

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot

_TIME = itemgetter(0)
_ORDER = itemgetter(0, 1)
"""Of versions and waiting rows: the time, and the number of the arrival among rows of the same time."""


@dataclass(frozen=True)
class IntervalPlan:
    """Plan of a join of rows whose times satisfy `low <= left - right <= high` (ms)."""

    join: JoinPlan
    left_time: int
    right_time: int
    low: int
    high: int
    is_rowtime: bool

    def past(self, index: int, watermark: int) -> int:
        """Return the time up to which no rows of a side have matches any more."""
        past = watermark + self.low if index == 0 else watermark - self.high
        return max(MIN_WATERMARK, min(past, MAX_WATERMARK))


class IntervalJoin(TimedKernel):
    """Keeps the rows of both sides as long as matching rows may still arrive. Flink: `TimeIntervalJoin`.

    State: `left` and `right` map a key to its entries `[time, row, whether it has matched]`, in order of time.
    """

    def __init__(self, plan: IntervalPlan) -> None:
        super().__init__()
        self._plan = plan
        self._outer = plan.join.outer

    def open(self, context: KernelContext) -> None:
        """Compile the condition."""
        super().open(context)
        self._matcher = Matcher(self._plan.join, context)
        self._tables = (context.table("left"), context.table("right"))
        self._due = (DueKeys(), DueKeys())
        for table, due in zip(self._tables, self._due, strict=True):
            for key, entries in table.data.items():
                due.add(entries[0][0], key)
        self._output = RowOutput(self._matcher.types, context.emit)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Join the rows with those of the other side that arrived before."""
        plan = self._plan
        keys = keys_of(batch, plan.join.keys[index], self.context.max_parallelism)
        column = batch.columns[plan.right_time if index else plan.left_time]
        times = times_of(column) if plan.is_rowtime else [self.context.now_ms()] * batch.length
        for key, time, row in zip(keys, times, rows_of(batch), strict=True):
            self._take(index, key, time or 0, row)
        self._output.flush()

    def _take(self, index: int, key: Row, time: int, row: Row) -> None:
        # The bounds are of `left - right`; seen from the right side, signs and order turn round.
        low, high = (self._plan.low, self._plan.high) if index == 0 else (-self._plan.high, -self._plan.low)
        others = [] if has_null(key) else self._tables[1 - index].data.get(key) or []
        # low <= time - other <= high, so other lies from time - high to time - low, both included.
        start, stop = bisect_left(others, time - high, key=_TIME), bisect_right(others, time - low, key=_TIME)
        near = others[start:stop]
        fits = self._matcher.fitting(index, row, [other[1] for other in near])
        matched = False
        for other, fit in zip(near, fits, strict=True):
            if fit:
                other[2] = matched = True
                self._output.add(INSERT, row + other[1] if index == 0 else other[1] + row)
        # Their marks were set in place, which the table has to hear of; without an outer side nobody reads them again.
        if matched and self._outer[1 - index]:
            self._tables[1 - index].put(key, others)
        if self._may_fit(index, time) and not has_null(key):
            self._keep(index, key, [time, row, matched])
        # Nothing that comes can match it, so it has not to wait for the watermark.
        elif not matched and self._outer[index]:
            self._alone(index, row)

    def _keep(self, index: int, key: Row, entry: list[Cell]) -> None:
        table = self._tables[index]
        entries = table.data.get(key) or []
        insort_right(entries, entry, key=_TIME)
        # A key is due with its oldest row; a younger one is found when the key is visited for that.
        if entries[0] is entry:
            self._due[index].add(entry[0], key)
        table.put(key, entries)

    def _may_fit(self, index: int, time: int) -> bool:
        """Return whether a matching row of the other side may still arrive."""
        return not self._plan.is_rowtime or time > self._plan.past(index, self._watermark)

    def _alone(self, index: int, row: Row) -> None:
        nulls = (None,) * len(self._matcher.left if index else self._matcher.right)
        self._output.add(INSERT, nulls + row if index else row + nulls)

    def watermark(self, timestamp: int) -> int:
        """Remove the rows that nothing can match any more; emit the unmatched ones of an outer side."""
        self._watermark = timestamp
        if self.context.is_streaming or timestamp == MAX_WATERMARK:
            self._clean()
        return timestamp

    def _clean(self) -> None:
        for index, table in enumerate(self._tables):
            if not self._plan.is_rowtime:
                continue
            past = self._plan.past(index, self._watermark)
            for key in self._due[index].take(past):
                entries = table.data.get(key) or []
                left = entries[bisect_right(entries, past, key=_TIME) :]
                for _, row, matched in entries[: len(entries) - len(left)]:
                    if not matched and self._outer[index]:
                        self._alone(index, row)
                if left:
                    self._due[index].add(left[0][0], key)
                    table.put(key, left)
                else:
                    table.remove(key)
        self._output.flush()

    def end(self) -> None:
        """Emit the remaining unmatched rows of outer sides."""
        self._watermark = MAX_WATERMARK
        self._clean()


@dataclass(frozen=True)
class TemporalPlan:
    """Plan that joins each left row with the version of the right side that was valid at its time.

    Attributes:
        right_time: Index of the right rowtime column.
    """

    join: JoinPlan
    left_time: int
    right_time: int


class TemporalJoin(Kernel):
    """Buffers left rows until the watermark, then joins them. Flink: `TemporalRowTimeJoinOperator`.

    State: `left` holds the rows after the watermark; `right` holds the versions of each key. Both are in order of time.
    """

    def __init__(self, plan: TemporalPlan) -> None:
        self._plan = plan
        self._arrival = 0

    def open(self, context: KernelContext) -> None:
        """Compile the condition and open the state tables."""
        super().open(context)
        self._matcher = Matcher(self._plan.join, context)
        self._waiting, self._versions = context.table("left"), context.table("right")
        self._due, self._replaced = DueKeys(), DueKeys()
        for key, rows in self._waiting.data.items():
            self._due.add(rows[0][0], key)
        for key, versions in self._versions.data.items():
            self._await_replacement(key, versions)
        self._output = RowOutput(self._matcher.types, context.emit)

    def close(self) -> None:
        """Close the user functions."""
        self._matcher.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Buffer rows until the watermark."""
        plan = self._plan
        keys = keys_of(batch, plan.join.keys[index], self.context.max_parallelism)
        times = times_of(batch.columns[plan.right_time if index else plan.left_time])
        table = self._versions if index else self._waiting
        for key, time, kind, row in zip(keys, times, kinds_list(batch), rows_of(batch), strict=True):
            if index and kind == UPDATE_BEFORE:  # the +U that follows replaces the version
                continue
            assert time is not None  # the watermark assigner has refused NULL
            rows = table.data.get(key) or []
            self._arrival += 1
            # Of two versions of one time the later one counts, and sorting must not compare rows, which may have no
            # order.
            entry = (time, self._arrival, kind, row)
            insort_right(rows, entry, key=_ORDER)
            table.put(key, rows)
            if index and entry in rows[:2]:
                self._await_replacement(key, rows)
            elif not index and rows[0] is entry:
                self._due.add(time, key)

    def _await_replacement(self, key: Row, versions: list[Cell]) -> None:
        """Visit a key when the watermark passes its second version, which makes the first one useless."""
        if len(versions) > 1:
            self._replaced.add(versions[1][0], key)

    def watermark(self, timestamp: int) -> int:
        """Join the left rows up to the watermark, in order of time."""
        due = []
        for key in self._due.take(timestamp):
            rows = self._waiting.data.get(key) or []
            left = rows[bisect_right(rows, timestamp, key=_TIME) :]
            due += [(time, arrival, key, kind, row) for time, arrival, kind, row in rows[: len(rows) - len(left)]]
            if left:
                self._due.add(left[0][0], key)
                self._waiting.put(key, left)
            else:
                self._waiting.remove(key)
        # Over all keys, as the result must be in order of time for those who read it by time.
        for time, _, key, kind, row in sorted(due, key=lambda entry: entry[:2]):
            self._join(key, time, kind, row)
        self._output.flush()
        self._forget(timestamp)
        return timestamp

    def _join(self, key: Row, time: int, kind: int, row: Row) -> None:
        versions = [] if has_null(key) else self._versions.data.get(key) or []
        place = bisect_right(versions, time, key=_TIME)
        valid = versions[place - 1] if place else None
        if valid is not None and valid[2] != DELETE and self._matcher.fitting(0, row, [valid[3]])[0]:
            self._output.add(kind, row + valid[3])
        elif self._plan.join.kind == "LEFT":
            self._output.add(kind, row + (None,) * len(self._matcher.right))

    def _forget(self, timestamp: int) -> None:
        """Remove the versions that ended before the watermark; keep the latest one."""
        for key in self._replaced.take(timestamp):
            versions = self._versions.data.get(key) or []
            place = bisect_right(versions, timestamp, key=_TIME)
            # The version before the watermark stays: it is valid until the next one begins.
            left = versions[max(place - 1, 0) :]
            self._await_replacement(key, left)
            if len(left) < len(versions):
                self._versions.put(key, left)

    def end(self) -> None:
        """Join the remaining rows."""
        self.watermark(MAX_WATERMARK)

    def snapshot(self) -> Snapshot:
        """Return the arrival number of the last row, which orders rows of the same time."""
        return self._arrival

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the arrival number."""
        self._arrival = snapshot
