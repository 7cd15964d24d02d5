"""Time windows, and the windows that rows belong to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array
from firesteel.columns.pylist import pylist
from firesteel.columns.state_layout import Layout
from firesteel.columns.window_clock import UTC_CLOCK, WindowClock

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

    def state_layout(self) -> Layout:
        """Return what state by window depends on; a session may go on with another gap."""
        if self.kind == "SESSION":
            return ("SESSION windows",)
        unit = "rows" if self.rows else "ms"
        more = ((" by", self.step), (" from", self.offset))
        return (f"{self.kind} windows of {self.size} {unit}" + "".join(f"{word} {n} {unit}" for word, n in more if n),)

    def windows(self, time: int) -> list[tuple[int, int]]:
        """Return the (start, end) of each TUMBLE, HOP or CUMULATE window that contains a local time (ms)."""
        if self.kind == "TUMBLE":
            start = time - (time - self.offset) % self.size
            return [(start, start + self.size)]
        if self.kind == "HOP":
            last = time - (time - self.offset) % self.step
            # -(-a // b) rounds up; `%` is never negative in Python, so times before 1970 need no other rule.
            count = -(-(self.size - (time - last)) // self.step)
            return [(last - i * self.step, last - i * self.step + self.size) for i in range(count)]
        start = time - (time - self.offset) % self.size
        first = (time - start) // self.step + 1
        return [(start, start + i * self.step) for i in range(first, self.size // self.step + 1)]


def times_of(column: pa.Array) -> list[int | None]:
    """Return timestamps in milliseconds."""
    # Floor division, which also rounds times before 1970 down.
    values = pylist(column.cast(pa.int64()))
    return [None if value is None else value // US for value in values]


def millis_of(column: pa.Array) -> Array:
    """Return timestamps as an array of milliseconds; 0 for NULL, which is what Flink reads from its rows there."""
    micros = column.cast(pa.int64())
    # numpy would make NaN of NULL, to which nothing compares.
    micros = micros.fill_null(0) if micros.null_count else micros
    millis: Array = np.floor_divide(micros.to_numpy(zero_copy_only=False), US)
    return millis


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


def window_columns(window: WindowPlan, starts: Array, ends: Array, time_type: pa.DataType) -> list[pa.Array]:
    """Return the start, end and time of the windows of rows, given their local start and end in ms."""
    plain = pa.timestamp("us")
    return [
        pa.array(starts * US).cast(plain),
        pa.array(ends * US).cast(plain),
        pa.array(window.clock.instants(ends - 1) * US).cast(time_type),
    ]
