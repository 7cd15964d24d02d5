"""The connector `postgres-cdc`. Flink CDC: `PostgreSQLTableFactory`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from firesteel.columns.batch import Kind
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.postgres_cdc.reader import METADATA
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.connectors.postgres_cdc.source import PostgresCdcSource
from firesteel.connectors.table_connector import (
    ALL_KINDS,
    INSERT_ONLY,
    UPSERT,
    ResolvedTable,
    ScanRequest,
    check_metadata,
)
from firesteel.connectors.table_registry import ConnectorContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_INCREMENTAL = "scan.incremental.snapshot."
_EVEN = "keys divide the table by counting, whether they are even or not"
_OTHERWISE = "Debezium is not used; "

OPTIONS = {
    "postgres-cdc": OptionTable(
        required=("hostname", "username", "password", "database-name", "schema-name", "table-name", "slot.name"),
        optional=(
            "port",
            "decoding.plugin.name",
            "changelog-mode",
            "connect.timeout",
            "connect.max-retries",
            "scan.startup.mode",
            f"{_INCREMENTAL}enabled",
            f"{_INCREMENTAL}chunk.size",
            f"{_INCREMENTAL}chunk.key-column",
            "scan.snapshot.fetch.size",
            "scan.lsn-commit.checkpoints-num-delay",
            "scan.read-changelog-as-append-only.enabled",
            "debezium.publication.name",
            "debezium.publication.autocreate.mode",
        ),
        unused={
            "heartbeat.interval.ms": "positions follow the log of the server even if the table does not change",
            "connect.pool.size": "a subtask has one connection at a time",
            "connection.pool.size": "a subtask has one connection at a time",
            "chunk-meta.group.size": "chunks are part of checkpoints and are not sent in messages",
            f"{_INCREMENTAL}unbounded-chunk-first.enabled": "all chunks have the same number of rows",
            f"{_INCREMENTAL}backfill.skip": "all chunks are read at one point of the log, so there is nothing to skip",
            "scan.incremental.close-idle-reader.enabled": "an idle subtask has at most a connection at rest",
            "chunk-key.even-distribution.factor.upper-bound": _EVEN,
            "chunk-key.even-distribution.factor.lower-bound": _EVEN,
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

    is_bounded = False

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = options = OPTIONS["postgres-cdc"].read(table.options, "postgres-cdc")
        options.choice("decoding.plugin.name", ("pgoutput",), "pgoutput")
        self._is_upsert = options.choice("changelog-mode", ("all", "upsert"), "all") == "upsert"
        self._is_append_only = options.flag("scan.read-changelog-as-append-only.enabled")
        if self._is_upsert and not table.primary_key:
            raise ValidationException("'changelog-mode' = 'upsert' needs a PRIMARY KEY")
        kinds = UPSERT if self._is_upsert else ALL_KINDS
        self.kinds: frozenset[Kind] = INSERT_ONLY if self._is_append_only else kinds
        self._settings(ScanRequest(table.physical_columns))

    def _address(self) -> Address:
        options = self._options
        for key in ("schema-name", "table-name"):
            if _NO_NAME.search(options.text(key)):
                raise options.invalid(key, "one name; regular expressions are not supported")
        timeout_ms, retries = options.duration_ms("connect.timeout", 30_000), options.number("connect.max-retries", 3)
        if not timeout_ms:
            raise options.invalid("connect.timeout", "a duration above zero")
        if retries < 0:
            raise options.invalid("connect.max-retries", "an integer of zero or more")
        hostname, username, password, database, schema, name = (
            options.text(key)
            for key in ("hostname", "username", "password", "database-name", "schema-name", "table-name")
        )
        port, timeout_s = options.positive("port", 5432), -(-timeout_ms // 1000)
        return Address(hostname, port, username, password, database, schema, name, timeout_s, retries)

    def _settings(self, request: ScanRequest) -> CdcSettings:
        options = self._options
        slot = options.text("slot.name")
        if not re.fullmatch(r"[a-z0-9_]{1,63}", slot):
            raise options.invalid("slot.name", "up to 63 lower-case letters, digits and underscores")
        kept = options.number("scan.lsn-commit.checkpoints-num-delay", 3)
        if kept < 0:
            raise options.invalid("scan.lsn-commit.checkpoints-num-delay", "an integer of zero or more")
        modes = ("filtered", "all_tables", "disabled")
        return CdcSettings(
            self._address(),
            slot,
            request.columns,
            tuple(key for key, _ in request.metadata),
            self._table.primary_key,
            options.choice("scan.startup.mode", ("initial", "latest-offset", "committed-offset"), "initial"),
            options.flag(f"{_INCREMENTAL}enabled"),
            options.positive(f"{_INCREMENTAL}chunk.size", 8096),
            options.text(f"{_INCREMENTAL}chunk.key-column"),
            options.positive("scan.snapshot.fetch.size", 1024),
            self._is_upsert,
            self._is_append_only,
            kept,
            options.text("debezium.publication.name", "dbz_publication"),
            options.choice("debezium.publication.autocreate.mode", modes, "filtered"),
        )

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches.

        Raises:
            ValidationException: a metadata column does not exist.
        """
        check_metadata((key for key, _ in request.metadata), METADATA)
        captured = PostgresCdcSource(self._settings(request))
        return environment.from_source(captured, WatermarkStrategy.no_watermarks(), name)
