"""COLLECT over arrays: the different values of each group, and how often it has each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall, are_plain, sizes_of
from firesteel.columns.kernels.calls.vector_values import objects
from firesteel.columns.kernels.rows.key_numbers import comparable
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.orders import stable_order
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.row_keys import freeze

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.functions.accumulators import State
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.columns.row_groups import Timeline


class VectorCollect(VectorCall):
    """COLLECT of rows that are only inserted, of values that are not nested.

    The state of a group is a list of its values, in the order in which they came first, and one of their numbers.
    """

    functions = ()
    has_steps = True

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        self._kind = self.type.key_type

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether equal values are alike."""
        return are_plain(batch.columns[self.plan.arguments[0]])

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states can be processed: all can."""
        return True

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Return numbers as results, the place at which each came about, and the values of the groups."""
        lists, kept_counts = (list(part) for part in states)
        sizes = np.fromiter(map(len, lists), np.int64, len(lists))
        kept = pa.array(list(chain.from_iterable(lists)), self._kind)
        rows = np.flatnonzero(self.counted(batch))
        added = batch.columns[self.plan.arguments[0]].take(pa.array(rows)).cast(self._kind)
        owners = np.concatenate([np.repeat(np.arange(groups.count), sizes), groups.codes[rows]])
        values, places = pa.concat_arrays([kept, added]), timeline.after[rows]
        pairs = RowGroups([pa.array(owners), comparable(values)], len(owners))
        firsts = pairs.first_rows()
        multisets = _Multisets(
            values.take(pa.array(firsts)),
            np.fromiter(chain.from_iterable(kept_counts), np.int64, len(kept)),
            np.concatenate([timeline.starts[owners[: len(kept)]], places])[firsts],
            pairs.codes[len(kept) :],
            places,
            np.repeat(timeline.starts, groups.sizes + 1),
        )
        changed = np.zeros(groups.count + batch.length, np.int64)
        changed[timeline.starts], changed[places] = timeline.starts, places
        found = multisets.at(timeline.starts + groups.sizes)
        after = [_lists(pylist(found.values), found.ends), _lists(found.counts.tolist(), found.ends)]
        shown = np.maximum.accumulate(changed)
        return Results(shown, None, partial(self._maps, multisets), multisets.sizes()), after

    def _maps(self, multisets: _Multisets, places: Array, nulls: Array | None) -> pa.Array:
        found = multisets.at(places)
        return pa.MapArray.from_arrays(pa.array(found.ends, pa.int32()), found.values, found.counts).cast(self.type)

    def load(self, states: Sequence[State]) -> Fields:
        """Return the values of the states, and their numbers."""
        values, counts = ([[pair[place] for pair in state[0].values()] for state in states] for place in (0, 1))
        return [objects(values), objects(counts)]

    def store(self, fields: Fields) -> list[State]:
        """Return the states."""
        pairs = (zip(values, counts, strict=True) for values, counts in zip(*fields, strict=True))
        return [[{freeze(value): (value, count) for value, count in group}] for group in pairs]


class _Found(NamedTuple):
    """Multisets one after the other.

    Attributes:
        ends: Where each begins, and where the last one ends.
        values: The values of all.
        counts: How often each is there.
    """

    ends: Array
    values: pa.Array
    counts: Array


class _Multisets:
    """The values of groups at the places of a timeline.

    Args:
        values: The different values of all groups.
        kept: The numbers of the first ones of these, which groups had before.
        firsts: The place at which each value came.
        added: The values that rows have added, by number.
        places: The places after these rows.
        begins: Where the group of each place begins.
    """

    def __init__(
        self, values: pa.Array, kept: Array, firsts: Array, added: Array, places: Array, begins: Array
    ) -> None:
        self._by_place = stable_order(firsts)
        self._values, self._firsts, self._begins = values, firsts[self._by_place], begins
        self._kept = np.concatenate([kept, np.zeros(len(firsts) - len(kept), np.int64)])
        self._length = len(begins) + 1
        self._added = np.sort(added * self._length + places)

    def sizes(self) -> Array:
        """Return about how many bytes the values at each place take."""
        totals = np.concatenate([[0], np.cumsum(sizes_of(self._values)[self._by_place])])
        low, high = self._bounds(np.arange(len(self._begins)))
        found: Array = totals[high] - totals[low]
        return found

    def _bounds(self, places: Array) -> tuple[Array, Array]:
        low = np.searchsorted(self._firsts, self._begins[places])
        return low, np.searchsorted(self._firsts, places, "right")

    def at(self, places: Array) -> _Found:
        """Return the values of groups at some places."""
        low, high = self._bounds(places)
        numbers = self._by_place[ranges(low, high)]
        until = np.repeat(places, high - low)
        begun = np.searchsorted(self._added, numbers * self._length)
        added = np.searchsorted(self._added, numbers * self._length + until, "right") - begun
        ends = np.concatenate([[0], np.cumsum(high - low)])
        return _Found(ends, self._values.take(pa.array(numbers)), self._kept[numbers] + added)


def _lists(values: list[Cell], ends: Array) -> Array:
    """Return parts of a list."""
    return objects([values[start:stop] for start, stop in pairwise(ends.tolist())])
