"""The ranks of rows that are complete: those of a bounded query, or of windows that have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.kernels.key_numbers import KeyNumbers
from firesteel.columns.kernels.row_order import sort_keys
from firesteel.columns.kernels.segments import first_of_segments

if TYPE_CHECKING:
    from firesteel.columns.kernels.rank import RankFactory

_AT_ONCE = 100_000
"""Number of rows that wait, at least, before those with a rank behind the last one are dropped."""


def ranks(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> tuple[Array, Array]:
    """Return the order of rows, by the number of their partition and by rank, and their ranks in this order."""
    keys = sort_keys(rows.columns, plan.order)
    order = np.lexsort((*reversed(keys), numbers))
    is_first = first_of_segments(numbers[order])
    places = np.arange(len(order))
    segments = np.maximum.accumulate(np.where(is_first, places, 0))
    is_new = is_first.copy()
    for key in keys:
        is_new[1:] |= np.diff(key[order]) != 0
    if plan.function == "DENSE_RANK":
        found = np.cumsum(is_new)
        return order, found - found[segments] + 1
    if plan.function == "RANK":
        places = np.maximum.accumulate(np.where(is_new, places, 0))
    return order, places - segments + 1


def ranked(plan: RankFactory, rows: ColumnBatch, numbers: Array) -> ColumnBatch:
    """Return the rows with a rank from `start` to `end`, by the number of their partition."""
    order, found = ranks(plan, rows, numbers)
    chosen = np.flatnonzero((found >= plan.start) & (found <= plan.end))
    best = rows.take(order[chosen])
    added = (pa.array(found[chosen]),) if plan.outputs_rank else ()
    return ColumnBatch((*best.columns, *added), best.length)


class RanksAtEnd:
    """Rows of partitions, of which those with a rank after `end` are dropped from time to time."""

    def __init__(self, plan: RankFactory) -> None:
        self._plan = plan
        self._numbers = KeyNumbers()
        self._rows: list[ColumnBatch] = []
        self._keys: list[Array] = []
        self._kept = self._waiting = 0

    def add(self, batch: ColumnBatch) -> None:
        """Add rows."""
        self._rows.append(batch)
        self._keys.append(self._numbers.find(batch, self._plan.partition))
        self._waiting += batch.length
        if self._waiting >= max(_AT_ONCE, self._kept):
            order, found = self._ranks()
            kept = np.sort(order[found <= self._plan.end])  # in the order of arrival
            self._rows, self._keys = [concat(self._rows).take(kept)], [np.concatenate(self._keys)[kept]]
            self._kept, self._waiting = len(kept), 0

    def _ranks(self) -> tuple[Array, Array]:
        """Return the order of the rows, by partition and rank, and their ranks in this order."""
        return ranks(self._plan, concat(self._rows), np.concatenate(self._keys))

    def results(self) -> ColumnBatch | None:
        """Return the rows with a rank from `start` to `end`, by partition; None if there were no rows at all."""
        if not self._rows:
            return None
        return ranked(self._plan, concat(self._rows), np.concatenate(self._keys))
