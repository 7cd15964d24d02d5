"""Running values of the aggregates in the conditions of MATCH_RECOGNIZE."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.match.match_expressions import Aggregate
from firesteel.columns.kernels.match.match_rows import MatchRows
from firesteel.columns.kernels.match.match_threads import Fields, Threads
from firesteel.columns.kernels.rows.segments import ranges
from firesteel.columns.row_groups import RowGroups, Timeline


class RunningValues:
    """The states of aggregates, as numbers that each thread carries, so that a further row costs the same in any match.

    Args:
        aggregates: The aggregates.

    Attributes:
        initial: The states of a thread without rows.
    """

    def __init__(self, aggregates: Iterable[Aggregate]) -> None:
        self._calls: list[tuple[Aggregate, VectorCall, slice[int, int, None]]] = []
        self.initial: Fields = ()
        for aggregate in aggregates:
            if (vector := aggregate.running) is not None:
                first = len(self.initial)
                self.initial += tuple(aggregate.initial(vector))
                aggregate.carried = slice(first, len(self.initial))
                self._calls.append((aggregate, vector, aggregate.carried))

    def after(self, fields: Fields, rows: MatchRows, places: Array, step: int) -> Fields:
        """Return the states of threads after a further row of each.

        Args:
            fields: The states of the threads.
            rows: All rows.
            places: The place of the row of each thread.
            step: The step of these rows.
        """
        found = list(fields)
        for aggregate, vector, own in self._calls:
            if step in aggregate.steps:
                parts = zip(vector.functions, found[own], aggregate.contributions(vector, rows, places), strict=True)
                with np.errstate(over="ignore", invalid="ignore"):  # inf - inf is NaN
                    found[own] = [function(part, added) for function, part, added in parts]
        return tuple(found)

    def ahead(self, threads: Threads, rows: MatchRows, places: Array, counts: Array) -> Fields:
        """Return the states of each thread before each of further rows, as if it stayed in its loop.

        Args:
            threads: The threads.
            rows: All rows.
            places: The place of the next row of each.
            counts: The number of further rows of each, at least 1.
        """
        owners = np.repeat(np.arange(len(threads)), counts - 1)
        timeline = Timeline(RowGroups.numbered(owners, len(threads)))
        passed, found = ranges(places, places + counts - 1), list(threads.fields)
        for aggregate, vector, own in self._calls:
            is_of = np.isin(threads.steps[owners], aggregate.steps)
            parts = zip(aggregate.contributions(vector, rows, passed), self.initial[own], strict=True)
            added = [np.where(is_of, part, initial) for part, initial in parts]
            found[own] = list(map(timeline.accumulate, vector.functions, found[own], added))
        return tuple(found)
