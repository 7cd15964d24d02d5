"""The results of windows that have ended."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array, Cell
from firesteel.columns.kernel import KernelContext
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.kernels.calls.vector_calls import VectorCall
from firesteel.columns.kernels.groups.group_vectors import load, results
from firesteel.columns.kernels.times.time_windows import US
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import RowOutput, batch_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory

Ended = tuple[Cell, Cell, int, int]
"""A window that has ended: the values of its key, its accumulators, start and end."""

_GIVEN_AT_ONCE = 10_000
"""Maximum rows per emitted batch."""


class WindowResults:
    """Emits the results of windows.

    Args:
        plan: The plan of the kernel.
        aggregates: Its calls.
        context: Its environment.
        calls: The calls over arrays, if there are.
    """

    def __init__(
        self,
        plan: WindowAggregateFactory,
        aggregates: AggregateSet,
        context: KernelContext,
        calls: Sequence[VectorCall] | None,
    ) -> None:
        self._plan = plan
        self._aggregates = aggregates
        self._context = context
        self._types = [arrow_type(kind) for kind in plan.output_types]
        self._calls = calls

    def give(self, ended: Sequence[Ended]) -> None:
        """Emit the results of windows."""
        if self._plan.flat:
            self._give_rows(ended)
            return
        for start in range(0, len(ended), _GIVEN_AT_ONCE):
            self._give(ended[start : start + _GIVEN_AT_ONCE])

    def _give(self, ended: Sequence[Ended]) -> None:
        types, key_count = self._types, len(self._plan.keys)
        values, accumulators, starts, ends = zip(*ended, strict=True)
        columns = [*batch_of(values, types[:key_count]).columns, *self._results(accumulators)]
        self.give_columns(columns, np.array(starts, np.int64), np.array(ends, np.int64))

    def give_columns(self, columns: Sequence[pa.Array], starts: Array, ends: Array) -> None:
        """Emit results, given keys and results of the calls."""
        columns = [*columns, *self._properties(starts, ends)]
        casts = [column.cast(kind) for column, kind in zip(columns, self._types, strict=True)]
        self._context.emit(ColumnBatch(tuple(casts), len(starts)))

    def _give_rows(self, ended: Sequence[Ended]) -> None:
        """Emit the rows that a table aggregate function has for windows."""
        output = RowOutput(self._types, self._context.emit)
        for values, accumulators, start, end in ended:
            times = [pylist(column)[0] for column in self._properties(np.array([start]), np.array([end]))]
            output.extend((*values, *row, *times) for row in self._aggregates.rows(accumulators))
        output.flush()

    def _results(self, accumulators: Sequence[Cell]) -> Sequence[pa.Array]:
        fields = None if self._calls is None else load(self._calls, accumulators)
        if self._calls is not None and fields is not None:
            return results(self._calls, fields)
        first = len(self._plan.keys)
        types = self._types[first : first + len(self._plan.calls)]
        return batch_of(list(map(self._aggregates.values, accumulators)), types).columns

    def _properties(self, starts: Array, ends: Array) -> list[pa.Array]:
        found = {"start": starts, "end": ends, "rowtime": self._plan.clock.instants(ends - 1)}
        if "proctime" in self._plan.properties:
            found["proctime"] = np.full(len(ends), self._context.now_ms(), np.int64)
        types = self._types[len(self._types) - len(self._plan.properties) :]
        return [pa.array(found[name] * US).cast(kind) for name, kind in zip(self._plan.properties, types, strict=True)]
