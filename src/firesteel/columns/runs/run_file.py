"""A sorted run of entries in a file on the local disk that disappears with its process."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa

from firesteel.columns.runs.entries import Entries
from firesteel.columns.runs.mapped_file import MappedFile, leave_memory


class RunFile:
    """Entries in chunks, each a batch in Arrow's format. Pages of the file are memory of the process when read.

    Args:
        directory: Where the file is; it has no name there, so that nothing is left behind by a process that is killed.
        chunks: The entries, in ascending order of hashes; no hash is in two of them.
        mapped: How many bytes of the file may be memory of the process at a time.

    Attributes:
        chunks: The entries, with pickles instead of objects.

    Raises:
        OSError: the directory cannot be written to, or the disk is full.
    """

    def __init__(self, directory: str, chunks: Iterable[Entries], mapped: int) -> None:
        self._mapped = mapped
        self._firsts: list[int] = []
        self._length = 0
        self._keys = 0
        self._file = MappedFile(directory, self._batches(chunks))
        self.chunks = list(map(self._entries, self._file.batches))

    def _batches(self, chunks: Iterable[Entries]) -> Iterator[pa.RecordBatch]:
        for chunk in chunks:
            if len(chunk):
                self._keys = len(chunk.keys)
                self._firsts.append(int(chunk.hashes[0]))
                self._length += len(chunk)
                yield _batch_of(chunk.encoded())

    def _entries(self, batch: pa.RecordBatch) -> Entries:
        hashes, *columns = batch.columns
        keys, values = columns[: self._keys], columns[self._keys :]
        is_binary = pa.types.is_large_binary
        numbers = (column if is_binary(column.type) else column.to_numpy() for column in values)
        return Entries(hashes.to_numpy(), tuple(keys), tuple(numbers))

    def __len__(self) -> int:
        return self._length

    def between(self, first: int, last: int) -> list[Entries]:
        """Return the entries whose hashes are in a range, with both ends; objects are pickles."""
        begin = max(bisect_left(self._firsts, first) - 1, 0)
        return [chunk.between(first, last) for chunk in self.chunks[begin : bisect_right(self._firsts, last)]]

    def parts_of(self, sought: Entries) -> Iterable[tuple[int, int, Entries]]:
        """Yield where the keys begin and end that may be in a chunk, and the chunk."""
        if not self.chunks:
            return
        touched = 0
        ends = np.searchsorted(sought.hashes, np.array(self._firsts[1:], np.uint64)).tolist()
        for start, end, size, chunk in zip(
            [0, *ends], [*ends, len(sought)], self._file.sizes, self.chunks, strict=True
        ):
            if start < end:
                yield start, end, chunk
                touched += size
                if touched > self._mapped:
                    self.leave_memory()
                    touched = 0

    def leave_memory(self) -> None:
        """Let go of the pages that were read."""
        leave_memory(self._file.pages)


def _batch_of(chunk: Entries) -> pa.RecordBatch:
    columns = [pa.array(chunk.hashes), *chunk.keys]
    columns += [column if isinstance(column, pa.Array) else pa.array(column) for column in chunk.values]
    return pa.RecordBatch.from_arrays(columns, [str(place) for place in range(len(columns))])
