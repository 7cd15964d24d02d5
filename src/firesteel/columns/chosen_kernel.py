"""Kernels whose algorithm is known when they open: it depends on how the job runs, and on the restored state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.kernel import KernelContext, P, PlannedKernel

if TYPE_CHECKING:
    from firesteel.columns.kernel import Kernel
    from firesteel.common.snapshots import Snapshot


class ChosenKernel(PlannedKernel[P]):
    """A kernel that leaves all work to an algorithm."""

    _algorithm: Kernel

    def _choose(self, context: KernelContext) -> Kernel:
        """Return the algorithm; the state tables have been restored."""
        raise NotImplementedError

    def open(self, context: KernelContext) -> None:
        """Choose and open the algorithm."""
        super().open(context)
        self._algorithm = self._choose(context)
        self._algorithm.open(context)

    def close(self) -> None:
        """Close the algorithm."""
        self._algorithm.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Process a batch of input `index`."""
        self._algorithm.process(index, batch)

    def watermark(self, timestamp: int) -> int | None:
        """Process a watermark."""
        return self._algorithm.watermark(timestamp)

    def end_input(self, index: int) -> None:
        """Note that input `index` is complete."""
        self._algorithm.end_input(index)

    def end(self) -> None:
        """Emit what is left."""
        self._algorithm.end()

    def flush(self) -> None:
        """Let the algorithm write what it holds."""
        self._algorithm.flush()

    def snapshot(self) -> Snapshot:
        """Return the snapshot of the algorithm."""
        return self._algorithm.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the algorithm."""
        self._algorithm.restore(snapshot)
