"""The memory of an operator for rows and their index: what has no room is in files on the local disk."""

from __future__ import annotations

import mmap
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakSet

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.runs.mapped_file import MappedFile, leave_memory

if TYPE_CHECKING:
    from firesteel.columns.kernel import KernelContext
    from firesteel.columns.runs.run_store import Spill

_MAX_ROWS = 1 << 22
_MAX_BYTES = 1 << 29
"""Limits of a part. Arrow's strings have 32-bit offsets, so a column must stay below 2 GiB."""

_LEAST_BYTES = 1 << 16
"""What stays in memory however little there is: a file takes a page and an entry in tables of the kernel."""

_IN_MEMORY_PART = 16
"""The part of the memory for state up to which rows stay in it. The sizes of parts grow geometrically."""

_MERGED_PART = 4
"""The part of the memory for state that merging rows may take."""


class Room:
    """Holds parts of rows, which do not change: large ones in files if state is on disk, else all in memory.

    Why: `docs/decisions/0063-groups-are-written-from-arrays.md`.

    Args:
        spill: The memory that may be used, and the directory of the files; None keeps all in memory.

    Attributes:
        spill: The same.
    """

    def __init__(self, spill: Spill | None = None) -> None:
        self.spill = spill
        self._files: WeakSet[mmap.mmap] = WeakSet()

    def _part(self, part: int) -> int:
        """Return a part of the memory in bytes."""
        assert self.spill is not None
        return max(self.spill.allowed(), _IN_MEMORY_PART * _LEAST_BYTES) // part

    def may_merge(self, rows: int, size: int) -> bool:
        """Return whether parts may become one with so many rows and bytes."""
        limit = _MAX_BYTES if self.spill is None else min(self._part(_MERGED_PART), _MAX_BYTES)
        return rows <= _MAX_ROWS and size <= limit

    def should_merge(self, older: ColumnBatch, newer: ColumnBatch) -> bool:
        """Return whether the last two parts are to become one.

        Merging parts of similar size only keeps the times that a row is copied logarithmic.
        """
        if older.length > 2 * newer.length:
            return False
        return self.may_merge(older.length + newer.length, older.nbytes + newer.nbytes)

    def rows(self, rows: ColumnBatch) -> ColumnBatch:
        """Return the rows of a new part, which are in a file if they are too large for memory."""
        if not self._is_large(rows.nbytes):
            return rows
        return ColumnBatch(tuple(self._in_file(rows.columns)), rows.length, rows.kinds)

    def arrays(self, *arrays: Array) -> Sequence[Array]:
        """Return arrays of numbers, of the same length, likewise."""
        if not self._is_large(sum(array.nbytes for array in arrays)):
            return arrays
        return [column.to_numpy() for column in self._in_file(list(map(pa.array, arrays)))]

    def _is_large(self, size: int) -> bool:
        return self.spill is not None and size >= self._part(_IN_MEMORY_PART)

    def _in_file(self, columns: Sequence[pa.Array]) -> list[pa.Array]:
        assert self.spill is not None
        names = list(map(str, range(len(columns))))
        file = MappedFile(self.spill.directory, [pa.RecordBatch.from_arrays(list(columns), names)])
        if file.pages is not None:
            self._files.add(file.pages)
        mapped: list[pa.Array] = file.batches[0].columns
        return mapped

    def leave_memory(self) -> None:
        """Let go of the pages of files that were read."""
        for pages in list(self._files):
            leave_memory(pages)


def room_of(context: KernelContext) -> Room:
    """Return the room of a kernel, or of one of its inputs."""
    return Room(context.spill())
