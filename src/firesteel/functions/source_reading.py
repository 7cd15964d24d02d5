"""How sources are split and read: an enumerator in the JobManager, and a reader in each subtask.

All sources come through this door, those of firesteel and those of users. A source that defines `discover_splits` and
`read_split` gets the enumerator and the reader at the end of this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.functions.splits import WITHOUT_SPLITS, Chunk, Discovered, Known, Split, SplitRange, in_chunks


@dataclass(frozen=True, slots=True)
class ReadingHints:
    """What the planner of batches should know of a source.

    Attributes:
        units_per_element: An estimate of the positions of an element, used to size batches.
        splits_at_once: Number of splits assigned to a subtask at a time; None assigns all on discovery.
        is_in_order: Whether the splits of a subtask are read one after the other, unless they have watermarks.
        first_elements: Number of elements that the first batch reads per subtask; few where the cost of an element may
            be large.
        open_at_once: Maximum number of splits that a subtask reads in turns; each may keep a file or a connection open.
        unit: What a position counts, `Records` or `Bytes`, so that what is left to read can be shown; empty if it is
            something else.
    """

    units_per_element: int = 1
    splits_at_once: int | None = None
    is_in_order: bool = False
    first_elements: int = 1000
    open_at_once: int = 16
    unit: str = ""


class SourceEnumerator:
    """Discovers the splits of a source, in the JobManager's process (Flink: `SplitEnumerator`).

    Attributes:
        rediscover_ms: Interval in ms at which new splits, and new ends of splits, are discovered; None: only once.

    Example:
        >>> class TwoParts(SourceEnumerator):
        ...     def discover(self, parallelism, known):
        ...         return [Split(str(i), i % parallelism, 0, 10) for i in range(2)], set()
        >>> [split.split_id for split in TwoParts().discover_all(1)]
        ['0', '1']
    """

    rediscover_ms: int | None = None

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the splits that are new or may have changed, and the keys of known splits that still exist.

        Args:
            parallelism: Number of subtasks, among which the splits are divided.
            known: The splits that are known.
        """
        raise NotImplementedError(f"{type(self).__name__} has no discover(parallelism, known)")

    def discover_all(self, parallelism: int) -> Iterable[Split]:
        """Return the splits that BATCH mode reads: unless this is overridden, those that exist now."""
        return self.discover(parallelism, Known())[0]

    def close(self) -> None:
        """Release resources; called at the end of each run of the job, also after a failure."""


@dataclass(frozen=True, slots=True)
class SourceReaderContext:
    """The context of a new reader (Flink: `api.connector.source.SourceReaderContext`).

    Attributes:
        subtask_index: Index of the subtask.
        configuration: Options of the job.
    """

    subtask_index: int
    configuration: Mapping[str, str]


class SourceReader:
    """Reads splits during the life of a subtask (Flink: `SourceReader`).

    Example:
        >>> class Squares(SourceReader):
        ...     def read(self, part):
        ...         yield [position**2 for position in range(part.start, part.end)]
        >>> list(Squares().read(SplitRange(Split("s", 0, 0, 10), 2, 5)))
        [[4, 9, 16]]
    """

    def read(self, part: SplitRange) -> Iterator[Chunk]:
        """Yield the elements of a range of a split, in lists or with their timestamps; always the same ones.

        Args:
            part: The range; an empty one is not read.
        """
        raise NotImplementedError(f"{type(self).__name__} has no read(part)")

    def close(self) -> None:
        """Release resources."""


def owned(values: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over values that the source keeps no reference to."""
    return (value if value.__class__ in IMMUTABLE else own(value) for value in values)


class ListedSplits(SourceEnumerator):
    """The enumerator of a source that lists its splits by `discover_splits`.

    Args:
        source: The source.
    """

    def __init__(self, source: Any) -> None:
        self._source = source

    @property
    def rediscover_ms(self) -> int | None:  # type: ignore[override]
        """The source's interval, if its splits may change."""
        is_complete = self._source.is_bounded() and not self._source.grows_to_end
        return None if is_complete else self._source.discovery_interval_ms

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the listed splits, dealt round-robin."""
        is_bounded, listed = self._source.is_bounded(), _with_own_ids(self._source.discover_splits(), self._source)
        splits = [
            Split(s.split_id, i % parallelism, s.start, s.end, grows=_grows(s) if is_bounded else not s.is_finished)
            for i, s in enumerate(listed)
            if s.split_id not in known.keys
        ]
        return splits, {s.split_id for s in listed if s.split_id in known.keys} if known.keys else set()

    def discover_all(self, parallelism: int) -> list[Split]:
        """Return the listed splits up to their final ends."""
        return [
            Split(s.split_id, i % parallelism, s.start, s.end if s.final_end is None else s.final_end)
            for i, s in enumerate(_with_own_ids(self._source.discover_splits(), self._source))
        ]


class _Named(Protocol):
    @property
    def split_id(self) -> str: ...


_S = TypeVar("_S", bound=_Named)


def _with_own_ids(found: Iterable[_S], source: object) -> list[_S]:
    """Return the splits that a source has listed.

    Raises:
        ValueError: two have the same id, so that only one of them would be read, or one has none.
    """
    listed = list(found)
    ids = {split.split_id for split in listed}
    if len(ids) < len(listed) or WITHOUT_SPLITS in ids:
        of = f"discover_splits() of {type(source).__name__}"
        raise ValueError(f"{of} returned {len(listed)} splits with {len(ids)} ids; each has its own, and none is empty")
    return listed


def _grows(split: Any) -> bool:
    return split.final_end is not None and split.end < split.final_end


class ListedSplitsReader(SourceReader):
    """The reader of a source that reads its splits by `read_split`.

    Args:
        source: The source.
    """

    def __init__(self, source: Any) -> None:
        self._source = source

    def read(self, part: SplitRange) -> Iterator[list[Any]]:
        """Yield the elements in chunks."""
        return in_chunks(owned(self._source.read_split(part.split.split_id, part.start, part.end)))
