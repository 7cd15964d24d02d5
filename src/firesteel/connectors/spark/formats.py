"""Tables by a format of Spark, such as ORC, JDBC or that of a package: `'format'` and `'spark.option.*'`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from firesteel.client.spark_formats import SparkReading
from firesteel.client.spark_tables import SparkTableError, SparkTables
from firesteel.columns.batch import Kind
from firesteel.columns.spark_types import NoSparkTypeError, spark_type
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.spark.sink import SparkTarget, StagedSparkSink
from firesteel.connectors.spark.spark_types import bare, sql_type
from firesteel.connectors.spark.staging import StagedRead, staged_rows, staging_root
from firesteel.connectors.table_connector import (
    INSERT_ONLY,
    Ability,
    Column,
    ResolvedTable,
    ScanRequest,
    SinkRequest,
)
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_SPARK, _OPTION = "spark.", "spark.option."
OPTIONS = {"spark": OptionTable(("format",), ("path", "staging.path"), (_SPARK, _OPTION))}


def _spark_type(column: Column) -> str:
    try:
        return spark_type(column.type)
    except NoSparkTypeError as error:
        raise ValidationException(f"Column '{column.name}' has the type {error}, which Spark has not") from None


class _FormatTable:
    """What source and sink share: the options and types of a table."""

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        self._table = table
        self._options = OPTIONS["spark"].read(table.options, "spark")
        self._configuration = context.config.get_configuration().to_dict()
        self._path = self._options.values.get("path")
        self._declared = ", ".join(f"`{column.name}` {_spark_type(column)}" for column in table.physical_columns)
        self._session = {k: v for k, v in table.options.items() if k.startswith(_SPARK) and not k.startswith(_OPTION)}
        self._tables = SparkTables(self._session, self._configuration)
        try:
            self._tables.check_staging(self._options.values.get("staging.path"))
        except SparkTableError as error:
            raise ValidationException(str(error)) from error

    @property
    def _own_options(self) -> Mapping[str, str]:
        return self._options.below(_OPTION, "spark").values


class SparkFormatTable(_FormatTable):
    """The rows that Spark reads by a format when the job starts."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        super().__init__(table, context)
        name = self._options.text("format")
        self._reading = SparkReading(self._tables, name, self._path, self._own_options, self._declared)
        try:
            found = self._reading.schema()
        except SparkTableError as error:
            raise ValidationException(str(error)) from error
        stored = {one.name: one for one in found.fields}
        for column in table.physical_columns:
            one = stored.get(column.name)
            if one is None:
                raise ValidationException(f"Column '{column.name}' is not among those of Spark, {', '.join(stored)}")
            if bare(sql_type(one.dataType, column.name)) != bare(column.type):
                raise ValidationException(
                    f"Column '{column.name}' is {one.dataType.simpleString()} in Spark, but {type_text(column.type)} "
                    "in the table"
                )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        # Parquet files without columns have no rows to count.
        columns = request.columns or self._table.physical_columns[:1]
        names, reading = tuple(column.name for column in columns), self._reading
        read = StagedRead(columns, request.columns, self._options)
        return staged_rows(environment, read, lambda path: reading.write(names, path), name)


class SparkFormatSink(_FormatTable):
    """Rows that Spark appends to a target by a format, at each checkpoint and at the end of a bounded job."""

    abilities = frozenset({Ability.OVERWRITE, Ability.PARTITIONING})

    def __init__(self, table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> None:
        super().__init__(table, context)
        self._target = SparkTarget(
            self._options.text("format"),
            self._path,
            self._own_options,
            table.partition_keys,
            request.overwrite,
            self._session,
        )

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return insertions: Spark appends rows."""
        return INSERT_ONLY

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        columns = self._table.physical_columns
        stored = Columns(tuple(c.name for c in columns), tuple(c.type for c in columns))
        parquet = make_format("parquet", stored, Options({}, "parquet"), "files")
        directory = staging_root(self._options, self._configuration)
        return stream.sink_to(StagedSparkSink(self._target, parquet, directory)).name(name)
