"""Rows of bounded inputs that have no room in memory: in a file, in parts by the hash of their keys.

A join or an aggregation then takes one part after the other, as a hash join or aggregation of databases does.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat, merged
from firesteel.columns.hashing import row_hashes
from firesteel.columns.orders import stable_order
from firesteel.common.files.spill_file import SpillFile
from firesteel.common.files.temporary_directories import temporary_directory
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY

PARTS = 64
_SHIFT = np.uint64(58)
"""The highest bits of hashes choose the part: the lowest ones have chosen the subtask."""
_WAITING_BYTES = 1 << 25
_AT_ONCE = 1 << 17
"""Number of rows that are divided into parts together: small batches cost more than their rows."""


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
        ordered = batch.take(stable_order(parts))
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


@dataclass(frozen=True, slots=True)
class Part:
    """Rows of one input, which may be read once.

    Attributes:
        batches: The rows, in the order in which they were added.
        rows: The number of rows.
    """

    batches: Iterable[ColumnBatch]
    rows: int


class BoundedInputs:
    """Rows of bounded inputs that are kept until the inputs end, on disk if they do not fit into memory.

    Args:
        keys: The key columns of each input. Without keys all rows are in one part.
        configuration: The options of the job, which say how much memory there is.
        copies: How often rows are in memory while a part is used.
    """

    def __init__(self, keys: Sequence[tuple[int, ...]], configuration: Mapping[str, str], copies: int = 1) -> None:
        self._keys = keys
        self._configuration = configuration
        self._memory = SORTED_INPUTS_MEMORY.of(configuration) // copies
        self._kept: list[list[ColumnBatch]] = [[] for _ in keys]
        self._bytes = 0
        self._spilled: list[SpilledRows] = []

    def add(self, index: int, batch: ColumnBatch) -> None:
        """Add rows of input `index`."""
        if self._spilled:
            self._spilled[index].add(batch)
            return
        self._kept[index].append(batch)
        self._bytes += batch.nbytes
        if self._bytes > self._memory:
            self._spill()

    def _spill(self) -> None:
        self._spilled = [SpilledRows(keys, self._configuration) for keys in self._keys]
        for rows, batches in zip(self._spilled, self._kept, strict=True):
            for batch in merged(batches, _AT_ONCE):
                rows.add(batch)
            batches.clear()

    def parts(self) -> Iterator[tuple[Part, ...]]:
        """Yield the rows of all inputs part by part; equal keys are in the same one."""
        if not self._spilled:
            yield tuple(Part(batches, sum(map(len, batches))) for batches in self._kept)
            return
        for part in range(PARTS):
            yield tuple(Part(rows.take(part), rows.rows[part]) for rows in self._spilled)

    def close(self) -> None:
        """Remove the files."""
        for rows in self._spilled:
            rows.close()
