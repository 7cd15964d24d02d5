"""The connector `spark`: tables of a catalog of type `spark`, and tables LIKE them.

Spark writes the columns that a query reads to Parquet files before the job starts, and the job reads these files.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from firesteel.client.spark_tables import SparkTableError, SparkTables, partition_texts
from firesteel.columns import column_types as t
from firesteel.columns.batch import Kind
from firesteel.columns.type_text import type_text
from firesteel.common.files.file_systems import Files, join
from firesteel.common.files.remote_path import remove_tree
from firesteel.common.files.temporary_directories import private_directory
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.files.source import FileSource, FileSourceSettings
from firesteel.connectors.files.table_paths import ColumnsFileFormat, TableFiles
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.formats.text_values import reader_of
from firesteel.connectors.spark.types import sql_type
from firesteel.connectors.table_connector import INSERT_ONLY, ResolvedTable, ScanRequest, SinkRequest, refuse_metadata
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

logger = logging.getLogger(__name__)

_PREFIX = "spark."


def source(table: ResolvedTable, context: ConnectorContext) -> SparkTable:
    """Return the source that reads a table of Spark."""
    return SparkTable(table, context)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> NoReturn:
    """Raise a ValidationException."""
    raise ValidationException(
        "Tables of Spark can only be read. Write with Spark: Table.to_spark() returns a DataFrame that Spark can store"
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
        refuse_metadata(table, "spark")
        self._check_columns({field.name: field.dataType for field in found.schema.fields})

    def _check_columns(self, stored: Mapping[str, Any]) -> None:
        for column in self._table.columns:
            if column.kind == "PHYSICAL" and column.name not in stored:
                raise ValidationException(
                    f"Column '{column.name}' is not in {self._name} of Spark, which has {', '.join(stored)}"
                )
            if column.kind == "PHYSICAL" and _bare(sql_type(stored[column.name], column.name)) != _bare(column.type):
                raise ValidationException(
                    f"Column '{column.name}' is {stored[column.name].simpleString()} in {self._name} of Spark, but "
                    f"{type_text(column.type)} in the table"
                )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        columns = request.columns or self._table.physical_columns[:1]
        configuration = environment.get_configuration().to_dict()
        path = join(_staging_root(self._options, configuration), uuid.uuid4().hex)
        stored = Columns(tuple(c.name for c in columns), tuple(c.type for c in columns))
        parquet = make_format("parquet", stored, Options({}, "parquet"), "files")
        reading = TableFiles(parquet, tuple((c.name, c.type, False) for c in request.columns), (), (), "")
        staged: Any = FileSource(FileSourceSettings(ColumnsFileFormat(reading), (path,)))
        staged.staging = Staging(self._tables, self._name, stored.names, path, self._wanted(request), configuration)
        return environment.from_source(staged, WatermarkStrategy.no_watermarks(), name)

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


class Staging:
    """The Parquet files of a source; not part of the job that is submitted.

    Args:
        tables: Spark's tables.
        name: The table.
        columns: The columns to write.
        path: The directory.
        wanted: The partitions to write; None for all.
        configuration: Contains the credentials of the file system.
    """

    def __init__(
        self,
        tables: SparkTables,
        name: str,
        columns: tuple[str, ...],
        path: str,
        wanted: _Partitions | None,
        configuration: Mapping[str, str],
    ) -> None:
        self._tables = tables
        self._name = name
        self._columns = columns
        self._path = path
        self._wanted = wanted
        self._configuration = configuration

    def __reduce__(self) -> Any:
        return _nothing, ()

    def write(self) -> None:
        """Let Spark write the files.

        Raises:
            SparkTableError: Spark failed.
        """
        keys = () if self._wanted is None else tuple(self._wanted.types)
        self._tables.write(self._name, self._columns, self._path, self._wanted, keys)

    def remove(self) -> None:
        """Remove the files."""
        try:
            remove_tree(Files(self._configuration).path(self._path))
        except Exception:  # of any file system; the job is done already
            logger.warning("cannot remove the staged files in %s", self._path, exc_info=True)


def _nothing() -> None:
    """Return None, the staging of a source in any other process."""


def _staging_root(options: Options, configuration: Mapping[str, str]) -> str:
    """Return the directory of staged files: `staging.path`, else a private one on the local disk."""
    path = options.values.get("staging.path")
    if path is not None:
        path = Files(configuration).resolve(path)
        return path if "://" in path else str(Path(path).absolute())
    return str(private_directory("spark", configuration))


def _bare(kind: t.DataType) -> t.DataType:
    """Return a type without its nullability and that of its parts."""
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(_bare(kind.element_type))
    if isinstance(kind, t.MapType):
        return t.MapType(_bare(kind.key_type), _bare(kind.value_type))
    if isinstance(kind, t.RowType):
        return t.RowType([t.RowField(field.name, _bare(field.data_type)) for field in kind.fields])
    return kind.nullable()
