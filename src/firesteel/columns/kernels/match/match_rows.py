"""The rows of partitions in which matches are sought."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.past_rows import FoundRows, PlacedRows, concat_placed
from firesteel.columns.kernels.rows.segments import distinct, ranges

_COPIED = 4
"""Rows are copied, which makes searches faster, if they are no more than so many times the new ones."""

_FEW = 1024
"""So few rows are copied however few are new."""


class MatchRows:
    """Rows of partitions, one partition after the other, each in its order.

    They stay where they are, in several parts, if most of them have been searched before.

    Args:
        parts: The former rows, older parts first.
        added: The new rows.

    Attributes:
        firsts: By partition, the place of its first row.
        news: The place of its first new row.
        limits: The place behind its last row.
    """

    def __init__(self, parts: Sequence[FoundRows], added: FoundRows) -> None:
        parts = [*parts, added]
        # By partition and part.
        sizes = np.stack([part.ends - part.begins for part in parts], axis=1)
        self.limits = np.cumsum(sizes.sum(axis=1))
        self.firsts = np.append(0, self.limits)[:-1]
        self.news = self.limits - sizes[:, -1]
        self._parts = [part.rows for part in parts]
        if len(self) <= max(_FEW, _COPIED * added.rows.rows.length):
            self._parts = [_together(parts, sizes)]
            return
        # Each segment has rows of a partition in a part.
        segments = np.flatnonzero(sizes)
        self._begins = (np.cumsum(sizes) - sizes.ravel())[segments]
        self._moves = np.stack([part.begins for part in parts], axis=1).ravel()[segments] - self._begins
        self._owners = segments % len(parts)

    def __len__(self) -> int:
        return int(self.limits[-1]) if len(self.limits) else 0

    def take(self, columns: Iterable[int], places: Array) -> ColumnBatch:
        """Return some columns of the rows at places."""
        if len(self._parts) == 1 or not len(places):
            return self._parts[0].rows.select(columns).take(places)
        found = self._found(places)
        rows = concat([part.select(columns).take(own) for part, own, _ in found])
        return rows if len(found) == 1 else rows.take(np.argsort(np.concatenate([among for *_, among in found])))

    def column(self, column: int, places: Array) -> pa.Array:
        """Return a column of the rows at places, NULL at those that are negative."""
        is_missing = places < 0
        if not is_missing.any():
            return self.take((column,), places).columns[0]
        values = self.take((column,), np.maximum(places, 0)).columns[0]
        return values.take(pa.array(np.arange(len(places)), mask=is_missing))

    @cached_property
    def times(self) -> Array:
        """The times of all rows (ms)."""
        if len(self._parts) == 1:
            return self._parts[0].times
        begins, ends = self._begins + self._moves, np.append(self._begins[1:], len(self)) + self._moves
        segments = zip(self._owners.tolist(), begins.tolist(), ends.tolist(), strict=True)
        return np.concatenate([self._parts[owner].times[begin:end] for owner, begin, end in segments])

    def _found(self, places: Array) -> list[tuple[ColumnBatch, Array, Array]]:
        """Return the parts that have rows at places, with the places of these there and among those given."""
        segments = np.searchsorted(self._begins, places, "right") - 1
        own, owners = places + self._moves[segments], self._owners[segments]
        among = [(number, np.flatnonzero(owners == number)) for number in distinct(owners).tolist()]
        return [(self._parts[number].rows, own[some], some) for number, some in among]


def _together(parts: Sequence[FoundRows], sizes: Array) -> PlacedRows:
    """Return the rows of all parts, one partition after the other."""
    rows = concat_placed([part.taken() for part in parts])
    if 1 in sizes.shape:
        return rows
    ends = np.cumsum(sizes.T).reshape(sizes.T.shape).T
    return rows.take(ranges((ends - sizes).ravel(), ends.ravel()))
