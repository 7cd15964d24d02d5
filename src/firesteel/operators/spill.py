"""Spilling to disk: temporary files of pickled chunks, size estimates of elements, and a list that spills.

The files are unlinked on creation, so they disappear with the process however it ends.
"""

from __future__ import annotations

import os
import pickle
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator
from sys import getsizeof
from typing import Any

from firesteel.common.memory_size import parse_bytes
from firesteel.common.types import Row
from firesteel.operators.buffers import pickled
from firesteel.operators.operator import TaskInfo, Timestamps

MEMORY = "execution.sorted-inputs.memory"

CHUNK_ELEMENTS = 1024
"""Maximum number of elements that are written and read at once."""

_MAX_GAP = 256
_SAMPLED_BYTES = 256 * 1024
_ELEMENT_OVERHEAD = 120
_MAX_DEPTH = 8


def memory_of(task: TaskInfo) -> int:
    """Return how many bytes of one operator's BATCH input are kept in memory before it spills.

    Raises:
        ValueError: the option is not a memory size.
    """
    try:
        return parse_bytes(task.configuration.get(MEMORY, "128 mb"))
    except ValueError as error:
        raise ValueError(f"option {MEMORY!r}: {error}") from None


class SpillFile:
    """A temporary file of chunks, each addressed by the position that `write` returned."""

    def __init__(self, directory: str | None) -> None:
        descriptor, path = tempfile.mkstemp(prefix="firesteel-", dir=directory)
        os.unlink(path)
        self._descriptor = descriptor
        self._end = 0
        self.close: Callable[[], Any] = weakref.finalize(self, os.close, descriptor)
        """Close the file and free its space; also called when the object is garbage collected."""

    def write(self, chunk: Any) -> tuple[int, int]:
        """Append a chunk and return its position."""
        data = memoryview(pickled(chunk))
        place = (self._end, len(data))
        while data:
            written = os.pwrite(self._descriptor, data, self._end)
            self._end += written
            data = data[written:]
        return place

    def read(self, place: tuple[int, int]) -> Any:
        """Return the chunk at a position."""
        return pickle.loads(os.pread(self._descriptor, place[1], place[0]))


class SizeEstimate:
    """An estimate of the memory that elements take, from a sample; the larger they are, the more are measured.

    Example:
        >>> estimate = SizeEstimate()
        >>> estimate.add(["a" * 951])
        >>> estimate.bytes
        1120
    """

    __slots__ = ("_gap", "_next", "bytes", "elements")

    def __init__(self) -> None:
        self.bytes = self.elements = 0
        self._gap = 1
        self._next = 0

    def add(self, values: list[Any]) -> None:
        """Add elements; each measured one stands for those since the previous measurement."""
        position, count = self._next, len(values)
        while position < count:
            size = size_of(values[position]) + _ELEMENT_OVERHEAD
            self.bytes += size * self._gap
            self._gap = max(1, min(2 * self._gap, _MAX_GAP, _SAMPLED_BYTES // size))
            position += self._gap
        self._next = position - count
        self.elements += count

    def mean(self) -> int:
        """Return the mean number of bytes per element."""
        return max(1, self.bytes // max(1, self.elements))


def size_of(value: Any, depth: int = 0) -> int:
    """Return the bytes of a value and everything that it refers to; shared objects count each time."""
    size = getsizeof(value)
    kind = type(value)
    if kind in _FLAT or depth == _MAX_DEPTH:
        return size
    if kind is dict:
        return size + sum(size_of(k, depth + 1) + size_of(v, depth + 1) for k, v in value.items())
    return size + sum([size_of(part, depth + 1) for part in _parts(value, kind)])


_FLAT = {str, int, float, bool, bytes, bytearray, type(None)}


def _parts(value: Any, kind: type) -> Iterable[Any]:
    if isinstance(value, (tuple, list, set, frozenset)):
        return value
    if kind is Row:
        return value._values  # type: ignore[no-any-return]
    parts = [getattr(value, name, None) for name in getattr(kind, "__slots__", ())]
    return [*parts, *getattr(value, "__dict__", {}).values()]


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
