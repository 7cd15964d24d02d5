"""One row of each key, of inserted rows. Flink: `ProcTimeDeduplicate...Function`, `RowTimeDeduplicateFunction`."""

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
from firesteel.columns.kernels.rows.segments import distinct, first_of_segments, last_of_segments, running_max
from firesteel.columns.kernels.times.time_windows import millis_of
from firesteel.columns.orders import stable_order
from firesteel.columns.rows import batch_of
from firesteel.columns.state_layout import Layout, rows_layout
from firesteel.columns.values import arrow_type


@dataclass(frozen=True)
class DeduplicateFactory:
    """Plan that keeps the first or last row of each partition.

    Attributes:
        time: Index of the rowtime column, or None to compare rows by processing time.
        emits_before: Whether `-U` comes before an update.
    """

    partition: tuple[int, ...]
    keeps_last: bool
    time: int | None
    types: tuple[DataType, ...]
    emits_before: bool = True

    def state_layout(self) -> Layout:
        """Return the layout of the state."""
        kind = f"{'last' if self.keeps_last else 'first'}{'' if self.time is None else ' in time'}"
        return rows_layout(kind, self.types, self.partition)

    def make(self) -> Kernel:
        """Return the kernel."""
        return Deduplicate(self)


class Deduplicate(PlannedKernel[DeduplicateFactory]):
    """Keeps one row per partition, and emits each row that becomes the one of its partition.

    State: the rows as columns.
    """

    def open(self, context: KernelContext) -> None:
        """Open the state."""
        super().open(context)
        self._past = PastRows(self._plan.partition, 1, context)
        types = [arrow_type(kind) for kind in self._plan.types]
        for kept, written in taken_values(context, "row"):
            rows = batch_of(kept, types)
            self._past.add_former(rows, self._times(rows), written)

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Emit the rows that become the row of their partition."""
        if batch.length:
            self._process(batch)

    def flush(self) -> None:
        """Write the rows that have changed."""
        self._past.flush()

    def _process(self, batch: ColumnBatch) -> None:
        numbers, times = self._past.find(batch, self._plan.partition), self._times(batch)
        touched = distinct(numbers)
        known = self._past.take(touched)
        count = 0 if known is None else known.rows.length
        # The rows of the state come first, then those of the batch; places are indexes in all of them.
        if known is not None:
            numbers, times = np.concatenate([known.numbers, numbers]), np.concatenate([known.times, times])
        order = stable_order(numbers)
        accepted = order[self._is_accepted(numbers[order], times[order])]
        before = np.where(first_of_segments(numbers[accepted]), -1, np.roll(accepted, 1))
        is_new = accepted >= count
        self._emit(batch if known is None else concat([known.rows, batch]), accepted[is_new], before[is_new])
        last = accepted[last_of_segments(numbers[accepted])]
        last = last[last >= count]
        places = self._past.counts(numbers[last]) + 1
        self._past.add(PlacedRows(batch.take(last - count), numbers[last], places, times[last]))

    def _times(self, batch: ColumnBatch) -> Array:
        time = self._plan.time
        return np.zeros(batch.length, np.int64) if time is None else millis_of(batch.columns[time])

    def _is_accepted(self, numbers: Array, times: Array) -> Array:
        """Return which rows, sorted by key, replace the one before them; the first one of each key does."""
        is_first = first_of_segments(numbers)
        if self._plan.time is None:
            return np.ones(len(numbers), bool) if self._plan.keeps_last else is_first
        # Flink's `shouldKeepCurrentRow`: of rows of one time the last one is the last, the first one the first.
        if not self._plan.keeps_last:
            times = -times
        latest = np.roll(running_max(times, is_first), 1)
        replaces: Array = is_first | (times >= latest if self._plan.keeps_last else times > latest)
        return replaces

    def _emit(self, rows: ColumnBatch, accepted: Array, before: Array) -> None:
        """Emit rows in the order in which they came, each after the row that it replaces; -1 if there is none."""
        order = np.argsort(accepted)
        before, accepted = before[order], accepted[order]
        if self._plan.time is None and not self.context.state_ttl_ms:
            # As in Flink, which compares rows in processing time alone. With a time to live an equal row is emitted,
            # too: the state of operators that follow must not expire before the row.
            is_same = before >= 0
            is_same[is_same] = are_equal(rows.take(before[is_same]), rows.take(accepted[is_same]))
            before, accepted = before[~is_same], accepted[~is_same]
        if not self._plan.emits_before:
            before = hidden(before, accepted)
        self.context.emit(replacements(replace(rows, kinds=None), before, accepted))
