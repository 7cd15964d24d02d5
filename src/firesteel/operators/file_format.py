"""The settings of a file sink, made ready to run: formats, buckets and when a part is complete."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import IO, Any, Protocol
from zoneinfo import ZoneInfo

from firesteel.common.java_text import java_formatter
from firesteel.common.serialization import BulkWriterFactory
from firesteel.datastream.connectors.file_sink import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    RollingPolicy,
)
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


_BULK_FORMATS: dict[str, Callable[[BulkWriterFactory], PartFormat]] = {
    "avro": _avro,
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
