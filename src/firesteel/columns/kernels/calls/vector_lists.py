"""LISTAGG over arrays: the strings of a group are joined, and what was joined is joined again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.functions.value_accumulators import DELIMITER
from firesteel.columns.kernels.calls.vector_calls import Fields, Results, VectorCall, chosen, sizes_of, to_numpy
from firesteel.columns.kernels.calls.vector_values import objects
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.orders import stable_order
from firesteel.columns.pylist import pylist
from firesteel.common.encoding.array_columns import write_integers, write_numbered
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array
    from firesteel.columns.functions.accumulators import State
    from firesteel.columns.row_groups import RowGroups, Timeline
    from firesteel.common.encoding.column_writer import ColumnWriter


class VectorListAgg(VectorCall):
    """LISTAGG of rows that are only inserted.

    The state of a group is its strings so far as one, None if there is none, and the delimiter. So a version has one
    value per group, and not one per row.
    """

    functions = ()
    has_steps = True

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states can be processed: all can."""
        return True

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the string of each row, None if it does not count, and its delimiter."""
        strings, *delimiters = (to_numpy(batch.columns[index]) for index in self.plan.arguments)
        strings[~chosen(batch, self.plan.condition)] = None
        return [strings, *(delimiters or [np.full(batch.length, DELIMITER, object)])]

    def fold(self, groups: RowGroups, fields: Fields, added: Fields) -> Fields:
        """Return the states of groups with the strings of rows, or of other states, joined to their own."""
        strings = pa.array(np.concatenate([fields[0], added[0]]), pa.string())
        there = np.flatnonzero(to_numpy(strings.is_valid()))
        codes = np.concatenate([np.arange(groups.count), groups.codes])[there]
        sizes = np.bincount(codes, minlength=groups.count)
        sorted_strings = strings.take(pa.array(there[stable_order(codes)]))
        delimiters = fields[1].copy()
        delimiters[groups.codes] = added[1]  # of several rows of a group, the last one decides
        found = to_numpy(joined(sorted_strings, sizes, pa.array(delimiters, pa.string())))
        found[sizes == 0] = None
        return [found, delimiters]

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Return numbers as results, and the strings of the groups."""
        kept, strings = pa.array(states[0].tolist(), pa.string()), batch.columns[self.plan.arguments[0]]
        delimiter = self._delimiter(batch)
        prefixes = Prefixes(timeline, groups, [kept], [strings.cast(pa.string())], self.counted(batch), delimiter)
        if not delimiter:
            prefixes.skip_empty()
        results = Results(
            prefixes.ends, prefixes.nulls, lambda ends, nulls: _strings(prefixes, ends, nulls), prefixes.sizes()
        )
        after = timeline.starts + groups.sizes
        strings = _strings(prefixes, prefixes.ends[after], prefixes.nulls[after])
        return results, [objects(pylist(strings)), np.full(groups.count, delimiter, object)]

    def _delimiter(self, batch: ColumnBatch) -> str:
        """Return the delimiter, which is a literal."""
        delimiters = [batch.columns[index] for index in self.plan.arguments[1:]]
        return str(delimiters[0][0]) if delimiters else DELIMITER

    def load(self, states: Sequence[State]) -> Fields:
        """Return the strings, joined, and the delimiters."""
        joined = [state[3].join(state[1].values()) if state[1] else None for state in states]
        return [np.array(joined, object), np.array([state[3] for state in states], object)]

    def store(self, fields: Fields) -> list[State]:
        """Return states that have the strings as one."""
        return [
            [0, {}, {}, delimiter] if joined is None else [1, {0: joined}, {}, delimiter]
            for joined, delimiter in zip(*(field.tolist() for field in fields), strict=True)
        ]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the states."""
        joined, delimiters = (field.tolist() for field in fields)
        values = [value for value in joined if value is not None]
        sizes = np.fromiter((value is not None for value in joined), np.int64, len(joined))
        writer.begin_places(Kind.SHORT_LIST, 4)
        write_integers(writer, sizes)
        write_numbered(writer, sizes, lambda: writer.column(values))
        writer.column([{}] * len(joined))
        writer.column(delimiters)

    def columns(self, fields: Fields) -> list[pa.Array]:
        """Return both parts as columns."""
        return [pa.array(part, pa.string()) for part in fields]

    def from_columns(self, columns: Iterator[pa.Array]) -> Fields:
        """Return what two columns hold."""
        return [to_numpy(next(columns)), to_numpy(next(columns))]

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the joined strings; None is NULL to Arrow."""
        return fields[0], None


def _strings(prefixes: Prefixes, ends: Array, nulls: Array | None) -> pa.Array:
    [strings] = prefixes.joined(ends, nulls)
    return pc.if_else(pa.array(nulls), None, strings)


def joined(elements: pa.Array, sizes: Array, delimiter: str | bytes | pa.Array) -> pa.Array:
    """Return texts that follow one another as joined ones, given how many make up each."""
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    return pc.binary_join(pa.ListArray.from_arrays(offsets, elements), delimiter)


class Prefixes:
    """The values of groups, each at every place of a timeline: what it had, and the values of its rows up to there.

    The values that a group had are one element, so that a prefix has no more elements than the batch has rows of it.

    Args:
        timeline: The places.
        groups: The groups of the rows.
        kept: Parts of the values that groups had, joined; NULL for none.
        added: The parts of the value of each row.
        is_added: A mask of the rows that have a value.
        delimiter: What is between values.

    Attributes:
        ends: The prefix of the group at each place: where it ends among the elements of all groups.
        nulls: Which prefixes have no value.
    """

    def __init__(
        self,
        timeline: Timeline,
        groups: RowGroups,
        kept: Sequence[pa.Array],
        added: Sequence[pa.Array],
        is_added: Array,
        delimiter: str | bytes,
    ) -> None:
        has_some, mask = to_numpy(kept[0].is_valid()), pa.array(is_added)
        sources = np.concatenate([np.flatnonzero(has_some), groups.codes[is_added]])
        order = pa.array(stable_order(sources))
        pairs = zip(kept, added, strict=True)
        self._elements = [pa.concat_arrays([one.drop_null(), other.filter(mask)]).take(order) for one, other in pairs]
        sizes = np.bincount(sources, minlength=groups.count)
        firsts = np.cumsum(sizes) - sizes
        self._begins = np.repeat(firsts, sizes)
        self._delimiter = delimiter
        lengths = timeline.accumulate(np.add, has_some.astype(np.int64), is_added.astype(np.int64))
        self.ends, self.nulls = lengths + np.repeat(firsts, groups.sizes + 1), lengths == 0

    def skip_empty(self) -> None:
        """Let prefixes end with values that are not empty, or with the first one, as others change nothing."""
        numbers = np.arange(len(self._begins))
        is_change = (to_numpy(pc.binary_length(self._elements[0])) > 0) | (numbers == self._begins)
        ends = np.append(np.maximum.accumulate(np.where(is_change, numbers + 1, 0)), 0)
        self.ends = np.where(self.nulls, self.ends, ends[self.ends - 1])

    def sizes(self) -> Array:
        """Return about how many bytes it takes to join each prefix."""
        sizes = sum((sizes_of(elements) for elements in self._elements), np.zeros(len(self._begins), np.int64))
        totals = np.concatenate([[0], np.cumsum(sizes)])
        found: Array = totals[self.ends] - totals[self._begins_of(self.ends, self.nulls)]
        return found

    def _begins_of(self, ends: Array, nulls: Array) -> Array:
        return np.where(nulls, ends, np.append(self._begins, 0)[ends - 1])

    def joined(self, ends: Array, nulls: Array | None) -> list[pa.Array]:
        """Return the parts of some prefixes, joined; empty for those without values."""
        assert nulls is not None
        begins = self._begins_of(ends, nulls)
        places, sizes = pa.array(ranges(begins, ends)), ends - begins
        return [joined(elements.take(places), sizes, self._delimiter) for elements in self._elements]
