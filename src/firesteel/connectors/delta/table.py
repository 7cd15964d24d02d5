"""The connector `delta`. Flink: `DeltaDynamicTableFactory`, of Delta's connector for Flink.

The other modules of this folder need the package deltalake, so that they are imported late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.columns.rex import Rex
from firesteel.common.optional_package import optional_package
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.formats.parquet.row_groups import is_prunable
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.table_connector import INSERT_ONLY, Ability, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from deltalake import DeltaTable

    from firesteel.connectors.delta.address import DeltaAddress
    from firesteel.connectors.delta.versions import Versions
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_READING = ("mode", "versionAsOf", "timestampAsOf", "startingVersion", "startingTimestamp",
            "updateCheckIntervalMillis", "ignoreDeletes", "ignoreChanges")  # fmt: skip
OPTIONS = {
    "delta": OptionTable(
        ("table-path",),
        (*_READING, "write.mode"),
        ("delta.",),
        unused={
            "updateCheckDelayMillis": "versions are looked for from the start of the job",
            "parquetBatchSize": "the size of batches is chosen by the reader",
        },
        refused={"table_path": "use 'table-path'"},
    )
}


def source(table: ResolvedTable, context: ConnectorContext) -> DeltaScan:
    """Return the source that reads a Delta table."""
    return DeltaScan(table, context)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> DeltaTableSink:
    """Return the sink that appends to a Delta table."""
    return DeltaTableSink(table, context)


class _Delta:
    """The base of Delta sources and sinks."""

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        self._table = table
        self._options = OPTIONS["delta"].read(table.options, "delta")
        with optional_package("The connector 'delta'", "deltalake", "delta"):
            from firesteel.connectors.delta.address import DeltaAddress
        path = self._options.text("table-path").rstrip("/")
        self._address: DeltaAddress = DeltaAddress(path, context.config.get_configuration().to_dict())

    def _check(self, stored: DeltaTable, writes: bool) -> None:
        from firesteel.connectors.delta.address import check_readable, check_writable
        from firesteel.connectors.delta.delta_types import check_partitions, stored_table

        (check_writable if writes else check_readable)(stored, self._address.path)
        stored_table(stored.schema(), self._address.path).check(self._table.physical_columns, writes)
        keys = tuple(stored.metadata().partition_columns)
        if keys != self._table.partition_keys:
            raise ValidationException(
                f"The Delta table {self._address} is partitioned by {', '.join(keys) or 'no column'}, but declared as "
                f"PARTITIONED BY ({', '.join(self._table.partition_keys)})"
            )
        check_partitions(self._table.physical_columns, keys)


class DeltaScan(_Delta):
    """The rows of a version of a Delta table, of those that later versions add, or of both.

    Attributes:
        is_bounded: Whether it does not look for new versions.
    """

    kinds: frozenset[Kind] = INSERT_ONLY

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        super().__init__(table, context)
        self.is_bounded = self._options.choice("mode", ("batch", "streaming"), "batch") == "batch"
        self._monitor_ms()
        self._check(self._address.opened(), writes=False)
        self._versions()

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether statistics of row groups may exclude a condition."""
        return is_prunable(rex)

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        from firesteel.connectors.delta.source import DeltaSource

        source = DeltaSource(self._address, self._versions(), self._table, request, self._monitor_ms())
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), name)

    def _versions(self) -> Versions:
        """Return the versions to read; there may be newer ones than when the query was planned."""
        from firesteel.connectors.delta.versions import versions_of

        return versions_of(self._options, self._address.opened(), self.is_bounded)

    def _monitor_ms(self) -> int | None:
        every = self._options.positive("updateCheckIntervalMillis", 5000)
        return None if self.is_bounded else every


class DeltaTableSink(_Delta):
    """A Delta table to which rows are appended; it is created if there is none."""

    abilities = frozenset({Ability.PARTITIONING})

    def __init__(self, table: ResolvedTable, context: ConnectorContext) -> None:
        super().__init__(table, context)
        self._options.choice("write.mode", ("append",), "append")
        self._check(self._address.ensure(table), writes=True)

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return insertions: rows are appended."""
        return INSERT_ONLY

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        from firesteel.connectors.delta.writer import DeltaSink

        return stream.sink_to(DeltaSink(self._address, self._table.physical_columns)).name(name)
