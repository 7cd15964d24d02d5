"""Splits: parts of a source that one subtask reads, and the ranges of them that batches read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import accumulate, islice
from typing import Any, NamedTuple

from firesteel.common.values.size_estimate import SizeEstimate

CHUNK_ELEMENTS = 4096
"""Maximum number of elements that a reader returns at once."""

CHUNK_BYTES = 4 << 20
"""Approximate maximum number of bytes that a reader returns at once, unless a single element has more."""

_FIRST_ELEMENTS = 16
_GROWTH = 8


class Stop(NamedTuple):
    """A position at which a batch may stop, and the number of units between it and the previous stop."""

    position: int
    units: int


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that one subtask reads (Flink: `SourceSplit`).

    Positions count units of the source, such as elements or bytes, from the beginning of the source itself: they do not
    change when `start` moves up because older data is gone.

    Attributes:
        split_id: Unique within the source.
        subtask_index: The subtask that reads it.
        start: The first position.
        end: The position after the last one that is readable now.
        path: The file, for file sources.
        source_index: Which of the sources of a HybridSource it belongs to.
        is_whole: Whether a batch reads all of it or nothing, as it can only be read from its beginning.
        grows: Whether `end` may move up.
        stops: For splits whose positions are opaque: the positions at which batches may stop, ascending, the last one
        at `end`. Stops that were read are removed.
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
        """The name by which a source recognises a split that it has seen; for files, the path."""
        return self.path or self.split_id

    def dealt_to(self, subtask_index: int) -> Split:
        """Return the split assigned to another subtask."""
        return replace(self, subtask_index=subtask_index)

    def grown_to(self, end: int, stops: tuple[Stop, ...], grows: bool) -> Split:
        """Return the split with a new end and stops; `grows` tells whether more may follow."""
        return replace(self, end=end, stops=stops, grows=grows)

    def units_after(self, position: int) -> int:
        """Return the number of units to read after a position."""
        if not self.stops:
            return self.end - position
        return sum(stop.units for stop in self.stops if stop.position > position)

    def stop_after(self, position: int, units: int) -> int:
        """Return the position at which a batch stops that reads about `units` from a position, at least one stop."""
        if not self.stops or units <= 0:
            return position + max(units, 0)
        ahead = [stop for stop in self.stops if stop.position > position]
        within = zip(ahead, accumulate(stop.units for stop in ahead), strict=True)
        return max((stop.position for stop, total in within if total <= units), default=ahead[0].position)


def deal_evenly(splits: Iterable[Split], parallelism: int) -> list[Split]:
    """Return splits dealt in order, each to the subtask that has the fewest units so far."""
    loads = [(0, subtask) for subtask in range(parallelism)]
    dealt = []
    for split in splits:
        load, subtask = heappop(loads)
        dealt.append(split.dealt_to(subtask))
        heappush(loads, (load + split.end - split.start, subtask))
    return dealt


@dataclass(frozen=True, slots=True)
class SplitRange:
    """The part of a split that one batch reads, from position `start` (inclusive) to `end` (exclusive).

    An empty range tells the reader that the split is assigned to it or finished.

    Attributes:
        is_last: Whether the split is finished after this range.
    """

    split: Split
    start: int
    end: int
    is_last: bool = False


WITHOUT_SPLITS = ""
"""Stands for the splits of a subtask that has none; no split has an empty id."""


class Idleness(NamedTuple):
    """The idle splits of a source subtask, and the watermark that the receivers of the source have reached, if any."""

    splits: frozenset[str]
    passed: int | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """The known splits of a source, passed to its discovery.

    Attributes:
        keys: The keys of splits that must not be read again.
        splits: The unfinished splits by id.
        is_first: Whether this is the first discovery in any run of the job.
    """

    keys: Set[str] = frozenset()
    splits: Mapping[str, Split] = field(default_factory=dict)
    is_first: bool = True


class StampedElements(NamedTuple):
    """Elements with one timestamp (ms) each, assigned by the source."""

    elements: list[Any]
    timestamps: list[int]


Chunk = list[Any] | StampedElements
"""The elements that a reader returns at once."""

Discovered = tuple[list[Split], set[str]]
"""Splits that are new or may have changed, and the keys of known splits that still exist."""


def in_chunks(elements: Iterator[Any]) -> Iterator[list[Any]]:
    """Yield elements in lists of bounded length and, by estimate, bounded size in bytes."""
    # Few at first, as nothing is known of their size.
    sizes, count = SizeEstimate(), _FIRST_ELEMENTS
    while chunk := list(islice(elements, count)):
        before = sizes.bytes
        sizes.add(chunk)
        mean = max(1, (sizes.bytes - before) // len(chunk))
        yield chunk
        count = max(1, min(CHUNK_ELEMENTS, _GROWTH * count, CHUNK_BYTES // mean))
