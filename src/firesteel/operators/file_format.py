"""The settings of a file sink, made ready to run: formats, buckets and when a part is complete."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Protocol, runtime_checkable
from zoneinfo import ZoneInfo

from firesteel.common.java_text import java_formatter
from firesteel.common.serialization import BulkWriterFactory
from firesteel.datastream.connectors.file_sink import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    RollingPolicy,
)
from firesteel.datastream.connectors.pending_files import Began, pending_name
from firesteel.datastream.formats.csv_rows import CsvDialect, CsvRowSerializationSchema
from firesteel.datastream.formats.csv_schema import CsvSchema
from firesteel.operators.avro_format import AvroStream
from firesteel.operators.column_format import OrcStream, ParquetStream

_PATTERN_FIELDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_PATTERN = re.compile("|".join(_PATTERN_FIELDS))


class PartStream(Protocol):
    """Writes elements into one open part file, so that they can be gone on from at any length it had."""

    def write(self, values: list[Any]) -> None:
        """Append elements."""

    def finish(self) -> str | None:
        """No element follows; gives the path of the file to show, if it is not the one that was written."""


class PartFile(Protocol):
    """A part file in progress.

    Attributes:
        created_ms: When it was begun.
        modified_ms: When it was written to.
        size: In bytes.
        is_full: Nothing more fits.
    """

    created_ms: int
    modified_ms: int
    size: int

    @property
    def is_full(self) -> bool:
        """Whether nothing more fits."""
        ...

    def write(self, values: list[Any], now: int) -> None:
        """Append elements."""

    def persist(self, is_checkpoint: bool) -> None:
        """Make what was written outlive this process, before a checkpoint also this host."""

    def finish(self) -> Any:
        """Complete the file, and return what is to be committed."""

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        ...

    def fields(self) -> Any:
        """Return how far it was written, for `PartFiles.go_on_with`."""

    def close(self) -> None:
        """Close what is open."""


class PartFiles(Protocol):
    """Makes part files in one kind of file system."""

    @property
    def finishes_at_checkpoints(self) -> bool:
        """Whether all parts are to be finished at each checkpoint."""
        ...

    def new(self, directory: str, name: str, now: int) -> PartFile:
        """Begin a part file of a name in a directory."""
        ...

    def go_on_with(self, fields: Any, is_own: bool, next_name: Callable[[], str]) -> PartFile:
        """Go on with a part; one that another job has begun may get another name."""
        ...

    def leftovers(self, needed: frozenset[str], is_end: bool) -> Any:
        """Return what removes what earlier writers left; at the end, what all did."""

    def batch_ended(self) -> list[Any]:
        """Return what is to be removed with the next checkpoint."""
        ...

    def close(self) -> None:
        """Release what is held."""


@runtime_checkable
class Finished(Protocol):
    """A part file that is complete and to be committed."""

    def hidden(self) -> Iterator[str]:
        """Yield the hidden files that the next checkpoint refers to."""
        ...


@dataclass(frozen=True, slots=True)
class PartFormat:
    """How elements become part files.

    Attributes:
        name: For messages.
        open: Makes the stream of a file that is open for appending.
        is_appendable: A complete file can be gone on from in its middle, and be put behind another one.
    """

    name: str
    open: Callable[[IO[bytes]], PartStream]
    is_appendable: bool = True


@dataclass(frozen=True, slots=True)
class WriterId:
    """Who writes part files.

    Attributes:
        base: The directory of the sink.
        uid: Tells the parts of this writer apart from all others: the same for all attempts of its subtask.
        began: Run, batch and try in which the writer was made.
        name: Of this attempt.
        owns_state: Whether the job has claimed what it began with.
    """

    base: str
    uid: str
    began: Began
    name: str
    owns_state: bool

    def pending_name(self, final: str) -> str:
        """Return the hidden name of a file, which no other writer uses."""
        return pending_name(final, self.began, self.name)


class EncodedStream:
    """Elements one behind the other, each as its bytes; behind a header, if there is one."""

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
        """The file is complete as it is."""


def format_of(settings: FileSinkSettings, input_type: Any) -> PartFormat:
    """How elements are written: as lines of Java's text, or in a bulk format.

    Raises:
        NotImplementedError: there is no writer for the bulk format.
    """
    if settings.encoder is not None:
        text, charset = java_formatter(input_type), settings.encoder.charset_name
        return PartFormat("text", lambda file: EncodedStream(file, lambda value: f"{text(value)}\n".encode(charset)))
    factory = settings.writer_factory
    name = getattr(factory, "format_name", None)
    if factory is None or name not in _BULK_FORMATS:
        raise NotImplementedError(f"FileSink: no writer for bulk format {name!r}; there are {', '.join(_BULK_FORMATS)}")
    return _BULK_FORMATS[name](factory)


def _csv(factory: BulkWriterFactory) -> PartFormat:
    schema: CsvSchema = factory.settings
    dialect = CsvDialect(
        schema.column_separator,
        schema.line_separator,
        schema.array_element_separator,
        schema.quote_char,
        schema.escape_char,
        schema.null_value,
    )
    encode = CsvRowSerializationSchema(schema.row_type, dialect).serialize
    names = [column.name for column in schema.columns]
    header = schema.column_separator.join(names) + schema.line_separator if schema.use_header else ""
    return PartFormat("CSV", lambda file: EncodedStream(file, encode, header.encode()))


def _parquet(factory: BulkWriterFactory) -> PartFormat:
    row_type = factory.settings
    return PartFormat("Parquet", lambda file: ParquetStream(file, row_type), is_appendable=False)


def _orc(factory: BulkWriterFactory) -> PartFormat:
    settings = factory.settings
    return PartFormat("ORC", lambda file: OrcStream(file, settings), is_appendable=False)


def _avro(factory: BulkWriterFactory) -> PartFormat:
    schema = factory.settings
    return PartFormat("Avro", lambda file: AvroStream(file, schema), is_appendable=False)


def _columns(factory: BulkWriterFactory) -> PartFormat:
    from firesteel.operators.column_parts import part_format  # needs pyarrow, which only tables do

    return part_format(factory.settings)


_BULK_FORMATS: dict[str, Callable[[BulkWriterFactory], PartFormat]] = {
    "avro": _avro,
    "columns": _columns,
    "csv": _csv,
    "orc": _orc,
    "parquet": _parquet,
}


def bucket_at(assigner: BucketAssigner) -> Callable[[int], str]:
    """The directory for elements that come at a processing time (ms), relative to the base path.

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
    """When a part is complete: at this size (bytes), age or time without elements (ms); zero ages mean each batch."""

    part_size: float
    rollover_ms: int
    inactivity_ms: int

    def is_over(self, created_ms: int, modified_ms: int, now: int) -> bool:
        """True if a part is to be finished at the end of a batch."""
        return now - created_ms >= self.rollover_ms or now - modified_ms >= self.inactivity_ms


def rolling_of(policy: RollingPolicy) -> Rolling:
    """When parts are complete by that policy."""
    if isinstance(policy, DefaultRollingPolicy):
        return Rolling(policy.part_size, policy.rollover_interval, policy.inactivity_interval)
    return Rolling(float("inf"), 0, 0)
