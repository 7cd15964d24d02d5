"""COLLECT over arrays: the different values of each group, and how often it has each."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.kernels.calls.vector_arrays import bytes_of, content_of, values_of
from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall, are_plain, sizes_of, to_numpy
from firesteel.columns.kernels.calls.vector_lists import joined
from firesteel.columns.kernels.calls.vector_values import objects
from firesteel.columns.kernels.rows.key_numbers import comparable
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.orders import stable_order
from firesteel.columns.pylist import pylist
from firesteel.columns.row_groups import RowGroups
from firesteel.columns.row_keys import freeze
from firesteel.common.encoding.array_columns import write_integers
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array
    from firesteel.columns.functions.accumulators import State
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.columns.row_groups import Timeline
    from firesteel.common.encoding.column_writer import ColumnWriter

_COUNT = np.dtype(np.int64)


class VectorCollect(VectorCall):
    """COLLECT of rows that are only inserted, of values that are not nested.

    The state of a group is the bytes of its values (see `bytes_of`), in the order in which they came first, and those
    of their numbers.
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
        """Return the place at which each result came about, and the values of the groups."""
        kept = self._found(states)
        rows = np.flatnonzero(self.counted(batch))
        added = batch.columns[self.plan.arguments[0]].take(pa.array(rows)).cast(self._kind)
        owners = np.concatenate([np.repeat(np.arange(groups.count), kept.sizes), groups.codes[rows]])
        values, places = pa.concat_arrays([kept.values, added]), timeline.after[rows]
        pairs = RowGroups([pa.array(owners), comparable(values)], len(owners))
        firsts = pairs.first_rows()
        multisets = _Multisets(
            values.take(pa.array(firsts)),
            kept.counts,
            np.concatenate([timeline.starts[owners[: len(kept.counts)]], places])[firsts],
            pairs.codes[len(kept.counts) :],
            places,
            np.repeat(timeline.starts, groups.sizes + 1),
        )
        changed = np.zeros(groups.count + batch.length, np.int64)
        changed[timeline.starts], changed[places] = timeline.starts, places
        after = self._fields(multisets.at(timeline.starts + groups.sizes))
        shown = np.maximum.accumulate(changed)
        return Results(shown, None, partial(self._maps, multisets), multisets.sizes()), after

    def _maps(self, multisets: _Multisets, places: Array, nulls: Array | None) -> pa.Array:
        return self._map(multisets.at(places))

    def final(self, fields: Fields) -> pa.Array:
        """Return the values of groups with their numbers."""
        return self._map(self._found(fields))

    def _map(self, found: _Found) -> pa.Array:
        return pa.MapArray.from_arrays(pa.array(found.ends, pa.int32()), found.values, found.counts).cast(self.type)

    def _found(self, fields: Fields) -> _Found:
        *parts, counts = (pa.array(part.tolist(), pa.binary()) for part in fields)
        ends = np.concatenate([[0], np.cumsum(to_numpy(pc.binary_length(counts)) // _COUNT.itemsize)])
        return _Found(ends, values_of(parts, self._kind), np.frombuffer(content_of(counts), _COUNT))

    def _fields(self, found: _Found) -> Fields:
        counts = pa.array(found.counts).view(pa.binary(_COUNT.itemsize)).cast(pa.binary())
        return [objects(pylist(joined(part, found.sizes, b""))) for part in (*bytes_of(found.values), counts)]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the values of the states, and their numbers."""
        pairs = [pair for state in states for pair in state[0].values()]
        ends = np.concatenate([[0], np.cumsum([len(state[0]) for state in states])])
        counts = np.fromiter((count for _, count in pairs), np.int64, len(pairs))
        return self._fields(_Found(ends, pa.array([value for value, _ in pairs], self._kind), counts))

    def store(self, fields: Fields) -> list[State]:
        """Return the states."""
        found = self._found(fields)
        pairs = list(zip(pylist(found.values), found.counts.tolist(), strict=True))
        parts = (pairs[start:stop] for start, stop in pairwise(found.ends.tolist()))
        return [[{freeze(pair[0]): pair for pair in part}] for part in parts]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the states."""
        found = self._found(fields)
        values = pylist(found.values)
        writer.begin_places(Kind.SHORT_LIST, 1)
        writer.data.append(Kind.DICT)
        write_integers(writer, found.sizes)
        writer.column(list(map(freeze, values)))
        if values:
            writer.begin_places(Kind.TUPLE, 2)
            writer.column(values)
            write_integers(writer, found.counts)
        else:
            writer.column(())


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

    @property
    def sizes(self) -> Array:
        """How many values each has."""
        return np.diff(self.ends)


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
        self._values, self._begins = values, begins
        self._until = np.concatenate([[0], np.cumsum(np.bincount(firsts, minlength=len(begins)))])
        self._kept = np.concatenate([kept, np.zeros(len(firsts) - len(kept), np.int64)])
        self._length = len(begins) + 1
        self._added = np.sort(added * self._length + places)
        self._begun = np.searchsorted(self._added, np.arange(len(firsts)) * self._length)

    def sizes(self) -> Array:
        """Return about how many bytes the values at each place take."""
        totals = np.concatenate([[0], np.cumsum(sizes_of(self._values)[self._by_place])])
        low, high = self._bounds(np.arange(len(self._begins)))
        found: Array = totals[high] - totals[low]
        return found

    def _bounds(self, places: Array) -> tuple[Array, Array]:
        return self._until[self._begins[places]], self._until[places + 1]

    def at(self, places: Array) -> _Found:
        """Return the values of groups at some places."""
        low, high = self._bounds(places)
        numbers = self._by_place[ranges(low, high)]
        until = np.repeat(places, high - low)
        added = np.searchsorted(self._added, numbers * self._length + until, "right") - self._begun[numbers]
        ends = np.concatenate([[0], np.cumsum(high - low)])
        return _Found(ends, self._values.take(pa.array(numbers)), self._kept[numbers] + added)
