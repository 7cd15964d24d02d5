"""The states of groups as arrays, in front of the state table that holds them as Python objects."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

import numpy as np

from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.row_groups import Array
from firesteel.columns.kernels.vector_calls import Fields, VectorCall

_LEAST = 1024


class GroupStore:
    """The groups that batches have touched, each with a number.

    A version writes the groups that changed since the last one, so a group that changes in each batch is converted once
    per version and not once per batch.

    Args:
        calls: The aggregate calls.
        table: The table with the `GroupState` of each entry.
        empty: The accumulators of a group without rows.
    """

    def __init__(self, calls: Sequence[VectorCall], table: StateTable, empty: list[Any]) -> None:
        self._calls = calls
        self._table = table
        self._empty = empty
        self.clear()

    def clear(self) -> None:
        """Forget all groups, which must have been written by `flush`."""
        fields = [call.load([self._empty[place]]) for place, call in enumerate(self._calls)]
        self._fields: list[Fields] = [[np.repeat(part, _LEAST) for part in parts] for parts in fields]
        self._counts = np.zeros(_LEAST, np.int64)
        self._numbers: dict[Any, int] = {}
        self._entries: list[Any] = []
        self._values: list[Any] = []
        self._changed: list[Array] = []

    def find(self, entries: Sequence[Any], values: Sequence[Any]) -> Array | None:
        """Return the numbers of groups, given their entries and the values of their keys.

        Returns:
            None if an accumulator is NaN, for which `!=` is always true.
        """
        numbers = np.array(list(map(self._numbers.get, entries, repeat(-1))), np.int64)
        missing = np.flatnonzero(numbers < 0)
        if len(missing):
            numbers[missing] = self._load([(entries[i], values[i]) for i in missing.tolist()])
        return None if any(np.isnan(parts[0][numbers]).any() for parts in self._fields) else numbers

    def _load(self, groups: list[tuple[Any, Any]]) -> Array:
        """Read groups from the table, and return their numbers."""
        get = self._table.data.get
        states = [get(entry) for entry, _ in groups]
        start, stop = len(self._entries), len(self._entries) + len(groups)
        while stop > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
            self._fields = [[np.concatenate([part, part]) for part in parts] for parts in self._fields]
        self._counts[start:stop] = [0 if state is None else state[0] for state in states]
        for place, (call, parts) in enumerate(zip(self._calls, self._fields, strict=True)):
            found = call.load([self._empty[place] if state is None else state[1][place] for state in states])
            for part, loaded in zip(parts, found, strict=True):
                part[start:stop] = loaded
        self._numbers.update(zip((entry for entry, _ in groups), range(start, stop), strict=True))
        self._entries += [entry for entry, _ in groups]
        self._values += [value if state is None else state[2] for (_, value), state in zip(groups, states, strict=True)]
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
        numbers = np.unique(np.concatenate(self._changed))
        self._changed = []
        stored = [call.store(parts) for call, parts in zip(self._calls, self.fields(numbers), strict=True)]
        accumulators = map(list, zip(*stored, strict=True)) if stored else repeat([], len(numbers))
        places, values = numbers.tolist(), self._values
        counts = self.counts(numbers).tolist()
        entries = [self._entries[place] for place in places]
        states = [[n, state, values[place]] for n, state, place in zip(counts, accumulators, places, strict=True)]
        if 0 in counts:
            for entry in (entry for entry, count in zip(entries, counts, strict=True) if not count):
                self._table.remove(entry)
            entries = [entry for entry, count in zip(entries, counts, strict=True) if count]
            states = [state for state in states if state[0]]
        self._table.put_all(entries, states)
        total = len(self._entries)
        if 2 * np.count_nonzero(self._counts[:total]) < total - _LEAST:  # most groups have no rows any more
            self.clear()
