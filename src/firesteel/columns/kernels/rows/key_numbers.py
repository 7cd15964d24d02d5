"""Numbers of keys, which arrays hold instead of the values of the key columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.hashing import row_hashes
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.row_keys import freeze, key_column
from firesteel.columns.runs.entries import Entries, sorted_by_hash
from firesteel.columns.runs.run_store import RunStore, Spill


class KeyNumbers:
    """The keys of one operator, numbered from 0 in the order in which they came.

    Args:
        spill: Where keys go that have no room in memory; None keeps all there.
    """

    def __init__(self, spill: Spill | None) -> None:
        self._spill = spill
        self._start()

    def _start(self) -> None:
        self._keys = RunStore(self._spill, lambda keys: np.ones(len(keys), bool))
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def find(self, rows: ColumnBatch, columns: Sequence[int]) -> Array:
        """Return the number of the key of each row; the key columns may have any type."""
        groups, found = self.find_groups(rows, columns)
        return found[groups.codes]

    def find_groups(self, rows: ColumnBatch, columns: Sequence[int]) -> tuple[RowGroups, Array]:
        """Return the rows by key, and the number of each key."""
        groups, keys, order, found = self._look_up(rows, columns)
        is_new = found < 0
        found[is_new] = np.arange(self._count, self._count + np.count_nonzero(is_new))
        self._insert(keys.with_values(found[order]).where(is_new[order]))
        return groups, found

    def known(self, rows: ColumnBatch, columns: Sequence[int]) -> Array:
        """Return the number of the key of each row, -1 for a key that has none and gets none."""
        groups, _, _, found = self._look_up(rows, columns)
        return found[groups.codes]

    def _look_up(self, rows: ColumnBatch, columns: Sequence[int]) -> tuple[RowGroups, Entries, Array, Array]:
        """Return the rows by key, the sorted keys, the group of each, and the numbers of the groups."""
        groups = groups_by(rows, columns)
        firsts = rows if groups.count == rows.length else rows.take(groups.first_rows())
        keys, order = sorted_by_hash(row_hashes(firsts, columns), [firsts.columns[column] for column in columns])
        found = np.full(groups.count, -1)
        for hit in self._keys.find(keys, order):
            found[hit.to] = hit.values(0)
        return groups, keys, order, found

    def _insert(self, keys: Entries) -> None:
        self._keys.insert(keys, False)
        self._count += len(keys)

    def parts(self) -> Iterator[tuple[list[pa.Array], Array]]:
        """Yield the key columns and the numbers of all keys, in parts."""
        return ((list(part.keys), np.asarray(part.values[0])) for part in self._keys.all())

    def keep(self, numbers: Array) -> None:
        """Forget all keys but some, given in ascending order of their numbers, and number these anew."""
        parts = self._keys.all()
        self._start()
        for part in parts:
            kept = part.where(np.isin(part.values[0], numbers))
            places = np.searchsorted(numbers, kept.values[0])
            self._insert(Entries(kept.hashes, kept.keys, (places,)))


def grown(part: Array, length: int, value: int = 0) -> Array:
    """Return an array that is at least so long, with a value at its end.

    Its length doubles, so that numbers which come one by one are copied a constant number of times on average.
    """
    missing = length - len(part)
    return part if missing <= 0 else np.concatenate([part, np.full(max(missing, len(part)), value, part.dtype)])


def groups_by(rows: ColumnBatch, columns: Iterable[int]) -> RowGroups:
    """Return the groups of rows with the same values in some columns, which may have any type."""
    return RowGroups([comparable(rows.columns[column]) for column in columns], rows.length)


def comparable(column: pa.Array) -> pa.Array:
    """Return a column that Arrow can group, with equal values where those of the column are the same in a row."""
    if not (pa.types.is_nested(column.type) or pa.types.is_null(column.type)):
        return key_column(column)
    codes: dict[object, int] = {}
    return pa.array([codes.setdefault(freeze(value), len(codes)) for value in pylist(column)], pa.int64())
