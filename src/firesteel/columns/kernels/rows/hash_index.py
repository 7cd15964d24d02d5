"""An index of the numbers of rows by hash, filled and searched by whole batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.kernels.rows.found_rows import FoundIn, FoundRows
from firesteel.columns.kernels.rows.segments import ends_of_segments, segments_of
from firesteel.columns.orders import stable_order
from firesteel.columns.runs.room import Room

_ROW_BYTES = 24
"""What a row takes in a run."""


class _Run(NamedTuple):
    """Rows sorted by hash; those of the same hash in the order of their numbers.

    Attributes:
        ends: Where the rows of the hash of each row end.
    """

    hashes: Hashes
    numbers: Array
    ends: Array


class HashIndex:
    """Numbers of rows by hash, as a few sorted runs that are merged when they have similar sizes.

    Args:
        room: Holds the runs.
    """

    def __init__(self, room: Room) -> None:
        self._room = room
        self._runs: list[_Run] = []
        self._waiting: list[tuple[Hashes, Array]] = []

    def add(self, hashes: Hashes, numbers: Array) -> None:
        """Add rows with greater numbers than those before; they are sorted before the next search."""
        if len(hashes):
            self._waiting.append((hashes, numbers))

    def _sorted(self) -> list[_Run]:
        if self._waiting:
            added = self._merged(self._waiting)
            self._waiting = []
            while self._runs and self._should_merge(len(self._runs[-1].hashes), len(added.hashes)):
                last = self._runs.pop()
                added = self._merged([(last.hashes, last.numbers), (added.hashes, added.numbers)])
            self._runs.append(_Run(*self._room.arrays(*added)))
        return self._runs

    def _merged(self, parts: list[tuple[Hashes, Array]]) -> _Run:
        """Return one run; the numbers of a later part are greater."""
        hashes = np.concatenate([part[0] for part in parts])
        numbers = np.concatenate([part[1] for part in parts])
        order = self._order(hashes, numbers)
        return _run(hashes[order], numbers[order])

    def _order(self, hashes: Hashes, numbers: Array) -> Array:
        """Return the places of rows sorted by hash."""
        # Stable, as `FoundRows` relies on it that numbers ascend within a hash.
        return stable_order(hashes)

    def _should_merge(self, older: int, newer: int) -> bool:
        rows = older + newer
        return older <= 2 * newer and self._room.may_merge(rows, rows * _ROW_BYTES)

    def find(self, hashes: Hashes) -> FoundRows:
        """Return the rows with equal hashes, in the order of their numbers."""
        runs = self._sorted()
        return FoundRows(
            len(hashes), [FoundIn(*segments_of(run.hashes, run.ends, hashes), run.numbers) for run in runs]
        )

    def renumber(self, numbers: Array) -> None:
        """Give the rows other numbers, in the same order; those whose number is -1 are forgotten."""
        runs, self._runs = self._runs, []
        for run in runs:
            hashes, left = _renumbered(run.hashes, run.numbers, numbers)
            if len(hashes):
                self._runs.append(_Run(*self._room.arrays(*_run(hashes, left))))
        waiting, self._waiting = self._waiting, []
        for part in waiting:
            self.add(*_renumbered(*part, numbers))


def _renumbered(hashes: Hashes, numbers: Array, new: Array) -> tuple[Hashes, Array]:
    numbers = new[numbers]
    is_left = numbers >= 0
    return hashes[is_left], numbers[is_left]


def _run(hashes: Hashes, numbers: Array) -> _Run:
    return _Run(hashes, numbers, ends_of_segments(hashes))
