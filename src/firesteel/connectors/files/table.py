"""The connector `filesystem`. Flink: `FileSystemTableFactory`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import MAX_LENGTH, BigIntType, LocalZonedTimestampType, VarCharType
from firesteel.columns.rex import Rex
from firesteel.common.files.file_systems import scheme_of
from firesteel.common.table_errors import ValidationException
from firesteel.common.time import Duration
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.files.partition_commit import commit_trigger
from firesteel.connectors.files.source import FileSource, FileSourceSettings
from firesteel.connectors.files.splits import local_files_below
from firesteel.connectors.files.table_paths import ColumnsFileFormat, TableFiles, TablePathFilter
from firesteel.connectors.files.table_statistics import estimated_rows
from firesteel.connectors.files.table_writing import TableFileSink
from firesteel.connectors.formats.table_format import Columns, Format, make_format
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import Ability, Column, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_OPTIONS = (
    "partition.default-name",
    "source.monitor-interval",
    "source.path.regex-pattern",
    "source.report-statistics",
    "sink.rolling-policy.file-size",
    "sink.rolling-policy.rollover-interval",
    "sink.rolling-policy.inactivity-interval",
    "sink.shuffle-by-partition.enable",
    "auto-compaction",
    "sink.partition-commit.trigger",
    "sink.partition-commit.delay",
    "sink.partition-commit.watermark-time-zone",
    "sink.partition-commit.policy.kind",
    "sink.partition-commit.success-file.name",
    "partition.time-extractor.kind",
    "partition.time-extractor.class",
    "partition.time-extractor.timestamp-pattern",
    "partition.time-extractor.timestamp-formatter",
)
_UNUSED = {
    "sink.rolling-policy.check-interval": "policies are checked in each batch",
    **dict.fromkeys(("compaction.file-size", "compaction.parallelism"), "small files are not merged"),
    **dict.fromkeys(
        ("sink.partition-commit.policy.class", "sink.partition-commit.policy.class.parameters"),
        "a policy that is a class of Java is refused by its kind",
    ),
}
OPTIONS = {"filesystem": OptionTable(("path", "format"), _OPTIONS, unused=_UNUSED, formats=("format",))}
_TEXT = VarCharType(MAX_LENGTH, False)
_METADATA = {
    "file.path": _TEXT,
    "file.name": _TEXT,
    "file.size": BigIntType(False),
    "file.modification-time": LocalZonedTimestampType(3, False),
}


def source(table: ResolvedTable, context: ConnectorContext) -> FileTable:
    """Return the source that reads a table of files."""
    return FileTable(table, context)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> FileTableSink:
    """Return the sink that writes a table of files."""
    return FileTableSink(table, request, context)


class _Files:
    """The base of file sources and sinks."""

    def __init__(self, table: ResolvedTable) -> None:
        self.table = table
        self.options = OPTIONS["filesystem"].read(table.options, "filesystem")

    def format_of(self, columns: tuple[Column, ...]) -> Format:
        """Return the format with some physical columns; as in Flink its options may be unknown."""
        name = self.options.text("format")
        plain = Columns(tuple(c.name for c in columns), tuple(c.type for c in columns))
        return make_format(name, plain, self.options.below(f"{name}.", name, warns_of_unknown=True), "files")

    @property
    def stored(self) -> tuple[Column, ...]:
        """The columns that are in the files, not in the names of directories."""
        return tuple(c for c in self.table.physical_columns if c.name not in self.table.partition_keys)


class FileTable(_Files):
    """Files below a path, with partitions as directories `key=value`."""

    metadata = _METADATA

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        super().__init__(table)
        self.kinds = self.format_of(self.stored).kinds
        _check_pattern(self.options)

    @property
    def is_bounded(self) -> bool:
        """Whether it does not look for new files."""
        return "source.monitor-interval" not in self.table.options

    @property
    def reads_fields(self) -> bool:
        """Whether it needs only the columns, and fields of rows, that are read."""
        return self.format_of(self.stored).reads_fields

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether a condition keeps the format from reading parts of files."""
        return self.format_of(self.stored).uses_condition(rex)

    def row_count(self) -> float | None:
        """Return the number of rows of local files, by the footers or sizes of some of them; None if it is unknown."""
        path = self.options.text("path").removeprefix("file://")
        reports = self.options.text("source.report-statistics", "all").lower() == "all"
        if scheme_of(path) is not None or not (reports and self.is_bounded and Path(path).exists()):
            return None
        return estimated_rows(self.format_of(self.stored), local_files_below(Path(path)))

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        keys = self.table.partition_keys
        stored = self.stored
        if self.reads_fields:
            # One column at least, which tells how many rows a file has.
            stored = tuple(c for c in request.columns if c.name not in keys) or stored[:1]
        table = self.table.physical_columns
        known = Columns(tuple(c.name for c in table), tuple(c.type for c in table))
        reading = TableFiles(
            self.format_of(stored).with_condition(request.condition, known),
            tuple((c.name, c.type, c.name in keys) for c in request.columns),
            request.metadata,
            tuple((c.name, c.type) for c in self.table.physical_columns if c.name in keys),
            self.options.text("partition.default-name", "__HIVE_DEFAULT_PARTITION__"),
        )
        selected = TablePathFilter(self.options.values.get("source.path.regex-pattern"), request.partitions, reading)
        interval = self.options.duration_ms("source.monitor-interval")
        every = None if interval is None else Duration.of_millis(interval)
        paths = (self.options.text("path"),)
        settings = FileSourceSettings(ColumnsFileFormat(reading), paths, every, path_filter=selected)
        return environment.from_source(FileSource(settings), WatermarkStrategy.no_watermarks(), name)


class FileTableSink(_Files):
    """Files below a path; a partition is a directory `key=value`."""

    abilities = frozenset({Ability.OVERWRITE, Ability.PARTITIONING})

    def __init__(self, table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> None:
        super().__init__(table)
        self._request = request
        self._format = self.format_of(self.stored)
        self._format.check_sink()
        if self.options.flag("auto-compaction"):
            raise ValidationException("auto-compaction is not supported; write with fewer subtasks instead")
        if self.options.flag("sink.shuffle-by-partition.enable"):
            raise ValidationException(
                "sink.shuffle-by-partition.enable is not supported; set sink.parallelism to write fewer files"
            )
        self._success_file = _success_file(self.options, bool(table.partition_keys), request.is_bounded)
        has_trigger = self._success_file is not None and not request.is_bounded
        self._trigger = commit_trigger(self.options, bool(table.partition_keys)) if has_trigger else None

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the kinds of rows that the format can write."""
        return self._format.kinds

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        names = [column.name for column in self.table.physical_columns]
        keys = tuple((key, names.index(key)) for key in self.table.partition_keys)
        stored = tuple(names.index(column.name) for column in self.stored)
        types = tuple(column.type for column in self.table.physical_columns)
        options, success_file, trigger = self.options, self._success_file, self._trigger
        sink = TableFileSink(self._format, keys, stored, types, options, self._request, success_file, trigger)
        return stream.sink_to(sink).name(name)


def _check_pattern(options: Options) -> None:
    pattern = options.values.get("source.path.regex-pattern")
    if pattern is None:
        return
    try:
        re.compile(pattern)
    except re.error:
        raise options.invalid("source.path.regex-pattern", "a regular expression") from None


def _success_file(options: Options, is_partitioned: bool, is_bounded: bool) -> str | None:
    """Return the name of the file that marks a committed partition, None for no file.

    Raises:
        ValidationException: the options ask for a trigger, delay or policy that is not supported.
    """
    policies = [policy.strip() for policy in options.text("sink.partition-commit.policy.kind").split(",")]
    unknown = sorted({*policies} - {"", "success-file"})
    if unknown:
        raise ValidationException(
            f"sink.partition-commit.policy.kind '{unknown[0]}' is not supported; the only policy is 'success-file'"
        )
    if policies == [""]:
        return None
    if scheme_of(options.text("path")) not in (None, "file"):
        raise ValidationException("sink.partition-commit.policy.kind is supported for local files only")
    writes = is_partitioned or is_bounded  # A streaming job commits partitions only, as Flink's does.
    return options.text("sink.partition-commit.success-file.name", "_SUCCESS") if writes else None
