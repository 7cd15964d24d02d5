"""The rows of a partition of a Top-N that is long: one that comes or goes touches no other.

Flink: the sorted map and the lists of `RetractableTopNFunction`, which searches rows with the same sort key one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import count
from typing import TYPE_CHECKING, overload

from sortedcontainers import SortedList

from firesteel.columns.kernel import StateTable
from firesteel.columns.row_keys import freeze
from firesteel.columns.rows import Row

if TYPE_CHECKING:
    from _typeshed import SupportsAllComparisons

__all__ = ["LONG", "LongRanks", "LongRows"]

LONG = 128
"""Number of rows of a partition from which on each is an entry of state of its own; most partitions are shorter."""


class LongRows:
    """The rows of one partition in the order of their ranks; peers in the order of their arrival.

    All methods take time that grows by the logarithm of the number of rows, besides the rows that they return. State:
    a row by `(*key, number)`, where later rows have larger numbers.

    Args:
        table: The table of the rows of all long partitions.
        key: The key of the partition.
        sort_key: Returns the sort key of a row.
        rows: The rows with their numbers; they are in the table already.
    """

    def __init__(
        self,
        table: StateTable,
        key: Row,
        sort_key: Callable[[Row], SupportsAllComparisons],
        rows: Iterable[tuple[int, Row]] = (),
    ) -> None:
        self._table, self._key, self._sort_key = table, key, sort_key
        self._sorted = SortedList((sort_key(row), number, row) for number, row in rows)
        self._numbers: dict[object, list[int]] = {}
        for number, row in sorted((number, row) for _, number, row in self._sorted):
            self._numbers.setdefault(_hashable(row), []).append(number)
        self._next = count(max((numbers[-1] for numbers in self._numbers.values()), default=-1) + 1)

    def __len__(self) -> int:
        return len(self._sorted)

    @overload
    def __getitem__(self, places: int) -> Row: ...

    @overload
    def __getitem__(self, places: slice[int | None, int | None, None]) -> list[Row]: ...

    def __getitem__(self, places: int | slice[int | None, int | None, None]) -> Row | list[Row]:
        """Return the row at a place, or those between two places."""
        if isinstance(places, slice):
            return [row for _, _, row in self._sorted.islice(places.start, places.stop)]
        row: Row = self._sorted[places][2]
        return row

    def place_for(self, row: Row) -> int:
        """Return where a row is inserted: to the right of its peers."""
        return int(self._sorted.bisect_right((self._sort_key(row), float("inf"))))

    def find(self, row: Row) -> int | None:
        """Return the place of a row, of equal ones the first that came; None if there is none."""
        numbers = self._numbers.get(_hashable(row))
        return None if numbers is None else int(self._sorted.bisect_left((self._sort_key(row), numbers[0])))

    def insert(self, place: int, row: Row) -> None:
        """Add a row, whose place follows from its values."""
        number = next(self._next)
        self._sorted.add((self._sort_key(row), number, row))
        self._numbers.setdefault(_hashable(row), []).append(number)
        self._table.put((*self._key, number), row)

    def __delitem__(self, place: int) -> None:
        _, number, row = self._sorted.pop(place)
        self._table.remove((*self._key, number))
        known = _hashable(row)
        self._numbers[known].remove(number)
        if not self._numbers[known]:
            del self._numbers[known]


class LongRanks:
    """The long partitions of one operator.

    Args:
        table: The table of their rows; its state has been restored.
        sort_key: Returns the sort key of a row.
    """

    def __init__(self, table: StateTable, sort_key: Callable[[Row], SupportsAllComparisons]) -> None:
        self._table, self._sort_key = table, sort_key
        self.by_key: dict[Row, LongRows] = {}
        found: dict[Row, list[tuple[int, Row]]] = {}
        for (*key, number), row in table.data.items():
            found.setdefault(tuple(key), []).append((number, row))
        for of, rows in found.items():
            self.by_key[of] = LongRows(table, of, sort_key, rows)

    def take(self, key: Row, rows: Iterable[Row]) -> LongRows:
        """Return a partition that has become long, given its rows in their order."""
        taken = self.by_key[key] = LongRows(self._table, key, self._sort_key)
        for row in rows:
            taken.insert(0, row)
        return taken

    def give_back(self) -> dict[Row, list[Row]]:
        """Return the sorted rows of all partitions, which are forgotten here."""
        found = {key: rows[:] for key, rows in self.by_key.items()}
        for entry in list(self._table.data):
            self._table.remove(entry)
        self.by_key.clear()
        return found


def _hashable(row: Row) -> object:
    try:
        hash(row)
    except TypeError:  # it has a list or a map
        return freeze(row)
    return row
