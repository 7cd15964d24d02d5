"""An operator that runs a columnar kernel; its elements are column batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext, KernelFactory
from firesteel.common.options.table_options import TABLE_STATE_TTL
from firesteel.operators.async_calls import AsyncCalls
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.context import TaskRuntimeContext
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.chain.user_metrics import TaskMetricGroup
from firesteel.operators.keyed import store_of
from firesteel.operators.state.descriptions import OF_LAYOUT, check_layout
from firesteel.operators.state.entries import Delta
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_table import StateTable

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot


class ColumnRunner(Operator):
    """An operator around one kernel and its state, which is partitioned by key group.

    Args:
        factory: Creates the kernel.
        inputs: Number of inputs of the kernel.
        description: What errors call it.
        is_narrowed: Whether operators of its job keep fewer columns than in former releases, which did not note what
            they keep.
    """

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        factory: KernelFactory,
        inputs: int,
        description: str | None = None,
        is_narrowed: bool = False,
    ) -> None:
        super().__init__(name, task, output)
        self.description = description
        self._kernel = factory.make()
        self.carries_state = self._kernel.carries_state
        self._open_inputs = inputs
        self._async_calls = AsyncCalls(task.configuration)
        self.backend = KeyedStateBackend(None, task.max_parallelism, store_of(task))
        # Keys of columns begin with their key group, which was hashed for all rows at once.
        self.backend.key_group = _first
        self._layout = factory.state_layout()
        if self._layout:
            self.backend.describe(OF_LAYOUT, {"kind": "layout", "value": self._layout})
        self._is_narrowed = is_narrowed
        self._is_opened = False

    def open(self) -> None:
        """Open the kernel with the restored state.

        Raises:
            ChangedQueryError: the state has another layout.
        """
        self._check_layout()
        self._is_opened = True
        task = self.task
        metrics = TaskMetricGroup(task.metrics, (self.name,))
        self._kernel.open(
            KernelContext(
                not task.is_batch,
                task.max_parallelism,
                self._table,
                self._emit,
                super().process_watermark,
                now_ms,
                task.configuration,
                task.subtask_index,
                task.parallelism,
                round(TABLE_STATE_TTL.of(task.configuration) * 1000),
                self.backend.new_spill,
                self._watermark_ms,
                TaskRuntimeContext(self.name, task),
                self._async_calls,
                self.output.idle,
                lambda: task.input_ms,
                lambda name: metrics.counter(name).inc,
            )
        )

    def _check_layout(self) -> None:
        restored = self.backend.restored.pop(OF_LAYOUT, {}).get("value")
        # Tables are looked at where it matters only: the length of one on disk takes a scan.
        if restored is not None or (self._is_narrowed and any(self.backend.tables.values())):
            check_layout(self.name, restored, self._layout, self._is_narrowed)

    def _table(self, name: str) -> StateTable:
        # Without a layout nothing would refuse the state of another query.
        assert self._layout or self.task.is_batch, f"{self.name} declares no state, but keeps {name!r}"
        return self.backend.table(name)

    def close(self) -> None:
        """Close the kernel and the event loop of its asynchronous functions."""
        try:
            self._kernel.close()
        finally:
            self._async_calls.close()

    def _watermark_ms(self) -> int | None:
        return None if self.watermark == MIN_TIMESTAMP else self.watermark

    def _emit(self, batch: ColumnBatch) -> None:
        if batch.length:
            self.output.hand_on([batch], None)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Pass batches of the first input to the kernel."""
        for batch in values:
            self._kernel.process(0, batch)
        self.backend.forget_repetitions()

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Pass batches of the second input to the kernel."""
        for batch in values:
            self._kernel.process(1, batch)
        self.backend.forget_repetitions()

    def process_watermark(self, timestamp: int) -> None:
        """Pass a watermark to the kernel and emit the resulting watermark; in BATCH mode only the final one."""
        # In BATCH mode kernels work at the end of their inputs, as all rows are there then.
        if self.task.is_batch:
            return
        passed = self._kernel.watermark(timestamp)
        if passed is not None:
            super().process_watermark(passed)

    def end_input(self, index: int) -> None:
        """Tell the kernel that an input has ended, and let it finish after the last one."""
        self._kernel.end_input(index)
        self._open_inputs -= 1
        if self._open_inputs:
            return
        self._kernel.end()
        if self.watermark < MAX_WATERMARK:
            super().process_watermark(MAX_WATERMARK)

    def advance_processing_time(self, now_ms: int) -> None:
        """Let the kernel run the work that is due at this processing time."""
        self._kernel.advance_processing_time(now_ms)

    def next_processing_time(self) -> int | None:
        """Return the processing time in ms at which the kernel next has work to do, or None."""
        return self._kernel.next_processing_time()

    def end_batch(self) -> None:
        """Let the kernel do what is due at the end of a batch."""
        self._kernel.end_batch()

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """Return the changes of the kernel's state since the last call, or all of it if `full`.

        The kernel of a subtask that had ended before its job was restored stays closed; its state is what was loaded.
        """
        if self._is_opened:
            self._kernel.flush()
        return self.backend.full() if full else self.backend.delta()

    def load_keyed(self, delta: Delta, key_groups: range | None = None) -> None:
        """Load a part of the keyed state."""
        self.backend.load(delta, key_groups)

    def snapshot(self) -> Snapshot:
        """Return the watermark and the state that the kernel keeps outside its tables."""
        return self.watermark, self._kernel.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark and the kernel from a snapshot."""
        self.watermark, kept = snapshot
        self._kernel.restore(kept)

    def take_over(self, snapshots: Sequence[Snapshot]) -> None:
        """Let the kernel take over the snapshots of another job, whose watermarks do not count."""
        self._kernel.take_over([kept for _, kept in snapshots])


def _first(key: tuple[int, ...]) -> int:
    return key[0]
