"""MIN, MAX, FIRST_VALUE and LAST_VALUE over changelogs, with the values of all groups as ranked rows.

The group store keeps only a mark per group. Each value is a row of its own, so a version contains only changed values.

Why: `docs/decisions/0065-values-that-come-and-go.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.functions.accumulators import Accumulator, State
from firesteel.columns.functions.aggregates import find_aggregate
from firesteel.columns.functions.value_accumulators import RetractableExtreme
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall, are_plain, numbered_results
from firesteel.columns.kernels.calls.vector_values import numbered
from firesteel.columns.kernels.ranks.prefix_ranks import PrefixRanks
from firesteel.columns.kernels.ranks.ranked_rows import Ranked, RankedRows
from firesteel.columns.kernels.rows.partitions import Partitions
from firesteel.columns.kernels.rows.row_order import Order
from firesteel.columns.kernels.rows.segments import first_of_segments
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups, Timeline
from firesteel.columns.rows import batch_of, keys_of
from firesteel.columns.values import arrow_type
from firesteel.common.encoding.array_columns import write_integers
from firesteel.common.encoding.column_writer import ColumnWriter
from firesteel.common.encoding.kinds import Kind

MARK = [0]
"""The state of a group."""
_NONE = np.zeros(0, np.int64)
_LATER = np.int64(1 << 40)
"""More than the number of any stored row."""


class VectorRanked(VectorCall):
    """A retractable call whose values are ranked rows: the result of a group is its first row.

    Args:
        plan: The call.
        argument: The type of its argument, which is not nested.
    """

    functions = ()
    is_retractable = True

    def __init__(self, plan: CallPlan, argument: t.DataType) -> None:
        super().__init__(plan)
        name = str(plan.function).upper()
        self._is_descending, self._is_by_value = name == "MAX", name in ("MIN", "MAX")
        self._is_last = name == "LAST_VALUE"
        self._kind = arrow_type(argument)
        aggregate = find_aggregate(name)
        assert aggregate is not None, name
        self._accumulator = aggregate.create([argument], plan.type, True)
        self._pending: Ranked | None = None

    @staticmethod
    def is_known(plan: CallPlan, arguments: Sequence[t.DataType]) -> bool:
        """Return whether the values of a built-in function are ranked."""
        name = str(plan.function).upper()
        return name in ("MIN", "MAX", "FIRST_VALUE", "LAST_VALUE") and not pa.types.is_nested(arrow_type(arguments[0]))

    def open(self, key_types: Sequence[pa.DataType], context: KernelContext, name: str, ttl_ms: int) -> None:
        """Read the values of all groups.

        Args:
            key_types: The types of the key columns.
            context: The environment of the kernel; the state has been restored.
            name: The name of the state table.
            ttl_ms: The time to live of groups; 0 means no expiry.
        """
        width = len(key_types)
        self._types = (*key_types, self._kind)
        self._keys = tuple(range(width))
        self._max_parallelism = context.max_parallelism
        order: Order = ((width, self._is_descending, False),) if self._is_by_value else ()
        make = _LatestFirst if self._is_last else RankedRows
        self._rows = make(self._keys, order, width + 1, context, name, 0)
        # Restored values may be of groups that expired when there was a time to live.
        self._may_expire = ttl_ms > 0 or not self._rows.is_empty

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether all values are finite and none is -0.0: equal values would not be shown alike."""
        return are_plain(batch.columns[self.plan.arguments[0]])

    # --- the marks ---------------------------------------------------------------------------------------------------

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states can be processed: all can."""
        return True

    def load(self, states: Sequence[State]) -> Fields:
        """Return a mark per group."""
        return [np.full(len(states), MARK[0], np.int8)]

    def store(self, fields: Fields) -> list[State]:
        """Return the marks as states."""
        return [[mark] for mark in fields[0].tolist()]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the marks."""
        writer.begin_places(Kind.SHORT_LIST, 1)
        write_integers(writer, fields[0].astype(np.int64))

    # --- batches -----------------------------------------------------------------------------------------------------

    def change(
        self, timeline: Timeline, groups: Partitions, counts: Array, batch: ColumnBatch, keys: ColumnBatch
    ) -> Results | None:
        """Return the result at each place of a timeline; `accept` changes the values.

        Args:
            timeline: The places.
            groups: The groups of the rows.
            counts: The number of rows of each group so far; what a group without rows had has expired.
            batch: The rows.
            keys: Their key columns.

        Returns:
            None if a value is retracted that is not there.
        """
        if self._may_expire:
            # A group that has expired begins without the values that it had.
            self._rows.drop(self._rows.of(groups.keys.take(np.flatnonzero(counts == 0))))
        there = np.flatnonzero(self.counted(batch))
        partitions, rows = groups, self._values_of(batch, keys)
        if len(there) < batch.length:
            rows = rows.take(there)
            partitions = replace(groups, groups=RowGroups.numbered(groups.groups.codes[there], groups.groups.count))
        ranked = self._rows.rank(rows, partitions, 1)
        if not ranked.changes.is_effective.all():
            return None
        self._pending, found = ranked, _first_rows(ranked)
        codes, values = numbered(found.rows.columns[-1])
        codes = np.append(codes, -1)
        shown = np.full(len(timeline.starts) + batch.length, -2)
        shown[timeline.starts] = codes[found.before]
        shown[timeline.after[there[found.changed]]] = codes[found.after]
        # A place that is not set shows what the last one before it shows; the first one of each group is set.
        shown = shown[np.maximum.accumulate(np.where(shown == -2, 0, np.arange(len(shown))))]
        return numbered_results(values, shown, shown < 0)

    def _values_of(self, batch: ColumnBatch, keys: ColumnBatch) -> ColumnBatch:
        """Return the rows of a batch as values are kept, given the keys of their groups."""
        columns = (*keys.columns, batch.columns[self.plan.arguments[0]])
        cast = (column.cast(kind) for column, kind in zip(columns, self._types, strict=True))
        return ColumnBatch(tuple(cast), batch.length, batch.kinds)

    def accept(self) -> None:
        """Change the values by the last batch."""
        assert self._pending is not None
        self._pending.apply()
        self._pending = None

    def flush(self, are_there: Callable[[ColumnBatch], Array] | None) -> None:
        """Write what has changed since the last version.

        Args:
            are_there: Returns which keys have groups; values of others are forgotten. None if all have.
        """
        if are_there is not None:
            gone = [numbers[~are_there(rows.select(self._keys))] for rows, numbers in self._rows.parts()]
            self._rows.drop(np.concatenate([_NONE, *gone]))
        self._rows.flush()

    # --- states of the row path --------------------------------------------------------------------------------------

    def may_take(self, state: State) -> bool:
        """Return whether the state of a group has no value that was retracted before it came."""
        return state == MARK or all(count > 0 for _, count in _counted_values(self._accumulator, state))

    def take(self, states: dict[Cell, State]) -> None:
        """Take the values out of states of the row path, given by key group and key of the group."""
        found = [
            (*entry[1:], value)
            for entry, state in states.items()
            if state != MARK
            for value, count in _counted_values(self._accumulator, state)
            for _ in range(count)
        ]
        if not found:
            return
        rows = batch_of(found, self._types)
        self._rows.add(rows, np.zeros(rows.length, np.int64), np.zeros(rows.length, np.int64))

    def give(self) -> dict[Cell, State]:
        """Return the states that the row path has for groups, and forget all values."""
        found: dict[Cell, State] = {}
        all_numbers = [_NONE]
        for rows, numbers in self._rows.parts():
            keys = keys_of(rows, self._keys, self._max_parallelism)
            for key, value in zip(keys, pylist(rows.columns[-1]), strict=True):
                self._accumulator.add(found.setdefault(key, self._accumulator.new()), value)
            all_numbers.append(numbers)
        self._rows.drop(np.concatenate(all_numbers))
        self.flush(None)  # for the last time, as the groups go by rows from here
        return found

    def new(self) -> State:
        """Return the state that the row path has for a group without values."""
        return self._accumulator.new()


class _LatestFirst(RankedRows):
    """Rows of which the one that came last is the first."""

    def _sort_keys(self, numbers: Array) -> Sequence[Array]:
        return [-numbers]

    def _keys_of_sort(self, known: Array, batch: ColumnBatch, come: Array) -> list[Array]:
        return [-np.concatenate([known, _LATER + come])]


class _FirstRows(NamedTuple):
    """The first rows of the partitions of a batch. Places in `rows` are -1 where there is no first row.

    Attributes:
        rows: The first rows.
        before: The place of the first row of each partition before the batch.
        changed: The rows of the batch that may change the first row.
        after: The place of the first row after each of them.
    """

    rows: ColumnBatch
    before: Array
    changed: Array
    after: Array


def _first_rows(ranked: Ranked) -> _FirstRows:
    events, own = ranked.events()
    changed = np.flatnonzero(own >= 0)
    at = own[changed]
    prefixes, lengths = PrefixRanks(events.elements, events.starts, events.signs), at + 1 - events.starts[at]
    after, has_rows = np.full(len(at), -1), np.flatnonzero(prefixes.counts(at, lengths))
    first = prefixes.at(at[has_rows], lengths[has_rows], np.zeros(len(has_rows), np.int64))
    after[has_rows] = events.rows[events.firsts[at[has_rows]] + first]
    known = ranked.by_rank[ranked.by_rank < len(ranked.known)]
    is_first = first_of_segments(ranked.of[known])
    before = np.full(ranked.partitions.groups.count, -1)
    before[ranked.of[known[is_first]]] = known[is_first]
    rows, (before, after) = events.take(before, after)
    return _FirstRows(rows, before, changed, after)


def _counted_values(accumulator: Accumulator, state: State) -> Iterator[tuple[Cell, int]]:
    """Yield the values of a state of the row path, in their order, each with its number."""
    if isinstance(accumulator, RetractableExtreme):
        yield from state[1].items()
    else:
        yield from ((value, 1) for value in state[1].values())
