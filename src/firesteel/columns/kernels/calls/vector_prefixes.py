"""ARRAY_AGG and LISTAGG of rows that are only inserted: each result of a group is a prefix of its values."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.functions.value_accumulators import DELIMITER
from firesteel.columns.kernels.calls.vector_calls import Results, chosen
from firesteel.columns.kernels.calls.vector_values import VectorStates
from firesteel.columns.pylist import pylist
from firesteel.common.encoding.array_columns import write_integers, write_numbered
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.functions.accumulators import Accumulator, State
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.columns.kernels.calls.vector_calls import Fields
    from firesteel.columns.row_groups import RowGroups, Timeline
    from firesteel.common.encoding.column_writer import ColumnWriter


class _Kept:
    """The values in the states of groups.

    Attributes:
        states: The states.
        sizes: The number of values of each.
    """

    def __init__(self, states: Array) -> None:
        self.states: list[State] = states.tolist()
        self._values = [state[1] for state in self.states]
        self.sizes = np.fromiter(map(len, self._values), np.int64, len(self._values))

    def values(self) -> list[Cell]:
        """Return the values of all groups."""
        return list(chain.from_iterable(values.values() for values in self._values))


class VectorPrefixes(VectorStates):
    """ARRAY_AGG or LISTAGG, with the states of its accumulator, whose results are taken from one column of values."""

    is_retractable = False

    def __init__(self, plan: CallPlan, accumulator: Accumulator, skips_null: bool) -> None:
        super().__init__(plan, accumulator)
        self._joins = pa.types.is_string(self.type)
        self._kind = self.type if self._joins else self.type.value_type
        self._skips_null = skips_null

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether each value changes the result: only empty strings without a delimiter do not."""
        if not self._joins or self._delimiter(batch):
            return True
        strings = batch.columns[self.plan.arguments[0]]
        return not pc.any(pc.equal(strings, pa.scalar("", strings.type))).as_py()

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Array, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Array]:
        """Add rows, which changes the states in place, and return the result at each place of a timeline.

        A result is a number: where its prefix ends among the values of all groups, which are sorted by group.
        """
        is_added = self._added(batch)
        codes, values = groups.codes[is_added], batch.columns[self.plan.arguments[0]].filter(pa.array(is_added))
        kept = _Kept(states)
        sizes, before = kept.sizes, pa.array(kept.values(), self._kind)
        sources = np.concatenate([np.repeat(np.arange(groups.count), sizes), codes])
        order = pa.array(np.argsort(sources, kind="stable"))
        elements = pa.concat_arrays([before, values.cast(self._kind)]).take(order)
        all_sizes = np.bincount(sources, minlength=groups.count)
        firsts = np.cumsum(all_sizes) - all_sizes
        lengths = timeline.accumulate(np.add, sizes, is_added.astype(np.int64))
        ends = lengths + np.repeat(firsts, groups.sizes + 1)
        self._append(states, codes, values)
        delimiter = self._delimiter(batch)
        column = partial(self._prefixes, elements, np.repeat(firsts, all_sizes), delimiter)
        return Results(ends, lengths == 0, column), states

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the states, whose values are numbered from 0 on, as no row was retracted."""
        kept = _Kept(fields[0])
        _, _, *others = places = list(zip(*kept.states, strict=True))
        if places[0] != tuple(kept.sizes.tolist()):  # restored from a job whose rows were
            super().write(writer, fields)
            return
        writer.begin_places(Kind.SHORT_LIST, len(places))
        write_integers(writer, kept.sizes)
        write_numbered(writer, kept.sizes, kept.values())
        for place in others:
            writer.column(place)

    def _added(self, batch: ColumnBatch) -> Array:
        """Return the mask of rows whose values are added."""
        return self.counted(batch) if self._skips_null else chosen(batch, self.plan.condition)

    def _delimiter(self, batch: ColumnBatch) -> str:
        """Return the delimiter, which is a literal."""
        delimiters = [batch.columns[index] for index in self.plan.arguments[1:]]
        return str(delimiters[0][0]) if delimiters else DELIMITER

    def _append(self, states: Array, codes: Array, values: pa.Array) -> None:
        for group, value in zip(codes.tolist(), pylist(values), strict=True):
            state = states[group]
            number = state[0]
            state[1][number] = value
            state[0] = number + 1

    def _prefixes(
        self, elements: pa.Array, firsts: Array, delimiter: str, ends: Array, nulls: Array | None
    ) -> pa.Array:
        """Return the prefixes that end at some places; an empty one is NULL.

        Args:
            elements: The values of all groups.
            firsts: Where the values of the group of each of them begin.
            delimiter: What is between the strings of LISTAGG.
            ends: The end of each prefix.
            nulls: Which prefixes are empty.
        """
        assert nulls is not None
        begins = np.where(nulls, ends, firsts[ends - 1] if len(firsts) else ends)
        sizes = ends - begins
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(begins - offsets[:-1], sizes)
        offsets, taken = pa.array(offsets, pa.int32()), elements.take(pa.array(places))
        if not self._joins:
            return pa.ListArray.from_arrays(offsets, taken, self.type, mask=pa.array(nulls))
        joined = pc.binary_join(pa.ListArray.from_arrays(offsets, taken), delimiter)
        return pc.if_else(pa.array(nulls), None, joined)
