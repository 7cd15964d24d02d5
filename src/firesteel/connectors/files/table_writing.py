"""The sink of tables of files: exactly-once part files by partition, and INSERT OVERWRITE."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from firesteel.columns.column_types import DataType
from firesteel.common.files.file_systems import Files
from firesteel.common.files.local_path import local_path
from firesteel.common.serialization import BulkWriterFactory
from firesteel.connectors.files.committer import FileCommitter
from firesteel.connectors.files.partition_commit import CommitTrigger, PartitionMark
from firesteel.connectors.files.sink import FileSink
from firesteel.connectors.files.sink_settings import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    OnCheckpointRollingPolicy,
    OutputFileConfig,
    RollingPolicy,
)
from firesteel.connectors.formats.table_format import Format
from firesteel.connectors.formats.text_values import writer_of
from firesteel.connectors.table_connector import SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.functions.connector_base import CommitRequest, Committer, SinkWriter, WriterInitContext

_SAFE = " !#$&'()+,-.;<>@[]^_`{|}~"
"""Characters that Flink leaves as they are in names of partitions (`PartitionPathUtils.escapePathName`)."""


class PartitionNames:
    """The mapping of partition values to directories.

    Args:
        keys: Names and positions of the partition columns.
        types: Types of all columns.
        default_name: Represents NULL and the empty string.
    """

    def __init__(self, keys: tuple[tuple[str, int], ...], types: tuple[DataType, ...], default_name: str) -> None:
        self._keys = keys
        self._types = types
        self._default = default_name

    @property
    def positions(self) -> list[int]:
        """The positions of the partition columns."""
        return [position for _, position in self._keys]

    def of(self, values: Sequence[Any]) -> str:
        """Return the directory for values of the partition columns."""
        parts = []
        for (name, position), value in zip(self._keys, values, strict=True):
            text = self._default if value is None or value == "" else writer_of(self._types[position])(value)
            parts.append(f"{quote(name, safe=_SAFE)}={quote(text, safe=_SAFE)}")
        return "/".join(parts)


@dataclass(frozen=True)
class TableFileSettings:
    """The partitioning of column batches.

    Attributes:
        names: Directories of partitions.
        stored: Positions of the columns that go into the files.
        trigger: When partitions are committed; None for the checkpoint after each write.
    """

    names: PartitionNames
    stored: tuple[int, ...]
    trigger: CommitTrigger | None = None


class TableFileSink(FileSink):
    """A sink that writes column batches as part files, which become visible on commit."""

    def __init__(
        self,
        record_format: Format,
        keys: tuple[tuple[str, int], ...],
        stored: tuple[int, ...],
        types: tuple[DataType, ...],
        options: Options,
        request: SinkRequest,
        success_file: str | None,
        trigger: CommitTrigger | None = None,
    ) -> None:
        factory = BulkWriterFactory("columns", record_format)
        default_name = options.text("partition.default-name", "__HIVE_DEFAULT_PARTITION__")
        settings = FileSinkSettings(
            options.text("path"),
            writer_factory=factory,
            bucket_assigner=BucketAssigner.base_path_bucket_assigner(),
            rolling_policy=_rolling(options, record_format),
            output_file_config=OutputFileConfig("part", ""),
            columns=TableFileSettings(PartitionNames(keys, types, default_name), stored, trigger),
        )
        super().__init__(settings)
        self._format = record_format
        self._overwrites = request.overwrite
        self._success_file = success_file

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """Return the writer of a subtask."""
        from firesteel.connectors.files.column_parts import TableFileWriter  # late: it needs pyarrow

        return TableFileWriter(self.settings, context, self._format)

    def create_committer(self) -> Committer:
        """Return the committer of part files; INSERT OVERWRITE removes other files first."""
        if self._overwrites:
            return OverwritingCommitter(self.settings.base_path, self._success_file)
        return TableFileCommitter(self._success_file, self.settings.columns.trigger is not None)


def _rolling(options: Options, record_format: Format) -> RollingPolicy:
    if not record_format.is_text:
        return OnCheckpointRollingPolicy()
    rollover = options.duration_ms("sink.rolling-policy.rollover-interval", 30 * 60_000) or 0
    inactivity = options.duration_ms("sink.rolling-policy.inactivity-interval", 30 * 60_000) or 0
    # Tables may set 0, unlike `DefaultRollingPolicy`.
    size = options.size_bytes("sink.rolling-policy.file-size", "128mb")
    return DefaultRollingPolicy(max(1, size), max(1, rollover), max(1, inactivity))


class TableFileCommitter(FileCommitter):
    """A committer of part files that then marks the affected directories.

    Args:
        success_file: Name of the empty file that marks a directory; None for no file.
        is_told: Whether writers tell which directories are complete; otherwise those with new files are.
    """

    def __init__(self, success_file: str | None, is_told: bool = False) -> None:
        super().__init__()
        self._success_file = success_file
        self._is_told = is_told

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that all part files exist."""
        super().check(_parts(requests))

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit the new files, then write the success files."""
        super().commit(_parts(requests))
        if self._success_file is not None:
            for directory in _told(requests) if self._is_told else _directories(requests):
                (local_path(directory) / self._success_file).touch()


class OverwritingCommitter(TableFileCommitter):
    """A committer that removes the visible files of written directories before it commits the new ones.

    Args:
        base: The directory of the table.
        success_file: Name of the empty file that marks a directory; None for no file.
    """

    def __init__(self, base: str, success_file: str | None) -> None:
        super().__init__(success_file)
        self._base = base
        self._cleared: set[str] = set()

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Remove the files that are there, then show the new files."""
        files = Files(self._configuration)
        base = files.resolve(self._base)
        if files.remote(base) is not None:
            raise NotImplementedError(f"INSERT OVERWRITE replaces local files only, not those of {base}")
        new = _new_files(requests)
        for directory in _directories(requests) - self._cleared:
            self._cleared.add(directory)
            self._clear(directory, new)
        super().commit(requests)

    def _clear(self, directory: str, new: set[str]) -> None:
        for path in local_path(directory).iterdir():
            # A commit that is repeated has shown some of its files already.
            if path.is_file() and not path.name.startswith((".", "_")) and str(path) not in new:
                path.unlink()


def _parts(requests: Sequence[CommitRequest]) -> list[CommitRequest]:
    return [request for request in requests if not isinstance(request.committable, PartitionMark)]


def _told(requests: Sequence[CommitRequest]) -> set[str]:
    return {one.committable.directory for one in requests if isinstance(one.committable, PartitionMark)}


def _new_files(requests: Sequence[CommitRequest]) -> set[str]:
    return {final for request in requests if (final := getattr(request.committable, "final", None))}


def _directories(requests: Sequence[CommitRequest]) -> set[str]:
    return {path.rpartition("/")[0] for path in _new_files(requests)}
