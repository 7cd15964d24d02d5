"""The groups of DISTINCT aggregates that expire, with all their values at once."""

from __future__ import annotations

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.expiring_state import CleaningTime
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers, grown
from firesteel.columns.kernels.rows.segments import distinct


class DistinctGroups:
    """Which values belong to groups that have not expired since the values came.

    A group that expires gets another age; a value counts if its age is that of its group.

    Args:
        width: The number of key columns, with which rows begin.
        context: The environment of the kernel.
        ttl_ms: The time to live of groups; 0 means no expiry.
    """

    def __init__(self, width: int, context: KernelContext, ttl_ms: int) -> None:
        self._columns = tuple(range(width))
        self._ttl_ms, self._now_ms = ttl_ms, context.now_ms
        self._numbers = KeyNumbers(context.spill())
        self._ages, self._written = np.zeros(0, np.int64), np.zeros(0, np.int64)  # by group
        self._owners, self._came = np.zeros(0, np.int64), np.zeros(0, np.int64)  # by value
        self._cleaning = CleaningTime(ttl_ms, context.now_ms)

    def _find(self, rows: ColumnBatch) -> Array:
        numbers = self._numbers.find(rows, self._columns)
        self._ages, self._written = (grown(part, len(self._numbers)) for part in (self._ages, self._written))
        return numbers

    def restore(self, rows: ColumnBatch, is_end: Array) -> Array:
        """Return which rows of the log bring values to groups that do not end later in it."""
        groups, places = self._find(rows), np.arange(rows.length)
        self._written[groups] = self._now_ms()
        ends = np.full(len(self._numbers), -1)
        np.maximum.at(ends, groups[is_end], places[is_end])
        self._ages[np.flatnonzero(ends >= 0)] += 1
        brings: Array = places > ends[groups]
        return brings

    def write(self, rows: ColumnBatch, begins: Array) -> Array:
        """Note that rows write to groups; return a row of each group that has had others before it begins anew."""
        known = len(self._numbers)
        groups = self._find(rows)
        self._written[groups] = self._now_ms()
        anew = np.flatnonzero(begins & (groups < known))
        ended, first = np.unique(groups[anew], return_index=True)
        self._ages[ended] += 1
        found: Array = anew[first]
        return found

    def are_outdated(self, rows: ColumnBatch, values: Array) -> Array:
        """Return which values came before their groups began, given with their rows, and note that they come now."""
        groups = self._find(rows)
        least = int(values.max(initial=-1)) + 1
        self._owners, self._came = (grown(part, least) for part in (self._owners, self._came))
        outdated: Array = self._came[values] != self._ages[groups]
        self._owners[values], self._came[values] = groups, self._ages[groups]
        return outdated

    def are_live(self, count: int) -> Array:
        """Return which of the first values count."""
        owners = self._owners[:count]
        live: Array = self._came[:count] == self._ages[owners]
        if self._ttl_ms:
            live &= self._written[owners] + self._ttl_ms > self._now_ms()
        return live

    def are_due(self) -> bool:
        """Return whether it is time to forget groups that have expired."""
        return self._cleaning.is_due()

    def keep(self, values: Array) -> None:
        """Forget all values but some, given by ascending numbers, and all groups without any."""
        owners = self._owners[values]
        kept = distinct(owners)
        self._numbers.keep(kept)
        self._ages, self._written = self._ages[kept], self._written[kept]
        self._owners, self._came = np.searchsorted(kept, owners), self._came[values]
        self._cleaning.done()
