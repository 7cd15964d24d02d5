"""An index of rows by the hash of their key columns. It is filled and searched by whole batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.hashing import Hashes
from firesteel.columns.orders import stable_order
from firesteel.columns.runs.room import Room


@dataclass(frozen=True, slots=True)
class Run:
    """Rows in the order in which they were added, with their hashes in ascending order.

    Attributes:
        rows: The rows.
        hashes: The sorted hashes of the rows.
        order: The row that each hash belongs to. Rows with the same hash keep their order.
    """

    rows: ColumnBatch
    hashes: Hashes
    order: Array


class RowIndex:
    """Rows by hash, as a few sorted runs that are merged when they have similar sizes.

    As in a log-structured merge tree, adding `n` rows in small batches costs O(n log n) in total.
    """

    def __init__(self) -> None:
        self._room = Room()
        self._runs: list[Run] = []
        self._waiting: list[tuple[ColumnBatch, Hashes]] = []

    def add(self, rows: ColumnBatch, hashes: Hashes) -> None:
        """Add rows; they are sorted before the next search."""
        if rows.length:
            self._waiting.append((rows, hashes))

    def runs(self) -> Sequence[Run]:
        """Return the runs, oldest rows first."""
        waiting, self._waiting = self._waiting, []
        for parts in self._limited(waiting):
            hashes = np.concatenate([part[1] for part in parts])
            # Stable: rows of equal hashes stay in the order in which they came.
            order = stable_order(hashes)
            self._runs.append(Run(concat([part[0] for part in parts]), hashes[order], order))
            while len(self._runs) > 1 and self._room.should_merge(self._runs[-2].rows, self._runs[-1].rows):
                self._runs[-2:] = [_merged(*self._runs[-2:])]
        return self._runs

    def _limited(self, waiting: list[tuple[ColumnBatch, Hashes]]) -> Iterator[list[tuple[ColumnBatch, Hashes]]]:
        """Yield batches in groups that fit into one run."""
        group: list[tuple[ColumnBatch, Hashes]] = []
        rows = size = 0
        for part in waiting:
            rows, size = rows + part[0].length, size + part[0].nbytes
            if group and not self._room.may_merge(rows, size):
                yield group
                group, rows, size = [], part[0].length, part[0].nbytes
            group.append(part)
        if group:
            yield group


def pairs(run: Run, hashes: Hashes, limit: int) -> Iterator[tuple[Array, Array]]:
    """Find the rows of a run whose hashes equal given ones.

    Yields:
        Positions in `hashes` (ascending) and the rows of the run that they are paired with (in the order in which they
        were added), at most `limit` pairs at a time.
    """
    ascending = np.argsort(hashes)  # Searching in ascending order is kind to the processor's cache.
    first, last = np.empty(len(hashes), np.int64), np.empty(len(hashes), np.int64)
    first[ascending] = np.searchsorted(run.hashes, hashes[ascending], "left")
    last[ascending] = np.searchsorted(run.hashes, hashes[ascending], "right")
    ends = np.cumsum(last - first)
    total = int(ends[-1]) if len(ends) else 0
    for start in range(0, total, limit):
        numbers = np.arange(start, min(start + limit, total))
        positions = np.searchsorted(ends, numbers, "right")
        # `ends` counts pairs up to each hash, so the distance to it is the distance from the last row with that hash.
        yield positions, run.order[last[positions] - (ends[positions] - numbers)]


def _merged(older: Run, newer: Run) -> Run:
    hashes = np.concatenate([older.hashes, newer.hashes])
    order = stable_order(hashes)
    rows = np.concatenate([older.order, newer.order + older.rows.length])
    return Run(concat([older.rows, newer.rows]), hashes[order], rows[order])
