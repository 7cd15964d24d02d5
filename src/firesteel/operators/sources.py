"""How sources are split and read: what the enumerator of a job and the readers in its slots agree on.

A split belongs to one subtask and has a length in units of its own (elements, bytes); a batch reads a range of it. The
same range always gives the same elements, so a batch that is fed again reads the same.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import IO, Any

from firesteel.common.local_path import local_path
from firesteel.datastream.connectors.base import Source
from firesteel.datastream.formats.csv_schema import CsvReaderFormat
from firesteel.datastream.operator_descriptors import CollectionSourceOperator, SourceOperator
from firesteel.errors import InvalidProgramError
from firesteel.operators.csv_format import read_csv

CHUNK_ELEMENTS = 4096
"""Elements that a reader hands on at once."""

_FILE_SPLIT_BYTES = 64 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a source that one subtask reads (Flink: `SourceSplit`).

    Attributes:
        split_id: Unique within the source.
        subtask_index: Who reads it.
        length: In units of the source.
        start: Where in the source it begins, in units.
        path: The file, for file sources.
        source_index: Which of the sources of a HybridSource; they are read one after the other.
        is_whole: A batch reads all of it or nothing: it can only be read from its beginning.
    """

    split_id: str
    subtask_index: int
    length: int
    start: int = 0
    path: str = ""
    source_index: int = 0
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class SplitRange:
    """What one batch reads of a split: positions `start` (inclusive) to `end` (exclusive), from 0 to `split.length`."""

    split: Split
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class SourceKind:
    """How one class of sources is split and read.

    Attributes:
        discover: (source, parallelism) -> all splits that exist now.
        read: (source, range) -> lists of elements.
        units_per_element: A guess, for how much a batch should read.
        rediscover_ms: (source) -> how often new splits may appear (milliseconds); None: never, the source is bounded.
        grows: Whether splits that are known may have become longer when they are discovered again.
    """

    discover: Callable[[Any, int], list[Split]]
    read: Callable[[Any, SplitRange], Iterator[list[Any]]]
    units_per_element: int = 1
    rediscover_ms: Callable[[Any], int | None] = lambda source: None
    grows: bool = False


# --- collections ---------------------------------------------------------------------------------------------------


def _discover_collection(elements: tuple[Any, ...], parallelism: int) -> list[Split]:
    return [Split("collection", 0, len(elements))]


def _read_collection(elements: tuple[Any, ...], part: SplitRange) -> Iterator[list[Any]]:
    for start in range(part.start, part.end, CHUNK_ELEMENTS):
        yield list(elements[start : min(start + CHUNK_ELEMENTS, part.end)])


# --- number sequences ----------------------------------------------------------------------------------------------


def _discover_numbers(source: Any, parallelism: int) -> list[Split]:
    """Flink: `NumberSequenceIterator.split`: nearly equal parts, the longer ones last."""
    count = source.end - source.start + 1
    base, longer = divmod(count, parallelism)
    splits, start = [], source.start
    for subtask in range(parallelism):
        length = base + (1 if subtask >= parallelism - longer else 0)
        if length > 0:
            splits.append(Split(str(subtask + 1), subtask, length, start))
        start += length
    return splits


def _read_numbers(source: Any, part: SplitRange) -> Iterator[list[Any]]:
    first, end = part.split.start + part.start, part.split.start + part.end
    for start in range(first, end, CHUNK_ELEMENTS):
        yield list(range(start, min(start + CHUNK_ELEMENTS, end)))


# --- files ----------------------------------------------------------------------------------------------------------


def _files_below(path: Path) -> Iterator[Path]:
    """All files to read, in a fixed order; names that begin with `.` or `_` are hidden, as in Flink."""
    if path.is_file():
        yield path
        return
    for child in sorted(path.iterdir()):
        if not child.name.startswith((".", "_")):
            yield from _files_below(child)


def _discover_files(source: Any, parallelism: int) -> list[Split]:
    """Pieces of at most 64 MiB, handed out in turn; compressed files and those of CSV are one piece.

    Raises:
        InvalidProgramError: a path does not exist.
        NotImplementedError: there is no reader for the format.
    """
    name = source.settings.format.format_name
    if name not in _FILE_READERS:
        raise NotImplementedError(f"FileSource: no reader for format {name!r}; there are {', '.join(_FILE_READERS)}")
    splits: list[Split] = []
    for text in source.settings.paths:
        root = local_path(text)
        if not root.exists():
            raise InvalidProgramError(f"FileSource: input path {text!r} does not exist")
        for file in _files_below(root):
            size = file.stat().st_size
            is_whole = file.suffix == ".gz" or name != "text_line"
            step = max(size, 1) if is_whole else _FILE_SPLIT_BYTES
            for start in range(0, size, step):
                length = min(step, size - start)
                subtask = len(splits) % parallelism
                splits.append(Split(f"{file}:{start}", subtask, length, start, str(file), is_whole=is_whole))
    return splits


def _read_files(source: Any, part: SplitRange) -> Iterator[list[Any]]:
    return _FILE_READERS[source.settings.format.format_name](source.settings.format, part)


def _read_lines(text_format: Any, part: SplitRange) -> Iterator[list[Any]]:
    charset = text_format.charset_name
    if part.split.path.endswith(".gz"):
        with gzip.open(part.split.path, "rb") as compressed:
            while lines := compressed.readlines(_CHUNK_BYTES):
                yield [_decode(line, charset) for line in lines]
        return
    with open(part.split.path, "rb") as file:
        yield from _lines_of_range(file, part.split.start + part.start, part.split.start + part.end, charset)


def _lines_of_range(file: IO[bytes], start: int, end: int, charset: str) -> Iterator[list[str]]:
    """The lines that begin in a range of bytes, wherever they end."""
    position = start
    if start > 0:
        file.seek(start - 1)
        position = start - 1 + len(file.readline())
    while position < end:
        lines = file.readlines(min(_CHUNK_BYTES, end - position))
        if not lines:
            return
        size = sum(map(len, lines))
        # readlines() stops behind the first line that exceeds the hint, so only the last line may begin behind `end`.
        while lines and position + size - len(lines[-1]) >= end:
            size -= len(lines.pop())
            end = position + size
        position += size
        yield [_decode(line, charset) for line in lines]


def _read_csv_file(csv_format: CsvReaderFormat, part: SplitRange) -> Iterator[list[Any]]:
    path = part.split.path
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding=csv_format.charset_name, newline="") as file:
        try:
            yield from read_csv(file, csv_format.schema, CHUNK_ELEMENTS)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error


_FILE_READERS: dict[str, Callable[[Any, SplitRange], Iterator[list[Any]]]] = {
    "text_line": _read_lines,
    "csv": _read_csv_file,
}


def _decode(line: bytes, charset: str) -> str:
    return line.rstrip(b"\r\n").decode(charset) if line.endswith(b"\n") else line.decode(charset)


def _monitoring_ms(source: Any) -> int | None:
    interval = source.settings.discovery_interval
    return None if interval is None else max(1, interval.to_millis())


# --- the table -----------------------------------------------------------------------------------------------------


def _discover_hybrid(source: Any, parallelism: int) -> list[Split]:
    return [
        replace(s, split_id=f"{index}/{s.split_id}", source_index=index)
        for index, part in enumerate(source.sources)
        for s in kind_of(part).discover(part, parallelism)
    ]


def _read_hybrid(source: Any, part: SplitRange) -> Iterator[list[Any]]:
    chosen = source.sources[part.split.source_index]
    return kind_of(chosen).read(chosen, part)


def _hybrid_rediscover_ms(source: Any) -> int | None:
    last = source.sources[-1]
    return kind_of(last).rediscover_ms(last)


# --- sources of the user's own -------------------------------------------------------------------------------------


def _discover_own(source: Source, parallelism: int) -> list[Split]:
    splits = source.discover_splits()
    return [Split(s.split_id, i % parallelism, s.end - s.start, s.start) for i, s in enumerate(splits)]


def _read_own(source: Source, part: SplitRange) -> Iterator[list[Any]]:
    begin = part.split.start
    elements = iter(source.read_split(part.split.split_id, begin + part.start, begin + part.end))
    while chunk := list(islice(elements, CHUNK_ELEMENTS)):
        yield chunk


def _own_rediscover_ms(source: Source) -> int | None:
    return None if source.is_bounded() else source.discovery_interval_ms


_OWN = SourceKind(_discover_own, _read_own, 1, _own_rediscover_ms, grows=True)

KINDS: dict[str, SourceKind] = {
    "tuple": SourceKind(_discover_collection, _read_collection),
    "NumberSequenceSource": SourceKind(_discover_numbers, _read_numbers),
    "FileSource": SourceKind(_discover_files, _read_files, 64, _monitoring_ms),
    "HybridSource": SourceKind(_discover_hybrid, _read_hybrid, 64, _hybrid_rediscover_ms),
}


def kind_of(source: Any) -> SourceKind:
    """How that source is split and read.

    Raises:
        NotImplementedError: there is no reader for it yet.
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
    """The source that a source operator's descriptor carries."""
    if isinstance(descriptor, CollectionSourceOperator):
        return descriptor.elements
    if isinstance(descriptor, SourceOperator):
        return descriptor.source
    raise NotImplementedError(
        "add_source() with a Python SourceFunction can't be run: use from_source() with a class derived from Source"
    )
