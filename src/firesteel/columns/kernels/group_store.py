"""The states of groups as arrays: in place of the state table, or in front of one that is on disk or expires.

Why: `docs/decisions/0063-groups-are-written-from-arrays.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import repeat

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.group_columns import GroupColumns
from firesteel.columns.kernels.segments import distinct
from firesteel.columns.kernels.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.vector_values import VectorStates
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import Row, keys_of

_LEAST = 1024


class GroupStore:
    """The groups that batches have touched, each with a number.

    Args:
        keys: The key columns, which are not nested.
        calls: The aggregate calls.
        table: The table with the `GroupState` of each entry (see `keys_of`).
        empty: The accumulators of a group without rows.
        max_parallelism: The number of key groups.
        is_source: Whether versions are written from here (see `ColumnSource`): a group that has been loaded is not in
            the table any more. Otherwise the table keeps it.
    """

    def __init__(
        self,
        keys: tuple[int, ...],
        calls: Sequence[VectorCall],
        table: StateTable,
        empty: list[Cell],
        max_parallelism: int,
        is_source: bool,
    ) -> None:
        self._keys = keys
        self._calls = calls
        self._table = table
        self._empty = empty
        self._max_parallelism = max_parallelism
        self._is_source = is_source
        self._clear()
        if is_source:
            table.source = self

    def _clear(self) -> None:
        fields = [call.load([self._empty[place]]) for place, call in enumerate(self._calls)]
        self._fields: list[Fields] = [[np.repeat(part, _LEAST) for part in parts] for parts in fields]
        self._counts, self._key_groups = np.zeros(_LEAST, np.int64), np.zeros(_LEAST, np.int64)
        self._numbers: dict[object, int] = {}
        self._key_columns: list[list[Cell]] = [[] for _ in self._keys]
        self._total = self._with_rows = 0
        self._changed: list[Array] = []

    def __len__(self) -> int:
        return self._with_rows

    def find(self, rows: ColumnBatch) -> Array | None:
        """Return the numbers of the groups that rows belong to; no two rows may belong to the same group.

        Returns:
            None if a call can't process an accumulator as arrays.
        """
        values = self._values_of(rows)
        numbers = np.fromiter(map(self._numbers.get, values, repeat(-1)), np.int64, rows.length)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            new = rows if len(missing) == rows.length else rows.take(missing)
            numbers[missing] = self._load(keys_of(new, self._keys, self._max_parallelism))
            self._numbers.update(zip([values[row] for row in missing.tolist()], numbers[missing].tolist(), strict=True))
        states = zip(self._calls, self.fields(numbers), strict=True)
        return numbers if all(call.covers_states(parts) for call, parts in states) else None

    def _values_of(self, rows: ColumnBatch) -> list[object]:
        """Return the key of each row, without its key group: one value, or a tuple if there are more columns."""
        columns: list[list[Cell]] = [pylist(rows.columns[key]) for key in self._keys]
        if len(columns) == 1:
            return columns[0]
        return list(zip(*columns, strict=True)) if columns else [()] * rows.length

    def _load(self, entries: list[Row]) -> Array:
        """Read groups from the table, and return their numbers."""
        self._table.prefetch(entries)
        data = self._table.data
        states: list[Cell]
        if self._is_source:
            states = list(map(data.pop, entries, repeat(None))) if data else [None] * len(entries)
        else:
            states = list(map(data.get, entries))
        start, stop = self._total, self._total + len(entries)
        # Doubled, so that adding groups one by one copies each a constant number of times on average.
        while stop > len(self._counts):
            self._counts, self._key_groups = (
                np.concatenate([part, np.zeros_like(part)]) for part in (self._counts, self._key_groups)
            )
            self._fields = [[np.concatenate([part, part]) for part in parts] for parts in self._fields]
        self._set_counts(np.arange(start, stop), np.array([0 if state is None else state[0] for state in states]))
        for place, (call, parts) in enumerate(zip(self._calls, self._fields, strict=True)):
            new = call.new if isinstance(call, VectorStates) else partial(self._empty.__getitem__, place)
            found = call.load([new() if state is None else state[1][place] for state in states])
            for part, loaded in zip(parts, found, strict=True):
                part[start:stop] = loaded
        self._key_groups[start:stop], *keys = zip(*entries, strict=True)
        for column, added in zip(self._key_columns, keys, strict=True):
            column += added
        self._total = stop
        return np.arange(start, stop)

    def counts(self, numbers: Array) -> Array:
        """Return how many rows groups have."""
        return self._counts[numbers]

    def fields(self, numbers: Array) -> list[Fields]:
        """Return the accumulators of groups."""
        return [[part[numbers] for part in parts] for parts in self._fields]

    def update(self, numbers: Array, counts: Array, fields: Sequence[Fields]) -> None:
        """Set the rows and accumulators of groups. A group without rows has none, and its accumulators are empty."""
        self._set_counts(numbers, counts)
        for parts, changed in zip(self._fields, fields, strict=True):
            for part, values in zip(parts, changed, strict=True):
                part[numbers] = values
        self._changed.append(numbers)

    def _set_counts(self, numbers: Array, counts: Array) -> None:
        self._with_rows += int(np.count_nonzero(counts)) - int(np.count_nonzero(self._counts[numbers]))
        self._counts[numbers] = counts

    # --- versions ----------------------------------------------------------------------------------------------------

    def changes(self) -> tuple[GroupColumns, list[Row]]:
        """Return the groups that have changed since the last version, and the entries of those without rows."""
        numbers = self._take_changed()
        is_left = self._counts[numbers] != 0
        found = self._columns(numbers[is_left]), self._columns(numbers[~is_left]).entries()
        if 2 * len(self) < self._total - _LEAST:  # most groups have no rows any more
            self.give_back()
        return found

    def entries(self) -> GroupColumns:
        """Return all groups that have rows."""
        self._changed = []
        return self._columns(np.flatnonzero(self._counts))

    def give_back(self, rows: ColumnBatch | None = None) -> None:
        """Put the groups of some rows, or all, into the table, which notes the changed ones, and forget them here."""
        changed = self._take_changed()
        if rows is not None:
            found = map(self._numbers.pop, set(self._values_of(rows)), repeat(-1))
            is_wanted = np.zeros(self._total, bool)
            is_wanted[[number for number in found if number >= 0]] = True
            self._changed = [changed[~is_wanted[changed]]]
            changed = changed[is_wanted[changed]]
        else:
            is_wanted = np.ones(self._total, bool)
        states = self._columns(changed).objects()
        self._table.put_all(list(states), list(states.values()))
        for entry, state in states.items():
            if not state[0]:
                self._table.remove(entry)
        if self._is_source:
            is_unchanged = is_wanted & (self._counts[: self._total] != 0)
            is_unchanged[changed] = False
            self._table.data.update(self._columns(np.flatnonzero(is_unchanged)).objects())
        if rows is None:
            self._clear()
        else:
            self._set_counts(np.flatnonzero(is_wanted), np.zeros(np.count_nonzero(is_wanted), np.int64))

    def _take_changed(self) -> Array:
        changed, self._changed = self._changed, []
        return distinct(np.concatenate(changed)) if changed else np.zeros(0, np.int64)

    def _columns(self, numbers: Array) -> GroupColumns:
        places = numbers.tolist()
        keys = [[column[place] for place in places] for column in self._key_columns]
        return GroupColumns(self._calls, self._key_groups[numbers], keys, self._counts[numbers], self.fields(numbers))
