"""The connector `postgres-cdc`. Flink CDC: `PostgreSQLTableFactory`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
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
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.postgres_cdc.source import PostgresCdcSource
from firesteel.connectors.scalar_columns import check_scalars
from firesteel.connectors.table_connector import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    ResolvedTable,
    ScanRequest,
)
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_OTHERWISE = "Debezium is not used; "

OPTIONS = {
    "postgres-cdc": OptionTable(
        required=("hostname", "username", "password", "database-name", "schema-name", "table-name", "slot.name"),
        optional=(
            "port",
            "decoding.plugin.name",
            "changelog-mode",
            *READING_OPTIONS,
            "scan.lsn-commit.checkpoints-num-delay",
            "debezium.publication.name",
            "debezium.publication.autocreate.mode",
        ),
        unused={
            "heartbeat.interval.ms": "positions follow the log of the server even if the table does not change",
            **UNUSED,
            "connect.pool.size": "a subtask has one connection at a time",
            f"{INCREMENTAL}backfill.skip": "all chunks are read at one point of the log, so there is nothing to skip",
            "table-id.include-database": "the source reads one table",
        },
        refused={
            "scan.include-partitioned-tables.enabled": "the table must be an ordinary one",
            "scan.newly-added-table.enabled": "the source reads one table",
            "debezium.snapshot.mode": _OTHERWISE + "see 'scan.startup.mode'",
            "debezium.snapshot.select.statement.overrides": _OTHERWISE + "filter the rows in the query",
            "debezium.slot.drop.on.stop": _OTHERWISE + "the slot stays until it is dropped by hand",
        },
    )
}

_NO_NAME = re.compile(r"[*+?|()\[\]\\^]")


def source(table: ResolvedTable, context: ConnectorContext) -> PostgresCdcTable:
    """Return the source that captures a table.

    Raises:
        ValidationException: an option is missing, unknown, refused or invalid.
    """
    return PostgresCdcTable(table)


class PostgresCdcTable:
    """A table of PostgreSQL with its changes.

    Args:
        table: The table.
    """

    metadata = METADATA

    is_bounded = False

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = options = OPTIONS["postgres-cdc"].read(table.options, "postgres-cdc")
        check_scalars(table.physical_columns, "connector 'postgres-cdc'", has_arrays=True)
        options.choice("decoding.plugin.name", ("pgoutput",), "pgoutput")
        self._is_upsert = options.choice("changelog-mode", ("all", "upsert"), "all") == "upsert"
        if self._is_upsert and not table.primary_key:
            raise ValidationException("'changelog-mode' = 'upsert' needs a PRIMARY KEY")
        kinds = UPSERT if self._is_upsert else ALL_KINDS
        self.kinds: frozenset[Kind] = INSERT_ONLY if is_append_only(options) else kinds
        self._settings(ScanRequest(table.physical_columns))

    def _address(self) -> Address:
        options = self._options
        for key in ("schema-name", "table-name"):
            if _NO_NAME.search(options.text(key)):
                raise options.invalid(key, "one name; regular expressions are not supported")
        hostname, username, password, database, schema, name = (
            options.text(key)
            for key in ("hostname", "username", "password", "database-name", "schema-name", "table-name")
        )
        port = options.positive("port", 5432)
        return Address(hostname, port, username, password, database, schema, name, *connecting(options))

    def _settings(self, request: ScanRequest) -> CdcSettings:
        options = self._options
        slot = options.text("slot.name")
        if not re.fullmatch(r"[a-z0-9_]{1,63}", slot):
            raise options.invalid("slot.name", "up to 63 lower-case letters, digits and underscores")
        kept = options.number("scan.lsn-commit.checkpoints-num-delay", 3)
        if kept < 0:
            raise options.invalid("scan.lsn-commit.checkpoints-num-delay", "an integer of zero or more")
        modes = ("filtered", "all_tables", "disabled")
        startup = options.choice("scan.startup.mode", ("initial", "latest-offset", "committed-offset"), "initial")
        return CdcSettings(
            address=self._address(),
            slot=slot,
            primary_key=self._table.primary_key,
            startup=startup,
            is_upsert=self._is_upsert,
            kept_checkpoints=kept,
            publication=options.text("debezium.publication.name", "dbz_publication"),
            creates_publication=options.choice("debezium.publication.autocreate.mode", modes, "filtered"),
            **reading_options(options, request, is_parallel=False),
        )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        captured = PostgresCdcSource(self._settings(request))
        return environment.from_source(captured, WatermarkStrategy.no_watermarks(), name)
