"""Groups of a bounded query as columns: no Python object per group, and no state that is written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Cell
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.groups.group_vectors import covers, fields_of, load, partial_rows, results, store
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.rows import keys_of

_AT_ONCE = 10_000
"""Minimum number of rows that are added together, and maximum rows per batch of results."""


class GatheredGroups:
    """The groups of one operator in BATCH mode, numbered in the order of their first rows.

    Rows wait until they are half as many as the groups: finding the groups of some rows also visits all known ones.

    Args:
        keys: The key columns.
        calls: The aggregate calls.
        types: Arrow types of the key columns in the result.
        empty: The accumulators of a group without rows.

    Attributes:
        count: The number of groups, without those of waiting rows.
    """

    def __init__(
        self, keys: tuple[int, ...], calls: Sequence[VectorCall], types: Sequence[pa.DataType], empty: list[object]
    ) -> None:
        self._indexes = keys
        self._calls = calls
        self._types = types
        fields = load(calls, [empty])
        assert fields is not None
        self._empty = fields
        self._fields: list[Fields] = [[part[:0] for part in parts] for parts in fields]
        self._keys: list[pa.Array] = []
        self._waiting: list[ColumnBatch] = []
        self._rows = 0
        self.count = 0

    def add(self, batch: ColumnBatch) -> bool:
        """Add rows; return False, without any change, if a call needs them row by row."""
        if not covers(self._calls, batch):
            return not batch.length
        self.append(batch)
        return True

    def append(self, batch: ColumnBatch) -> None:
        """Add rows none of whose calls needs them row by row."""
        self._waiting.append(batch)
        self._rows += batch.length
        if self._rows >= max(_AT_ONCE, self.count // 2):
            self._gather()

    def _gather(self) -> None:
        """Add the waiting rows to their groups."""
        if not self._waiting:
            return
        batch = concat(self._waiting)
        self._waiting, self._rows = [], 0
        new = [batch.columns[index] for index in self._indexes]
        known = self.count
        keys = [pa.concat_arrays(pair) for pair in zip(self._keys, new, strict=True)] if known else new
        groups = RowGroups(keys, known + batch.length)
        codes, self.count = groups.codes[known:], groups.count
        first = pa.array(groups.first_rows())
        self._keys = [key.take(first) for key in keys]
        self._fields = [
            [np.concatenate([part, np.repeat(start, self.count - known)]) for part, start in zip(*pair, strict=True)]
            for pair in zip(self._fields, self._empty, strict=True)
        ]
        self._fields = self._folded(RowGroups.numbered(codes, self.count), batch)

    def _folded(self, groups: RowGroups, batch: ColumnBatch) -> list[Fields]:
        """Return the accumulators with rows of some groups."""
        return [call.with_rows(groups, parts, batch) for call, parts in zip(self._calls, self._fields, strict=True)]

    def results(self) -> Iterator[ColumnBatch]:
        """Yield the results of all groups."""
        for keys, fields, count in self._in_parts():
            columns = [key.cast(kind) for key, kind in zip(keys, self._types, strict=True)]
            yield ColumnBatch((*columns, *results(self._calls, fields)), count)

    @property
    def bytes(self) -> int:
        """The size of the keys and accumulators, without waiting rows."""
        parts = [*self._keys, *(part for parts in self._fields for part in parts)]
        return sum(part.nbytes for part in parts)

    def result_of_no_rows(self) -> ColumnBatch:
        """Return the result of a group without rows and keys."""
        return ColumnBatch(tuple(results(self._calls, self._empty)), 1)

    def partial_results(self) -> Iterator[ColumnBatch]:
        """Yield the accumulators of all groups, see `partial_rows`."""
        for keys, fields, count in self._in_parts():
            yield partial_rows(self._calls, keys, fields, count)

    def _in_parts(self) -> Iterator[tuple[list[pa.Array], list[Fields], int]]:
        self._gather()
        for start in range(0, self.count, _AT_ONCE):
            stop = min(start + _AT_ONCE, self.count)
            keys = [key.slice(start, stop - start) for key in self._keys]
            yield keys, [[part[start:stop] for part in parts] for parts in self._fields], stop - start

    def take(self, max_parallelism: int) -> Iterator[tuple[Cell, list[Cell]]]:
        """Yield state entry and state of each group (see `GroupState`), and forget them."""
        self._gather()
        keys = keys_of(ColumnBatch(tuple(self._keys), self.count), range(len(self._keys)), max_parallelism)
        for entry, accumulators in zip(keys, store(self._calls, self._fields, self.count), strict=True):
            yield entry, [0, accumulators, entry[1:] if self._indexes else ()]
        self._keys, self.count = [], 0
        self._fields = [[part[:0] for part in parts] for parts in self._empty]


class MergedGroups(GatheredGroups):
    """Groups to which partial results are added, whose first columns are the keys."""

    def _folded(self, groups: RowGroups, batch: ColumnBatch) -> list[Fields]:
        added = fields_of(self._calls, batch.columns[len(self._indexes) :])
        folds = zip(self._calls, self._fields, added, strict=True)
        return [call.fold(groups, parts, values) for call, parts, values in folds]
