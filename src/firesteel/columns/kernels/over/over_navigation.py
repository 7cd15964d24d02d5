"""LAG over arrays: the values of preceding rows of streams."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.conversions import converted
from firesteel.columns.kernels.calls.aggregate_calls import CallPlan
from firesteel.columns.kernels.over.over_calls import NULL_OFFSET
from firesteel.columns.kernels.rows.row_order import int64_values
from firesteel.columns.values import arrow_type
from firesteel.errors import JobExecutionError


class VectorLag:
    """A call of LAG.

    Attributes:
        reach: The largest offset so far. A longer one than before finds rows from then on, as in Flink.
    """

    def __init__(self, plan: CallPlan) -> None:
        self._value, *others = plan.arguments
        self._offset = others[0] if others else None
        self._default = others[1] if len(others) > 1 else None
        self._type = arrow_type(plan.type)
        self.reach = 1 if self._offset is None else 0

    def kept(self, rows: ColumnBatch) -> pa.Array:
        """Return what later rows need of rows."""
        return converted(rows.columns[self._value], self._type)

    def results(self, rows: ColumnBatch, values: pa.Array, places: Array, low: Array, high: Array) -> pa.Array:
        """Return the results of rows.

        Args:
            rows: The rows, sorted by key and time.
            values: What was kept of all rows, those before included.
            places: The place of each row among all.
            low: Where the rows of its key begin.
            high: Where its frame ends: behind the row, or behind its last peer, whose values all peers get.
        """
        targets = high - 1
        # The arguments of a row are those of the last peer, which is one of the rows.
        peers = np.searchsorted(places, targets)
        offsets = np.ones(len(targets), np.int64) if self._offset is None else _offsets(rows.columns[self._offset])
        if len(offsets):
            self.reach = max(self.reach, int(offsets.max()))
        sources = targets - offsets[peers]
        is_there = (sources >= low) & (sources <= targets)
        if self._default is None:
            return values.take(pa.array(sources, mask=~is_there))
        defaults = converted(rows.columns[self._default], self._type)
        return pa.concat_arrays([values, defaults]).take(pa.array(np.where(is_there, sources, len(values) + peers)))


def _offsets(column: pa.Array) -> Array:
    if column.null_count:
        raise JobExecutionError(NULL_OFFSET)
    return int64_values(column)


def reach_of(calls: Iterable[VectorLag]) -> int:
    """Return how many rows before the next one the calls need."""
    return max((call.reach for call in calls), default=0)
