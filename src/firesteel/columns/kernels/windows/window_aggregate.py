"""Aggregates over windows. Flink: `SlicingWindowOperator`, `WindowOperator`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import Kernel, KernelContext, LateRows, WindowKernel
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vectorized import window_calls
from firesteel.columns.kernels.times.time_windows import WindowPlan, assign, millis_of, times_of
from firesteel.columns.kernels.windows.count_windows import CountWindows
from firesteel.columns.kernels.windows.sessions import SessionAggregate
from firesteel.columns.kernels.windows.window_results import Ended, WindowResults
from firesteel.columns.kernels.windows.window_vectors import WindowVectors
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import can_factorize
from firesteel.columns.rows import is_retraction, keys_of, kinds_list
from firesteel.columns.state_layout import Layout, groups_layout
from firesteel.columns.values import arrow_type
from firesteel.columns.window_clock import IN_UTC, WindowClock, WindowSource


@dataclass(frozen=True)
class WindowAggregateFactory:
    """Plan of aggregates per key and window.

    Attributes:
        window: The assignment of rows to windows; None if the input has columns of window start and end.
        window_columns: The indexes of these columns, if `window` is None.
        properties: The last columns of the result, each `start`, `end`, `rowtime` or `proctime`.
        output_types: Logical types of keys, calls and properties.
        flat: Whether the only call is a table aggregate function.
        source: What the windows are if `window` is None: their clock, and whether they are in event time.
        is_of_table: Whether a window table function assigns the windows; others begin anew in another job, as in Flink.
    """

    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    window: WindowPlan | None
    window_columns: tuple[int | None, ...] | None
    properties: tuple[str, ...]
    input_types: tuple[DataType, ...]
    output_types: tuple[DataType, ...]
    retracts: bool = False
    flat: bool = False
    source: WindowSource = IN_UTC
    is_of_table: bool = False

    @property
    def clock(self) -> WindowClock:
        """Return the clock of the windows."""
        return self.source.clock if self.window is None else self.window.clock

    @property
    def is_rowtime(self) -> bool:
        """Return whether the windows are in event time."""
        return self.source.is_rowtime if self.window is None else self.window.is_rowtime

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        windows = () if self.window is None else self.window.state_layout()
        return *groups_layout(self.keys, self.calls, self.input_types, self.retracts), *windows

    def make(self) -> Kernel:
        """Return the kernel."""
        if self.window is not None and self.window.rows:
            return CountWindows(self)
        is_session = self.window is not None and self.window.kind == "SESSION"
        return SessionAggregate(self) if is_session else WindowAggregate(self)


class WindowAggregate(WindowKernel):
    """Aggregates per key and window, emitted when the window ends.

    State: `windows` maps key, start and end to `[values of the key, accumulators, row count]`. `_by_end` indexes the
    entries by window end; it is rebuilt from the state on restore.
    """

    def __init__(self, plan: WindowAggregateFactory) -> None:
        super().__init__()
        self._plan = plan
        self.carries_state = plan.is_of_table
        self._in_event_time = plan.is_rowtime
        self._clock = plan.clock
        # Rows of an earlier operator may have been assigned to their windows before this one begins a batch: a window
        # that ended by then would end without them, and once more with them.
        self._ends_with_batch = plan.window is None and not plan.is_rowtime
        self._has_ended = False

    def open(self, context: KernelContext) -> None:
        """Open the functions, and index the restored windows by their end."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self.late = LateRows(context)
        self._table = context.table("windows")
        self._by_end: dict[int, set[Cell]] = defaultdict(set)
        for entry in self._table.data:
            self._by_end[entry[-1]].add(entry)
        calls = window_calls(plan.calls, plan.input_types, plan.retracts)
        self._vectors: WindowVectors | None = None
        factorizes = all(can_factorize(arrow_type(kind)) for kind in plan.output_types[: len(plan.keys)])
        if calls is not None and factorizes:
            self._vectors = WindowVectors(
                plan.keys, calls, self._table, self._by_end, self._aggregates.new, context.max_parallelism
            )
        self._results = WindowResults(plan, self._aggregates, context, calls)

    def go_by_rows(self) -> None:
        """Disable the vectorized path, which tests compare with the row path; the results are the same."""
        self._vectors = None
        self._results = WindowResults(self._plan, self._aggregates, self.context, None)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their windows; rows whose window has ended are dropped as late."""
        if self._vectors is None or not self._process_vectors(self._vectors, batch):
            self._process_rows(batch)

    def _process_vectors(self, vectors: WindowVectors, batch: ColumnBatch) -> bool:
        """Add a batch by arrays; return False, without any change, if it must be added row by row."""
        plan = self._plan
        if plan.window is None:
            assert plan.window_columns is not None
            columns = [batch.columns[i] for i in plan.window_columns[:2] if i is not None]
            if any(column.null_count for column in columns):
                return False
            starts, ends = map(millis_of, columns)
            rows = np.arange(batch.length)
        else:
            if plan.window.is_rowtime:
                batch = batch.without_nulls(plan.window.time)
                times = millis_of(batch.columns[plan.window.time])
            else:
                times = np.full(batch.length, self.context.now_ms(), np.int64)
            rows, starts, ends = assign(plan.window, self._clock.local(times))
        late = self._clock.timers(ends - 1) <= self._watermark if self._in_event_time else np.zeros(len(ends), bool)
        dropped = 0
        if late.any():
            # As in Flink, a row is dropped if it is too late for all of its windows.
            dropped = len(np.setdiff1d(rows[late], rows[~late]))
            rows, starts, ends = rows[~late], starts[~late], ends[~late]
        if not vectors.add(batch, rows, starts, ends):
            return False
        self.late.add(dropped)
        return True

    def _process_rows(self, batch: ColumnBatch) -> None:
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        originals = [pylist(batch.columns[k]) for k in self._plan.keys]
        values = list(zip(*originals, strict=True)) if originals else [()] * batch.length
        arguments = self._aggregates.arguments(batch)
        rows = zip(keys, values, self._windows(batch), kinds_list(batch), arguments, strict=True)
        for key, original, windows, kind, row in rows:
            open_windows = [window for window in windows if not self._is_late(window[1])]
            for start, end in open_windows:
                self._add(key, original, start, end, kind, row)
            if windows and not open_windows:
                self.late.add(1)

    def _windows(self, batch: ColumnBatch) -> list[list[tuple[int, int]]]:
        plan = self._plan
        if plan.window is None:
            assert plan.window_columns is not None
            start, end = (times_of(batch.columns[i]) for i in plan.window_columns[:2])  # type: ignore[index]
            return [[(a, b)] for a, b in zip(start, end, strict=True)]  # type: ignore[list-item]
        if plan.window.is_rowtime:
            times = times_of(batch.columns[plan.window.time])
        else:
            times = [self.context.now_ms()] * batch.length
        times = self._clock.local_times(times)
        known: dict[int, list[tuple[int, int]]] = {}
        found: list[list[tuple[int, int]]] = []
        for time in times:
            if time is None:
                found.append([])
                continue
            windows = known.get(time)
            if windows is None:
                # Many rows of a batch have the same time, and with HOP each has many windows.
                windows = known[time] = plan.window.windows(time)
            found.append(windows)
        return found

    def _is_late(self, end: int) -> bool:
        return self._in_event_time and self._is_over(end, self._watermark)

    def _is_over(self, end: int, until: int) -> bool:
        """Return whether a window with this end has ended at an instant (ms)."""
        return self._clock.timer(end - 1) <= until

    def _add(self, key: Cell, values: object, start: int, end: int, kind: int, row: tuple[Cell, ...]) -> None:
        entry = (*key, start, end)
        state = self._table.data.get(entry)
        if state is None:
            state = [values, self._aggregates.new(), 0]
            self._by_end[end].add(entry)
        if is_retraction(kind):
            state[2] -= 1
            self._aggregates.retract(state[1], row)
        else:
            state[2] += 1
            self._aggregates.add(state[1], row)
        self._table.put(entry, state)

    def watermark(self, timestamp: int) -> int:
        """Emit the windows that have ended in event time."""
        if not self._in_event_time:
            return timestamp
        watermark = self._advance(timestamp)
        if self.context.is_streaming:
            self._fire(watermark)
        return watermark

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the windows that have ended in processing time."""
        if not (self._in_event_time or self._ends_with_batch):
            self._fire(now_ms)

    def end_batch(self) -> None:
        """Emit those of an earlier operator, all of whose rows are there now."""
        if self._ends_with_batch and self.context.is_streaming and not self._has_ended:
            self._fire(self.context.now_ms())

    def next_processing_time(self) -> int | None:
        """Return the last ms of the earliest window in processing time, or None."""
        if self._in_event_time or not self._by_end:
            return None
        return min(self._clock.timer(end - 1) for end in self._by_end)

    def end(self) -> None:
        """Emit all windows of a bounded query; in streaming mode the last watermark already did."""
        self.end_batch()  # What is due; as in Flink, other windows in processing time are dropped.
        self._has_ended = True
        if not self.context.is_streaming:
            self._fire(2**63 - 1)

    def _fire(self, until: int) -> None:
        ended: list[Ended] = []
        for end in sorted(end for end in self._by_end if self._is_over(end, until)):
            for entry in self._by_end.pop(end):
                ended += self._take_window(entry, end)
        self._results.give(ended)

    def _take_window(self, entry: tuple[Cell, ...], end: int) -> list[Ended]:
        state = self._table.data.get(entry)
        if state is None:
            return []
        self._table.remove(entry)
        # A window whose rows were all retracted has no result (Flink: `RecordCounter`).
        return [(state[0], state[1], entry[-2], end)] if state[2] > 0 else []
