"""A list that spills to disk."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from firesteel.common.files.spill_file import SpillFile
from firesteel.common.options.execution_options import SORTED_INPUTS_MEMORY
from firesteel.common.values.size_estimate import SizeEstimate

if TYPE_CHECKING:
    from firesteel.operators.chain.operator import TaskInfo, Timestamps

CHUNK_ELEMENTS = 1024
"""Maximum number of elements that are written and read at once."""


def memory_of(task: TaskInfo) -> int:
    """Return how many bytes of one operator's BATCH input are kept in memory before it spills.

    Raises:
        ValueError: the option is not a memory size.
    """
    return SORTED_INPUTS_MEMORY.of(task.configuration)


class SpilledList:
    """An ordered list of batches of elements, in memory as long as they fit, then in a file.

    Args:
        memory: Maximum number of bytes kept in memory.
        directory: The directory of the file; None is the system's directory for temporary files.
    """

    def __init__(self, memory: int, directory: str | None) -> None:
        self._memory = memory
        self._directory = directory
        self._kept: list[tuple[list[Any], Timestamps]] = []
        self._estimate = SizeEstimate()
        self._file: SpillFile | None = None
        self._places: list[tuple[int, int]] = []

    def add(self, values: list[Any], timestamps: Timestamps, size: int | None = None) -> None:
        """Append elements of `size` bytes in total; None estimates the size."""
        self._kept.append((values, timestamps))
        if size is None:
            self._estimate.add(values)
        else:
            self._estimate.bytes += size
        if self._estimate.bytes > self._memory:
            self._spill()

    def _spill(self) -> None:
        if self._file is None:
            self._file = SpillFile(self._directory)
        chunk: list[tuple[list[Any], Timestamps]] = []
        elements = 0
        for batch in self._kept:
            chunk.append(batch)
            elements += len(batch[0])
            if elements >= CHUNK_ELEMENTS:
                self._places.append(self._file.write(chunk))
                chunk, elements = [], 0
        if chunk:
            self._places.append(self._file.write(chunk))
        self._kept = []
        self._estimate = SizeEstimate()

    def take(self) -> Iterator[tuple[list[Any], Timestamps]]:
        """Yield all elements in order, once; afterwards the list is empty."""
        places, self._places = self._places, []
        kept, self._kept = self._kept, []
        self._estimate = SizeEstimate()
        for place in places:
            assert self._file is not None
            yield from self._file.read(place)
        # Popped from the end, so that each batch is free as soon as it was used.
        kept.reverse()
        while kept:
            yield kept.pop()
        self.close()

    def close(self) -> None:
        """Discard all elements."""
        self._kept, self._places = [], []
        self._estimate = SizeEstimate()
        if self._file is not None:
            self._file.close()
            self._file = None
