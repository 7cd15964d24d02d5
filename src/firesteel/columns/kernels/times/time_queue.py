"""A queue of rows by time, in sorted runs: a watermark costs what is due, not what waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.orders import stable_order
from firesteel.columns.runs.room import Room


@dataclass(frozen=True, slots=True)
class TimedRows:
    """Rows with their times (ms) and numbers in the order of their arrival."""

    rows: ColumnBatch
    times: Array
    arrivals: Array

    def take(self, places: Array) -> TimedRows:
        """Return some of the rows."""
        return TimedRows(self.rows.take(places), self.times[places], self.arrivals[places])

    def slice(self, start: int, stop: int) -> TimedRows:
        """Return the rows from one place to another."""
        return TimedRows(self.rows.slice(start, stop), self.times[start:stop], self.arrivals[start:stop])


def concat_timed(parts: list[TimedRows]) -> TimedRows:
    """Concatenate at least one part."""
    times, arrivals = (np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "arrivals"))
    return TimedRows(concat([part.rows for part in parts]), times, arrivals)


class TimeQueue:
    """Rows in a few runs sorted by time, which are merged when they have similar sizes.

    Args:
        room: Holds the runs.

    Attributes:
        runs: The runs.
        arrived: The number of rows so far.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self.runs: list[TimedRows] = []
        self.arrived = 0

    def add(self, rows: ColumnBatch, times: Array) -> None:
        """Add rows with their times."""
        if rows.length:
            arrivals = np.arange(self.arrived, self.arrived + rows.length)
            self.arrived += rows.length
            self.push(TimedRows(rows, times, arrivals))

    def push(self, added: TimedRows) -> None:
        """Add rows that have their arrival numbers."""
        if (np.diff(added.times) < 0).any():
            added = added.take(stable_order(added.times))
        if self.runs and self._room.should_merge(self.runs[-1].rows, added.rows):
            self.push(concat_timed([self.runs.pop(), added]))
        else:
            self.runs.append(TimedRows(self._room.rows(added.rows), *self._room.arrays(added.times, added.arrivals)))

    def next(self) -> int | None:
        """Return the earliest time, or None."""
        return min((int(run.times[0]) for run in self.runs), default=None)

    def take(self, until: int) -> TimedRows | None:
        """Remove and return the rows up to a time, or None if there are none."""
        ends = [int(np.searchsorted(run.times, until, "right")) for run in self.runs]
        if not any(ends):
            return None
        parts = list(zip(self.runs, ends, strict=True))
        self.runs = [run.slice(end, len(run.times)) for run, end in parts if end < len(run.times)]
        return concat_timed([run.slice(0, end) for run, end in parts if end])
