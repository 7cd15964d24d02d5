"""INTERSECT and EXCEPT. Flink: `ReplicateRowsFunction` over an aggregate, semi and anti joins."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Cell
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import expiring_table
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.rows import DELETE, INSERT, RowOutput, is_retraction, keys_of, kinds_list, rows_of
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class SetOperationFactory:
    """INTERSECT or EXCEPT, with or without ALL."""

    kind: str
    all: bool
    types: tuple[DataType, ...]

    def make(self) -> Kernel:
        """Return the kernel."""
        return SetOperation(self)


class SetOperation(PlannedKernel[SetOperationFactory]):
    """Counts each row on both sides and derives its multiplicity in the result from the two counts."""

    def open(self, context: KernelContext) -> None:
        """Open the table of counts by row."""
        super().open(context)
        self._table = expiring_table(context, "counts")
        self._output = RowOutput([arrow_type(kind) for kind in self._plan.types], context.emit)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Count the rows; in streaming mode emit the change of each row's multiplicity."""
        keys = keys_of(batch, range(len(self._plan.types)), self.context.max_parallelism)
        for key, kind, row in zip(keys, kinds_list(batch), rows_of(batch), strict=True):
            entry = self._table.data.get(key) or [0, 0, row]
            before = self._times(entry)
            entry[index] += -1 if is_retraction(kind) else 1
            after = self._times(entry)
            if entry[0] or entry[1]:
                self._table.put(key, entry)
            else:
                self._table.remove(key)
            if self.context.is_streaming:
                for _ in range(abs(after - before)):
                    self._output.add(INSERT if after > before else DELETE, row)
        self._output.flush()

    def _times(self, entry: list[Cell]) -> int:
        left, right = max(0, entry[0]), max(0, entry[1])
        if self._plan.kind == "INTERSECT":
            return min(left, right) if self._plan.all else int(left > 0 and right > 0)
        return max(0, left - right) if self._plan.all else int(left > 0 and right == 0)

    def end(self) -> None:
        """Emit the rows of a bounded query."""
        if not self.context.is_streaming:
            for entry in self._table.data.values():
                self._output.extend([entry[2]] * self._times(entry))
            self._output.flush()
