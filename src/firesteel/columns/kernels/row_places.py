"""Finds rows that are retracted among the rows of their key."""

from __future__ import annotations

from collections import defaultdict
from heapq import heappop, heappush, heapreplace

from firesteel.columns.cells import Cell
from firesteel.columns.rows import Row

_MANY = 64
"""Number of rows of a key from which on their places are remembered."""

_Entries = list[list[Cell]]


class _Places:
    """The places of the rows of a list, as a heap of negative numbers per row: the last place comes first."""

    def __init__(self, entries: _Entries) -> None:
        self.entries = entries
        self._by_row: defaultdict[Row, list[int]] = defaultdict(list)
        self._count = 0

    def pop(self, row: Row) -> list[Cell] | None:
        """Remove an entry, whose place the last one takes."""
        entries = self.entries
        for place in range(self._count, len(entries)):  # rows that came since the last call
            heappush(self._by_row[entries[place][0]], -place)
        found = self._by_row.get(row)
        self._count = len(entries) - bool(found)
        if not found:
            return None
        place = -heappop(found)
        if not found:
            del self._by_row[row]
        entry, last = entries[place], entries.pop()
        if last is not entry:
            entries[place] = last
            heapreplace(self._by_row[last[0]], -place)
        return entry


class RowPlaces:
    """Removes rows from lists of their keys, in time that grows by the logarithm of a list's length.

    What is removed from a long list in another way must be told by `forget`, or have made a new list.
    """

    def __init__(self) -> None:
        self._known: dict[Row, _Places] = {}

    def pop(self, key: Row, entries: _Entries, row: Row) -> list[Cell] | None:
        """Remove and return an entry `[row, ...]` of a key; None if there is none."""
        if len(entries) < _MANY:
            self.forget(key)
            return _first(entries, row)
        known = self._known.get(key)
        if known is None or known.entries is not entries:
            known = self._known[key] = _Places(entries)
        try:
            return known.pop(row)
        except TypeError:  # a row with a list or a map has no hash
            self.forget(key)
            return _first(entries, row)

    def forget(self, key: Row) -> None:
        """Forget the places of a key's rows."""
        self._known.pop(key, None)


def _first(entries: _Entries, row: Row) -> list[Cell] | None:
    place = next((place for place, entry in enumerate(entries) if entry[0] == row), None)
    return None if place is None else entries.pop(place)
