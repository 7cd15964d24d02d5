"""The values that DISTINCT aggregates have seen in each group, on columns."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.distinct_groups import DistinctGroups
from firesteel.columns.kernels.key_numbers import KeyNumbers
from firesteel.columns.kernels.saved_rows import SavedRows
from firesteel.columns.kernels.segments import first_of_segments
from firesteel.columns.kernels.vector_calls import counted
from firesteel.columns.rows import batch_of, hashable_values

_LEAST = 1024


@dataclass(frozen=True, slots=True)
class DistinctPlan:
    """What DISTINCT calls with the same arguments and FILTER see.

    Attributes:
        keys: The key columns.
        arguments: The argument columns.
        condition: The column of the FILTER, or None.
        types: The Arrow types of keys and arguments.
        retracts: Whether rows can be retracted, so that it counts how often a group has a value.
    """

    keys: tuple[int, ...]
    arguments: tuple[int, ...]
    condition: int | None
    types: tuple[pa.DataType, ...]
    retracts: bool


class DistinctValues:
    """How often each group has each value.

    State: a log of keys, values, and by how much their number changed. NULL as value: the group has expired.

    Args:
        plan: Which values.
        name: The name of the state table.
        context: The environment of the kernel; the state has been restored.
        ttl_ms: The time to live of groups; 0 means no expiry.
    """

    def __init__(self, plan: DistinctPlan, name: str, context: KernelContext, ttl_ms: int) -> None:
        self._plan = plan
        self._columns = tuple(range(len(plan.types)))
        self._spill = context.spill()
        self._values = KeyNumbers(self._spill)
        self._counts = np.zeros(_LEAST, np.int64)
        self._unsaved: list[ColumnBatch] = []
        self._pending: tuple[Array, Array, ColumnBatch] | None = None
        self._log = SavedRows(context.table(name), self._columns[: len(plan.keys)], context.max_parallelism)
        have_expired = any(rows.columns[len(plan.keys)].null_count for rows in self._log.rows())
        self._groups = DistinctGroups(len(plan.keys), context, ttl_ms) if ttl_ms or have_expired else None
        for rows in self._log.rows():
            self._restore(rows)

    def _restore(self, rows: ColumnBatch) -> None:
        if self._groups is not None:
            is_end = rows.columns[len(self._plan.keys)].is_null().to_numpy(zero_copy_only=False)
            rows = rows.filter(self._groups.restore(rows, is_end))
        numbers = self._current(rows)
        np.add.at(self._counts, numbers, rows.columns[-1].to_numpy())

    def _current(self, rows: ColumnBatch) -> Array:
        """Return the numbers of values; those of groups that have expired since do not count any more."""
        numbers = self._find(rows)
        if self._groups is not None:
            self._counts[numbers[self._groups.are_outdated(rows, numbers)]] = 0
        return numbers

    def _find(self, rows: ColumnBatch) -> Array:
        numbers = self._values.find(rows, self._columns)
        while len(self._values) > len(self._counts):
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        return numbers

    def first_or_last(self, batch: ColumnBatch, signs: Array | None, begins: Array | None) -> Array | None:
        """Return which rows bring a value that their group does not have, or take the last one away.

        Args:
            batch: The rows. They count only once `accept` is called.
            signs: -1 for each row that is retracted and 1 for the others; None if no row is retracted.
            begins: Which rows are of groups that are not there, or have expired; None if no group expires.

        Returns:
            None if a value is retracted that its group does not have.
        """
        plan = self._plan
        there = np.flatnonzero(counted(batch, plan.arguments, plan.condition))
        columns = [batch.columns[index] for index in (*plan.keys, *plan.arguments)]
        if begins is not None:
            self._begin(ColumnBatch(tuple(columns), batch.length), begins)
        rows = ColumnBatch(tuple(columns), batch.length).take(there)
        numbers = self._current(rows)
        order = np.argsort(numbers, kind="stable")
        change = np.ones(len(order), np.int64) if signs is None else signs[there][order]
        total = np.cumsum(change)
        ends = np.flatnonzero(np.diff(numbers[order], append=-1))
        is_first = np.flatnonzero(first_of_segments(numbers[order]))
        base = self._counts[numbers[order[is_first]]] - total[is_first] + change[is_first]
        counts = total + np.repeat(base, ends + 1 - is_first)
        if (counts < 0).any():
            return None
        last = numbers[order[ends]]
        added = counts[ends] - self._counts[last]
        is_saved = np.flatnonzero(added if plan.retracts else self._counts[last] == 0)
        saved = rows.take(order[ends[is_saved]])
        saved = saved.with_columns([*saved.columns, pa.array(added[is_saved])])
        self._pending = last, counts[ends], saved
        found = np.zeros(batch.length, bool)
        found[there[order]] = counts == (change > 0)
        return found

    def _begin(self, rows: ColumnBatch, begins: Array) -> None:
        """Note that rows write to their groups, some of which begin anew."""
        assert self._groups is not None, "groups expire"
        ended = self._groups.write(rows, begins)
        if len(ended):
            keys = [column.take(pa.array(ended)) for column in rows.columns[: len(self._plan.keys)]]
            nothing = [pa.nulls(len(ended), kind) for kind in self._plan.types[len(keys) :]]
            self._unsaved.append(ColumnBatch((*keys, *nothing, pa.array(np.zeros(len(ended), np.int64))), len(ended)))

    def accept(self) -> None:
        """Count the rows of the last batch."""
        assert self._pending is not None
        numbers, counts, saved = self._pending
        self._counts[numbers] = counts
        self._unsaved.append(saved)

    def flush(self) -> None:
        """Write what has changed since the last version."""
        counts = self._left()
        left = int(np.count_nonzero(counts))
        forgets = 2 * left < len(counts) - _LEAST
        if self._groups is not None:
            forgets |= self._groups.are_due()
            self._log.is_outdated |= forgets  # It has values of groups that are forgotten and may come again.
        self._log.save(self._unsaved, left, self._all)
        self._unsaved.clear()
        if forgets:
            kept = np.flatnonzero(counts)
            self._values.keep(kept)
            self._counts[:left], self._counts[left:] = counts[kept], 0
            if self._groups is not None:
                self._groups.keep(kept)

    def _left(self) -> Array:
        """Return how often each value is there."""
        counts = self._counts[: len(self._values)]
        return counts if self._groups is None else np.where(self._groups.are_live(len(counts)), counts, 0)

    def _all(self) -> Iterator[ColumnBatch]:
        """Yield the values that groups have, with their numbers."""
        left = self._left()
        for keys, numbers in self._values.parts():
            counts = left[numbers]
            columns = [key.cast(kind) for key, kind in zip(keys, self._plan.types, strict=True)]
            yield ColumnBatch((*columns, pa.array(counts)), len(counts)).filter(counts != 0)

    def take(self) -> dict[Cell, dict[Cell, int]]:
        """Return how often each key has each value, as objects, and forget them."""
        found: dict[Cell, dict[Cell, int]] = {}
        place = len(self._plan.keys)
        for rows in self._all():
            for *key, count in zip(*map(hashable_values, rows.columns), strict=True):
                found.setdefault(tuple(key[:place]), {})[tuple(key[place:])] = count
        self._values, self._counts[:] = KeyNumbers(self._spill), 0
        if self._groups is not None:
            self._groups.keep(np.zeros(0, np.int64))
        self._unsaved.clear()
        self._log.is_outdated = True
        self._log.save([], 0, list)
        return found

    def put(self, counts: dict[Cell, dict[Cell, int]]) -> None:
        """Add values that were kept as objects."""
        known = ((key, value, count) for key, values in counts.items() for value, count in values.items())
        rows = [(*key, *value, count) for key, value, count in known if None not in value]
        found = batch_of(rows, (*self._plan.types, pa.int64()))
        self._restore(found)
        self._unsaved.append(found)
