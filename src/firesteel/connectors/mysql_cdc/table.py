"""The connector `mysql-cdc`. Flink CDC: `MySqlTableSourceFactory`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from firesteel.columns.batch import Kind
from firesteel.common.system_time_zone import system_time_zone
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.cdc.column_batches import METADATA
from firesteel.connectors.cdc.options import (
    INCREMENTAL,
    READING_OPTIONS,
    UNUSED,
    connecting,
    is_append_only,
    reading_options,
)
from firesteel.connectors.mysql_cdc.settings import CdcSettings, Server, StartOffset, server_ids
from firesteel.connectors.mysql_cdc.source import MySqlCdcSource
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.scalar_columns import check_scalars
from firesteel.connectors.table_connector import ALL_KINDS, INSERT_ONLY, ResolvedTable, ScanRequest
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_STARTUP = "scan.startup."
_OFFSET = f"{_STARTUP}specific-offset."
_OTHERWISE = "Debezium is not used; "
_MODES = ("initial", "earliest-offset", "latest-offset", "specific-offset", "timestamp", "snapshot")

OPTIONS = {
    "mysql-cdc": OptionTable(
        required=("hostname", "username", "password", "database-name", "table-name"),
        optional=(
            "port",
            "server-id",
            "server-time-zone",
            "heartbeat.interval",
            *READING_OPTIONS,
            f"{_OFFSET}file",
            f"{_OFFSET}pos",
            f"{_OFFSET}gtid-set",
            f"{_STARTUP}timestamp-millis",
        ),
        prefixes=("jdbc.properties.",),
        unused={
            **UNUSED,
            f"{INCREMENTAL}backfill.skip": "changes while a chunk is read are always taken into account",
            "debezium.min.row.count.to.stream.result": "rows are always read as the server sends them",
            "use.legacy.json.format": "values of JSON are written as the server writes them",
            "table-id.include-database": "tables are always told apart by their databases",
        },
        refused={
            "scan.newly-added-table.enabled": "tables that are added later are not captured",
            "scan.parse.online.schema.changes.enabled": "schema changes are refused",
            "scan.binlog.newly-added-table.enabled": "tables that are added later are not captured",
            "treat-tinyint1-as-boolean.enabled": "the declared type decides: BOOLEAN or an integer",
            f"{_OFFSET}skip-events": "the log is read from where a transaction begins",
            f"{_OFFSET}skip-rows": "the log is read from where a transaction begins",
            "debezium.snapshot.mode": f"{_OTHERWISE}see 'scan.startup.mode'",
            "debezium.snapshot.locking.mode": f"{_OTHERWISE}no lock is taken",
            "debezium.snapshot.select.statement.overrides": f"{_OTHERWISE}filter the rows in the query",
            "debezium.binary.handling.mode": f"{_OTHERWISE}declare BYTES, and convert them in the query",
            "debezium.bigint.unsigned.handling.mode": f"{_OTHERWISE}declare DECIMAL(20, 0)",
            "debezium.decimal.handling.mode": f"{_OTHERWISE}declare DECIMAL or STRING",
            "debezium.database.ssl.mode": f"{_OTHERWISE}see 'jdbc.properties.*'",
        },
    )
}

_METADATA = {key: kind for key, kind in METADATA.items() if key != "schema_name"}


def source(table: ResolvedTable, context: ConnectorContext) -> MySqlCdcTable:
    """Return the source that captures tables.

    Raises:
        ValidationException: an option is missing, unknown, refused or invalid.
    """
    return MySqlCdcTable(table)


class MySqlCdcTable:
    """Tables of MySQL or MariaDB with their changes.

    Args:
        table: The table.
    """

    metadata = _METADATA

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = options = OPTIONS["mysql-cdc"].read(table.options, "mysql-cdc")
        check_scalars(table.physical_columns, "connector 'mysql-cdc'", has_arrays=True)
        self.kinds: frozenset[Kind] = INSERT_ONLY if is_append_only(options) else ALL_KINDS
        self.is_bounded = self._settings(ScanRequest(table.physical_columns)).is_bounded
        if self.is_bounded:
            self.kinds = INSERT_ONLY

    def _server(self) -> Server:
        options = self._options
        hostname, username, password = (options.text(key) for key in ("hostname", "username", "password"))
        properties = tuple(sorted(options.below("jdbc.properties.", "mysql-cdc").values.items()))
        return Server(hostname, options.positive("port", 3306), username, password, *connecting(options), properties)

    def _settings(self, request: ScanRequest) -> CdcSettings:
        options = self._options
        heartbeat_ms = options.duration_ms("heartbeat.interval", 30_000) or 0
        return CdcSettings(
            server=self._server(),
            tables=self._pattern(),
            server_ids=self._server_ids(),
            startup=options.choice(f"{_STARTUP}mode", _MODES, "initial"),
            offset=self._offset(),
            start_ms=options.number(f"{_STARTUP}timestamp-millis", 0),
            time_zone=self._time_zone(),
            heartbeat_s=heartbeat_ms / 1000,
            primary_key=self._table.primary_key,
            **reading_options(options, request, is_parallel=True),
        )

    def _pattern(self) -> str:
        options = self._options
        for key in ("database-name", "table-name"):
            try:
                re.compile(options.text(key))
            except re.error as error:
                raise options.invalid(key, f"a name or a regular expression ({error})") from None
        return rf"(?:{options.text('database-name')})\.(?:{options.text('table-name')})"

    def _server_ids(self) -> tuple[int, int] | None:
        try:
            return server_ids(self._options.text("server-id"))
        except ValueError:
            raise self._options.invalid(
                "server-id", "a number such as '5400', or a range such as '5400-5408'"
            ) from None

    def _offset(self) -> StartOffset:
        options = self._options
        mode, file, gtids = (
            options.text(f"{_STARTUP}mode"),
            options.text(f"{_OFFSET}file"),
            options.text(f"{_OFFSET}gtid-set"),
        )
        if mode.lower() == "specific-offset" and bool(gtids) == bool(file):
            raise options.invalid(
                f"{_STARTUP}mode", f"'{_OFFSET}gtid-set', or '{_OFFSET}file' and '{_OFFSET}pos', with specific-offset"
            )
        if mode.lower() == "timestamp" and f"{_STARTUP}timestamp-millis" not in options.values:
            raise options.invalid(f"{_STARTUP}mode", f"'{_STARTUP}timestamp-millis' with timestamp")
        return StartOffset(file, options.number(f"{_OFFSET}pos", 4), gtids)

    def _time_zone(self) -> ZoneInfo:
        try:
            return ZoneInfo(self._options.text("server-time-zone") or system_time_zone())
        except (KeyError, OSError, ValueError):
            raise self._options.invalid("server-time-zone", "a time zone such as 'Asia/Shanghai'") from None

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        captured = MySqlCdcSource(self._settings(request))
        return environment.from_source(captured, WatermarkStrategy.no_watermarks(), name)
