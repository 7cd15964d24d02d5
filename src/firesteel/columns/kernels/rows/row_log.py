"""The rows of one input as keyed state: segments of columns per key group, to which rows are only added."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from firesteel.columns.batch import ColumnBatch, concat
from firesteel.columns.cells import Array
from firesteel.columns.kernel import StateTable
from firesteel.columns.kernels.rows.segments import first_of_segments
from firesteel.columns.orders import stable_order

_FULL = 1024
"""Number of rows from which on a segment is not merged any more."""

_FAN_IN = 8
"""Number of segments of about the same size that are merged."""


class RowLog:
    """Rows in a state table whose entries are `(key group, bucket, number of the segment)`.

    A bucket holds rows that are removed together. Segments of about the same size are merged, so the state of a job
    with small batches does not consist of tiny segments, and a row is rewritten about log8(1024) times at most.
    """

    def __init__(self, table: StateTable) -> None:
        self._table = table
        self._lengths: dict[int, dict[int, list[int]]] = {}
        lengths = ((entry, rows.length) for entry, rows in table.data.items())
        for (group, bucket, _), length in sorted(lengths):
            self._segments(bucket, group).append(length)

    def buckets(self) -> list[int]:
        """Return the buckets that have rows."""
        return list(self._lengths)

    def groups(self, bucket: int = 0) -> set[int]:
        """Return the key groups that have rows in a bucket."""
        return set(self._lengths.get(bucket, ()))

    def length(self, bucket: int = 0) -> int:
        """Return the number of rows of a bucket."""
        return sum(map(sum, self._lengths.get(bucket, {}).values()))

    def rows(self, bucket: int = 0) -> Iterator[ColumnBatch]:
        """Yield the rows of a bucket, in parts."""
        return map(self._table.data.__getitem__, self._entries(bucket))

    def append(self, rows: ColumnBatch, groups: Array, bucket: int = 0) -> None:
        """Add rows, each with its key group."""
        # Stable: within a key group rows keep the order in which they came.
        order = stable_order(groups)
        rows, groups = rows.take(order), groups[order]
        starts = np.flatnonzero(first_of_segments(groups)).tolist()
        for group, start, stop in zip(groups[starts].tolist(), starts, [*starts, rows.length][1:], strict=True):
            self._add(group, bucket, rows.slice(start, stop))

    def remove(self, bucket: int = 0) -> None:
        """Remove the rows of a bucket."""
        for entry in self._entries(bucket):
            self._table.remove(entry)
        self._lengths.pop(bucket, None)

    def _segments(self, bucket: int, group: int) -> list[int]:
        return self._lengths.setdefault(bucket, {}).setdefault(group, [])

    def _entries(self, bucket: int) -> list[tuple[int, int, int]]:
        groups = self._lengths.get(bucket, {})
        return [(group, bucket, number) for group, lengths in groups.items() for number in range(len(lengths))]

    def _add(self, group: int, bucket: int, segment: ColumnBatch) -> None:
        lengths = self._segments(bucket, group)
        lengths.append(segment.length)
        merged = [segment]
        first = _first_merged(lengths)
        for number in reversed(range(first, len(lengths) - 1)):
            merged.append(self._table.data[group, bucket, number])
            self._table.remove((group, bucket, number))
        self._table.put((group, bucket, first), concat(merged[::-1]))
        lengths[first:] = [sum(lengths[first:])]


def _first_merged(lengths: list[int]) -> int:
    """Return the first of the last segments that are merged, the last one itself if none are.

    As the carry of a counter: the segments up to the size of the last one are merged once there are enough of them, and
    what they become may be what was missing among larger ones.
    """
    first = len(lengths) - 1
    total = lengths[-1]
    while total < _FULL:
        limit, start = total.bit_length() // 3, first
        while start and lengths[start - 1].bit_length() // 3 <= limit and lengths[start - 1] < _FULL:
            start -= 1
        if first - start < _FAN_IN - 1:
            return first
        total += sum(lengths[start:first])
        first = start
    return first
