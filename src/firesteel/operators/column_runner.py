"""Runs a kernel on columns as an operator of a subtask; its elements are column batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext
from firesteel.common.time import Duration
from firesteel.operators.clock import now_ms
from firesteel.operators.keyed import store_of
from firesteel.operators.operator import MAX_WATERMARK, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.state_backend import Delta, KeyedStateBackend

_STATE_TTL = "table.exec.state.ttl"


class ColumnRunner(Operator):
    """One kernel with its state, which is kept by key groups.

    Args:
        factory: Makes the kernel.
        inputs: How many inputs it has.
    """

    def __init__(self, name: str, task: TaskInfo, output: Output, factory: Any, inputs: int) -> None:
        super().__init__(name, task, output)
        self._kernel = factory.make()
        self._open_inputs = inputs
        self.backend = KeyedStateBackend(None, task.max_parallelism, store_of(task))
        self.backend.key_group = _first

    def open(self) -> None:
        """Open the kernel with the state that was restored."""
        task = self.task
        self._kernel.open(
            KernelContext(
                not task.is_batch,
                task.max_parallelism,
                self.backend.table,
                self._emit,
                super().process_watermark,
                now_ms,
                task.configuration,
                task.subtask_index,
                task.parallelism,
                Duration.parse(task.configuration.get(_STATE_TTL, "0 ms")).to_millis(),
            )
        )

    def close(self) -> None:
        """Close the kernel."""
        self._kernel.close()

    def _emit(self, batch: ColumnBatch) -> None:
        if batch.length:
            self.output.hand_on([batch], None)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Hand batches of the first input to the kernel."""
        for batch in values:
            self._kernel.process(0, batch)
        self.backend.forget_repetitions()

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Hand batches of the second input to the kernel."""
        for batch in values:
            self._kernel.process(1, batch)
        self.backend.forget_repetitions()

    def process_watermark(self, timestamp: int) -> None:
        """Let the kernel see a watermark, then pass on what it makes of it; BATCH has none before the end."""
        if self.task.is_batch:
            return
        passed = self._kernel.watermark(timestamp)
        if passed is not None:
            super().process_watermark(passed)

    def end_input(self, index: int) -> None:
        """Let the kernel finish when the last input ended."""
        self._open_inputs -= 1
        if self._open_inputs:
            return
        self._kernel.end()
        if self.watermark < MAX_WATERMARK:
            super().process_watermark(MAX_WATERMARK)

    def advance_processing_time(self, now_ms: int) -> None:
        """Let the kernel do what is due."""
        self._kernel.advance_processing_time(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when something is due."""
        return self._kernel.next_processing_time()  # type: ignore[no-any-return]

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """What changed of the kernel's state."""
        return self.backend.full() if full else self.backend.delta()

    def load_keyed(self, delta: Delta, key_groups: range | None = None) -> None:
        """Take a part of the state."""
        self.backend.load(delta, key_groups)

    def snapshot(self) -> Any:
        """The watermark and what the kernel keeps beside its tables."""
        return self.watermark, self._kernel.snapshot()

    def restore(self, snapshot: Any) -> None:
        """Go on from a snapshot."""
        self.watermark, kept = snapshot
        self._kernel.restore(kept)


def _first(key: Any) -> int:
    return key[0]  # type: ignore[no-any-return]
