"""Aggregates over windows of a number of rows. Flink: `WindowOperator` over `CountWindow`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.calls.aggregate_set import AggregateSet
from firesteel.columns.pylist import pylist
from firesteel.columns.rows import RowOutput, keys_of
from firesteel.columns.values import arrow_type

if TYPE_CHECKING:
    from firesteel.columns.kernels.windows.window_aggregate import WindowAggregateFactory


class CountWindows(Kernel):
    """Windows of a fixed number of rows per key (Table API: `row_interval`).

    The state per key is the number of rows so far, and the rows of the latest window.

    Args:
        plan: The calls, keys and the window.
    """

    def __init__(self, plan: WindowAggregateFactory) -> None:
        self._plan = plan

    def open(self, context: KernelContext) -> None:
        """Open the functions and the state table."""
        super().open(context)
        plan = self._plan
        self._aggregates = AggregateSet(plan.calls, plan.input_types, False, context)
        self._output = RowOutput([arrow_type(kind) for kind in plan.output_types], context.emit)
        self._table = context.table("windows")

    def close(self) -> None:
        """Close the functions."""
        self._aggregates.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Add rows and emit the result of each window that is full."""
        window = self._plan.window
        assert window is not None
        slide = window.step or window.size
        keys = keys_of(batch, self._plan.keys, self.context.max_parallelism)
        originals = [pylist(batch.columns[k]) for k in self._plan.keys]
        values = list(zip(*originals, strict=True)) if originals else [()] * batch.length
        for key, original, row in zip(keys, values, self._aggregates.arguments(batch), strict=True):
            count, kept = self._table.data.get(key, (0, []))
            kept = [*kept, row][-window.size :]
            count += 1
            self._table.put(key, (count, kept))
            if count >= window.size and (count - window.size) % slide == 0:
                states = self._aggregates.new()
                for member in kept:
                    self._aggregates.add(states, member)
                found = self._aggregates.rows(states) if self._plan.flat else [self._aggregates.values(states)]
                self._output.extend((*original, *result) for result in found)
        self._output.flush()
