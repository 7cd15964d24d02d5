"""The sink that writes a stream of rows by a format of Spark. Flink has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from firesteel.columns import column_types as t
from firesteel.columns.spark_types import NoSparkTypeError, spark_type
from firesteel.columns.type_information import data_type_of
from firesteel.common.types import Row
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.spark.sink import SparkCommitter, SparkTarget, StagedSparkSink
from firesteel.connectors.spark.staging import staging_root
from firesteel.connectors.table_connector import Column
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_rows import batches_of
from firesteel.functions.connector_base import (
    Committer,
    Sink,
    SinkWriter,
    StreamTransformer,
    SupportsPreprocessing,
    WriterInitContext,
)

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.data_stream import DataStream


class SparkSink(Sink[Row], SupportsPreprocessing):
    """Appends the rows of a stream, at each checkpoint, to whatever Spark has a format for; at-least-once.

    Slots write Parquet files to a staging directory, which the JobManager's Spark appends to the target. The elements
    are rows or tuples, of a declared type: its fields are the columns.

    Args:
        spark_format: Name or class of the format, such as `orc` or `jdbc`.
        path: The path, for formats of files.
        options: Options of the format, as of `DataFrameWriter.option`.
        partition_by: The columns whose values are directories.
        staging_path: The directory for staged files, which slots and Spark's executors share; by default one on the
            local disk.

    Example:
        >>> kind = Types.ROW_NAMED(["id", "word"], [Types.INT(), Types.STRING()])
        >>> rows = env.from_collection([(1, "a"), (2, "b")], kind)
        >>> _ = rows.sink_to(SparkSink("orc", "archive", partition_by=["word"]))
    """

    def __init__(
        self,
        spark_format: str,
        path: str | None = None,
        options: Mapping[str, str] | None = None,
        partition_by: Sequence[str] = (),
        staging_path: str | None = None,
    ) -> None:
        super().__init__()
        self._target = SparkTarget(spark_format, path, dict(options or {}), tuple(partition_by), False, {})
        self._staging = {} if staging_path is None else {"staging.path": staging_path}
        self._staged: StagedSparkSink | None = None

    def get_transformer(self) -> StreamTransformer:
        """Return what makes column batches of the rows."""
        return _ToColumns(self)

    def take(self, columns: Sequence[Column], configuration: Mapping[str, str]) -> None:
        """Prepare for a stream.

        Args:
            columns: The columns of its rows.
            configuration: The configuration of its environment.

        Raises:
            ValueError: the sink has another stream already, a column to partition by is missing, Spark has no such
                type, or slots and JobManager do not share the staging directory.
        """
        if self._staged is not None:
            raise ValueError("a SparkSink writes one stream; make another one for each stream")
        names = [column.name for column in columns]
        if missing := [name for name in self._target.partition_by if name not in names]:
            raise ValueError(
                f"SparkSink: the stream has no column {missing[0]!r} to partition by, but {', '.join(names)}"
            )
        for column in columns:
            try:
                spark_type(column.type)
            except NoSparkTypeError as error:
                raise ValueError(
                    f"SparkSink: column {column.name!r} has the type {error}, which Spark has not"
                ) from None
        master = configuration.get("spark.master", "local")
        if not self._staging and not master.startswith("local"):
            raise ValueError(
                f"SparkSink: slots and JobManager have other disks (spark.master is {master!r}); set staging_path to a "
                "directory that they share, such as s3://bucket/staging"
            )
        stored = Columns(tuple(names), tuple(column.type for column in columns))
        parquet = make_format("parquet", stored, Options({}, "parquet"), "files")
        directory = staging_root(Options(self._staging, "SparkSink"), configuration)
        self._staged = StagedSparkSink(self._target, parquet, directory)

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Row]:
        """Return the writer of a subtask."""
        assert self._staged is not None
        return cast("SinkWriter[Row]", self._staged.create_writer(context))  # of column batches, which the rows become

    def create_committer(self) -> Committer:
        """Return the committer, which lets Spark write the rows of all subtasks."""
        return SparkCommitter(self._target)


class _ToColumns(StreamTransformer):
    def __init__(self, sink: SparkSink) -> None:
        self._sink = sink

    def apply(self, ds: object) -> Batches:
        stream = cast("DataStream[Row]", ds)
        kind = data_type_of(stream.get_type())
        if not isinstance(kind, t.RowType):
            raise TypeError(
                f"SparkSink: the stream has elements of type {stream.get_type()!r}; make rows of them, such as "
                "map(..., Types.ROW_NAMED([...], [...]))"
            )
        columns = [Column(field.name, field.data_type) for field in kind.fields]
        self._sink.take(columns, stream.get_execution_environment().get_configuration().to_dict())
        return batches_of(stream, columns)
