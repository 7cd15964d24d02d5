"""Kinds of sources: how the enumerator of a job and the readers in its slots discover and read splits.

A split belongs to one subtask and has positions in units of its own (elements, bytes); a batch reads a range of them.
The same range always has the same elements, so a replayed batch reads the same input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.connectors.files.splits import FileEnumerator, FileReader, monitoring_ms
from firesteel.connectors.jdbc.splits import JdbcReader, discover_queries
from firesteel.connectors.kafka.splits import KafkaEnumerator, KafkaReader, offsets_committer, polling_ms
from firesteel.connectors.kinesis.splits import KinesisEnumerator, KinesisReader, kinesis_polling_ms
from firesteel.functions.connector_base import Committer, Source, SourceSplit
from firesteel.functions.operator_descriptors import CollectionSourceOperator, SourceOperator
from firesteel.operators.chain.operator import TaskInfo
from firesteel.operators.sources.splits import CHUNK_ELEMENTS, Discovered, Known, Split, SplitRange, in_chunks

_FIRST_ELEMENTS = 1000
"""Elements of the first batch; few, as the cost of an element is still unknown (microseconds or seconds)."""

_FIRST_UNKNOWN_ELEMENTS = 64
"""Elements of the first batch if an element may also have megabytes."""

_FILES_AT_ONCE = 16
_OPEN_AT_ONCE = 16


@dataclass(frozen=True, slots=True)
class SourceKind:
    """The way in which one class of sources is split and read.

    Attributes:
        discover: (enumerator, parallelism, known) -> the splits that exist now.
        read: (reader, range) -> lists of elements, or `StampedElements`.
        units_per_element: An estimate, used to size batches.
        rediscover_ms: (source) -> discovery interval for new splits and ends in ms; None discovers them once.
        splits_at_once: Number of splits assigned to a subtask at a time; None assigns all on discovery.
        is_in_order: Whether the splits of a subtask are read one after the other, unless they have watermarks.
        first_elements: Number of elements that the first batch reads per subtask.
        open_at_once: Maximum number of splits that a subtask reads in turns; each may keep a file or a connection open.
        enumerator: (source, configuration) -> the object that discovers splits during a run: the source itself, unless
        it needs a client.
        reader: (source, task) -> the object that reads splits during the life of a subtask, likewise.
        close: (reader) -> None; releases the reader.
        committer: (source, configuration) -> the committer of checkpointed positions, or None.
        discover_all: (enumerator, parallelism) -> the splits that BATCH mode reads; None are those that exist now.
    """

    discover: Callable[[Any, int, Known], Discovered]
    read: Callable[[Any, SplitRange], Iterator[Any]]
    units_per_element: int = 1
    rediscover_ms: Callable[[Any], int | None] = lambda source: None
    splits_at_once: int | None = None
    is_in_order: bool = False
    first_elements: int = _FIRST_ELEMENTS
    open_at_once: int = _OPEN_AT_ONCE
    enumerator: Callable[[Any, Mapping[str, str]], Any] = lambda source, configuration: source
    reader: Callable[[Any, TaskInfo], Any] = lambda source, task: source
    close: Callable[[Any], None] = lambda reader: None
    committer: Callable[[Any, Mapping[str, str]], Committer | None] = lambda source, configuration: None
    discover_all: Callable[[Any, int], Iterable[Split]] | None = None


# --- collections ----------------------------------------------------------------------------------------------------


def _discover_collection(elements: tuple[Any, ...], parallelism: int, known: Known) -> Discovered:
    return [Split("collection", 0, 0, len(elements))], set()


def _read_collection(elements: tuple[Any, ...], part: SplitRange) -> Iterator[list[Any]]:
    # Copied, because subtasks of a process may share the elements and a replayed batch reads them again.
    return in_chunks(_owned(elements[part.start : part.end]))


# --- number sequences -----------------------------------------------------------------------------------------------


def _discover_numbers(source: Any, parallelism: int, known: Known) -> Discovered:
    """Divide the sequence into nearly equal parts, longer ones last (Flink: `NumberSequenceIterator.split`)."""
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
    is_bounded = source.is_bounded()
    listed = source.discover_splits()
    splits = [
        Split(s.split_id, i % parallelism, s.start, s.end, grows=_grows_own(s) if is_bounded else not s.is_finished)
        for i, s in enumerate(listed)
        if s.split_id not in known.keys
    ]
    return splits, {s.split_id for s in listed if s.split_id in known.keys} if known.keys else set()


def _grows_own(split: SourceSplit) -> bool:
    return split.final_end is not None and split.end < split.final_end


def _discover_all_own(source: Source[Any], parallelism: int) -> list[Split]:
    return [
        Split(s.split_id, i % parallelism, s.start, s.end if s.final_end is None else s.final_end)
        for i, s in enumerate(source.discover_splits())
    ]


def _read_own(source: Source[Any], part: SplitRange) -> Iterator[list[Any]]:
    return in_chunks(_owned(source.read_split(part.split.split_id, part.start, part.end)))


def _owned(values: Iterable[Any]) -> Iterator[Any]:
    """Return an iterator over values that the source keeps no reference to."""
    return (value if value.__class__ in IMMUTABLE else own(value) for value in values)


def _own_rediscover_ms(source: Source[Any]) -> int | None:
    return None if source.is_bounded() and not source.grows_to_end else source.discovery_interval_ms


# --- the table ------------------------------------------------------------------------------------------------------


_OWN = SourceKind(
    _discover_own,
    _read_own,
    rediscover_ms=_own_rediscover_ms,
    first_elements=_FIRST_UNKNOWN_ELEMENTS,
    discover_all=_discover_all_own,
)

_KAFKA = SourceKind(
    KafkaEnumerator.discover,
    KafkaReader.read,
    rediscover_ms=polling_ms,
    enumerator=lambda source, configuration: KafkaEnumerator(source),
    reader=KafkaReader,
    close=KafkaReader.close,
    committer=offsets_committer,
    discover_all=KafkaEnumerator.discover_all,
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
        is_in_order=True,
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
    """Return the sources that are read one after the other: the parts of a HybridSource, else the source itself."""
    if type(source).__name__ != "HybridSource":
        return (source,)
    return tuple(part for inner in source.sources for part in parts_of(inner))


def kind_of(source: Any) -> SourceKind:
    """Return the kind of a source.

    Raises:
        NotImplementedError: there is no reader for the source.
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
        "add_source() with a Python SourceFunction is not supported: use from_source() with a class derived from Source"
    )


# --- committers of sources -------------------------------------------------------------------------------------------

_OF_SOURCE = "source-"


def source_committer_id(operator_id: str, index: int) -> str:
    """Return the id of the committer for a part of a source; it shares the id space with sinks."""
    return f"{_OF_SOURCE}{index}/{operator_id}"


def is_of_source(committer_id: str) -> bool:
    """Return whether an id belongs to a source's committer."""
    return committer_id.startswith(_OF_SOURCE)
