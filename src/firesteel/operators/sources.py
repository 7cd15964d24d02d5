"""How sources are split and read: what the enumerator of a job and the readers in its slots agree on.

A split belongs to one subtask and has positions in units of its own (elements, bytes); a batch reads a range of them.
The same range always gives the same elements, so a batch that is fed again reads the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.ownership import IMMUTABLE, own
from firesteel.datastream.connectors.base import Committer, Source
from firesteel.datastream.operator_descriptors import CollectionSourceOperator, SourceOperator
from firesteel.operators.file_splits import FileEnumerator, FileReader, monitoring_ms
from firesteel.operators.jdbc_splits import JdbcReader, discover_queries
from firesteel.operators.kafka_splits import KafkaEnumerator, KafkaReader, offsets_committer, polling_ms
from firesteel.operators.kinesis_splits import KinesisEnumerator, KinesisReader, kinesis_polling_ms
from firesteel.operators.operator import TaskInfo
from firesteel.operators.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange, in_chunks

_FIRST_ELEMENTS = 1000
"""Few, as it is not known yet what an element costs: a function takes microseconds or seconds."""

_FIRST_UNKNOWN_ELEMENTS = 64
"""Where an element may also have megabytes."""

_FILES_AT_ONCE = 16
_OPEN_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class SourceKind:
    """How one class of sources is split and read.

    Attributes:
        discover: (enumerator, parallelism, what is known) -> the splits that exist now.
        read: (reader, range) -> lists of elements, or `StampedElements`.
        units_per_element: A guess, for how much a batch should read.
        rediscover_ms: (source) -> how often new splits may appear (milliseconds); None: never, the source is bounded.
        splits_at_once: How many splits a subtask is assigned at a time; None: all, as soon as they are discovered.
        first_elements: How many elements the first batch reads per subtask.
        open_at_once: How many splits a subtask reads in turns at most; each may hold a file or a connection open.
        enumerator: (source, configuration) -> what discovers its splits as long as a run lasts: the source, unless it
            needs a client.
        reader: (source, task) -> what reads its splits as long as a subtask lasts, likewise.
        close: (reader) -> nothing; it is not used any more.
        committer: (source, configuration) -> what is told the positions of checkpoints; None: nobody.
    """

    discover: Callable[[Any, int, Known], Discovered]
    read: Callable[[Any, SplitRange], Iterator[Any]]
    units_per_element: int = 1
    rediscover_ms: Callable[[Any], int | None] = lambda source: None
    splits_at_once: int | None = None
    first_elements: int = _FIRST_ELEMENTS
    open_at_once: int = _OPEN_AT_ONCE
    enumerator: Callable[[Any, Mapping[str, str]], Any] = lambda source, configuration: source
    reader: Callable[[Any, TaskInfo], Any] = lambda source, task: source
    close: Callable[[Any], None] = lambda reader: None
    committer: Callable[[Any, Mapping[str, str]], Committer | None] = lambda source, configuration: None


# --- collections ----------------------------------------------------------------------------------------------------


def _discover_collection(elements: tuple[Any, ...], parallelism: int, known: Known) -> Discovered:
    return [Split("collection", 0, 0, len(elements))], set()


def _read_collection(elements: tuple[Any, ...], part: SplitRange) -> Iterator[list[Any]]:
    # Subtasks of a process may share the elements, and a batch that is fed again reads them again.
    return in_chunks(_owned(elements[part.start : part.end]))


# --- number sequences -----------------------------------------------------------------------------------------------


def _discover_numbers(source: Any, parallelism: int, known: Known) -> Discovered:
    """Cut the sequence into nearly equal parts, the longer ones last (Flink: `NumberSequenceIterator.split`)."""
    count = source.end - source.start + 1
    base, longer = divmod(count, parallelism)
    splits, start = [], source.start
    for subtask in range(parallelism):
        length = base + (1 if subtask >= parallelism - longer else 0)
        if length > 0:
            splits.append(Split(str(subtask + 1), subtask, start, start + length))
        start += length
    return splits, set()


def _read_numbers(source: Any, part: SplitRange) -> Iterator[list[Any]]:
    for start in range(part.start, part.end, CHUNK_ELEMENTS):
        yield list(range(start, min(start + CHUNK_ELEMENTS, part.end)))


# --- sources of the user's own --------------------------------------------------------------------------------------


def _discover_own(source: Source[Any], parallelism: int, known: Known) -> Discovered:
    grows = not source.is_bounded()
    listed = source.discover_splits()
    splits = [
        Split(s.split_id, i % parallelism, s.start, s.end, grows=grows and not s.is_finished)
        for i, s in enumerate(listed)
        if s.split_id not in known.keys
    ]
    return splits, {s.split_id for s in listed if s.split_id in known.keys} if known.keys else set()


def _read_own(source: Source[Any], part: SplitRange) -> Iterator[list[Any]]:
    return in_chunks(_owned(source.read_split(part.split.split_id, part.start, part.end)))


def _owned(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values that the source keeps no part of."""
    return (value if value.__class__ in IMMUTABLE else own(value) for value in values)


def _own_rediscover_ms(source: Source[Any]) -> int | None:
    return None if source.is_bounded() else source.discovery_interval_ms


# --- the table ------------------------------------------------------------------------------------------------------


_OWN = SourceKind(_discover_own, _read_own, rediscover_ms=_own_rediscover_ms, first_elements=_FIRST_UNKNOWN_ELEMENTS)

_KAFKA = SourceKind(
    KafkaEnumerator.discover,
    KafkaReader.read,
    rediscover_ms=polling_ms,
    enumerator=lambda source, configuration: KafkaEnumerator(source),
    reader=KafkaReader,
    close=KafkaReader.close,
    committer=offsets_committer,
)

KINDS: dict[str, SourceKind] = {
    "tuple": SourceKind(_discover_collection, _read_collection),
    "NumberSequenceSource": SourceKind(_discover_numbers, _read_numbers),
    "FileSource": SourceKind(
        FileEnumerator.discover,
        FileReader.read,
        units_per_element=64,
        rediscover_ms=monitoring_ms,
        splits_at_once=_FILES_AT_ONCE,
        enumerator=FileEnumerator,
        reader=lambda source, task: FileReader(source, task.configuration),
    ),
    "JdbcSource": SourceKind(
        discover_queries, JdbcReader.read, reader=JdbcReader, close=JdbcReader.close, open_at_once=1
    ),
    "KinesisSource": SourceKind(
        KinesisEnumerator.discover,
        KinesisReader.read,
        rediscover_ms=kinesis_polling_ms,
        enumerator=lambda source, configuration: KinesisEnumerator(source),
        reader=KinesisReader,
        close=KinesisReader.close,
    ),
    "KafkaSource": _KAFKA,
    "DynamicKafkaSource": _KAFKA,
}


def parts_of(source: Any) -> tuple[Any, ...]:
    """Return the sources that are read one after the other: those of a HybridSource, else the source alone."""
    if type(source).__name__ != "HybridSource":
        return (source,)
    return tuple(part for inner in source.sources for part in parts_of(inner))


def kind_of(source: Any) -> SourceKind:
    """Return how a source is split and read.

    Raises:
        NotImplementedError: there is no reader for it.
    """
    kind = KINDS.get(type(source).__name__)
    if kind is not None:
        return kind
    if isinstance(source, Source) and type(source).read_split is not Source.read_split:
        return _OWN
    raise NotImplementedError(
        f"no reader for source {type(source).__name__}: there are those for {', '.join(KINDS)}, and for classes "
        "derived from Source that have discover_splits() and read_split()"
    )


def source_of(descriptor: Any) -> Any:
    """Return the source that a source operator's descriptor carries."""
    if isinstance(descriptor, CollectionSourceOperator):
        return descriptor.elements
    if isinstance(descriptor, SourceOperator):
        return descriptor.source
    raise NotImplementedError(
        "add_source() with a Python SourceFunction can't be run: use from_source() with a class derived from Source"
    )


# --- what is told the positions of checkpoints ----------------------------------------------------------------------

_OF_SOURCE = "source-"


def source_committer_id(operator_id: str, index: int) -> str:
    """Return the id of the committer of a part of a source, among those of sinks."""
    return f"{_OF_SOURCE}{index}/{operator_id}"


def is_of_source(committer_id: str) -> bool:
    """Whether that is the id of a source's committer."""
    return committer_id.startswith(_OF_SOURCE)
