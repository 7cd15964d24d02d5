"""OVER of streams on arrays: aggregates over a number of rows, a time, or from the first row on, and rankings.

The rows that are due lie behind the last ones of their key in one array. A frame is a part of it, which is folded from
parts of 1, 2, 4, 8... rows. So sums of floats have no rest of the rows that have left the frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import MIN_WATERMARK, KernelContext, LateRows, TimedKernel
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import Fields, Fold, VectorCall, VectorExtreme
from firesteel.columns.kernels.calls.vectorized import vector_calls
from firesteel.columns.kernels.groups.group_vectors import fields_of
from firesteel.columns.kernels.over.over_calls import new_states
from firesteel.columns.kernels.over.over_extremes import over_extreme
from firesteel.columns.kernels.over.over_navigation import VectorLag, reach_of
from firesteel.columns.kernels.over.partition_ends import PartitionEnds, PassedEnds
from firesteel.columns.kernels.rows.past_rows import PastRows, PlacedRows, concat_placed
from firesteel.columns.kernels.rows.segments import (
    bisect_right,
    bounds_of_segments,
    ends_of_segments,
    first_of_segments,
    last_of_segments,
)
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.kernels.times.waiting_rows import WaitingRows
from firesteel.columns.orders import lexical_order, stable_order

if TYPE_CHECKING:
    from firesteel.columns.kernels.over.over_calls import OverPlan

_ALL = 2**62
"""More rows than a key has."""

_COUNTS_ROWS = {"ROW_NUMBER": True, "RANK": False, "DENSE_RANK": False}
"""Rankings of streams, which count: up to the row itself, or up to the last row of the same time, as in Flink."""


@dataclass(frozen=True)
class OverCalls:
    """The calls of a window over arrays.

    Attributes:
        folds: The aggregates and rankings, by their place among the calls.
        lags: The calls of LAG, likewise.
    """

    folds: dict[int, VectorCall]
    lags: dict[int, VectorLag]


def over_vectors(plan: OverPlan) -> OverCalls | None:
    """Return the calls of a window over arrays, or None if it can't be computed on arrays."""
    frame = plan.frame
    is_bounded = frame.low is not None
    if len(plan.order) != 1 or frame.high != 0:
        return None
    if is_bounded and any(call.function in _COUNTS_ROWS or call.function == "LAG" for call in plan.calls):
        return None
    folds: dict[int, VectorCall] = {}
    lags: dict[int, VectorLag] = {}
    for place, call in enumerate(plan.calls):
        if call.function == "LAG":
            lags[place] = VectorLag(call)
            continue
        found = vector_calls([_counted(call)], plan.types)
        if found is None:
            return None
        folds[place] = over_extreme(found[0], is_bounded) if isinstance(found[0], VectorExtreme) else found[0]
    return OverCalls(folds, lags)


def _counted(call: CallPlan) -> CallPlan:
    is_ranking = call.function in _COUNTS_ROWS
    return replace(call, function="COUNT", arguments=(), condition=None) if is_ranking else call


@dataclass(frozen=True, slots=True)
class _Frames:
    """Where the keys of rows begin in an array, and where their frames begin and end."""

    begin: Array
    low: Array
    high: Array


class OverColumns(TimedKernel):
    """Emits each row with the results of the calls; in event time once the watermark has passed it.

    In processing time, rows are in the order in which they come, and nothing waits. A row has no peers:
    of a range, Flink emits the rows of one millisecond together, but it is chance which rows these are.

    With a frame that begins a number of rows or a time before each row, a row is late if one of its partition that is
    not older has been emitted, or if a timer of its partition that is not older has fired; with other frames, if the
    watermark has passed it. That is what Flink's functions do.

    State: the rows that wait, and what each of them adds to the accumulators of the last rows of each key, with the
    values that LAG needs; if frames begin with the first row, the accumulators up to each of the last rows. A timer
    that has fired is a row that adds nothing.
    """

    def __init__(self, plan: OverPlan, calls: OverCalls) -> None:
        super().__init__()
        self._plan = plan
        self._calls, self._lags = calls.folds, calls.lags
        self._reach = None if plan.frame.low is None else round(-plan.frame.low)
        self._is_range = self._reach is not None and not plan.frame.is_rows
        self._ends: PartitionEnds | None = None
        self._width = len(plan.partition)

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        plan = self._plan
        calls = self._calls.values()
        empty = new_states(AggregateSet(tuple(call.plan for call in calls), plan.types, False, context))
        self._empty: list[Fields] = [call.load([state]) for call, state in zip(calls, empty, strict=True)]
        self._waiting = WaitingRows(plan.partition, context)
        kept = _ALL if self._is_range or self._lags else max(self._reach or 1, 1)
        self._past = PastRows(tuple(range(self._width)), kept, context)
        if self._is_range and self._reach is not None:
            self._ends = PartitionEnds(plan.partition, self._reach, context)
        self._late = LateRows(context)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Store the rows; late ones are dropped. In processing time, emit at once."""
        if self._plan.time is None:
            self._process_now(batch)
            return
        batch = self._late.with_time(batch, self._plan.time)
        times = millis_of(batch.columns[self._plan.time])
        is_late = times <= self._watermark
        if self._reach is not None and is_late.any():
            behind = np.flatnonzero(is_late)
            numbers = self._past.find(batch.take(behind), self._plan.partition)
            is_late[behind] = times[behind] <= self._past.lasts(numbers)
        self._late.add(int(is_late.sum()))
        batch, times = batch.filter(~is_late), times[~is_late]
        self._waiting.add(batch, times)
        if self._ends is not None:
            self._ends.extend(batch, times)

    def _process_now(self, batch: ColumnBatch) -> None:
        """Emit rows in the order in which they have come."""
        now_ms = self.context.now_ms()
        if self._ends is not None and (passed := self._ends.take(now_ms)) is not None:
            # With the next rows is early enough: nothing is emitted, and no row is late.
            over = np.flatnonzero(passed.is_over)
            keys = passed.keys.take(over)
            self._past.end(keys, self._past.find(keys, tuple(range(self._width))))
        numbers = self._past.find(batch, self._plan.partition)
        order = stable_order(numbers)
        times = np.maximum(self._past.lasts(numbers), now_ms)  # Clocks may go back.
        if self._ends is not None:
            self._ends.extend(batch, times)
        self.context.emit(self._results(batch.take(order), numbers[order], times[order]).take(np.argsort(order)))

    def watermark(self, timestamp: int) -> int:
        """Emit the rows up to the watermark, those of a key in order of time."""
        self._watermark = timestamp
        due = self._waiting.take(timestamp)
        if due is not None:
            numbers = self._past.find(due.rows, self._plan.partition)
            order = lexical_order([numbers, due.times, due.arrivals])
            self.context.emit(self._results(due.rows.take(order), numbers[order], due.times[order]))
        passed = None if self._ends is None else self._ends.take(timestamp)
        if passed is not None:
            self._pass(passed)
        return timestamp

    def _pass(self, passed: PassedEnds) -> None:
        """Forget the partitions that have ended, and note the timers of the others."""
        numbers = self._past.find(passed.keys, tuple(range(self._width)))
        lasts = self._past.lasts(numbers)
        is_known = lasts != MIN_WATERMARK
        over, left = (np.flatnonzero(is_known & mark) for mark in (passed.is_over, ~passed.is_over))
        self._past.end(passed.keys.take(over), numbers[over])
        parts = [pa.array(np.repeat(part, len(left))) for parts in self._empty for part in parts]
        rows = ColumnBatch((*passed.keys.take(left).columns, *parts), len(left))
        times = np.maximum(passed.times, lasts)[left]
        self._past.add(PlacedRows(rows, numbers[left], self._past.counts(numbers[left]) + 1, times))

    def flush(self) -> None:
        """Write the rows to the state."""
        self._waiting.flush()
        self._past.flush()
        self._past.forget_ended_keys()
        if self._ends is not None:
            self._ends.flush()

    def _results(self, rows: ColumnBatch, numbers: Array, times: Array) -> ColumnBatch:
        """Return rows, sorted by key and time, with the results of the calls, and keep what later rows need."""
        past = self._past.take(numbers[first_of_segments(numbers)])
        added = self._added(rows, numbers, self._past.next_places(numbers), times)
        together = added if past is None else concat_placed([past, added])
        order = lexical_order([together.numbers, together.places])
        is_mine = order >= len(order) - rows.length
        frames = self._frames(together.numbers[order], together.times[order], is_mine)
        # Where each of the rows is in the array of all; they are sorted as the array is.
        mine = np.flatnonzero(is_mine)
        sorted_rows = together.rows.take(order).columns[self._width :]
        contributions = fields_of(list(self._calls.values()), sorted_rows)
        columns: dict[int, pa.Array] = {}
        running = []
        for (place, call), empty, parts in zip(self._calls.items(), self._empty, contributions, strict=True):
            frame = frames[self._ends_with_row(place)]
            found = [
                folded(function, start, values, frame.low[mine], frame.high[mine])
                for function, start, values in zip(call.folds, empty, parts, strict=True)
            ]
            values, nulls = call.results(found)
            columns[place] = pa.array(values, mask=nulls).cast(call.type)
            running += found
        frame = frames[self._has_no_peers]
        for (place, lag), kept in zip(self._lags.items(), sorted_rows[-len(self._lags) :], strict=False):
            columns[place] = lag.results(rows, kept, mine, frame.begin[mine], frame.high[mine])
        self._past.add(added if self._reach is not None else self._last(added, running))
        if self._is_range or self._lags:
            self._forget(together.take(order))
        return rows.with_columns([*rows.columns, *(columns[place] for place in sorted(columns))])

    def _forget(self, rows: PlacedRows) -> None:
        """Forget the rows that neither the frames of later ones nor LAG reach."""
        last = ends_of_segments(rows.numbers) - 1
        if self._reach is None:
            gone = rows.places <= rows.places[last] - max(1, reach_of(self._lags.values()))
        else:
            gone = rows.times < rows.times[last] - self._reach
        self._past.forget_until(rows.numbers[gone], rows.places[gone])

    def _added(self, rows: ColumnBatch, numbers: Array, places: Array, times: Array) -> PlacedRows:
        """Return the keys of rows, and what they add to the accumulators."""
        parts = [pa.array(part) for call in self._calls.values() for part in call.contributions(rows)]
        values = [lag.kept(rows) for lag in self._lags.values()]
        keys = [rows.columns[key] for key in self._plan.partition]
        return PlacedRows(ColumnBatch((*keys, *parts, *values), rows.length), numbers, places, times)

    def _last(self, added: PlacedRows, running: list[Array]) -> PlacedRows:
        """Return the last row of each key with the accumulators up to it; all rows if LAG may need them."""
        last = np.flatnonzero(last_of_segments(added.numbers)) if not self._lags else np.arange(len(added.numbers))
        chosen = added.take(last)
        parts, values = [pa.array(part[last]) for part in running], chosen.rows.columns[self._width + len(running) :]
        rows = ColumnBatch((*chosen.rows.columns[: self._width], *parts, *values), len(last))
        return replace(chosen, rows=rows)

    def _frames(self, numbers: Array, times: Array, is_new: Array) -> dict[bool, _Frames]:
        """Return the frames that end with each row (True), and with the last row of its time (False)."""
        is_first, places = first_of_segments(numbers), np.arange(len(numbers))
        begin, _ = bounds_of_segments(is_first)
        if self._reach is None:
            # The last one of the former rows has the accumulators of all up to it.
            low = np.maximum(begin, np.searchsorted(np.cumsum(is_new), np.cumsum(is_new)[begin] + ~is_new[begin]) - 1)
        elif self._is_range:
            low = bisect_right(times, begin, places, times - self._reach - 1)
        else:
            low = np.maximum(begin, places - self._reach)
        _, peers = bounds_of_segments(is_first | (np.diff(times, prepend=times[:1]) != 0))
        return {True: _Frames(begin, low, places + 1), False: _Frames(begin, low, peers)}

    @property
    def _has_no_peers(self) -> bool:
        return self._plan.frame.is_rows or self._plan.time is None

    def _ends_with_row(self, number: int) -> bool:
        is_counted = _COUNTS_ROWS.get(str(self._plan.calls[number].function))
        return self._has_no_peers if is_counted is None else is_counted or self._plan.time is None


def folded(function: Fold, start: Array, values: Array, low: Array, high: Array) -> Array:
    """Return `function` folded over parts of an array, from `low` up to `high` (exclusive), each after `start`."""
    found, place, left = np.repeat(start, len(low)), low.copy(), high - low
    blocks, size = values, 1
    with np.errstate(over="ignore", invalid="ignore"):
        while left.any():
            rows = np.flatnonzero(left & size)
            found[rows] = function(found[rows], blocks[place[rows]])
            place[rows] += size
            left[rows] -= size
            blocks = function(blocks[:-size], blocks[size:])
            size *= 2
    return found
