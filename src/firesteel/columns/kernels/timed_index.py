"""An index of the numbers of rows by hash and time, filled and searched by whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernels.segments import bisect_right, ranges

_NEVER = -(2**63)


class _Run(NamedTuple):
    """Rows sorted by hash and time; those of the same time in the order of their numbers."""

    hashes: Hashes
    times: Array
    numbers: Array

    def bounds(self, hashes: Hashes) -> tuple[Array, Array]:
        """Return where the rows of hashes begin and end."""
        return np.searchsorted(self.hashes, hashes), np.searchsorted(self.hashes, hashes, "right")


class TimedIndex:
    """Numbers of rows by hash and time, as a few sorted runs that are merged when they have similar sizes."""

    def __init__(self) -> None:
        self._runs: list[_Run] = []

    def add(self, hashes: Hashes, times: Array, numbers: Array) -> None:
        """Add rows with greater numbers than those before."""
        if not len(hashes):
            return
        added = _sorted([_Run(hashes, times, numbers)])
        while self._runs and len(self._runs[-1].hashes) <= 2 * len(added.hashes):
            added = _sorted([self._runs.pop(), added])
        self._runs.append(added)

    def _ranges(self, run: _Run, hashes: Hashes, low: Array, high: Array) -> tuple[Array, Array]:
        begin, end = run.bounds(hashes)
        return bisect_right(run.times, begin, end, low - 1), bisect_right(run.times, begin, end, high)

    def counts(self, hashes: Hashes, low: Array, high: Array) -> Array:
        """Return about how many rows have each of some hashes and a time from `low` to `high`."""
        found = np.zeros(len(hashes), np.int64)
        for run in self._runs:
            begin, end = self._ranges(run, hashes, low, high)
            found += end - begin
        return found

    def find(self, hashes: Hashes, low: Array, high: Array) -> tuple[Array, Array]:
        """Return the rows with given hashes and times from `low` to `high`.

        Returns:
            Positions in `hashes`, ascending, and the numbers of the rows, in the order of their times.
        """
        places, times, numbers = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        for run in self._runs:
            begin, end = self._ranges(run, hashes, low, high)
            chosen = ranges(begin, end)
            places.append(np.repeat(np.arange(len(hashes)), end - begin))
            times.append(run.times[chosen])
            numbers.append(run.numbers[chosen])
        place, number = np.concatenate(places), np.concatenate(numbers)
        if len(self._runs) > 1:
            order = np.lexsort((number, np.concatenate(times), place))
            place, number = place[order], number[order]
        return place, number

    def latest(self, hashes: Hashes, times: Array, are_same: Callable[[Array, Array], Array]) -> Array:
        """Return the number of the last row up to a time for each of some hashes, or -1.

        Args:
            hashes: The hashes.
            times: The time for each.
            are_same: Returns whether the keys behind positions in `hashes` and the rows with some numbers are equal.
        """
        found, found_times = np.full(len(hashes), -1), np.full(len(hashes), _NEVER)
        for run in self._runs:
            begin, end = run.bounds(hashes)
            place = bisect_right(run.times, begin, end, times) - 1
            sought = np.flatnonzero(place >= begin)
            while len(sought):
                is_same = are_same(sought, run.numbers[place[sought]])
                hits = sought[is_same]
                time, number = run.times[place[hits]], run.numbers[place[hits]]
                is_later = (time > found_times[hits]) | ((time == found_times[hits]) & (number > found[hits]))
                found[hits[is_later]], found_times[hits[is_later]] = number[is_later], time[is_later]
                # Another key of the same hash: go on with the row before.
                sought = sought[~is_same]
                place[sought] -= 1
                sought = sought[place[sought] >= begin[sought]]
        return found

    def renumber(self, numbers: Array) -> None:
        """Give the rows other numbers, in the same order; those whose number is -1 are forgotten."""
        changed = []
        for run in self._runs:
            new = numbers[run.numbers]
            is_left = new >= 0
            changed.append(_Run(run.hashes[is_left], run.times[is_left], new[is_left]))
        self._runs = [run for run in changed if len(run.hashes)]

    def all(self) -> tuple[Hashes, Array, Array]:
        """Return hashes, times and numbers of all rows, sorted by hash, time and number."""
        return _sorted(self._runs) if self._runs else _Run(np.zeros(0, np.uint64), *[np.zeros(0, np.int64)] * 2)


def _sorted(runs: list[_Run]) -> _Run:
    """Return one run of rows; those of an earlier run have smaller numbers."""
    hashes, times, numbers = (np.concatenate([run[part] for run in runs]) for part in range(3))
    order = np.lexsort((times, hashes))  # stable, so numbers stay ascending
    return _Run(hashes[order], times[order], numbers[order])
