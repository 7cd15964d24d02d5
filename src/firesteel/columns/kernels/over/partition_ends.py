"""The times at which partitions of range frames end. Flink: `registerCleanupTimer` of `RowTimeRangeBounded...`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers, grown
from firesteel.columns.kernels.rows.segments import bisect_right, first_of_segments, reached, running_max
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import stable_order

_NONE = -(2**62)
_LEAST = 1024


@dataclass(frozen=True, slots=True)
class PassedEnds:
    """Partitions whose timers have fired.

    Attributes:
        keys: The key columns of each partition.
        times: The time of its last timer that has fired.
        is_over: Whether it has no other timers, so that it has ended.
    """

    keys: ColumnBatch
    times: Array
    is_over: Array


class PartitionEnds:
    """The timers of partitions.

    A partition without new rows ends when the watermark passes its last timer, which is up to one and a half times the
    range behind its last row. A row that moves the end replaces no timer.

    State: the keys and times of the timers, as rows that wait.

    Args:
        keys: The key columns of the rows.
        range_ms: How far frames reach back.
        context: The environment of the kernel; the state has been restored.
    """

    def __init__(self, keys: tuple[int, ...], range_ms: int, context: KernelContext) -> None:
        self._keys, self._range_ms = keys, range_ms
        self._columns = tuple(range(len(keys)))
        self._numbers = KeyNumbers(context.spill())
        self._ends = np.full(_LEAST, _NONE)
        self._timers = WaitingRows(self._columns, context, ("partition ends", "passed ends"))
        for run in self._timers.runs():
            numbers = self._find(run.rows)
            np.maximum.at(self._ends, numbers, run.times)

    def _find(self, keys: ColumnBatch) -> Array:
        numbers = self._numbers.find(keys, self._columns)
        self._ends = grown(self._ends, len(self._numbers), _NONE)
        return numbers

    def extend(self, rows: ColumnBatch, times: Array) -> None:
        """Move the ends of the partitions of rows that come one after the other, where they are too near."""
        if not rows.length:
            return
        keys = rows.select(self._keys)
        numbers = self._find(keys)
        order = stable_order(numbers)
        numbers, times = numbers[order], times[order]
        moves = self._moves(numbers, running_max(times, first_of_segments(numbers)))
        ends = self._ends_after(times[moves])
        np.maximum.at(self._ends, numbers[moves], ends)
        self._timers.add(keys.take(order[moves]), ends)

    def _ends_after(self, times: Array) -> Array:
        return times + self._range_ms * 3 // 2 + 1

    def _moves(self, numbers: Array, latest: Array) -> Array:
        """Return which rows, sorted by key and given with the latest times so far, move the ends of their partitions.

        Such a row is followed by the next one whose frame could reach the end that it has set.
        """
        count = len(numbers)
        low = np.searchsorted(numbers, numbers)
        high = np.searchsorted(numbers, numbers, "right")
        first = np.unique(low)
        nearest = bisect_right(latest, first, high[first], self._ends[numbers[first]] - self._range_ms - 1)
        following = bisect_right(latest, low, high, self._ends_after(latest) - self._range_ms - 1)
        return reached(np.where(following < high, following, count), nearest[nearest < high[first]])

    def take(self, watermark: int) -> PassedEnds | None:
        """Remove the timers that fire, and return their partitions; None if there are none."""
        due = self._timers.take(watermark)
        if due is None:
            return None
        numbers, first, codes = np.unique(self._find(due.rows), return_index=True, return_inverse=True)
        times = np.full(len(numbers), _NONE)
        np.maximum.at(times, codes, due.times)
        is_over = self._ends[numbers] <= watermark
        self._ends[numbers[is_over]] = _NONE
        return PassedEnds(due.rows.take(first), times, is_over)

    def flush(self) -> None:
        """Write the timers, and forget the partitions without any if these are most."""
        self._timers.flush()
        ends = self._ends[: len(self._numbers)]
        kept = np.flatnonzero(ends != _NONE)
        if 2 * len(kept) < len(ends) - _LEAST:
            self._numbers.keep(kept)
            self._ends[: len(kept)], self._ends[len(kept) :] = ends[kept], _NONE
