"""Numbers of keys, which arrays hold instead of the values of the key columns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import repeat

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.kernels.row_groups import RowGroups
from firesteel.columns.pylist import pylist
from firesteel.columns.row_keys import freeze, key_column
from firesteel.columns.rows import hashable_values


class KeyNumbers:
    """The keys of one operator, numbered from 0 in the order in which they came."""

    def __init__(self) -> None:
        self._numbers: dict[object, int] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[object]:
        return iter(self._numbers)

    def find(self, rows: ColumnBatch, columns: Sequence[int]) -> Array:
        """Return the number of the key of each row; the key columns may have any type."""
        groups, keys, found = self._look_up(rows, columns)
        new = np.flatnonzero(found < 0)
        found[new] = np.arange(len(self), len(self) + len(new))
        self._numbers.update(zip([keys[place] for place in new.tolist()], found[new].tolist(), strict=True))
        return found[groups.codes]

    def known(self, rows: ColumnBatch, columns: Sequence[int]) -> Array:
        """Return the number of the key of each row, -1 for a key that has none and gets none."""
        groups, _, found = self._look_up(rows, columns)
        return found[groups.codes]

    def _look_up(self, rows: ColumnBatch, columns: Sequence[int]) -> tuple[RowGroups, list[object], Array]:
        """Return the rows by key, the keys, and their numbers."""
        groups = groups_by(rows, columns)
        # Only one row of each key becomes a Python value: that is the slow part.
        keys = _values(rows.take(groups.first_rows()), columns)
        return groups, keys, np.fromiter(map(self._numbers.get, keys, repeat(-1)), np.int64, len(keys))

    def keep(self, numbers: Array) -> None:
        """Forget all keys but some, given in ascending order of their numbers, and number these anew."""
        keys = list(self._numbers)
        self._numbers = {keys[number]: place for place, number in enumerate(numbers.tolist())}


def _values(rows: ColumnBatch, columns: Sequence[int]) -> list[object]:
    """Return the key of each row: one value, or a tuple if there are more columns."""
    values = [hashable_values(rows.columns[column]) for column in columns]
    if len(values) == 1:
        return values[0]
    return list(zip(*values, strict=True)) if values else [()] * rows.length


def groups_by(rows: ColumnBatch, columns: Iterable[int]) -> RowGroups:
    """Return the groups of rows with the same values in some columns, which may have any type."""
    return RowGroups([comparable(rows.columns[column]) for column in columns], rows.length)


def comparable(column: pa.Array) -> pa.Array:
    """Return a column that Arrow can group, with equal values where those of the column are the same in a row."""
    if not (pa.types.is_nested(column.type) or pa.types.is_null(column.type)):
        return key_column(column)
    codes: dict[object, int] = {}
    return pa.array([codes.setdefault(freeze(value), len(codes)) for value in pylist(column)], pa.int64())
