"""Windows of time: window table functions and aggregates over windows. Flink: `SlicingWindowOperator`."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import MIN_WATERMARK, Kernel, KernelContext
from firesteel.columns.kernels.aggregate_set import AggregateSet, CallPlan
from firesteel.columns.rows import RowOutput, is_retraction, keys_of, kinds_list, rows_of
from firesteel.columns.values import arrow_type

US = 1000


@dataclass(frozen=True)
class WindowPlan:
    """How rows fall into windows; see `rel.Window`. Lengths in milliseconds."""

    kind: str
    time: int
    size: int
    step: int = 0
    offset: int = 0
    is_rowtime: bool = True
    rows: bool = False
    partition: tuple[int, ...] = ()

    def windows(self, time: int) -> list[tuple[int, int]]:
        """Return start and end of the windows that a time (ms) is in; those of TUMBLE, HOP and CUMULATE."""
        if self.kind == "TUMBLE":
            start = time - (time - self.offset) % self.size
            return [(start, start + self.size)]
        if self.kind == "HOP":
            last = time - (time - self.offset) % self.step
            count = -(-(self.size - (time - last)) // self.step)
            return [(last - i * self.step, last - i * self.step + self.size) for i in range(count)]
        start = time - (time - self.offset) % self.size
        first = (time - start) // self.step + 1
        return [(start, start + i * self.step) for i in range(first, self.size // self.step + 1)]


def times_of(column: pa.Array) -> list[int | None]:
    """Return timestamps as milliseconds."""
    values = column.cast(pa.int64()).to_pylist()
    return [None if value is None else value // US for value in values]


@dataclass(frozen=True)
class WindowTableFactory:
    """A window table function.

    Attributes:
        types: Logical types of the input's columns.
        time_type: Arrow's type name does not tell: the logical type of window_time.
    """

    window: WindowPlan
    types: tuple[Any, ...]
    time_type: Any

    def make(self) -> Kernel:
        """Return the kernel."""
        return SessionTable(self) if self.window.kind == "SESSION" else WindowTable(self)


class WindowTable(Kernel):
    """Puts each row once into each window that it is in."""

    def __init__(self, plan: WindowTableFactory) -> None:
        self._plan = plan
        self._time_type = arrow_type(plan.time_type)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows with start, end and time of their windows."""
        window = self._plan.window
        if window.is_rowtime:
            micros = batch.columns[window.time].cast(pa.int64())
            if micros.null_count:
                batch = batch.filter(micros.is_valid().to_numpy(zero_copy_only=False))
                micros = batch.columns[window.time].cast(pa.int64())
            times = np.floor_divide(micros.to_numpy(zero_copy_only=False), US)
        else:
            times = np.full(batch.length, self.context.now_ms(), np.int64)
        rows, starts, ends = _assign(window, times)
        taken = batch if len(rows) == batch.length and window.kind == "TUMBLE" else batch.take(rows)
        self.context.emit(taken.with_columns([*taken.columns, *_window_columns(starts, ends, self._time_type)]))


def _assign(window: WindowPlan, times: np.ndarray[Any, Any]) -> tuple[Any, Any, Any]:
    """Return row numbers with window starts and ends, row by row."""
    rows = np.arange(len(times))
    if window.kind == "TUMBLE":
        starts = times - (times - window.offset) % window.size
        return rows, starts, starts + window.size
    if window.kind == "HOP":
        count = -(-window.size // window.step)
        last = times - (times - window.offset) % window.step
        starts = (last[:, None] - np.arange(count) * window.step).ravel()
        keep = np.repeat(times, count) < starts + window.size
        return np.repeat(rows, count)[keep], starts[keep], starts[keep] + window.size
    count = window.size // window.step
    start = times - (times - window.offset) % window.size
    ends = (start[:, None] + np.arange(1, count + 1) * window.step).ravel()
    keep = np.repeat(times, count) < ends
    return np.repeat(rows, count)[keep], np.repeat(start, count)[keep], ends[keep]


def _window_columns(starts: Any, ends: Any, time_type: pa.DataType) -> list[pa.Array]:
    plain = pa.timestamp("us")
    return [
        pa.array(np.asarray(starts, np.int64) * US).cast(plain),
        pa.array(np.asarray(ends, np.int64) * US).cast(plain),
        pa.array((np.asarray(ends, np.int64) - 1) * US).cast(time_type),
    ]


class SessionTable(Kernel):
    """Keeps the rows of each session until it ends, then gives them with its start and end."""

    def __init__(self, plan: WindowTableFactory) -> None:
        self._plan = plan
        self._types = [*(arrow_type(kind) for kind in plan.types), pa.timestamp("us"), pa.timestamp("us")]
        self._types.append(arrow_type(plan.time_type))
        self._watermark = MIN_WATERMARK

    def open(self, context: KernelContext) -> None:
        """Get the sessions: per key start, end and rows of each."""
        super().open(context)
        self._table = context.table("sessions")

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their sessions, which may join two."""
        window = self._plan.window
        keys = keys_of(batch, window.partition, self.context.max_parallelism)
        for key, time, row in zip(keys, times_of(batch.columns[window.time]), rows_of(batch), strict=True):
            if time is None or time + window.size - 1 <= self._watermark:
                continue
            sessions = self._table.data.get(key, [])
            self._table.put(key, merge_session(sessions, time, time + window.size, [row], list.extend))

    def watermark(self, timestamp: int) -> int:
        """Give the sessions that ended."""
        self._watermark = timestamp
        output = RowOutput(self._types, self.context.emit)
        for key, sessions in list(self._table.data.items()):
            done = [session for session in sessions if session[1] - 1 <= timestamp]
            if not done:
                continue
            left = [session for session in sessions if session[1] - 1 > timestamp]
            if left:
                self._table.put(key, left)
            else:
                self._table.remove(key)
            for start, end, rows in done:
                columns = [column.to_pylist()[0] for column in _window_columns([start], [end], self._types[-1])]
                output.extend((*row, *columns) for row in rows)
        output.flush()
        return timestamp

    def end(self) -> None:
        """Give all sessions of a bounded query."""
        self.watermark(2**63 - 1)


def merge_session(sessions: list[Any], start: int, end: int, content: Any, join: Any) -> list[Any]:
    """Return sessions with one more, merged with those that it touches; `join` adds another's content to one."""
    touched = [s for s in sessions if s[0] <= end and start <= s[1]]
    rest = [s for s in sessions if not (s[0] <= end and start <= s[1])]
    if not touched:
        return [*rest, [start, end, content]]
    first = touched[0]
    for other in touched[1:]:
        join(first[2], other[2])
    join(first[2], content)
    first[0] = min(start, *(s[0] for s in touched))
    first[1] = max(end, *(s[1] for s in touched))
    return [*rest, first]


@dataclass(frozen=True)
class WindowAggregateFactory:
    """Aggregates per key and window.

    Attributes:
        window: How rows fall into windows, None: the input has columns of window start and end.
        window_columns: Then their indexes.
        properties: `start`, `end`, `rowtime` or `proctime`: the last columns of the result.
        output_types: Of keys, calls and properties.
    """

    keys: tuple[int, ...]
    calls: tuple[CallPlan, ...]
    window: WindowPlan | None
    window_columns: tuple[int | None, ...] | None
    properties: tuple[str, ...]
    input_types: tuple[Any, ...]
    output_types: tuple[Any, ...]
    retracts: bool = False

    def make(self) -> Kernel:
        """Return the kernel."""
        return CountWindows(self) if self.window is not None and self.window.rows else WindowAggregate(self)


class WindowAggregate(Kernel):
    """State per window: start, accumulators and the key's values, in a table by key and end."""

    def __init__(self, plan: WindowAggregateFactory) -> None:
        self._plan = plan
        self._watermark = MIN_WATERMARK
        self._is_session = plan.window is not None and plan.window.kind == "SESSION"
        self._in_event_time = plan.window is None or plan.window.is_rowtime
        self.late_rows = 0

    def open(self, context: KernelContext) -> None:
        """Open the functions; find when the windows that were restored end."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, plan.retracts, context)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._table = context.table("windows")
        self._by_end: dict[int, set[Any]] = defaultdict(set)
        for entry, state in self._table.data.items():
            for end in [s[1] for s in state] if self._is_session else [entry[-1]]:
                self._by_end[end].add(entry)

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their windows; those whose window ended are dropped."""
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        originals = [batch.columns[k].to_pylist() for k in self._plan.keys]
        values = list(zip(*originals, strict=True)) if originals else [()] * batch.length
        arguments = self._aggregates.arguments(batch)
        rows = zip(keys, values, self._windows(batch), kinds_list(batch), arguments, strict=True)
        add = self._add_to_session if self._is_session else self._add
        for key, original, windows, kind, row in rows:
            for start, end in windows:
                if end - 1 <= self._watermark and self._in_event_time:
                    self.late_rows += 1
                else:
                    add(key, original, start, end, kind, row)

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
        if self._is_session:
            return [[] if time is None else [(time, time + plan.window.size)] for time in times]
        known: dict[int, list[tuple[int, int]]] = {}
        found: list[list[tuple[int, int]]] = []
        for time in times:
            if time is None:
                found.append([])
                continue
            windows = known.get(time)
            if windows is None:
                windows = known[time] = plan.window.windows(time)
            found.append(windows)
        return found

    def _add(self, key: Any, values: Any, start: int, end: int, kind: int, row: Any) -> None:
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

    def _add_to_session(self, key: Any, values: Any, start: int, end: int, kind: int, row: Any) -> None:
        accumulators = self._aggregates.new()
        self._aggregates.add(accumulators, row)
        sessions = self._table.data.get(key, [])
        merged = merge_session(sessions, start, end, [values, accumulators], self._join)
        self._table.put(key, merged)
        self._by_end[merged[-1][1]].add(key)

    def _join(self, content: Any, other: Any) -> None:
        self._aggregates.merge(content[1], other[1])

    def watermark(self, timestamp: int) -> int:
        """Give the windows that ended in event time."""
        if self._in_event_time:
            self._watermark = timestamp
            if self.context.is_streaming:
                self._fire(timestamp)
        return timestamp

    def advance_processing_time(self, now_ms: int) -> None:
        """Give the windows that ended in processing time."""
        if not self._in_event_time:
            self._fire(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when the next window ends."""
        return None if self._in_event_time or not self._by_end else min(self._by_end) - 1

    def end(self) -> None:
        """Give all windows of a bounded query; on a stream the last watermark did so."""
        if not self.context.is_streaming:
            self._fire(2**63 - 1)

    def _fire(self, until: int) -> None:
        due = sorted(end for end in self._by_end if end - 1 <= until)
        for end in due:
            for entry in self._by_end.pop(end):
                if self._is_session:
                    self._fire_sessions(entry, end)
                else:
                    self._fire_window(entry, end)
        self._output.flush()

    def _fire_window(self, entry: Any, end: int) -> None:
        state = self._table.data.get(entry)
        if state is None:
            return
        self._table.remove(entry)
        if state[2] > 0:
            self._give(state[0], state[1], entry[-2], end)

    def _fire_sessions(self, key: Any, end: int) -> None:
        sessions = self._table.data.get(key)
        if sessions is None:
            return
        done = [session for session in sessions if session[1] == end]
        left = [session for session in sessions if session[1] != end]
        if left:
            self._table.put(key, left)
        else:
            self._table.remove(key)
        for start, _, (values, accumulators) in done:
            self._give(values, accumulators, start, end)

    def _give(self, values: Any, accumulators: Any, start: int, end: int) -> None:
        properties = {"start": start, "end": end, "rowtime": end - 1, "proctime": self.context.now_ms()}
        kinds = self._plan.output_types[len(self._plan.output_types) - len(self._plan.properties) :]
        found = tuple(
            pa.scalar(properties[name] * US, pa.int64()).cast(arrow_type(kind)).as_py()
            for name, kind in zip(self._plan.properties, kinds, strict=True)
        )
        self._output.extend([(*values, *self._aggregates.values(accumulators), *found)])

    def snapshot(self) -> Any:
        """Return the watermark, by which rows are late."""
        return self._watermark

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        self._watermark = snapshot


class CountWindows(Kernel):
    """Windows of so many rows per key (Table API: `row_interval`)."""

    def __init__(self, plan: WindowAggregateFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the functions; state per key: how many rows came, and the rows of windows that are not full."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, False, context)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._table = context.table("windows")

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows; a window that is full gives its result."""
        window = self._plan.window
        assert window is not None
        slide = window.step or window.size
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        originals = [batch.columns[k].to_pylist() for k in self._plan.keys]
        values = list(zip(*originals, strict=True)) if originals else [()] * batch.length
        for key, original, row in zip(keys, values, self._aggregates.arguments(batch), strict=True):
            count, kept = self._table.data.get(key, (0, []))
            kept = [*kept, row][-window.size :]
            count += 1
            self._table.put(key, (count, kept))
            if count >= window.size and (count - window.size) % slide == 0:
                states = self._aggregates.new()
                for member in kept:
                    self._aggregates.add(states, member)
                self._output.extend([(*original, *self._aggregates.values(states))])
        self._output.flush()
