"""Small column batches of one input, gathered into larger ones.

Each call of a columnar kernel costs some milliseconds, whatever the number of rows, and a batch of a few thousand
records arrives in pieces: one per split, producing subtask and chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from firesteel.operators.chain.operator import Timestamps
from firesteel.operators.chain.record_count import hold_records

if TYPE_CHECKING:
    from firesteel.columns.batch import ColumnBatch

__all__ = ["GatheredBatches"]

_ROWS = 65_536
"""Number of rows that are passed on together. A group is looked up once per call, whatever the number of its rows."""

_BYTES = 16 << 20
"""Maximum size of what waits: four thousand rows of four kilobytes, for example."""


class GatheredBatches:
    """Passes on the rows of small batches together, in the order in which they came.

    Args:
        process: Receives an input's index and its next batch.
    """

    def __init__(self, process: Callable[[int, ColumnBatch], None]) -> None:
        self._process = process
        self._waiting: list[ColumnBatch] = []
        self._index = 0
        self._rows = 0
        self._bytes = 0

    def add(self, index: int, values: Sequence[object], timestamps: Timestamps) -> bool:
        """Take elements of an input and return True, or pass on what waits and return False if they must not wait."""
        if timestamps is not None or not hold_records(values):
            self.flush()
            return False
        for batch in values:
            self._add(index, batch)
        return True

    def _add(self, index: int, batch: ColumnBatch) -> None:
        size = batch.held_bytes
        is_large = batch.length >= _ROWS or size >= _BYTES
        # Rows of another input must not overtake those that wait; and a large batch is not worth a copy.
        if self._waiting and (is_large or index != self._index or batch.types != self._waiting[0].types):
            self.flush()
        self._waiting.append(batch)
        self._index = index
        self._rows += batch.length
        self._bytes += size
        if self._rows >= _ROWS or self._bytes >= _BYTES:
            self.flush()

    def flush(self) -> None:
        """Pass on what waits."""
        if self._waiting:
            from firesteel.columns.batch import concat  # late: jobs without columns do not need Arrow

            waiting, self._waiting = self._waiting, []
            self._rows = self._bytes = 0
            self._process(self._index, concat(waiting))
