"""The connector `iceberg`. Flink: `org.apache.iceberg.flink.FlinkDynamicTableFactory`.

The other modules of this folder need the package pyiceberg, so that they are imported late.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.iceberg.package import (
    CATALOG_OPTIONS,
    CATALOG_PREFIXES,
    FORMAT_VERSION,
    TABLE_PREFIXES,
    WITHOUT_EFFECT,
    iceberg_module,
)
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import (
    INSERT_ONLY,
    UPSERT,
    Ability,
    ResolvedTable,
    ScanRequest,
    SinkRequest,
)
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.operator_builder import with_partitioner
from firesteel.graph.partitioner import Partitioner

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_OPTIONS = (
    *CATALOG_OPTIONS,
    "catalog-database",
    "catalog-table",
    "location",
    "upsert-enabled",
    "snapshot-id",
    "as-of-timestamp",
    "start-snapshot-id",
    "end-snapshot-id",
    "branch",
    "tag",
    "start-tag",
    "end-tag",
    "streaming",
    "monitor-interval",
    FORMAT_VERSION,
)
OPTIONS = {"iceberg": OptionTable(("catalog-name",), _OPTIONS, CATALOG_PREFIXES + TABLE_PREFIXES, WITHOUT_EFFECT)}
_UPSERT = "write.upsert.enabled"
_FORMAT = "write.format.default"


def source(table: ResolvedTable, context: ConnectorContext) -> IcebergTable:
    """Return the source that reads an Iceberg table."""
    return IcebergTable(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> IcebergTableSink:
    """Return the sink that writes an Iceberg table."""
    return IcebergTableSink(table, request)


class _Iceberg:
    """The base of Iceberg sources and sinks; the Iceberg table is created when it is first used."""

    writes = False

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = OPTIONS["iceberg"].read(table.options, "iceberg")
        self._address = self._address_of_options()
        if self.writes and self._address.catalog.is_read_only:
            raise ValidationException(
                "Tables of an Iceberg catalog of type 'hadoop' can only be read; use one of type rest, hive, glue or "
                "jdbc to write"
            )
        self._stored = self._address.ensure(table)
        stored_table = iceberg_module("firesteel.connectors.iceberg.iceberg_types").stored_table
        stored_table(self._stored.schema(), str(self._address)).check(table.physical_columns, self.writes)

    def _address_of_options(self) -> Any:
        tables, options = iceberg_module("firesteel.connectors.iceberg.tables"), self._options
        catalog = tables.IcebergCatalogAddress.of_options(options.text("catalog-name"), options.values)
        database = options.text("catalog-database", self._table.path[-2])
        return tables.IcebergTableAddress(catalog, database, options.text("catalog-table", self._table.path[-1]))


class IcebergTable(_Iceberg):
    """The rows of an Iceberg table: those of one snapshot, of appended files, or of all snapshots to come.

    Attributes:
        is_bounded: Whether it does not look for new snapshots.
    """

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable) -> None:
        super().__init__(table)
        self.is_bounded = not self._options.flag("streaming")
        # Invalid options are refused here, before a job starts.
        self._monitor_ms()
        self._files()

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        with self._address.opened() as table:
            self._stored = table  # there may be newer snapshots than when the query was planned
        make = iceberg_module("firesteel.connectors.iceberg.source").IcebergSource
        source = make(self._address, self._files(), request, self._monitor_ms())
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), name)

    def _files(self) -> Any:
        return iceberg_module("firesteel.connectors.iceberg.source").files_of(
            self._options, self._stored, self.is_bounded
        )

    def _monitor_ms(self) -> int | None:
        every = self._options.duration_ms("monitor-interval", 60_000) or 0
        if every < 1:
            raise self._options.invalid("monitor-interval", "a duration of at least 1 ms")
        return None if self.is_bounded else every


class IcebergTableSink(_Iceberg):
    """An Iceberg table to write: rows are appended, or replace the rows of their primary key.

    Args:
        table: The table.
        request: Whether the partitions that are written are replaced.
    """

    abilities = frozenset({Ability.OVERWRITE, Ability.PARTITIONING})

    writes = True

    def __init__(self, table: ResolvedTable, request: SinkRequest) -> None:
        _check_format(table.options)
        if "branch" in table.options:
            raise ValidationException("Option 'branch' of 'iceberg' is for reading: rows go to the branch 'main'")
        super().__init__(table)
        _check_format(self._stored.properties)
        stored = self._stored.properties.get(_UPSERT, "").lower() == "true"
        self._replaces = self._options.flag("upsert-enabled", self._options.flag(_UPSERT, stored))
        self._overwrites = request.overwrite
        if self._replaces and request.overwrite:
            raise ValidationException("OVERWRITE mode shouldn't be enable when configuring to use UPSERT data stream.")
        if self._replaces and not table.primary_key:
            raise ValidationException(
                "Equality field columns shouldn't be empty when configuring to use UPSERT data stream: table "
                f"'{'.'.join(table.path)}' needs a PRIMARY KEY"
            )

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return all kinds but `-U` if there is a key to replace rows by, else inserts."""
        if not self._table.primary_key or self._overwrites:
            return INSERT_ONLY
        self._replaces = self._replaces or kinds != INSERT_ONLY
        return UPSERT

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        names = tuple(column.name for column in self._table.physical_columns)
        keys = tuple(names.index(key) for key in self._table.primary_key) if self._replaces else ()
        if keys:
            # One subtask gets all changes of a key, in their order.
            stream = with_partitioner(stream, Partitioner("HASH", keys))
        make = iceberg_module("firesteel.connectors.iceberg.writer").IcebergSink
        modes = iceberg_module("firesteel.connectors.iceberg.committer").WriteMode
        mode = modes["UPSERT" if keys else "OVERWRITE" if self._overwrites else "APPEND"]
        sink = make(self._address, names, keys, mode)
        return stream.sink_to(sink).name(name)


def _check_format(properties: Mapping[str, str]) -> None:
    found = properties.get(_FORMAT, "parquet")
    if found.lower() != "parquet":
        raise ValidationException(f"'{_FORMAT}' = '{found}' is not supported: data files are written as 'parquet' only")
