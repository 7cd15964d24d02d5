"""The values that DISTINCT aggregates have seen in each group, on columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.vector_calls import counted
from firesteel.columns.kernels.groups.distinct_groups import DistinctGroups
from firesteel.columns.kernels.rows.key_numbers import KeyNumbers
from firesteel.columns.kernels.rows.saved_rows import SavedRows
from firesteel.columns.kernels.rows.segments import count_on
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.rows import batch_of, hashable_values

_LEAST = 1024


@dataclass(frozen=True, slots=True)
class DistinctPlan:
    """What DISTINCT calls with the same arguments see.

    Attributes:
        keys: The key columns.
        arguments: The argument columns.
        conditions: The columns of their FILTERs, each once; None for calls without one.
        types: The Arrow types of keys and arguments.
        retracts: Whether rows can be retracted, so that it counts how often a group has a value.
    """

    keys: tuple[int, ...]
    arguments: tuple[int, ...]
    conditions: tuple[int | None, ...]
    types: tuple[pa.DataType, ...]
    retracts: bool


class DistinctValues:
    """How often each group has each value, by condition.

    State: a log of keys, values, and by how much their number changed for each condition. NULL as value: the group has
    expired.

    Args:
        plan: Which values.
        names: A state table for each condition. The first one has the log; earlier releases had one in each.
        context: The environment of the kernel; the state has been restored.
        ttl_ms: The time to live of groups; 0 means no expiry.
    """

    def __init__(self, plan: DistinctPlan, names: Sequence[str], context: KernelContext, ttl_ms: int) -> None:
        self._plan = plan
        self._columns = tuple(range(len(plan.types)))
        self._spill = context.spill()
        self._values = KeyNumbers(self._spill)
        self._counts = np.zeros((len(plan.conditions), _LEAST), np.int64)
        self._unsaved: list[ColumnBatch] = []
        self._pending: tuple[Array, Array, ColumnBatch] | None = None
        former = list(self._take_former(names, context, ttl_ms)) if len(names) > 1 else []
        self._log = SavedRows(context.table(names[0]), self._columns[: len(plan.keys)], context.max_parallelism)
        self._log.is_outdated = bool(former)
        have_expired = any(rows.columns[len(plan.keys)].null_count for rows in self._log.rows())
        self._groups = DistinctGroups(len(plan.keys), context, ttl_ms) if ttl_ms or have_expired else None
        for rows in (*former, *self._log.rows()):
            self._restore(rows)

    def _take_former(self, names: Sequence[str], context: KernelContext, ttl_ms: int) -> Iterator[ColumnBatch]:
        """Take values that an earlier release kept in a log for each condition, and yield them as the log has them."""
        tables, width = [context.table(name) for name in names], len(self._columns)
        first = next(iter(tables[0].data.values()), None)
        if not (any(table.data for table in tables[1:]) or (first is not None and len(first.columns) == width + 1)):
            return
        for place, (name, condition) in enumerate(zip(names, self._plan.conditions, strict=True)):
            values = DistinctValues(replace(self._plan, conditions=(condition,)), [name], context, ttl_ms)
            for rows in values._all():
                counts = [pa.array(np.zeros(rows.length, np.int64))] * len(names)
                counts[place] = rows.columns[-1]
                yield rows.with_columns([*rows.columns[:-1], *counts])
            values._log.clear()

    def _restore(self, rows: ColumnBatch) -> None:
        if self._groups is not None:
            is_end = rows.columns[len(self._plan.keys)].is_null().to_numpy(zero_copy_only=False)
            rows = rows.filter(self._groups.restore(rows, is_end))
        groups, numbers = self._current(rows)
        for counts, change in zip(self._counts, rows.columns[len(self._columns) :], strict=True):
            np.add.at(counts, numbers[groups.codes], change.to_numpy())

    def _current(self, rows: ColumnBatch) -> tuple[RowGroups, Array]:
        """Return the rows by value, and the numbers of the values; those of expired groups do not count any more."""
        groups, numbers = self._find(rows)
        if self._groups is not None:
            outdated = self._groups.are_outdated(rows.take(groups.first_rows()), numbers)
            self._counts[:, numbers[outdated]] = 0
        return groups, numbers

    def _find(self, rows: ColumnBatch) -> tuple[RowGroups, Array]:
        groups, numbers = self._values.find_groups(rows, self._columns)
        while len(self._values) > self._counts.shape[1]:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        return groups, numbers

    def first_or_last(self, batch: ColumnBatch, signs: Array | None, begins: Array | None) -> list[Array] | None:
        """Return a mask per condition of the rows that bring a new value to their group, or remove its last occurrence.

        Args:
            batch: The rows. They count only once `accept` is called.
            signs: -1 for each row that is retracted and 1 for the others; None if no row is retracted.
            begins: Which rows are of groups that are not there, or have expired; None if no group expires.

        Returns:
            None if a value is retracted that its group does not have.
        """
        plan = self._plan
        columns = [batch.columns[index] for index in (*plan.keys, *plan.arguments)]
        if begins is not None:
            self._begin(ColumnBatch(tuple(columns), batch.length), begins)
        masks = [counted(batch, plan.arguments, condition) for condition in plan.conditions]
        there = np.flatnonzero(np.logical_or.reduce(masks))
        rows = ColumnBatch(tuple(columns), batch.length).take(there)
        groups, numbers = self._current(rows)
        before = self._counts[:, numbers]
        after, found = before.copy(), [np.zeros(batch.length, bool) for _ in masks]
        for mask, counts, is_found in zip(masks, after, found, strict=True):
            own = np.flatnonzero(mask[there])
            steps = np.ones(len(own), np.int64) if signs is None else signs[there[own]]
            count = count_on(counts, groups.codes[own], steps)
            if (count < 0).any():
                return None
            # The first one that came leaves 1, the last one that went leaves 0.
            is_found[there[own]] = count == (steps > 0)
        # Only values that go need to be counted; without retractions that a value is there is enough.
        is_saved = (before != after if plan.retracts else (before == 0) & (after > 0)).any(axis=0)
        saved = rows.take(groups.first_rows()[is_saved])
        saved = saved.with_columns([*saved.columns, *map(pa.array, (after - before)[:, is_saved])])
        self._pending = numbers, after, saved
        return found

    def _begin(self, rows: ColumnBatch, begins: Array) -> None:
        """Note that rows write to their groups, some of which begin anew."""
        assert self._groups is not None, "groups expire"
        ended = self._groups.write(rows, begins)
        if len(ended):
            keys = [column.take(pa.array(ended)) for column in rows.columns[: len(self._plan.keys)]]
            nothing = [pa.nulls(len(ended), kind) for kind in self._plan.types[len(keys) :]]
            counts = [pa.array(np.zeros(len(ended), np.int64))] * len(self._plan.conditions)
            self._unsaved.append(ColumnBatch((*keys, *nothing, *counts), len(ended)))

    def accept(self) -> None:
        """Count the rows of the last batch."""
        assert self._pending is not None
        numbers, counts, saved = self._pending
        self._counts[:, numbers] = counts
        self._unsaved.append(saved)

    def flush(self) -> None:
        """Write what has changed since the last version."""
        counts = self._left()
        kept = np.flatnonzero(counts.any(axis=0))
        left = len(kept)
        forgets = 2 * left < counts.shape[1] - _LEAST
        if self._groups is not None:
            forgets |= self._groups.are_due()
            self._log.is_outdated |= forgets  # It has values of groups that are forgotten and may come again.
        self._log.save(self._unsaved, left, self._all)
        self._unsaved.clear()
        if forgets:
            self._values.keep(kept)
            self._counts[:, :left], self._counts[:, left:] = counts[:, kept], 0
            if self._groups is not None:
                self._groups.keep(kept)

    def _left(self) -> Array:
        """Return how often each value is there."""
        counts = self._counts[:, : len(self._values)]
        return counts if self._groups is None else np.where(self._groups.are_live(counts.shape[1]), counts, 0)

    def _all(self) -> Iterator[ColumnBatch]:
        """Yield the values that groups have, with their numbers."""
        left = self._left()
        for keys, numbers in self._values.parts():
            counts = left[:, numbers]
            columns = [key.cast(kind) for key, kind in zip(keys, self._plan.types, strict=True)]
            yield ColumnBatch((*columns, *map(pa.array, counts)), len(numbers)).filter(np.any(counts, axis=0))

    def take(self) -> list[dict[Cell, dict[Cell, int]]]:
        """Return for each condition how often each key has each value, as objects, and forget them."""
        found: list[dict[Cell, dict[Cell, int]]] = [{} for _ in self._plan.conditions]
        place, width = len(self._plan.keys), len(self._columns)
        for rows in self._all():
            for row in zip(*map(hashable_values, rows.columns), strict=True):
                for counts, count in zip(found, row[width:], strict=True):
                    if count:
                        counts.setdefault(tuple(row[:place]), {})[tuple(row[place:width])] = count
        self._values, self._counts[:] = KeyNumbers(self._spill), 0
        if self._groups is not None:
            self._groups.keep(np.zeros(0, np.int64))
        self._unsaved.clear()
        self._log.is_outdated = True
        self._log.save([], 0, list)
        return found

    def put(self, place: int, counts: dict[Cell, dict[Cell, int]]) -> None:
        """Add values that were kept as objects for a condition."""
        before, after = (0,) * place, (0,) * (len(self._plan.conditions) - place - 1)
        known = ((key, value, count) for key, values in counts.items() for value, count in values.items())
        rows = [(*key, *value, *before, count, *after) for key, value, count in known if None not in value]
        found = batch_of(rows, (*self._plan.types, *[pa.int64()] * len(self._plan.conditions)))
        self._restore(found)
        self._unsaved.append(found)
