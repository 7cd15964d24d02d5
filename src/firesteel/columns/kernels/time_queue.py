"""A queue of keys by time, on arrays: a watermark costs what is due, not what waits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firesteel.columns.cells import Array


@dataclass(frozen=True, slots=True)
class Due:
    """Entries of a queue.

    Attributes:
        times: When each is due.
        numbers: The number of its key.
        values: A value that goes with it.
    """

    times: Array
    numbers: Array
    values: Array

    def take(self, places: Array) -> Due:
        """Return some of the entries."""
        return Due(self.times[places], self.numbers[places], self.values[places])

    def split(self, place: int) -> tuple[Due, Due]:
        """Return the entries before a place, and the others."""
        arrays = (self.times, self.numbers, self.values)
        return Due(*(array[:place] for array in arrays)), Due(*(array[place:] for array in arrays))


def _joined(parts: list[Due]) -> Due:
    times, numbers, values = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("times", "numbers", "values")
    )
    return Due(times, numbers, values)


class TimeQueue:
    """Entries in a few runs sorted by time, which are merged when they have similar sizes."""

    def __init__(self) -> None:
        self._runs: list[Due] = []

    def add(self, added: Due) -> None:
        """Add entries in any order."""
        if not len(added.times):
            return
        self._runs.append(added.take(np.argsort(added.times, kind="stable")))
        while len(self._runs) > 1 and len(self._runs[-2].times) <= 2 * len(self._runs[-1].times):
            both = _joined([self._runs.pop(), self._runs.pop()][::-1])
            self._runs.append(both.take(np.argsort(both.times, kind="stable")))  # linear: both are sorted

    def next(self) -> int | None:
        """Return the earliest time, or None."""
        return min((int(run.times[0]) for run in self._runs), default=None)

    def take(self, until: int) -> Due | None:
        """Remove and return the entries up to a time, or None if there are none."""
        ends = [int(np.searchsorted(run.times, until, "right")) for run in self._runs]
        if not any(ends):
            return None
        parts = [run.split(end) for run, end in zip(self._runs, ends, strict=True)]
        self._runs = [left for _, left in parts if len(left.times)]
        return _joined([due for due, _ in parts])
