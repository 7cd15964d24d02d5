"""How many rows there are of each key."""

from __future__ import annotations

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers
from firesteel.columns.kernels.rows.segments import count_on, distinct
from firesteel.columns.runs.run_store import Spill

_LEAST = 10_000
"""Number of keys without rows up to which they are not forgotten."""


class KeyCounts:
    """The number of rows of each key; NULL in a key equals nothing, so such a key has none.

    Args:
        spill: Where keys go that have no room in memory.
    """

    def __init__(self, spill: Spill | None) -> None:
        self._numbers = KeyNumbers(spill)
        self._counts = np.zeros(0, np.int64)
        self._left = 0

    def of(self, rows: ColumnBatch, columns: tuple[int, ...]) -> Array:
        """Return how many rows the key of each row has."""
        numbers = self._numbers.known(rows, columns)
        counts = np.append(self._counts, 0)[numbers]
        return np.where(rows.has_null(columns), 0, counts)

    def change(self, rows: ColumnBatch, columns: tuple[int, ...], steps: Array) -> Array:
        """Count rows that come (1) or go (-1), one after the other; return the count of its key after each."""
        if len(self._numbers) > 2 * self._left + _LEAST:
            self._forget()
        numbers = self._numbers.find(rows, columns)
        missing = len(self._numbers) - len(self._counts)
        if missing > 0:
            self._counts = np.append(self._counts, np.zeros(max(missing, len(self._counts)), np.int64))
        changed = distinct(numbers)
        before = int(np.count_nonzero(self._counts[changed]))
        after = count_on(self._counts, numbers, steps)
        self._left += int(np.count_nonzero(self._counts[changed])) - before
        return after

    def _forget(self) -> None:
        kept = np.flatnonzero(self._counts[: len(self._numbers)])
        self._numbers.keep(kept)
        self._counts = self._counts[kept]
