"""OVER in BATCH mode: each partition is complete at the end of input. Flink: `BufferDataOverWindowOperator`."""

from __future__ import annotations

from collections.abc import Callable

from firesteel.columns.batch import ColumnBatch, concat, slices
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.over.over_calls import OverPlan
from firesteel.columns.kernels.over.whole_calls import WholeCalls
from firesteel.columns.kernels.over.whole_partitions import WholePartitions, frame_ends

_AT_ONCE = 1 << 16
"""Maximum rows per emitted batch."""


class BoundedOver(Kernel):
    """Emits all rows with the results of the calls at the end of input, partition by partition.

    Args:
        plan: The plan, all of whose calls can be computed on arrays.
        by_rows: Makes the kernel for partitions whose values can't be.
    """

    def __init__(self, plan: OverPlan, by_rows: Callable[[], Kernel]) -> None:
        self._plan = plan
        self._by_rows = by_rows
        self._rows: list[ColumnBatch] = []

    def open(self, context: KernelContext) -> None:
        """Prepare the calls."""
        super().open(context)
        self._calls = WholeCalls(self._plan, context)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows."""
        if batch.length:
            self._rows.append(batch)

    def end(self) -> None:
        """Emit all rows."""
        if not self._rows:
            return
        plan, rows = self._plan, concat(self._rows)
        self._rows = []
        partitions = WholePartitions(rows, plan.partition, plan.order)
        frames = frame_ends(partitions, plan.frame)
        columns = None if frames is None else self._calls.columns(partitions, frames)
        if columns is None:
            self._emit_by_rows(rows)
            return
        result = partitions.rows.with_columns([*partitions.rows.columns, *columns])
        for part in slices(result, _AT_ONCE):
            self.context.emit(part)

    def _emit_by_rows(self, rows: ColumnBatch) -> None:
        kernel = self._by_rows()
        kernel.open(self.context)
        kernel.process(0, rows)
        kernel.end()
        kernel.close()
