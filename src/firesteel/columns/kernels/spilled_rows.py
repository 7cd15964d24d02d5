"""Rows of bounded inputs that have no room in memory: in a file, in parts by the hash of their keys.

A join or an aggregation then takes one part after the other, as a hash join or aggregation of databases does.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.hashing import row_hashes
from firesteel.columns.kernel import KernelContext
from firesteel.common.files.spill_file import SpillFile
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY

PARTS = 64
_SHIFT = np.uint64(58)
"""The highest bits of hashes choose the part: the lowest ones have chosen the subtask."""
_WAITING_BYTES = 1 << 25


class SpilledRows:
    """The rows of one input. Equal keys are in the same part; without keys, all rows are in the first one.

    Args:
        keys: The key columns.
        configuration: The options of the job, which say where temporary files are.

    Attributes:
        rows: The number of rows of each part.
    """

    def __init__(self, keys: tuple[int, ...], configuration: Mapping[str, str]) -> None:
        self._keys = keys
        self._file = SpillFile(temporary_directory(configuration))
        self._places: list[list[tuple[int, int]]] = [[] for _ in range(PARTS)]
        self._waiting: list[list[ColumnBatch]] = [[] for _ in range(PARTS)]
        self._bytes = 0
        self.rows = [0] * PARTS

    def add(self, batch: ColumnBatch) -> None:
        """Add rows.

        Raises:
            DiskReserveError: the disk would become full.
        """
        for part, rows in enumerate(self._by_part(batch)):
            if rows.length:
                self._waiting[part].append(rows)
                self.rows[part] += rows.length
        self._bytes += batch.nbytes
        if self._bytes > _WAITING_BYTES:
            self._write()

    def _by_part(self, batch: ColumnBatch) -> list[ColumnBatch]:
        if not self._keys:
            return [batch]
        parts = (row_hashes(batch, self._keys) >> _SHIFT).astype(np.uint8)
        ordered = batch.take(np.argsort(parts, kind="stable"))
        ends = np.cumsum(np.bincount(parts, minlength=PARTS)).tolist()
        return [ordered.slice(start, stop) for start, stop in zip([0, *ends], ends, strict=False)]

    def _write(self) -> None:
        for places, waiting in zip(self._places, self._waiting, strict=True):
            if waiting:
                places.append(self._file.write(concat(waiting)))
                waiting.clear()
        self._bytes = 0

    def take(self, part: int) -> Iterator[ColumnBatch]:
        """Yield the rows of a part, in the order in which they were added."""
        for place in self._places[part]:
            yield self._file.read(place)
        yield from self._waiting[part]

    def close(self) -> None:
        """Free the space of the file."""
        self._file.close()


class BoundedRows:
    """The rows of one bounded input that are needed at its end: in memory, or in parts once they have no room there.

    Args:
        keys: The key columns, of which there is at least one.
        context: Where the options come from.
        copies: How often rows are in memory while a part is used.
    """

    def __init__(self, keys: tuple[int, ...], context: KernelContext, copies: int) -> None:
        self._keys = keys
        self._configuration = context.configuration
        self._memory = SORTED_INPUTS_MEMORY.of(context.configuration) // copies
        self._rows: list[ColumnBatch] = []
        self._bytes = 0
        self._spilled: SpilledRows | None = None

    def add(self, batch: ColumnBatch) -> None:
        """Add rows."""
        if self._spilled is not None:
            self._spilled.add(batch)
            return
        self._rows.append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory:
            self.spill()

    @property
    def is_spilled(self) -> bool:
        """Whether the rows are in a file."""
        return self._spilled is not None

    def spill(self) -> None:
        """Move the rows into a file."""
        if self._spilled is None:
            self._spilled = SpilledRows(self._keys, self._configuration)
            for rows in self._rows:
                self._spilled.add(rows)
            self._rows = []

    def parts(self) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of each part; equal keys are in the same one."""
        if self._spilled is None:
            yield self._rows
            return
        for part in range(PARTS):
            yield [*self._spilled.take(part)]

    def close(self) -> None:
        """Remove the file."""
        if self._spilled is not None:
            self._spilled.close()
