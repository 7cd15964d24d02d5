"""Aggregates over time windows in two phases, by slices that windows share. Flink: `SlicingWindowOperator`.

A slice is the largest span of time that lies in the same windows as a whole: a tumbling window, or a step of a hopping
or cumulating window. Before the exchange, the rows of a batch are aggregated per key and slice; after it, the slices of
a window are merged when the window ends. So a row is added once, however many windows contain it.

Sums of floats are rounded as the rows are grouped: first those of a batch, then the batches. MIN and MAX of a group
that begins with NaN are NaN. In Flink, memory, checkpoints and watermarks decide what is grouped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat, merged
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.hashing import key_groups
from firesteel.columns.kernel import MAX_WATERMARK, MIN_WATERMARK, Kernel, KernelContext, LateRows, WindowKernel
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.calls.vectorized import mergeable_calls
from firesteel.columns.kernels.groups.group_vectors import (
    covers,
    fields_of,
    fold,
    load,
    partial_rows,
    repeated,
    results,
)
from firesteel.columns.kernels.rows.row_log import RowLog
from firesteel.columns.kernels.rows.saved_rows import refuse_former
from firesteel.columns.kernels.times.time_windows import US, WindowPlan, millis_of
from firesteel.columns.row_groups import RowGroups, can_factorize
from firesteel.columns.state_layout import STATELESS, Layout, groups_layout
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot

_DAY = 86_400_000
"""More than the difference between any local time and UTC, in ms."""
_AT_ONCE = 10_000
"""Number of rows from which on results are emitted, and below which partial results are not merged again."""


@dataclass(frozen=True)
class SlicedWindowPlan:
    """Plan of aggregates per key and window.

    Attributes:
        window: The windows; `time` is the index of the rowtime in the input.
        keys: The key columns, without those of the window.
        calls: The aggregate calls.
        input_types: Logical types of the input's columns.
        outputs: The first columns of the result: the index of a key, or `start`, `end` or `time`, each with its logical
            type. The calls follow.
    """

    window: WindowPlan
    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    input_types: tuple[DataType, ...]
    outputs: tuple[tuple[int | str, Cell], ...]

    def vectors(self) -> list[VectorCall] | None:
        """Return the calls over arrays, or None if slices can't be used."""
        calls = mergeable_calls(self.calls, self.input_types)
        keys = all(can_factorize(arrow_type(self.input_types[key])) for key in self.keys)
        window = self.window
        # Else a window ends within a slice, and the slice would have to be cut after it was aggregated.
        is_even = window.kind == "TUMBLE" or window.size % window.step == 0
        return calls if keys and is_even else None

    @property
    def step(self) -> int:
        """The length of a slice in ms."""
        return self.window.size if self.window.kind == "TUMBLE" else self.window.step

    def last_end(self, slice_end: int) -> int:
        """Return the end of the last window that contains a slice."""
        window = self.window
        if window.kind == "CUMULATE":
            return slice_end + (window.offset - slice_end) % window.size
        return slice_end - self.step + window.size

    def is_over(self, slice_end: int, until: int) -> bool:
        """Return whether all windows that contain a slice have ended at an instant."""
        return self.window.clock.timer(self.last_end(slice_end) - 1) <= until

    def windows(self, slice_end: int, after: int, until: int) -> Iterator[tuple[int, int]]:
        """Yield start and end of the windows that contain a slice and that end at an instant in `(after, until]`."""
        window, step, last = self.window, self.step, self.last_end(slice_end)
        early, late = self._around(after, until)
        # Rounded up: with small steps most windows of a slice have ended long ago.
        skipped = max(0, -(-(early + 2 - slice_end) // step))
        for end in range(slice_end + skipped * step, min(last, late + 1) + 1, step):
            if after < window.clock.timer(end - 1) <= until:
                yield (last if window.kind == "CUMULATE" else end) - window.size, end

    def _around(self, after: int, until: int) -> tuple[int, int]:
        """Return local times before and after those at two instants."""
        margin = 0 if self.window.clock.is_utc else _DAY
        return max(after - margin, MIN_WATERMARK), min(until + margin, MAX_WATERMARK)


@dataclass(frozen=True)
class LocalWindowFactory:
    """Plan of the aggregation of each batch before the exchange."""

    plan: SlicedWindowPlan

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return STATELESS

    def make(self) -> Kernel:
        """Return the kernel."""
        return LocalWindows(self.plan)


@dataclass(frozen=True)
class SlicedWindowFactory:
    """Plan of the aggregation after the exchange."""

    plan: SlicedWindowPlan

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        plan = self.plan
        slices = (f"slices of {windows}" for windows in plan.window.state_layout())
        return *groups_layout(plan.keys, plan.calls, plan.input_types), *slices

    def make(self) -> Kernel:
        """Return the kernel."""
        return SlicedWindows(self.plan)


class _Windows(Kernel):
    """Base of both phases.

    Partial results are rows of the keys, the end of the slice in ms, and the parts of the states of the calls.
    """

    def __init__(self, plan: SlicedWindowPlan) -> None:
        super().__init__()
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Prepare the calls."""
        super().open(context)
        calls = self._plan.vectors()
        assert calls is not None
        self._calls = calls
        empty = AggregateSet(self._plan.calls, self._plan.input_types, False, context).new()
        fields = load(calls, [empty])
        assert fields is not None
        self._empty: list[Fields] = fields

    def _no_rows(self, count: int) -> list[Fields]:
        return repeated(self._empty, count)


class LocalWindows(_Windows):
    """Aggregates the rows of each batch by key and slice; has no state. Flink: `LocalSlicingWindowAggOperator`."""

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the partial results of a batch."""
        plan = self._plan
        batch = batch.without_nulls(plan.window.time)
        if not batch.length:
            return
        times = plan.window.clock.local(millis_of(batch.columns[plan.window.time]))
        # `%` of numpy is never negative, so times before 1970 fall into the right slice, too.
        ends = times - (times - plan.window.offset) % plan.step + plan.step
        columns = [*(batch.columns[key] for key in plan.keys), pa.array(ends)]
        if not covers(self._calls, batch):
            columns.append(pa.array(np.arange(batch.length)))  # each row is a partial result
        groups = RowGroups(columns, batch.length)
        fields = fold(self._calls, self._no_rows(groups.count), groups, batch)
        first = groups.first_rows()
        rows = pa.array(first)
        columns = [batch.columns[key].take(rows) for key in plan.keys]
        self.context.emit(partial_rows(self._calls, [*columns, pa.array(ends[first])], fields, groups.count))


class SlicedWindows(_Windows, WindowKernel):
    """Merges partial results, and emits a window when it ends.

    State: a `RowLog` of partial results with a bucket per slice, written once per version.
    """

    def __init__(self, plan: SlicedWindowPlan) -> None:
        super().__init__(plan)
        self._unsaved: dict[int, list[ColumnBatch]] = {}
        self._lengths: dict[int, tuple[int, int]] = {}
        self._width = len(plan.keys)

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._late = LateRows(context)
        self._log = RowLog(context.table("slices"))
        for end in self._log.buckets():
            length = sum(segment.length for segment in self._log.rows(end))
            self._lengths[end] = (length, length)
        refuse_former(context, "windows")  # of calls that had no columns; their rows were partitioned by window, too

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        super().restore(_emitted(snapshot))

    def take_over(self, snapshots: Sequence[Snapshot]) -> None:
        """Go on from the watermark that was furthest."""
        super().take_over(list(map(_emitted, snapshots)))

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add partial results; those of slices all of whose windows have ended are dropped as late."""
        ends = batch.columns[self._width].to_numpy()
        for end in np.unique(ends).tolist():
            if self._plan.is_over(end, self._watermark):
                self._late.add(int((ends == end).sum()))
            else:
                self._add(end, batch if len(ends) and (ends == end).all() else batch.filter(ends == end))

    def _add(self, end: int, rows: ColumnBatch) -> None:
        length, least = self._lengths.get(end, (0, 0))
        self._unsaved.setdefault(end, []).append(rows)
        self._lengths[end] = (length + rows.length, least)
        # Twice what the last merge left: each row is merged a constant number of times, however long the window is.
        if length + rows.length > 2 * least + _AT_ONCE:
            self._merge(end)

    def _merge(self, end: int) -> None:
        """Merge all partial results of a slice, so that their number depends on the keys and not on the rows."""
        rows = self._merged(self._rows(end))
        self._log.remove(end)
        self._unsaved[end] = [rows]
        self._lengths[end] = (rows.length, rows.length)

    def _rows(self, end: int) -> list[ColumnBatch]:
        return [*self._log.rows(end), *self._unsaved.get(end, ())]

    def _merged(self, parts: Sequence[ColumnBatch]) -> ColumnBatch:
        """Return one row per key; the ends of slices are those of any row of the key."""
        rows = concat(parts)
        keys = rows.columns[: self._width]
        groups = RowGroups(keys, rows.length)
        if groups.count == rows.length:
            return rows
        first = pa.array(groups.first_rows())
        calls = zip(self._calls, self._no_rows(groups.count), self._fields(rows), strict=True)
        fields = [call.fold(groups, empty, parts) for call, empty, parts in calls]
        columns = [column.take(first) for column in rows.columns[: self._width + 1]]
        return partial_rows(self._calls, columns, fields, groups.count)

    def watermark(self, timestamp: int) -> int:
        """Emit the windows that have ended."""
        if self.context.is_streaming:
            self._fire(max(timestamp, self._watermark))
        return self._watermark

    def end(self) -> None:
        """Emit all windows of a bounded query; in streaming mode the last watermark already did."""
        if not self.context.is_streaming:
            self._fire(MAX_WATERMARK)

    def _fire(self, until: int) -> None:
        windows: dict[tuple[int, int], list[int]] = {}
        over = []
        for end in self._lengths:
            for window in self._plan.windows(end, self._watermark, until):
                windows.setdefault(window, []).append(end)
            if self._plan.is_over(end, until):
                over.append(end)
        self._watermark = until
        ordered = sorted(windows, key=lambda window: window[1])
        for batch in merged((self._result(*window, windows[window]) for window in ordered), _AT_ONCE):
            self.context.emit(batch)
        for end in over:
            self._log.remove(end)
            self._unsaved.pop(end, None)
            del self._lengths[end]

    def _result(self, start: int, end: int, slices: Sequence[int]) -> ColumnBatch:
        rows = self._merged([part for slice_end in sorted(slices) for part in self._rows(slice_end)])
        last = int(self._plan.window.clock.instants(np.array([end - 1]))[0])
        times = {"start": start, "end": end, "time": last}
        columns = [
            rows.columns[self._plan.keys.index(source)].cast(arrow_type(kind))
            if isinstance(source, int)
            else pa.array(np.full(rows.length, times[source] * US, np.int64)).cast(arrow_type(kind))
            for source, kind in self._plan.outputs
        ]
        return ColumnBatch((*columns, *results(self._calls, self._fields(rows))), rows.length)

    def _fields(self, rows: ColumnBatch) -> list[Fields]:
        return fields_of(self._calls, rows.columns[self._width + 1 :])

    def flush(self) -> None:
        """Write the partial results since the last version to the state."""
        for end, parts in self._unsaved.items():
            rows = self._merged(parts)
            self._log.append(rows, key_groups(rows, range(self._width), self.context.max_parallelism), end)
        self._unsaved = {}


def _emitted(snapshot: Snapshot) -> int:
    """Return the watermark up to which windows were emitted; former versions noted another one before it."""
    emitted: int = snapshot[1] if isinstance(snapshot, tuple) else snapshot
    return emitted
