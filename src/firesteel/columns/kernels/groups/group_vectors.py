"""Vectorized group aggregation: processes whole batches, where `GroupAggregate` does so row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import KernelContext, StateTable
from firesteel.columns.kernels.calls.ranked_values import VectorRanked
from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall
from firesteel.columns.kernels.groups.group_store import FoundGroups, GroupStore
from firesteel.columns.kernels.rows.partitions import Partitions
from firesteel.columns.kernels.rows.segments import parts_of
from firesteel.columns.row_groups import RowGroups, Timeline
from firesteel.columns.rows import DELETE, INSERT, UPDATE_AFTER, UPDATE_BEFORE, are_retractions, signs_of

RESULT_BYTES = 64 << 20
"""About the most bytes of results that are made at once."""

GroupState = list[Cell]
"""`[row count, accumulators, values of the key]`."""


def covers(calls: Sequence[VectorCall], batch: ColumnBatch, retracts: bool = False) -> bool:
    """Return whether all calls can process a batch as arrays; without `retracts` it must have inserts only."""
    has_valid_kinds = retracts or batch.kinds is None or not batch.kinds.any()
    return has_valid_kinds and batch.length > 0 and all(call.covers(batch) for call in calls)


def load(calls: Sequence[VectorCall], states: Sequence[list[Cell]]) -> list[Fields] | None:
    """Return the accumulators of groups as arrays, or None if a call can't process them as arrays."""
    fields = [call.load([state[place] for state in states]) for place, call in enumerate(calls)]
    return fields if all(call.covers_states(parts) for call, parts in zip(calls, fields, strict=True)) else None


def store(calls: Sequence[VectorCall], fields: Sequence[Fields], count: int) -> list[list[object]]:
    """Convert arrays back to the accumulators of `count` groups."""
    columns = [call.store(parts) for call, parts in zip(calls, fields, strict=True)]
    return list(map(list, zip(*columns, strict=True))) if columns else [[] for _ in range(count)]


def fold(calls: Sequence[VectorCall], fields: Sequence[Fields], groups: RowGroups, batch: ColumnBatch) -> list[Fields]:
    """Return the accumulators of groups after adding and retracting the rows of a batch."""
    signs = signs_of(batch)
    return [call.fold(groups, parts, call.changes(batch, signs)) for call, parts in zip(calls, fields, strict=True)]


def repeated(fields: Sequence[Fields], count: int) -> list[Fields]:
    """Return the accumulators of one group for `count` groups."""
    return [[np.repeat(part, count) for part in parts] for parts in fields]


def fields_of(calls: Sequence[VectorCall], columns: Sequence[pa.Array]) -> list[Fields]:
    """Return accumulators that were kept as columns, in the order of the calls."""
    parts = iter(columns)
    return [call.from_columns(parts) for call in calls]


def partial_rows(
    calls: Sequence[VectorCall], keys: Sequence[pa.Array], fields: Sequence[Fields], length: int
) -> ColumnBatch:
    """Return accumulators as columns behind those of their keys."""
    columns = (column for call, parts in zip(calls, fields, strict=True) for column in call.columns(parts))
    return ColumnBatch((*keys, *columns), length)


def results(calls: Sequence[VectorCall], fields: Sequence[Fields]) -> list[pa.Array]:
    """Return the results of groups, one column per call."""
    return [call.final(parts) for call, parts in zip(calls, fields, strict=True)]


def _has_no_rest(found: Results, counts: Array) -> bool:
    """Return whether groups without rows have no value left, of a row whose retraction came as that of another one."""
    gone = counts == 0
    return not gone.any() or (found.nulls is not None and bool(found.nulls[gone].all()))


class GroupVectors:
    """The groups of one operator, updated by whole batches.

    Args:
        keys: The key columns.
        key_types: Arrow types of the key columns in the input.
        calls: The aggregate calls.
        types: Arrow types of the key columns in the result.
        table: The table with the `GroupState` of each key.
        empty: Returns the accumulators of a group without rows.
        context: The environment of the kernel.
        retracts: Whether batches contain retractions; then all calls must be `is_retractable`.
        is_mini_batch: Whether a batch changes the result of a group at most once, instead of with each row.
        emits_before: Whether `-U` comes before an update.
        emits_unchanged: Whether a result that stays the same is an update, too.
    """

    def __init__(
        self,
        keys: tuple[int, ...],
        key_types: Sequence[pa.DataType],
        calls: Sequence[VectorCall],
        types: Sequence[pa.DataType],
        table: StateTable,
        empty: Callable[[], list[Cell]],
        context: KernelContext,
        retracts: bool = False,
        is_mini_batch: bool = False,
        emits_before: bool = True,
        emits_unchanged: bool = False,
    ) -> None:
        self._keys = keys
        self._calls = calls
        self._ranked = [call for call in calls if isinstance(call, VectorRanked)]
        self._types = types
        self._store = GroupStore(key_types, calls, table, empty(), context.max_parallelism, context.spill())
        self._retracts = retracts
        self._is_mini_batch = is_mini_batch
        self._emits_before, self._emits_unchanged = emits_before, emits_unchanged

    def take(self, are_changed: bool) -> None:
        """Take the restored groups out of the table; it may have noted that they have changed."""
        self._store.take(are_changed)

    def change(self, batch: ColumnBatch) -> Iterator[ColumnBatch] | None:
        """Add or retract rows and return the changelog of the results, in parts.

        Returns:
            None if the batch cannot be vectorized; nothing has changed, and the caller has to add row by row.
        """
        found = self._find(batch)
        if found is None:
            return None
        groups, firsts, before = found
        timeline = Timeline(groups)
        signs = signs_of(batch)
        states = before.fields
        fields = [
            [
                timeline.accumulate(function, first, added)
                for function, first, added in zip(call.functions, parts, call.changes(batch, signs), strict=True)
            ]
            if call.functions and not call.has_steps
            else []
            for call, parts in zip(self._calls, states, strict=True)
        ]
        rows = np.ones(batch.length, np.int64) if signs is None else signs
        counts = timeline.accumulate(np.add, before.counts, rows)
        # Nothing has been stored up to here, so the caller can still go row by row.
        if signs is not None and not self._is_regular(counts, fields):
            return None
        ranked: dict[int, Results | None] = {}
        if self._ranked:
            partitions, keys = Partitions(groups, firsts, before.hashes), batch.select(self._keys)
            ranked = {
                number: call.change(timeline, partitions, before.counts, batch, keys)
                for number, call in enumerate(self._calls)
                if isinstance(call, VectorRanked)
            }
        if not all(shown is not None and _has_no_rest(shown, counts) for shown in ranked.values()):
            return None
        ends = timeline.starts + groups.sizes
        all_results: list[Results] = []
        for number, (call, parts) in enumerate(zip(self._calls, fields, strict=True)):
            if call.has_steps:
                stepped, states[number] = call.steps(timeline, groups, states[number], batch, counts)
                all_results.append(stepped)
            elif shown := ranked.get(number):
                all_results.append(shown)
            else:
                all_results.append(Results(*call.results(parts), call.column))
                states[number] = [part[ends] for part in parts]
        self._store.update(before, counts[ends], states)
        for call in self._ranked:
            call.accept()
        if self._is_mini_batch:
            first = batch.take(groups.first_rows())
            return self._changelog(first, timeline.starts, ends, all_results, counts)
        return self._changelog(batch, timeline.after - 1, timeline.after, all_results, counts)

    def begins(self, batch: ColumnBatch) -> Array:
        """Return which rows are of groups that are not there, or have expired."""
        return ~self._are_there(batch.select(self._keys))

    def _are_there(self, keys: ColumnBatch) -> Array:
        groups = RowGroups(keys.columns, keys.length)
        return self._store.are_there(keys.take(groups.first_rows()))[groups.codes]

    def give_back(self, batch: ColumnBatch | None = None) -> None:
        """Put the groups of a batch, or all, into the table, because others read and write it."""
        self._store.give_back(None if batch is None else batch.select(self._keys))

    def flush(self, forgets: bool) -> None:
        """Write the ranked values that have changed, and maybe forget those of groups that have expired."""
        for call in self._ranked:
            call.flush(self._are_there if forgets else None)

    def _is_regular(self, counts: Array, fields: Sequence[Fields]) -> bool:
        """Return whether each retracted row was there before, so that groups without rows are empty.

        Row by row, such groups are removed and begin anew, and retractions of missing groups are ignored.
        """
        if (counts < 0).any():
            return False
        gone = counts == 0
        return not any(part[gone].any() for parts in fields for part in parts)

    def _find(self, batch: ColumnBatch) -> tuple[RowGroups, ColumnBatch, FoundGroups] | None:
        """Return the groups of a batch with their keys and states."""
        if not covers(self._calls, batch, self._retracts):
            return None
        keys = batch.select(self._keys)
        groups = RowGroups(keys.columns, keys.length)
        firsts = keys if groups.count == keys.length else keys.take(groups.first_rows())
        found = self._store.find(firsts)
        return None if found is None else (groups, firsts, found)

    def _changelog(
        self, keys: ColumnBatch, before: Array, after: Array, found: Sequence[Results], counts: Array
    ) -> Iterator[ColumnBatch]:
        """Yield +I for groups that have rows now, -D for those that have none, -U and +U for others that are updated.

        Args:
            keys: Rows with the keys of the groups.
            before: The place of each group's old values in the timeline.
            after: The place of each group's new values.
            found: The results of the calls at the places of the timeline, and which are NULL.
            counts: The timeline of the number of rows.
        """
        changed = np.full(keys.length, self._emits_unchanged)
        for values, nulls, *_ in found:
            different = values[after] != values[before]
            if values.dtype == object:  # NaN is the same as NaN
                different = different & ((values[after] == values[after]) | (values[before] == values[before]))
                different = different.astype(bool)
            if nulls is not None:
                different = np.where(nulls[after] | nulls[before], nulls[after] != nulls[before], different)
            changed |= different
        is_insert, is_delete = counts[before] == 0, counts[after] == 0
        rows_of_update = 2 if self._emits_before else 1
        numbers = np.where(is_insert ^ is_delete, 1, np.where(changed & ~is_insert, rows_of_update, 0))
        rows = np.repeat(np.arange(keys.length), numbers)
        # A row that updates may stand twice in `rows`: the last one becomes +U, one before it -U.
        is_last = np.arange(1, len(rows) + 1) == np.repeat(np.cumsum(numbers), numbers)
        update = np.where(is_last, UPDATE_AFTER, UPDATE_BEFORE)
        kinds = np.where(is_insert[rows], INSERT, np.where(is_delete[rows], DELETE, update)).astype(np.int8)
        places = np.where(are_retractions(kinds), before[rows], after[rows])
        sizes = sum((part.sizes[places] for part in found if part.sizes is not None), np.zeros(len(rows), np.int64))
        for start, stop in parts_of(sizes, RESULT_BYTES):
            yield self._rows(keys, rows[start:stop], found, places[start:stop], kinds[start:stop])

    def _rows(
        self, keys: ColumnBatch, rows: Array, found: Sequence[Results], places: Array, kinds: Array
    ) -> ColumnBatch:
        taken = pa.array(rows)
        columns = [keys.columns[key].take(taken).cast(kind) for key, kind in zip(self._keys, self._types, strict=False)]
        for values, nulls, column, _ in found:
            columns.append(column(values[places], None if nulls is None else nulls[places]))
        return ColumnBatch(tuple(columns), len(rows), kinds if kinds.any() else None)
