"""Vectorized calls whose states are Python objects: values of any type, and states of accumulators."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from itertools import repeat
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.kernels.calls.vector_calls import (
    Fields,
    Results,
    VectorCall,
    are_plain,
    chosen,
    extremes,
    is_finite,
    numbered_results,
    to_numpy,
)
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import signs_of
from firesteel.common.encoding.kinds import Kind

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch
    from firesteel.columns.cells import Array, Cell
    from firesteel.columns.functions.accumulators import Accumulator, State
    from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
    from firesteel.columns.row_groups import RowGroups, Timeline
    from firesteel.common.encoding.column_writer import ColumnWriter


def _chosen(choose: Callable[[Cell, Cell], Cell]) -> np.ufunc:
    """Return a function of the value so far and a further one, one of which may be missing (None)."""
    found: np.ufunc = np.frompyfunc(lambda a, b: b if a is None else a if b is None else choose(a, b), 2, 1)
    return found


# Python orders strings by code points, which is the order of their bytes in UTF-8, by which Flink compares them.
_FUNCTIONS = {
    "MIN": _chosen(min),
    "MAX": _chosen(max),
    "FIRST_VALUE": _chosen(lambda first, later: first),
    "LAST_VALUE": _chosen(lambda first, later: later),
}


class VectorValue(VectorCall):
    """MIN, MAX, FIRST_VALUE and LAST_VALUE: the state of a group is one of its values.

    It is a Python object, because numpy has no strings, dates or rows that may be missing.
    """

    has_steps = True

    def __init__(self, plan: CallPlan) -> None:
        super().__init__(plan)
        name = str(plan.function).upper()
        self.functions = (_FUNCTIONS[name],)
        self._is_by_value = name in ("MIN", "MAX")
        self._is_least = name in ("MIN", "FIRST_VALUE")

    @staticmethod
    def is_known(plan: CallPlan) -> bool:
        """Return whether the function of a call is one of those above."""
        return str(plan.function).upper() in _FUNCTIONS

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether values are alike if they are equal: -0.0 equals 0.0, and NaN differs from itself."""
        return are_plain(batch.columns[self.plan.arguments[0]]) and not pa.types.is_nested(self.type)

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states are, too."""
        return not pa.types.is_floating(self.type) or are_plain(pa.array(fields[0].tolist(), self.type))

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Return numbers of values as results, and the values of the groups."""
        kept, added = pa.array(states[0].tolist(), self.type), batch.columns[self.plan.arguments[0]]
        values = pa.concat_arrays([kept, added if added.type == self.type else pa.array(pylist(added), self.type)])
        numbers, distinct = numbered(values, self._is_by_value)
        is_there = to_numpy(values.is_valid())
        is_there[len(kept) :] &= self.counted(batch)
        # The value that a group has so far comes before those of its rows.
        places = numbers if self._is_by_value else np.arange(len(values))
        found, nulls = extremes(timeline, places, is_there, self._is_least)
        shown = found if self._is_by_value else numbers[found]
        results = numbered_results(distinct, shown, nulls)
        ends, after = timeline.starts + groups.sizes, states[0].copy()
        # Most values stay, as they are.
        changed = np.flatnonzero(~nulls[ends] & (nulls[timeline.starts] | (shown[ends] != shown[timeline.starts])))
        after[changed] = pylist(distinct.take(pa.array(shown[ends[changed]])))
        return results, [after]

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the value of each row, None if it does not count."""
        values = objects(pylist(batch.columns[self.plan.arguments[0]]))
        values[~self.counted(batch)] = None
        return [values]

    def load(self, states: Sequence[State]) -> Fields:
        """Return the values of the states."""
        return [objects([state[0] for state in states])]

    def store(self, fields: Fields) -> list[State]:
        """Return the values as states."""
        return [[value] for value in fields[0].tolist()]

    def columns(self, fields: Fields) -> list[pa.Array]:
        """Return the values as a column."""
        return [pa.array(fields[0].tolist(), self.type)]

    def from_columns(self, columns: Iterator[pa.Array]) -> Fields:
        """Return the values of a column."""
        return [objects(pylist(next(columns)))]

    def write(self, writer: ColumnWriter, fields: Fields) -> None:
        """Write the values."""
        writer.begin_places(Kind.SHORT_LIST, 1)
        writer.column(fields[0].tolist())

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the values, and a mask of the groups without one."""
        return fields[0], np.array([value is None for value in fields[0].tolist()], bool)


def numbered(column: pa.Array, is_sorted: bool = False) -> tuple[Array, pa.Array]:
    """Return the number of each value, any for NULL, and the values by number, maybe in ascending order."""
    encoded = column.dictionary_encode()
    numbers, distinct = encoded.indices.fill_null(0).to_numpy().astype(np.int64), encoded.dictionary
    if not is_sorted:
        return numbers, distinct
    order = pc.sort_indices(distinct)
    ranks = np.empty(len(order) or 1, np.int64)
    ranks[order] = np.arange(len(order))
    return ranks[numbers], distinct.take(order)


class VectorStates(VectorCall):
    """A built-in function whose state has no form in arrays: its accumulator adds and retracts the rows."""

    functions = ()
    is_retractable = True
    has_steps = True

    def __init__(self, plan: CallPlan, accumulator: Accumulator) -> None:
        super().__init__(plan)
        self._accumulator = accumulator
        self.new = accumulator.new

    def covers(self, batch: ColumnBatch) -> bool:
        """Return whether no argument is NaN, which differs from itself, so that changes could not be detected."""
        return all(is_finite(batch.columns[index]) for index in self.plan.arguments)

    def covers_states(self, fields: Fields) -> bool:
        """Return whether states can be processed: all can."""
        return True

    def steps(
        self, timeline: Timeline, groups: RowGroups, states: Fields, batch: ColumnBatch, counts: Array
    ) -> tuple[Results, Fields]:
        """Add or retract rows, which changes the states in place."""
        of_groups, results = states[0], np.empty(len(counts), object)
        value, add, retract = self._accumulator.value, self._accumulator.add, self._accumulator.retract
        for place, state in zip(timeline.starts.tolist(), of_groups.tolist(), strict=True):
            results[place] = value(state)
        signs = signs_of(batch)
        kinds = repeat(1) if signs is None else signs.tolist()
        arguments, after = self.contributions(batch)[0].tolist(), timeline.after.tolist()
        left = counts[timeline.after].tolist()
        for group, row, place, sign, count in zip(groups.codes.tolist(), arguments, after, kinds, left, strict=False):
            if not count:
                of_groups[group] = self.new()
            elif row is not None:
                (add if sign > 0 else retract)(of_groups[group], *row)
            results[place] = value(of_groups[group])
        return Results(results, None, self.column, _sizes_of(results)), states

    def contributions(self, batch: ColumnBatch) -> Fields:
        """Return the arguments of each row, None if it does not count."""
        columns = [pylist(batch.columns[index]) for index in self.plan.arguments]
        rows = objects(list(zip(*columns, strict=True)) if columns else [()] * batch.length)
        rows[~chosen(batch, self.plan.condition)] = None
        return [rows]

    def changes(self, batch: ColumnBatch, signs: Array | None) -> Fields:
        """Return the arguments of each row, None if it does not count, and whether it is added or retracted (1, -1)."""
        return [*self.contributions(batch), np.ones(batch.length, np.int8) if signs is None else signs]

    def fold(self, groups: RowGroups, fields: Fields, added: Fields) -> Fields:
        """Add and retract rows, which changes the states in place."""
        add, retract, states = self._accumulator.add, self._accumulator.retract, fields[0].tolist()
        for group, row, sign in zip(groups.codes.tolist(), *(part.tolist() for part in added), strict=True):
            if row is not None:
                (add if sign > 0 else retract)(states[group], *row)
        return fields

    def load(self, states: Sequence[State]) -> Fields:
        """Return the states."""
        return [objects(list(states))]

    def store(self, fields: Fields) -> list[State]:
        """Return the states."""
        states: list[State] = fields[0].tolist()
        return states

    def results(self, fields: Fields) -> tuple[Array, Array | None]:
        """Return the results of the states."""
        return objects(list(map(self._accumulator.value, fields[0].tolist()))), None

    def column(self, values: Array, nulls: Array | None) -> pa.Array:
        """Return results as a column."""
        return pa.array(values.tolist(), self.type)


def _sizes_of(values: Array) -> Array:
    """Return about how many bytes texts and lists take as columns."""
    return np.fromiter((8 * len(value) if isinstance(value, Sized) else 8 for value in values.tolist()), np.int64)


def objects(values: list[Cell]) -> Array:
    """Return Python values as an array of one dimension, also if they are lists."""
    return np.fromiter(values, object, len(values))
