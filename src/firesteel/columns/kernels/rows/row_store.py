"""Stores rows as columns; rows are addressed by number, in the order of insertion, and can be deleted.

Why: `docs/decisions/0056-rows-that-come-and-go-on-columns.md`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.key_numbers import grown
from firesteel.columns.orders import stable_order
from firesteel.columns.runs.room import Room

LEAST = 10_000
"""Number of deleted rows up to which the store is not compacted."""


class RowStore:
    """Rows by number, each with some values.

    Args:
        room: Holds the rows.
        **kinds: The name and numpy type of each value.

    Attributes:
        is_there: A flag per row that is cleared when the row is deleted. The array may be longer than `length`.
        values: An array per value, as long as `is_there`.
        length: The number of rows, including deleted ones.
        left: The number of rows without deleted ones.
    """

    def __init__(self, room: Room, **kinds: type) -> None:
        self._room = room
        self._parts: list[ColumnBatch] = []
        self.is_there = np.zeros(0, bool)
        self.values: dict[str, Array] = {name: np.zeros(0, kind) for name, kind in kinds.items()}
        self.length = self.left = 0

    def append(self, rows: ColumnBatch, **values: Array) -> Array:
        """Add rows with their values, and return their numbers."""
        start, stop = self.length, self.length + rows.length
        self.is_there = grown(self.is_there, stop)
        self.values = {name: grown(part, stop) for name, part in self.values.items()}
        self.is_there[start:stop] = True
        for name, part in values.items():
            self.values[name][start:stop] = part
        self.length, self.left = stop, self.left + rows.length
        self._push(rows)
        return np.arange(start, stop)

    def _push(self, rows: ColumnBatch) -> None:
        while self._parts and self._room.should_merge(self._parts[-1], rows):
            rows = concat([self._parts.pop(), rows])
        self._parts.append(self._room.rows(rows))

    def remove(self, numbers: Array) -> None:
        """Delete rows, given by number; none may have been deleted before."""
        self.is_there[numbers] = False
        self.left -= len(numbers)

    def numbers(self) -> Array:
        """Return the numbers of the rows, without deleted ones, in ascending order."""
        return np.flatnonzero(self.is_there[: self.length])

    def parts(self) -> Iterator[Array]:
        """Yield the numbers of all rows, without deleted ones, part by part."""
        start = 0
        for part in self._parts:
            left = start + np.flatnonzero(self.is_there[start : start + part.length])
            if len(left):
                yield left
            start += part.length

    def there(self, places: Array, numbers: Array) -> tuple[Array, Array]:
        """Return the pairs of a place and a row number, without those of deleted rows."""
        is_there = self.is_there[numbers]
        return (places, numbers) if is_there.all() else (places[is_there], numbers[is_there])

    def take(self, numbers: Array, columns: tuple[int, ...] | None = None) -> ColumnBatch:
        """Return rows by number, or only some of their columns; the store must have had a row."""
        parts = self._parts
        if columns is not None:
            parts = [part.select(columns) for part in parts]
        if len(parts) == 1:
            return parts[0].take(numbers)
        starts = np.cumsum([0, *(part.length for part in parts)])
        owners = np.searchsorted(starts, numbers, "right") - 1
        order = stable_order(owners)
        cuts = np.searchsorted(owners[order], np.arange(len(parts) + 1))
        taken = [
            parts[place].take(numbers[order[cuts[place] : cuts[place + 1]]] - starts[place])
            # `[0]`: no rows, which have types all the same.
            for place in np.flatnonzero(np.diff(cuts)).tolist() or [0]
        ]
        back = np.empty(len(numbers), np.int64)
        back[order] = np.arange(len(numbers))
        return concat(taken).take(back)

    def with_values(self, numbers: Array, *names: str) -> ColumnBatch:
        """Return rows by number, with some of their values as further columns."""
        rows = self.take(numbers)
        return rows.with_columns([*rows.columns, *(pa.array(self.values[name][numbers]) for name in names)])

    @property
    def is_sparse(self) -> bool:
        """Return whether most rows are deleted, so that the store should be compacted."""
        return self.length > 2 * self.left + LEAST

    def compact(self) -> Array:
        """Drop the deleted rows, and return the new number of each row; -1 for a deleted one."""
        kept = self.numbers()
        numbers = np.full(self.length, -1)
        numbers[kept] = np.arange(len(kept))
        parts, self._parts, start = self._parts, [], 0
        for part in parts:
            left = np.flatnonzero(self.is_there[start : start + part.length])
            if len(left):
                self._push(part if len(left) == part.length else part.take(left))
            start += part.length
        self.is_there = np.ones(len(kept), bool)
        self.values = {name: part[kept] for name, part in self.values.items()}
        self.length = self.left = len(kept)
        return numbers
