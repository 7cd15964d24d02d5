"""The states of groups as arrays, in front of the state table that holds them as Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import repeat

import numpy as np

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.vector_calls import Fields, VectorCall
from firesteel.columns.kernels.vector_values import VectorStates
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import Row, keys_of

_LEAST = 1024


class GroupStore:
    """The groups that batches have touched, each with a number.

    A version writes the groups that changed since the last one, so a group that changes in each batch is converted once
    per version and not once per batch.

    Args:
        keys: The key columns, which are not nested.
        calls: The aggregate calls.
        table: The table with the `GroupState` of each entry (see `keys_of`).
        empty: The accumulators of a group without rows.
        max_parallelism: The number of key groups.
    """

    def __init__(
        self,
        keys: tuple[int, ...],
        calls: Sequence[VectorCall],
        table: StateTable,
        empty: list[Cell],
        max_parallelism: int,
    ) -> None:
        self._keys = keys
        self._calls = calls
        self._table = table
        self._empty = empty
        self._max_parallelism = max_parallelism
        self.clear()

    def clear(self) -> None:
        """Forget all groups, which must have been written by `flush`."""
        fields = [call.load([self._empty[place]]) for place, call in enumerate(self._calls)]
        self._fields: list[Fields] = [[np.repeat(part, _LEAST) for part in parts] for parts in fields]
        self._counts = np.zeros(_LEAST, np.int64)
        self._numbers: dict[object, int] = {}
        self._entries: list[Row] = []
        self._states: list[list[Cell]] = []
        self._changed: list[Array] = []

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
        states: list[Cell] = list(map(self._table.data.get, entries))
        start, stop = len(self._entries), len(self._entries) + len(entries)
        # Doubled, so that adding groups one by one copies each a constant number of times on average.
        while stop > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._fields = [[np.concatenate([part, part]) for part in parts] for parts in self._fields]
        self._counts[start:stop] = [0 if state is None else state[0] for state in states]
        for place, (call, parts) in enumerate(zip(self._calls, self._fields, strict=True)):
            new = call.new if isinstance(call, VectorStates) else partial(self._empty.__getitem__, place)
            found = call.load([new() if state is None else state[1][place] for state in states])
            for part, loaded in zip(parts, found, strict=True):
                part[start:stop] = loaded
        self._entries += entries
        self._states += [
            [0, None, entry[1:]] if state is None else state for entry, state in zip(entries, states, strict=True)
        ]
        return np.arange(start, stop)

    def counts(self, numbers: Array) -> Array:
        """Return how many rows groups have."""
        return self._counts[numbers]

    def fields(self, numbers: Array) -> list[Fields]:
        """Return the accumulators of groups."""
        return [[part[numbers] for part in parts] for parts in self._fields]

    def update(self, numbers: Array, counts: Array, fields: Sequence[Fields]) -> None:
        """Set the rows and accumulators of groups. A group without rows has none, and its accumulators are empty."""
        self._counts[numbers] = counts
        for parts, changed in zip(self._fields, fields, strict=True):
            for part, values in zip(parts, changed, strict=True):
                part[numbers] = values
        self._changed.append(numbers)

    def flush(self) -> None:
        """Write the groups that have changed to the table."""
        if not self._changed:
            return
        is_changed = np.zeros(len(self._entries), bool)
        for numbers in self._changed:
            is_changed[numbers] = True
        self._changed = []
        numbers = np.flatnonzero(is_changed)
        stored = [call.store(parts) for call, parts in zip(self._calls, self.fields(numbers), strict=True)]
        accumulators = map(list, zip(*stored, strict=True)) if stored else repeat([], len(numbers))
        counts = self.counts(numbers).tolist()
        entries = [self._entries[number] for number in numbers.tolist()]
        states = [self._states[number] for number in numbers.tolist()]
        for state, count, changed in zip(states, counts, accumulators, strict=False):
            state[0], state[1] = count, changed
        if 0 in counts:
            for entry in (entry for entry, count in zip(entries, counts, strict=True) if not count):
                self._table.remove(entry)
            entries = [entry for entry, count in zip(entries, counts, strict=True) if count]
            states = [state for state in states if state[0]]
        self._table.put_all(entries, states)
        total = len(self._entries)
        # All have just been written, so those that are still in use can be loaded again.
        if 2 * np.count_nonzero(self._counts[:total]) < total - _LEAST:  # most groups have no rows any more
            self.clear()
