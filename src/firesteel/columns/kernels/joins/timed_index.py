"""An index of the numbers of rows by hash and time, filled and searched by whole batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernels.rows.found_rows import FoundIn, FoundRows
from firesteel.columns.kernels.rows.segments import bisect_right, ends_of_segments, segments_of
from firesteel.columns.orders import lexical_order
from firesteel.columns.runs.room import Room

_NEVER = -(2**63)
_ROW_BYTES = 32
"""What a row takes in a run."""


class _Run(NamedTuple):
    """Rows sorted by hash and time; those of the same time in the order of their numbers.

    Attributes:
        ends: Where the rows of the hash of each row end.
    """

    hashes: Hashes
    times: Array
    numbers: Array
    ends: Array

    def bounds(self, hashes: Hashes) -> tuple[Array, Array]:
        """Return where the rows of hashes begin and end."""
        return segments_of(self.hashes, self.ends, hashes)


class TimedIndex:
    """Numbers of rows by hash and time, as a few sorted runs that are merged when they have similar sizes.

    Args:
        room: Holds the runs.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._runs: list[_Run] = []

    def add(self, hashes: Hashes, times: Array, numbers: Array) -> None:
        """Add rows with greater numbers than those before."""
        if not len(hashes):
            return
        order = lexical_order([hashes, times])  # stable, so numbers stay ascending
        added = _run(hashes[order], times[order], numbers[order])
        while self._runs and self._should_merge(len(self._runs[-1].hashes), len(added.hashes)):
            added = _merged(self._runs.pop(), added)
        self._runs.append(_Run(*self._room.arrays(*added)))

    def _should_merge(self, older: int, newer: int) -> bool:
        rows = older + newer
        return older <= 2 * newer and self._room.may_merge(rows, rows * _ROW_BYTES)

    def find(self, hashes: Hashes, low: Array, high: Array) -> FoundRows:
        """Return the rows with given hashes and times from `low` to `high`, in the order of their times."""
        found = []
        for run in self._runs:
            begin, end = run.bounds(hashes)
            first, last = (bisect_right(run.times, begin, end, bound) for bound in (low - 1, high))
            found.append(FoundIn(first, last, run.numbers, run.times))
        return FoundRows(len(hashes), found)

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
            left = _run(run.hashes[is_left], run.times[is_left], new[is_left])
            changed.append(_Run(*self._room.arrays(*left)))
        self._runs = [run for run in changed if len(run.hashes)]

    def all(self) -> tuple[Hashes, Array, Array]:
        """Return hashes, times and numbers of all rows, sorted by hash, time and number."""
        found = _run(np.zeros(0, np.uint64), *[np.zeros(0, np.int64)] * 2)
        for run in self._runs:
            found = _merged(found, run)
        return found.hashes, found.times, found.numbers


def _run(hashes: Hashes, times: Array, numbers: Array) -> _Run:
    return _Run(hashes, times, numbers, ends_of_segments(hashes))


def _merged(first: _Run, second: _Run) -> _Run:
    """Return one run of the rows of two; those of the first have smaller numbers."""
    places = bisect_right(first.times, *first.bounds(second.hashes), second.times) + np.arange(len(second.hashes))
    is_first = np.ones(len(first.hashes) + len(second.hashes), bool)
    is_first[places] = False

    def merged(one: Array, other: Array) -> Array:
        found = np.empty(len(is_first), one.dtype)
        found[places], found[is_first] = other, one
        return found

    return _run(*(merged(first[part], second[part]) for part in range(3)))
