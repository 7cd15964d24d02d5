"""Session windows: tables of their rows, and aggregates. Flink: `WindowOperator` over `EventTimeSessionWindows`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernel import MAX_WATERMARK, KernelContext, LateRows, WindowKernel
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.calls.vectorized import vector_calls, window_calls
from firesteel.columns.kernels.groups.group_vectors import (
    covers,
    fields_of,
    fold,
    load,
    partial_rows,
    repeated,
    results,
)
from firesteel.columns.kernels.times.time_windows import WindowPlan, millis_of, window_columns
from firesteel.columns.kernels.windows import window_results
from firesteel.columns.kernels.windows.session_rows import SessionRows
from firesteel.columns.kernels.windows.session_spans import Ended, Merge
from firesteel.columns.kernels.windows.window_results import WindowResults
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.rows import is_retraction, kinds_list, rows_of, signs_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory
    from firesteel.columns.kernels.windows.window_tables import WindowTableFactory


class _Sessions(WindowKernel):
    """Collects the rows of each session until it ends.

    A row behind the watermark is late unless it extends a session that has not ended. A retraction belongs to the
    session of its time, as in Flink, so a session may be longer than the rows that it has in the end.
    """

    def __init__(self, window: WindowPlan, keys: tuple[int, ...]) -> None:
        super().__init__()
        self._window = window
        self._keys = keys
        self._now = 0

    def _open(self, keys: tuple[int, ...], merge: Merge | None = None) -> None:
        self._rows = SessionRows(self._window, keys, self.context, merge)
        self.late = LateRows(self.context)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to the sessions; late ones are dropped."""
        window = self._window
        if window.is_rowtime:
            batch = batch.without_nulls(window.time)
        times = window.clock.local(self._instants(batch))
        is_late = window.clock.timers(times + window.size - 1) <= self._watermark
        if batch.length:
            self.late.add(self._rows.add(self._waiting(batch), times, is_late))

    def _instants(self, batch: ColumnBatch) -> Array:
        if self._window.is_rowtime:
            return millis_of(batch.columns[self._window.time])
        self._now = max(self._now, self.context.now_ms())  # A clock that is set back does not open sessions again.
        return np.full(batch.length, self._now, np.int64)

    def _waiting(self, batch: ColumnBatch) -> ColumnBatch:
        """Return what has to wait of rows for the end of their sessions."""
        return batch

    def watermark(self, timestamp: int) -> int:
        """Emit the sessions that have ended in event time."""
        if not self._window.is_rowtime:
            return timestamp
        watermark = self._advance(timestamp)
        if self.context.is_streaming:
            self._fire(watermark)
        return watermark

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the sessions that have ended in processing time."""
        if not self._window.is_rowtime:
            self._fire(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when the earliest session in processing time may end, or None."""
        return None if self._window.is_rowtime else self._rows.next_end()

    def end(self) -> None:
        """Emit all sessions of a bounded query."""
        # Also in processing time: nothing can prolong a session after the end of the input.
        self._fire(MAX_WATERMARK)

    def flush(self) -> None:
        """Write the rows that wait to the state."""
        self._rows.flush()

    def _fire(self, until: int) -> None:
        ended = self._rows.take(until)
        if ended is not None:
            self._emit(ended)

    def _emit(self, ended: Ended) -> None:
        raise NotImplementedError


class SessionTable(_Sessions):
    """Emits the rows of each session with its start and end, when it ends.

    Flink's operator of this table function does not keep its watermark.
    """

    carries_state = False

    def __init__(self, plan: WindowTableFactory) -> None:
        super().__init__(plan.window, plan.window.partition)
        self._time_type = arrow_type(plan.time_type)

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._open(self._keys)

    def _emit(self, ended: Ended) -> None:
        starts, ends = ended.starts[ended.codes], ended.ends[ended.codes]
        added = window_columns(self._window, starts, ends, self._time_type)
        self.context.emit(ended.rows.with_columns([*ended.rows.columns, *added]))


class SessionAggregate(_Sessions):
    """Aggregates per key and session, emitted when the session ends.

    Where the accumulators of all calls are numbers, and rows are not retracted, those of rows wait, and those of one
    session are merged. Else the rows wait, and are aggregated in the order in which they came when the session ends.
    """

    def __init__(self, plan: WindowAggregateFactory) -> None:
        assert plan.window is not None
        super().__init__(plan.window, plan.keys)
        self._plan = plan
        self.carries_state = plan.is_of_table
        self._width = len(plan.keys)
        self._calls: list[VectorCall] | None = None if plan.retracts else vector_calls(plan.calls, plan.input_types)
        self._calls_of_rows = window_calls(plan.calls, plan.input_types, plan.retracts)

    def go_by_rows(self) -> None:
        """Keep rows instead of accumulators, which tests compare; the results are the same."""
        self._calls = self._calls_of_rows = None
        self._open(self._keys)

    def open(self, context: KernelContext) -> None:
        """Open the functions and the state."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self._results = WindowResults(plan, self._aggregates, context, None)
        if self._calls is None:
            self._open(plan.keys)
        else:
            self._empty = load(self._calls, [self._aggregates.new()]) or []
            self._open(tuple(range(self._width)), self._merged)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def _waiting(self, batch: ColumnBatch) -> ColumnBatch:
        """Return the keys and the accumulators of single rows, or the rows."""
        if self._calls is None:
            return batch
        groups = RowGroups.numbered(np.arange(batch.length), batch.length)
        keys = [batch.columns[key] for key in self._plan.keys]
        return partial_rows(
            self._calls, keys, fold(self._calls, self._no_rows(batch.length), groups, batch), batch.length
        )

    def _no_rows(self, count: int) -> list[Fields]:
        return repeated(self._empty, count)

    def _fields(self, rows: ColumnBatch) -> list[Fields]:
        return fields_of(self._calls or (), rows.columns[self._width :])

    def _merged(self, rows: ColumnBatch, codes: Array, count: int) -> ColumnBatch:
        """Return the keys and accumulators of sessions, given those of their parts in the order of their arrival."""
        groups = RowGroups.numbered(codes, count)
        first = pa.array(groups.first_rows())
        calls = self._calls or ()
        parts = zip(calls, self._no_rows(count), self._fields(rows), strict=True)
        merged = [call.fold(groups, empty, added) for call, empty, added in parts]
        return partial_rows(calls, [column.take(first) for column in rows.columns[: self._width]], merged, count)

    def _emit(self, ended: Ended) -> None:
        if self._calls is None:
            self._emit_rows(ended)
            return
        rows = self._merged(ended.rows, ended.codes, len(ended.starts))
        columns = [*rows.columns[: self._width], *results(self._calls, self._fields(rows))]
        self._results.give_columns(columns, ended.starts, ended.ends)

    def _emit_rows(self, ended: Ended) -> None:
        """Aggregate the rows of sessions; those without rows have no result."""
        calls, rows, codes, count = self._calls_of_rows, ended.rows, ended.codes, len(ended.starts)
        if calls is None or not covers(calls, rows, retracts=True):
            self._results.give(self._aggregated(ended))
            return
        groups = RowGroups.numbered(codes, count)
        empty = load(calls, [self._aggregates.new() for _ in range(count)])
        assert empty is not None
        signs = signs_of(rows)
        left = np.full(count, True) if signs is None else groups.fold(np.add, np.zeros(count, np.int64), signs) > 0
        first = pa.array(groups.first_rows())
        columns = [rows.columns[key].take(first) for key in self._plan.keys]
        columns += results(calls, fold(calls, empty, groups, rows))
        self._results.give_columns([column.filter(left) for column in columns], ended.starts[left], ended.ends[left])

    def _aggregated(self, ended: Ended) -> list[window_results.Ended]:
        """Aggregate sessions row by row."""
        states = [self._aggregates.new() for _ in ended.starts]
        counts = [0] * len(states)
        arguments = self._aggregates.arguments(ended.rows)
        for code, kind, row in zip(ended.codes.tolist(), kinds_list(ended.rows), arguments, strict=True):
            if is_retraction(kind):
                counts[code] -= 1
                self._aggregates.retract(states[code], row)
            else:
                counts[code] += 1
                self._aggregates.add(states[code], row)
        # All rows of a session have the same key, so any of them tells it.
        first = ended.rows.take(RowGroups.numbered(ended.codes, len(states)).first_rows())
        keys = rows_of(first.with_columns([first.columns[key] for key in self._keys]))
        found = zip(counts, keys, states, ended.starts.tolist(), ended.ends.tolist(), strict=True)
        return [(key, state, start, end) for count, key, state, start, end in found if count > 0]
