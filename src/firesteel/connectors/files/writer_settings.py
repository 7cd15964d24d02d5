"""The settings of a file sink in executable form: formats, buckets and rolling policies."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from firesteel.common.serialization import BulkWriterFactory
from firesteel.common.values.java_charset import java_encoder
from firesteel.common.values.java_text import java_formatter
from firesteel.connectors.files.pending_files import Began, pending_name
from firesteel.connectors.files.sink_settings import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    RollingPolicy,
)
from firesteel.connectors.formats.avro.files import AvroStream
from firesteel.connectors.formats.csv.files import csv_encoder
from firesteel.connectors.formats.parquet.files import OrcStream, ParquetStream

_PATTERN_FIELDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_PATTERN = re.compile("|".join(_PATTERN_FIELDS))


class PartStream(Protocol):
    """A stream of elements into one open part file, which can be resumed from any length it had."""

    def write(self, values: list[Any]) -> None:
        """Append elements."""

    def finish(self) -> str | None:
        """Finish the file, and return the path of the file to commit if it is not the one written to."""


class PartFile(Protocol):
    """A part file in progress.

    Attributes:
        created_ms: Creation time in ms.
        modified_ms: Time of the last write in ms.
        size: Size in bytes.
        is_full: Whether the file must be finished because it can't grow.
    """

    created_ms: int
    modified_ms: int
    size: int

    @property
    def is_full(self) -> bool:
        """Whether the file must be finished because it can't grow."""
        ...

    def write(self, values: list[Any], now: int) -> None:
        """Append elements."""

    def persist(self, is_checkpoint: bool) -> None:
        """Make the written data survive the process and, before a checkpoint, also the host."""

    def finish(self) -> Any:
        """Complete the file and return its committable."""

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        ...

    def fields(self) -> Any:
        """Return the state of the part that `PartFiles.go_on_with` resumes from."""

    def close(self) -> None:
        """Close open files."""


class PartFiles(Protocol):
    """A factory of part files in one kind of file system."""

    @property
    def finishes_at_checkpoints(self) -> bool:
        """Whether all parts must be finished at each checkpoint."""
        ...

    def new(self, directory: str, name: str, now: int) -> PartFile:
        """Create a part file with a name in a directory."""
        ...

    def go_on_with(self, fields: Any, is_own: bool, next_name: Callable[[], str]) -> PartFile:
        """Resume a part file; a part begun by another job may get another name."""
        ...

    def leftovers(self, needed: frozenset[str], is_end: bool) -> Any:
        """Return a committable that removes leftovers of earlier writers or, at the end, of all writers."""

    def batch_ended(self) -> list[Any]:
        """Return committables that remove leftovers of the batch with the next checkpoint."""
        ...

    def close(self) -> None:
        """Release all resources."""


@runtime_checkable
class Finished(Protocol):
    """A completed part file that waits for its commit."""

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        ...


@dataclass(frozen=True, slots=True)
class PartFormat:
    """The conversion of elements to part files.

    Attributes:
        name: The name used in messages.
        open: Creates a part stream over a file opened for appending.
        is_appendable: Whether a complete file can be resumed at any length and concatenated with others.
    """

    name: str
    open: Callable[[IO[bytes]], PartStream]
    is_appendable: bool = True


@dataclass(frozen=True, slots=True)
class WriterId:
    """The identity of a writer of part files.

    Attributes:
        base: The directory of the sink.
        uid: Identifies the parts of this writer; the same for all attempts of its subtask.
        began: Run, batch and attempt in which the writer was created.
        name: The name of this attempt.
        owns_state: Whether the job owns the state that it was restored from.
    """

    base: str
    uid: str
    began: Began
    name: str
    owns_state: bool

    def pending_name(self, final: str) -> str:
        """Return a hidden name for a file, unique to this writer."""
        return pending_name(final, self.began, self.name)


class EncodedStream:
    """A stream that appends the encoded bytes of each element, after an optional header."""

    def __init__(self, file: IO[bytes], encode: Callable[[Any], bytes], header: bytes = b"") -> None:
        self._file = file
        self._encode = encode
        if header and not file.tell():
            file.write(header)

    def write(self, values: list[Any]) -> None:
        """Append elements."""
        encode = self._encode
        self._file.write(b"".join([encode(value) for value in values]))

    def finish(self) -> None:
        """Return None, as the file is complete as written."""


def format_of(settings: FileSinkSettings, input_type: Any) -> PartFormat:
    """Return the part format of a sink: lines of text as Java prints them, or a bulk format.

    Raises:
        NotImplementedError: there is no writer for the bulk format.
    """
    if settings.encoder is not None:
        text, encode = java_formatter(input_type), java_encoder(settings.encoder.charset_name)
        return PartFormat("text", lambda file: EncodedStream(file, lambda value: encode(f"{text(value)}\n")))
    factory = settings.writer_factory
    name = getattr(factory, "format_name", None)
    if factory is None or name not in _BULK_FORMATS:
        raise NotImplementedError(f"FileSink: no writer for bulk format {name!r}; there are {', '.join(_BULK_FORMATS)}")
    return _BULK_FORMATS[name](factory)


def _csv(factory: BulkWriterFactory) -> PartFormat:
    header, encode = csv_encoder(factory.settings)
    return PartFormat("CSV", lambda file: EncodedStream(file, encode, header))


def _parquet(factory: BulkWriterFactory) -> PartFormat:
    row_type = factory.settings
    return PartFormat("Parquet", lambda file: ParquetStream(file, row_type), is_appendable=False)


def _orc(factory: BulkWriterFactory) -> PartFormat:
    settings = factory.settings
    return PartFormat("ORC", lambda file: OrcStream(file, settings), is_appendable=False)


def _avro(factory: BulkWriterFactory) -> PartFormat:
    schema = factory.settings
    return PartFormat("Avro", lambda file: AvroStream(file, schema), is_appendable=False)


_BULK_FORMATS: dict[str, Callable[[BulkWriterFactory], PartFormat]] = {
    "avro": _avro,
    "csv": _csv,
    "orc": _orc,
    "parquet": _parquet,
}


def bucket_at(assigner: BucketAssigner) -> Callable[[int], str]:
    """Return a function from processing time (ms) to the bucket directory, relative to the base path.

    Example:
        >>> bucket_at(BucketAssigner("yyyy-MM-dd--HH", "UTC"))(0)
        '1970-01-01--00'
    """
    if assigner.format_str is None:
        return lambda now: ""
    pattern = _PATTERN.sub(lambda found: _PATTERN_FIELDS[found.group()], assigner.format_str.replace("'", ""))
    zone: tzinfo | None = ZoneInfo(assigner.timezone_id) if assigner.timezone_id else None
    return lambda now: datetime.fromtimestamp(now / 1000, UTC).astimezone(zone).strftime(pattern)


@dataclass(frozen=True, slots=True)
class Rolling:
    """A rolling policy: by size (bytes), age and inactivity (ms), or at each checkpoint."""

    part_size: float
    rollover_ms: float
    inactivity_ms: float
    at_checkpoints: bool = False

    def over_ms(self, created_ms: int, modified_ms: int) -> float:
        """Return the processing time in ms from which a part must be finished, unless it is written to before."""
        return min(created_ms + self.rollover_ms, modified_ms + self.inactivity_ms)


def rolling_of(policy: RollingPolicy) -> Rolling:
    """Return the rolling thresholds of a policy."""
    if isinstance(policy, DefaultRollingPolicy):
        return Rolling(policy.part_size, policy.rollover_interval, policy.inactivity_interval)
    return Rolling(math.inf, math.inf, math.inf, at_checkpoints=True)
