"""Time windows and window table functions. Flink: `WindowTableFunctionOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import MAX_WATERMARK, Kernel, KernelContext, TimedKernel
from firesteel.columns.rows import RowOutput, keys_of, kinds_list, rows_of
from firesteel.columns.values import arrow_type
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock

if TYPE_CHECKING:
    from collections.abc import Callable

US = 1000


@dataclass(frozen=True)
class WindowPlan:
    """The assignment of rows to windows; see `rel.Window`. Lengths are in milliseconds.

    Attributes:
        clock: The clock on which the windows lie: their starts and ends are its local times.
    """

    kind: str
    time: int
    size: int
    step: int = 0
    offset: int = 0
    is_rowtime: bool = True
    rows: bool = False
    partition: tuple[int, ...] = ()
    clock: WindowClock = UTC_CLOCK

    def windows(self, time: int) -> list[tuple[int, int]]:
        """Return the (start, end) of each TUMBLE, HOP or CUMULATE window that contains a local time (ms)."""
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
    """Return timestamps in milliseconds."""
    values = column.cast(pa.int64()).to_pylist()
    return [None if value is None else value // US for value in values]


def millis_of(column: pa.Array) -> Array:
    """Return timestamps without NULLs as an array of milliseconds."""
    millis: Array = np.floor_divide(column.cast(pa.int64()).to_numpy(zero_copy_only=False), US)
    return millis


@dataclass(frozen=True)
class WindowTableFactory:
    """Plan of a window table function.

    Attributes:
        types: Logical types of the input's columns.
        time_type: The logical type of `window_time`, which the Arrow type does not determine.
    """

    window: WindowPlan
    types: tuple[DataType, ...]
    time_type: DataType

    def make(self) -> Kernel:
        """Return the kernel."""
        return SessionTable(self) if self.window.kind == "SESSION" else WindowTable(self)


class WindowTable(Kernel):
    """Emits each row once for each window that contains it."""

    def __init__(self, plan: WindowTableFactory) -> None:
        self._plan = plan
        self._time_type = arrow_type(plan.time_type)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows with the start, end and time of their windows."""
        window = self._plan.window
        if window.is_rowtime:
            if batch.columns[window.time].null_count:
                batch = batch.filter(batch.columns[window.time].is_valid().to_numpy(zero_copy_only=False))
            times = millis_of(batch.columns[window.time])
        else:
            times = np.full(batch.length, self.context.now_ms(), np.int64)
        rows, starts, ends = assign(window, window.clock.local(times))
        taken = batch if len(rows) == batch.length and window.kind == "TUMBLE" else batch.take(rows)
        self.context.emit(taken.with_columns([*taken.columns, *_window_columns(window, starts, ends, self._time_type)]))


def assign(window: WindowPlan, times: Array) -> tuple[Array, Array, Array]:
    """Return row indexes with the start and end of each window that contains the row, ordered by row.

    All times are local ones of the windows' clock.
    """
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


def _window_columns(window: WindowPlan, starts: Array, ends: Array, time_type: pa.DataType) -> list[pa.Array]:
    plain = pa.timestamp("us")
    return [
        pa.array(starts * US).cast(plain),
        pa.array(ends * US).cast(plain),
        pa.array(window.clock.instants(ends - 1) * US).cast(time_type),
    ]


class SessionTable(TimedKernel):
    """Buffers the rows of each session until it ends, then emits them with its start and end.

    A row behind the watermark is late unless it extends a session that has not ended. A retraction belongs to the
    session of its time, as in Flink, so a session may be longer than the rows that it has in the end.
    """

    def __init__(self, plan: WindowTableFactory) -> None:
        super().__init__()
        self._plan = plan
        self._types = [*(arrow_type(kind) for kind in plan.types), pa.timestamp("us"), pa.timestamp("us")]
        self._types.append(arrow_type(plan.time_type))

    def open(self, context: KernelContext) -> None:
        """Open the table of sessions by key, each `[start, end, (row, kind) pairs]`."""
        super().open(context)
        self._table = context.table("sessions")

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their sessions; a row between two sessions merges them."""
        window = self._plan.window
        keys = keys_of(batch, window.partition, self.context.max_parallelism)
        now: list[int | None] = [self.context.now_ms()] * batch.length
        times = window.clock.local_times(times_of(batch.columns[window.time]) if window.is_rowtime else now)
        for key, time, row, kind in zip(keys, times, rows_of(batch), kinds_list(batch), strict=True):
            if time is None:
                continue
            sessions, end = self._table.data.get(key, []), time + window.size
            is_late = window.is_rowtime and window.clock.timer(end - 1) <= self._watermark
            if not is_late or touching(sessions, time, end):
                self._table.put(key, merge_session(sessions, time, end, [(row, kind)], list.extend))

    def watermark(self, timestamp: int) -> int:
        """Emit the sessions that have ended in event time."""
        self._watermark = timestamp
        if self._plan.window.is_rowtime:
            self._fire(timestamp)
        return timestamp

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the sessions that have ended in processing time."""
        if not self._plan.window.is_rowtime:
            self._fire(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when the earliest session in processing time ends, or None."""
        if self._plan.window.is_rowtime or not self._table.data:
            return None
        clock = self._plan.window.clock
        return min(clock.timer(session[1] - 1) for sessions in self._table.data.values() for session in sessions)

    def _fire(self, until: int) -> None:
        window = self._plan.window
        output = RowOutput(self._types, self.context.emit)
        for key, sessions in list(self._table.data.items()):
            done = [session for session in sessions if window.clock.timer(session[1] - 1) <= until]
            if not done:
                continue
            left = [session for session in sessions if window.clock.timer(session[1] - 1) > until]
            if left:
                self._table.put(key, left)
            else:
                self._table.remove(key)
            for start, end, rows in done:
                columns = _window_columns(window, np.array([start]), np.array([end]), self._types[-1])
                values = [column.to_pylist()[0] for column in columns]
                for row, kind in rows:
                    output.add(kind, (*row, *values))
        output.flush()

    def end(self) -> None:
        """Emit all sessions of a bounded query."""
        self._fire(MAX_WATERMARK)


def touching(sessions: list[Cell], start: int, end: int) -> list[Cell]:
    """Return the sessions, each `[start, end, content]`, that a session from `start` to `end` (ms) is merged with."""
    return [session for session in sessions if session[0] <= end and start <= session[1]]


def merge_session(
    sessions: list[Cell], start: int, end: int, content: object, join: Callable[[Cell, Cell], object]
) -> list[Cell]:
    """Add a session, merging it with those that it touches; the result is last in the returned list.

    Args:
        sessions: The sessions so far, each `[start, end, content]`.
        start: The start of the new session (ms).
        end: Its end.
        content: Its content.
        join: Adds the content in its second argument to its first.
    """
    touched = touching(sessions, start, end)
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
