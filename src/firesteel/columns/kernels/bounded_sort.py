"""Sorts and limits of bounded inputs.

What has no room in memory is sorted in runs, which are written to a file and merged at the end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat, slices
from firesteel.columns.kernel import Kernel, KernelContext
from firesteel.columns.kernels.rows.row_order import Order, sorted_places
from firesteel.common.files.spill_file import SpillFile
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY

__all__ = ["BoundedSort"]

_AT_ONCE = 1 << 16
"""Maximum rows per emitted batch, and the least number of rows that are sorted to drop those behind a limit."""
_COPIES = 3
"""How often rows are in memory while they are sorted: as they came, in one batch, and sorted."""
_CHUNKS = 64
"""The number of chunks of a run; one of each run is in memory at a time."""

_Run = deque[tuple[int, int]]
"""The positions of the chunks of a run in the file."""


class BoundedSort(Kernel):
    """Sorts all rows at the end of input, and emits those from `offset` on, at most `fetch` of them.

    Args:
        order: The order; without one, rows stay as they came.
        offset: The number of first rows to leave out.
        fetch: The maximum number of rows after them, None for all.
    """

    def __init__(self, order: Order, offset: int, fetch: int | None) -> None:
        self._order = order
        self._offset = offset
        self._stop = None if fetch is None else offset + fetch
        self._waiting: list[ColumnBatch] = []
        self._rows = self._bytes = 0
        self._file: SpillFile | None = None
        self._runs: list[_Run] = []

    def open(self, context: KernelContext) -> None:
        """Read how much memory there is."""
        super().open(context)
        self._memory = SORTED_INPUTS_MEMORY.of(context.configuration) // _COPIES

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._file.close()

    def process(self, index: int, batch: ColumnBatch) -> None:
        """Keep rows; those behind the limit are dropped from time to time."""
        self._keep(batch)
        if self._stop is not None and self._rows >= self._stop + max(self._stop, _AT_ONCE):
            self._keep(self._take_sorted())
        if self._bytes > self._memory:
            self._spill()

    def _keep(self, batch: ColumnBatch) -> None:
        if batch.length:
            self._waiting.append(batch)
            self._rows += batch.length
            self._bytes += batch.nbytes

    def _take_sorted(self) -> ColumnBatch:
        """Return the rows that are kept, of which there are some, in order and up to the limit."""
        rows = concat(self._waiting)
        self._waiting, self._rows, self._bytes = [], 0, 0
        places = sorted_places(rows.columns, self._order) if self._order else np.arange(rows.length)
        return rows.take(places[: self._stop])

    def _spill(self) -> None:
        if self._file is None:
            self._file = SpillFile(temporary_directory(self.context.configuration))
        rows = self._take_sorted()
        if rows.length:  # not with LIMIT 0
            self._runs.append(deque(map(self._file.write, slices(rows, -(-rows.length // _CHUNKS)))))

    def end(self) -> None:
        """Emit the rows."""
        if self._runs and self._waiting:
            self._spill()
        found = self._merged() if self._runs else ([self._take_sorted()] if self._waiting else [])
        for batch in _cut(found, self._offset, self._stop):
            for part in slices(batch, _AT_ONCE):
                self.context.emit(part)

    def _merged(self) -> Iterator[ColumnBatch]:
        """Yield the rows of all runs in order.

        The next chunks of the runs are sorted together. The result is right up to the last row of the first chunk that
        ends: all rows behind are in chunks that have been read, or behind them.
        """
        assert self._file is not None
        heads = [(self._file.read(run.popleft()), run) for run in self._runs]
        while heads:
            together = concat([batch for batch, _ in heads])
            places = sorted_places(together.columns, self._order) if self._order else np.arange(together.length)
            ranks = np.empty(len(places), np.int64)
            ranks[places] = np.arange(len(places))
            ends = np.cumsum([batch.length for batch, _ in heads])
            stop = min(
                (int(ranks[end - 1]) + 1 for end, (_, run) in zip(ends, heads, strict=True) if run), default=None
            )
            yield together.take(places[:stop])
            left = []
            for end, (batch, run) in zip(ends, heads, strict=True):
                taken = batch.length if stop is None else int(np.searchsorted(ranks[end - batch.length : end], stop))
                if taken < batch.length:
                    left.append((batch.slice(taken, batch.length), run))
                elif run:
                    left.append((self._file.read(run.popleft()), run))
            heads = left


def _cut(batches: Iterable[ColumnBatch], start: int, stop: int | None) -> Iterator[ColumnBatch]:
    """Yield the rows from one place to another."""
    seen = 0
    for batch in batches:
        end = batch.length if stop is None else min(batch.length, stop - seen)
        begin = min(max(start - seen, 0), end)
        seen += batch.length
        if begin < end:
            yield batch.slice(begin, end)
        if stop is not None and seen >= stop:
            return
