"""The connector `spark`: tables of a catalog of type `spark`, and tables LIKE them.

Spark writes the columns that a query reads to Parquet files before the job starts, and the job reads these files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from firesteel.client.spark_tables import SparkTableError, SparkTables, partition_texts
from firesteel.columns import column_types as t
from firesteel.columns.batch import Kind
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.formats.text_values import reader_of
from firesteel.connectors.spark.formats import SparkFormatSink, SparkFormatTable
from firesteel.connectors.spark.spark_types import bare, sql_type
from firesteel.connectors.spark.staging import StagedRead, staged_rows
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_PREFIX = "spark."


def source(table: ResolvedTable, context: ConnectorContext) -> SparkTable | SparkFormatTable:
    """Return the source that reads a table of Spark, or by a format of Spark."""
    return SparkFormatTable(table, context) if "format" in table.options else SparkTable(table, context)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> SparkFormatSink:
    """Return the sink that writes by a format of Spark.

    Raises:
        ValidationException: the table is one of Spark's catalogs.
    """
    if "format" in table.options:
        return SparkFormatSink(table, request, context)
    raise ValidationException(
        "Tables of Spark can only be read. Write with the option 'format' instead of 'table', or with Spark: "
        "Table.to_spark() returns a DataFrame that Spark can store"
    )


class SparkTable:
    """The rows that a table of Spark has when the job starts."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True
    reads_fields = True

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        self._table = table
        self._options = Options(table.options, "spark")
        self._options.check(("table",), ("staging.path",), (_PREFIX,))
        self._name = self._options.text("table")
        options = {key: text for key, text in table.options.items() if key.startswith(_PREFIX)}
        self._tables = SparkTables(options, context.config.get_configuration().to_dict())
        try:
            self._tables.check_staging(self._options.values.get("staging.path"))
            found = self._tables.metadata(self._name)
        except SparkTableError as error:
            raise ValidationException(str(error)) from error
        if found is None:
            raise ValidationException(f"Spark has no table or view {self._name}")
        self._check_columns({field.name: field.dataType for field in found.schema.fields})

    def _check_columns(self, stored: Mapping[str, Any]) -> None:
        for column in self._table.columns:
            if column.kind == "PHYSICAL" and column.name not in stored:
                raise ValidationException(
                    f"Column '{column.name}' is not in {self._name} of Spark, which has {', '.join(stored)}"
                )
            if column.kind == "PHYSICAL" and bare(sql_type(stored[column.name], column.name)) != bare(column.type):
                raise ValidationException(
                    f"Column '{column.name}' is {stored[column.name].simpleString()} in {self._name} of Spark, but "
                    f"{type_text(column.type)} in the table"
                )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        columns = request.columns or self._table.physical_columns[:1]
        names, wanted = tuple(column.name for column in columns), self._wanted(request)
        keys = () if wanted is None else tuple(wanted.types)
        tables, table = self._tables, self._name
        return staged_rows(
            environment,
            StagedRead(columns, request.columns, self._options),
            lambda path: tables.write(table, names, path, wanted, keys),
            name,
        )

    def _wanted(self, request: ScanRequest) -> _Partitions | None:
        if request.partitions is None:
            return None
        types = {column.name: column.type for column in self._table.physical_columns}
        return _Partitions(request.partitions, {key: types[key] for key in self._table.partition_keys})


class _Partitions:
    """The partitions that a filter leaves, as Spark shows them."""

    def __init__(self, predicate: Callable[[dict[str, Any]], bool], types: Mapping[str, t.DataType]) -> None:
        self._predicate = predicate
        self.types = types

    def __call__(self, partition: str) -> bool:
        """Return whether a partition `key=value/key=value` can have rows of the result."""
        texts = partition_texts(partition)
        try:
            values = {key: None if (text := texts[key]) is None else reader_of(kind)(text) for key, kind in self._pairs}
        except (KeyError, ValueError):
            return True
        return self._predicate(values)

    @property
    def _pairs(self) -> list[tuple[str, t.DataType]]:
        return list(self.types.items())
