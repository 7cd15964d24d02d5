"""Time windows and window table functions. Flink: `WindowTableFunctionOperator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.column_types import DataType
from firesteel.columns.kernel import Kernel, KernelContext, TimedKernel
from firesteel.columns.rows import RowOutput, keys_of, rows_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from collections.abc import Callable

US = 1000
Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class WindowPlan:
    """The assignment of rows to windows; see `rel.Window`. Lengths are in milliseconds."""

    kind: str
    time: int
    size: int
    step: int = 0
    offset: int = 0
    is_rowtime: bool = True
    rows: bool = False
    partition: tuple[int, ...] = ()

    def windows(self, time: int) -> list[tuple[int, int]]:
        """Return the (start, end) of each TUMBLE, HOP or CUMULATE window that contains a time (ms)."""
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
        rows, starts, ends = assign(window, times)
        taken = batch if len(rows) == batch.length and window.kind == "TUMBLE" else batch.take(rows)
        self.context.emit(taken.with_columns([*taken.columns, *_window_columns(starts, ends, self._time_type)]))


def assign(window: WindowPlan, times: Array) -> tuple[Array, Array, Array]:
    """Return row indexes with the start and end of each window that contains the row, ordered by row."""
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


def _window_columns(starts: object, ends: object, time_type: pa.DataType) -> list[pa.Array]:
    plain = pa.timestamp("us")
    return [
        pa.array(np.asarray(starts, np.int64) * US).cast(plain),
        pa.array(np.asarray(ends, np.int64) * US).cast(plain),
        pa.array((np.asarray(ends, np.int64) - 1) * US).cast(time_type),
    ]


class SessionTable(TimedKernel):
    """Buffers the rows of each session until it ends, then emits them with its start and end.

    A row behind the watermark is late unless it extends a session that has not ended.
    """

    def __init__(self, plan: WindowTableFactory) -> None:
        super().__init__()
        self._plan = plan
        self._types = [*(arrow_type(kind) for kind in plan.types), pa.timestamp("us"), pa.timestamp("us")]
        self._types.append(arrow_type(plan.time_type))

    def open(self, context: KernelContext) -> None:
        """Open the table of sessions by key, each `[start, end, rows]`."""
        super().open(context)
        self._table = context.table("sessions")

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows to their sessions; a row between two sessions merges them."""
        window = self._plan.window
        keys = keys_of(batch, window.partition, self.context.max_parallelism)
        for key, time, row in zip(keys, times_of(batch.columns[window.time]), rows_of(batch), strict=True):
            if time is None:
                continue
            sessions, end = self._table.data.get(key, []), time + window.size
            if end - 1 > self._watermark or touching(sessions, time, end):
                self._table.put(key, merge_session(sessions, time, end, [row], list.extend))

    def watermark(self, timestamp: int) -> int:
        """Emit the sessions that have ended."""
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
        """Emit all sessions of a bounded query."""
        self.watermark(2**63 - 1)


def touching(sessions: list[Any], start: int, end: int) -> list[Any]:
    """Return the sessions, each `[start, end, content]`, that a session from `start` to `end` (ms) is merged with."""
    return [session for session in sessions if session[0] <= end and start <= session[1]]


def merge_session(
    sessions: list[Any], start: int, end: int, content: object, join: Callable[[Any, Any], object]
) -> list[Any]:
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
