"""The sink of a format of Spark: slots write Parquet files, which Spark appends to the target at each checkpoint."""

from __future__ import annotations

import io
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.file_systems import Files, join
from firesteel.common.files.remote_path import write_durably
from firesteel.connectors.formats.table_format import Format
from firesteel.functions.connector_base import CommitRequest, Committer, Sink, SinkWriter, WriterInitContext


@dataclass(frozen=True)
class SparkTarget:
    """What Spark writes, by its `DataFrameWriter`.

    Attributes:
        format: Name of the format, such as `jdbc`.
        path: The path, None if the format has none.
        options: Options of the format.
        partition_by: The columns whose values are directories.
        is_replaced: Whether the rows replace those that are there.
        session: Options of Spark.
    """

    format: str
    path: str | None
    options: Mapping[str, str] = field(repr=False)
    partition_by: tuple[str, ...]
    is_replaced: bool
    session: Mapping[str, str] = field(repr=False)


class StagedSparkSink(Sink[ColumnBatch]):
    """Writes column batches to a target of Spark, at-least-once.

    Args:
        target: The target.
        parquet: The format of the staged files.
        directory: The directory of the staged files.
    """

    def __init__(self, target: SparkTarget, parquet: Format, directory: str) -> None:
        super().__init__()
        self._target = target
        self.parquet = parquet
        self.directory = directory

    def create_writer(self, context: WriterInitContext) -> SparkWriter:
        """Return the writer of a subtask."""
        return SparkWriter(self, context)

    def create_committer(self) -> Committer:
        """Return the committer, which lets Spark write the rows of all subtasks."""
        return SparkCommitter(self._target)


_WRITER = ".writer"


class SparkWriter(SinkWriter[ColumnBatch]):
    """Writes the rows of each batch to a Parquet file.

    Beside its files is an empty one, by which the committer sees that it has the same directory.
    """

    def __init__(self, sink: StagedSparkSink, context: WriterInitContext) -> None:
        self._sink = sink
        self._name: str | None = None
        self._files = Files(context.configuration)
        self._batches: list[ColumnBatch] = []
        self._written: list[str] = []

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Keep the rows of a batch."""
        if element.length:
            self._batches.append(element)

    def flush(self, end_of_input: bool) -> None:
        """Write the rows to a file."""
        if not self._batches:
            return
        if self._name is None:
            self._name = uuid.uuid4().hex
            self._write(f"{self._name}{_WRITER}", b"")
        file = io.BytesIO()
        self._sink.parquet.write_file(file, self._batches)
        self._batches = []
        self._written.append(self._write(f"{self._name}-{uuid.uuid4().hex}.parquet", file.getvalue()))

    def _write(self, name: str, data: bytes) -> str:
        path = join(self._sink.directory, name)
        # The checkpoint will refer to it, and must not outlive it.
        write_durably(self._files.path(path), data)
        return path

    def prepare_commit(self) -> Sequence[list[str]]:
        """Return the files of the batch."""
        written, self._written = self._written, []
        return [written] if written else []


class SparkCommitter(Committer):
    """Lets Spark append staged files to a target, and removes them then.

    Files that are gone have been written before, if their writer's mark is there. So rows are written twice only if
    the process dies between the two.

    Args:
        target: The target.
    """

    commits_data: ClassVar[bool] = True

    def __init__(self, target: SparkTarget) -> None:
        self._target = target
        self._configuration: Mapping[str, str] = {}

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Set the configuration of the job."""
        self._configuration = dict(configuration)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Write the rows of all subtasks.

        Raises:
            SparkTableError: Spark failed, or this process does not see the directory of a slot.
        """
        from firesteel.client.spark_formats import write_target

        files = Files(self._configuration)
        staged = [path for request in requests for path in request.committable]
        paths = [path for path in staged if files.path(path).exists()]
        for path in set(staged) - set(paths):
            _check_shared(files, path)
        if not paths:
            return
        write_target(self._target, paths, self._configuration)
        for path in paths:
            files.path(path).unlink()


def _check_shared(files: Files, path: str) -> None:
    """Raise an error if a file is not gone but was never here."""
    from firesteel.client.spark_tables import SparkTableError

    directory, _, name = path.rpartition("/")
    writer, _, _ = name.rpartition("-")
    if writer and not files.path(join(directory, f"{writer}{_WRITER}")).exists():
        raise SparkTableError(
            f"the staged file {path} of a slot is not where the JobManager looks for it: set 'staging.path' to a "
            "directory that both share, such as s3://bucket/staging"
        )
