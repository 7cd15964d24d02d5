"""Splits: parts of a source that one subtask reads, and the ranges of them that batches read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import accumulate, islice
from typing import Any, NamedTuple

from firesteel.operators.spill import SizeEstimate

CHUNK_ELEMENTS = 4096
"""Elements that a reader hands on at once."""

CHUNK_BYTES = 4 << 20
"""About as many bytes are handed on at once at most, unless one element has more."""

_FIRST_ELEMENTS = 16
_GROWTH = 8


class Stop(NamedTuple):
    """A position at which a batch may stop, and how many units there are between it and the stop before."""

    position: int
    units: int


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that one subtask reads (Flink: `SourceSplit`).

    Positions count units of the source, such as elements or bytes, from the beginning of the source itself: they stay
    the same when `start` moves up because what was before is gone.

    Attributes:
        split_id: Unique within the source.
        subtask_index: The subtask that reads it.
        start: The first position.
        end: The position after the last one that can be read by now.
        path: The file, for file sources.
        source_index: Which of the sources of a HybridSource it belongs to.
        is_whole: A batch reads all of it or nothing: it can only be read from its beginning.
        grows: `end` may move up.
        stops: Of a split whose positions do not count anything: where batches may stop, ascending, the last one at
            `end`. Those that were read are left out.
    """

    split_id: str
    subtask_index: int
    start: int
    end: int
    path: str = ""
    source_index: int = 0
    is_whole: bool = False
    grows: bool = False
    stops: tuple[Stop, ...] = ()

    @property
    def key(self) -> str:
        """The name by which a source knows later that it has seen the split: of a file, its path."""
        return self.path or self.split_id

    def dealt_to(self, subtask_index: int) -> Split:
        """Return the split for another subtask."""
        return replace(self, subtask_index=subtask_index)

    def grown_to(self, end: int, stops: tuple[Stop, ...], grows: bool) -> Split:
        """Return the split with more to read, and perhaps nothing to follow."""
        return replace(self, end=end, stops=stops, grows=grows)

    def units_after(self, position: int) -> int:
        """Return how much there is to read from a position on."""
        if not self.stops:
            return self.end - position
        return sum(stop.units for stop in self.stops if stop.position > position)

    def stop_after(self, position: int, units: int) -> int:
        """Return where a batch stops that is to read about so many units from a position on, at least one stop."""
        if not self.stops or units <= 0:
            return position + max(units, 0)
        ahead = [stop for stop in self.stops if stop.position > position]
        within = zip(ahead, accumulate(stop.units for stop in ahead), strict=True)
        return max((stop.position for stop, total in within if total <= units), default=ahead[0].position)


@dataclass(frozen=True, slots=True)
class SplitRange:
    """What one batch reads of a split: positions `start` (inclusive) to `end` (exclusive) of the source.

    A range may be empty: it tells the reader that the split is assigned to it, or finished.

    Attributes:
        is_last: The split is finished after it.
    """

    split: Split
    start: int
    end: int
    is_last: bool = False


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of the splits of a source when it is asked for them again.

    Attributes:
        keys: Those that are not to be read again.
        splits: Those that are not finished, by id.
        is_first: The source has not been asked before, in no run of the job.
    """

    keys: Set[str] = frozenset()
    splits: Mapping[str, Split] = field(default_factory=dict)
    is_first: bool = True


class StampedElements(NamedTuple):
    """Elements that have timestamps of the source's own (ms), one for each."""

    elements: list[Any]
    timestamps: list[int]


Chunk = list[Any] | StampedElements
"""What a reader hands on at once."""

Discovered = tuple[list[Split], set[str]]
"""Splits that are not known yet, or may have changed, and the keys of known ones that still exist."""


def in_chunks(elements: Iterator[Any]) -> Iterator[list[Any]]:
    """Read elements in lists that are bounded in number and, by an estimate, in bytes."""
    sizes, count = SizeEstimate(), _FIRST_ELEMENTS
    while chunk := list(islice(elements, count)):
        before = sizes.bytes
        sizes.add(chunk)
        mean = max(1, (sizes.bytes - before) // len(chunk))
        yield chunk
        count = max(1, min(CHUNK_ELEMENTS, _GROWTH * count, CHUNK_BYTES // mean))
