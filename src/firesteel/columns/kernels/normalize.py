"""A full changelog of upserts by key. Flink: `ProcTimeDeduplicateKeepLastRowFunction` of `ChangelogNormalize`."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.column_types import DataType
from firesteel.columns.expiring_state import taken_values
from firesteel.columns.kernel import Kernel, KernelContext, PlannedKernel
from firesteel.columns.kernels.rows.changes import hidden, replacements
from firesteel.columns.kernels.rows.live_rows import are_equal
from firesteel.columns.kernels.rows.past_rows import PastRows, PlacedRows
from firesteel.columns.kernels.rows.segments import distinct, first_of_segments
from firesteel.columns.orders import stable_order
from firesteel.columns.rows import DELETE, UPDATE_BEFORE, batch_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class NormalizeFactory:
    """Plan that turns upserts by key into a full changelog. Flink: `ChangelogNormalize`.

    Attributes:
        emits_before: Whether `-U` comes before an update.
    """

    keys: tuple[int, ...]
    types: tuple[DataType, ...]
    emits_before: bool = True

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        return rows_layout("current", self.types, self.keys)

    def make(self) -> Kernel:
        """Return the kernel."""
        return Normalize(self)


class Normalize(PlannedKernel[NormalizeFactory]):
    """Stores the row of each key, to retract it when it is replaced or deleted.

    State: the rows as columns.
    """

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._past = PastRows(self._plan.keys, 1, context)
        types = [arrow_type(kind) for kind in self._plan.types]
        for kept, written in taken_values(context, "rows"):
            self._past.add_former(batch_of(kept, types), np.zeros(len(kept), np.int64), written)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the changes that the upserts and deletes of a batch make."""
        if batch.kinds is not None:
            batch = batch.filter(batch.kinds != UPDATE_BEFORE)
        if batch.length:
            self._process(replace(batch, kinds=None), batch.kinds_or_inserts() == DELETE)

    def _process(self, batch: ColumnBatch, is_delete: Array) -> None:
        numbers = self._past.find(batch, self._plan.keys)
        known = self._past.take(distinct(numbers))
        count = 0 if known is None else known.rows.length
        # The rows of the state come first, then those of the batch; places are indexes in all of them.
        rows = batch if known is None else concat([known.rows, batch])
        owners = numbers if known is None else np.concatenate([known.numbers, numbers])
        deletes = np.concatenate([np.zeros(count, bool), is_delete])
        order = stable_order(owners)
        is_first = first_of_segments(owners[order])
        before = np.empty(len(owners), np.int64)
        before[order] = np.where(is_first, -1, np.roll(order, 1))
        before[deletes[before] & (before >= 0)] = -1
        after = np.where(deletes, -1, np.arange(len(owners)))
        self._emit(rows, before[count:], after[count:])
        last = order[np.append(is_first[1:], True)] - count
        self._keep(batch, numbers, last[last >= 0], is_delete)

    def _emit(self, rows: ColumnBatch, before: Array, after: Array) -> None:
        is_changed = (before >= 0) | (after >= 0)
        if not self.context.state_ttl_ms:  # Else state that follows would expire before that of the key, as in Flink.
            both = np.flatnonzero((before >= 0) & (after >= 0))
            is_changed[both] = ~are_equal(rows.take(before[both]), rows.take(after[both]))
        if is_changed.any():
            before, after = before[is_changed], after[is_changed]
            self.context.emit(replacements(rows, before if self._plan.emits_before else hidden(before, after), after))

    def _keep(self, batch: ColumnBatch, numbers: Array, last: Array, is_delete: Array) -> None:
        """Keep the last rows of keys; those that were deleted last have none."""
        kept, gone = last[~is_delete[last]], last[is_delete[last]]
        places = self._past.counts(numbers[kept]) + 1
        self._past.add(PlacedRows(batch.take(kept), numbers[kept], places, np.zeros(len(kept), np.int64)))
        if len(gone):
            self._past.end(batch.take(gone), numbers[gone])

    def flush(self) -> None:
        """Write the rows that have changed, and forget deleted keys from time to time."""
        self._past.flush()
        self._past.forget_ended_keys()
