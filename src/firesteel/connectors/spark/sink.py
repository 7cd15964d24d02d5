"""The sink of a format of Spark: slots write Parquet files, which Spark appends to the target at each checkpoint."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from firesteel.columns.batch import ColumnBatch
from firesteel.common.files.file_systems import Files, join
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


class SparkWriter(SinkWriter[ColumnBatch]):
    """Writes the rows of each batch to a Parquet file."""

    def __init__(self, sink: StagedSparkSink, context: WriterInitContext) -> None:
        self._sink = sink
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
        path = join(self._sink.directory, f"{uuid.uuid4().hex}.parquet")
        target = self._files.path(path)
        if isinstance(target, Path):
            target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("wb") as file:
            self._sink.parquet.write_file(file, self._batches)
        self._batches = []
        self._written.append(path)

    def prepare_commit(self) -> Sequence[list[str]]:
        """Return the files of the batch."""
        written, self._written = self._written, []
        return [written] if written else []


class SparkCommitter(Committer):
    """Lets Spark append staged files to a target, and removes them then.

    Files that are gone have been written before. So rows are written twice only if the process dies between the two.

    Args:
        target: The target.
    """

    def __init__(self, target: SparkTarget) -> None:
        self._target = target
        self._configuration: Mapping[str, str] = {}

    def configure(self, configuration: Mapping[str, str]) -> None:
        """Set the configuration of the job."""
        self._configuration = dict(configuration)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Write the rows of all subtasks.

        Raises:
            SparkTableError: Spark failed.
        """
        from firesteel.client.spark_formats import write_target

        files = Files(self._configuration)
        paths = [path for request in requests for path in request.committable if files.path(path).exists()]
        if not paths:
            return
        write_target(self._target, paths, self._configuration)
        for path in paths:
            files.path(path).unlink()
