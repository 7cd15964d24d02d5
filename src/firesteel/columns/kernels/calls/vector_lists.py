"""LISTAGG over arrays: the strings of a group are joined, and what was joined is joined again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.functions.value_accumulators import DELIMITER
from firesteel.columns.kernels.calls.vector_calls import Fields, VectorCall, chosen, to_numpy

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array
    from firesteel.columns.functions.accumulators import State
    from firesteel.columns.row_groups import RowGroups


class VectorListAgg(VectorCall):
    """LISTAGG of rows that are only inserted.

    The state of a group is its strings so far as one, None if there is none, and the delimiter.
    """

    functions = ()

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
        sorted_strings = strings.take(pa.array(there[np.argsort(codes, kind="stable")]))
        ends = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
        delimiters = fields[1].copy()
        delimiters[groups.codes] = added[1]  # of several rows of a group, the last one decides
        joined = pc.binary_join(pa.ListArray.from_arrays(ends, sorted_strings), pa.array(delimiters, pa.string()))
        found = to_numpy(joined)
        found[sizes == 0] = None
        return [found, delimiters]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the strings, joined, and the delimiters."""
        joined = [state[3].join(state[1].values()) if state[1] else None for state in states]
        return [np.array(joined, object), np.array([state[3] for state in states], object)]

    def columns(self, fields: Fields) -> list[pa.Array]:
        """Return both parts as columns."""
        return [pa.array(part, pa.string()) for part in fields]

    def from_columns(self, columns: Iterator[pa.Array]) -> Fields:
        """Return what two columns hold."""
        return [to_numpy(next(columns)), to_numpy(next(columns))]

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the joined strings; None is NULL to Arrow."""
        return fields[0], None
