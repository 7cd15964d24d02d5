"""The connector `clickhouse`, which Flink has not, with the options of the public flink-connector-clickhouse."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from firesteel.columns.batch import ColumnBatch, Kind
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.clickhouse.client import ClickHouse, quoted
from firesteel.connectors.clickhouse.source import ClickHouseSource
from firesteel.connectors.clickhouse.values import check_types, lines_of, selected
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.scan_ranges import RANGE_OPTIONS, scan_ranges
from firesteel.connectors.table_connector import (
    INSERT_ONLY,
    UPSERT,
    Column,
    ResolvedTable,
    ScanRequest,
    SinkRequest,
)
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.functions.connector_base import Sink, SinkWriter, WriterInitContext

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_STRATEGY = "sink.update-strategy"
_DEAL = "ClickHouse deals out the rows of a distributed table"
OPTIONS = {
    "clickhouse": OptionTable(
        required=("url", "table-name"),
        optional=("username", "password", "database-name", "sink.batch-size", "sink.max-retries", _STRATEGY,
                  "sink.ignore-delete", *RANGE_OPTIONS),
        unused={"sink.flush-interval": "rows are sent at the end of each batch"},
        refused={
            "use-local": "name the local table instead",
            "sink.write-local": "name the local table instead",
            "sink.partition-strategy": _DEAL,
            "sink.partition-key": _DEAL,
            "sink.sharding.use-table-definition": _DEAL,
            "catalog.ignore-primary-key": "there is no catalog of ClickHouse",
        },
    )
}  # fmt: skip


def source(table: ResolvedTable, context: ConnectorContext) -> ClickHouseTable:
    """Return the source that reads a table."""
    return ClickHouseTable(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> ClickHouseTable:
    """Return the sink that writes a table."""
    return ClickHouseTable(table)


class ClickHouseTable:
    """A table of ClickHouse; a source and a sink."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable) -> None:
        check_types(table.physical_columns)
        self._table = table
        self._options = OPTIONS["clickhouse"].read(table.options, "clickhouse")
        self._server = _server(self._options)
        self._strategy = self._options.choice(_STRATEGY, ("update", "insert", "discard"), "update")
        if not self._options.flag("sink.ignore-delete", True):
            raise self._options.invalid("sink.ignore-delete", "true: ClickHouse deletes rows by rewriting whole parts")

    @property
    def _name(self) -> str:
        return quoted(self._options.text("table-name"))

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        # A query without columns, as COUNT(*), still needs a line for each row.
        read = request.columns or self._table.physical_columns[:1]
        columns = ", ".join(selected(column, quoted(column.name)) for column in read)
        queries = tuple(f"SELECT {columns} FROM {self._name}{where}" for where in self._conditions())
        source = ClickHouseSource(self._server, queries, request.columns)
        return environment.from_source(source, WatermarkStrategy.no_watermarks(), name)

    def _conditions(self) -> list[str]:
        """Return a condition per split."""
        ranges = scan_ranges(self._options, self._table.physical_columns)
        if ranges is None:
            return [""]
        name = quoted(ranges.column)
        return [f" WHERE {name} >= {start} AND {name} <= {end}" for start, end in ranges.bounds]

    # --- writing -----------------------------------------------------------------------------------------------------

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the upsert kinds if there is a key.

        Raises:
            ValidationException: rows are updated, but the strategy is `update`, which rewrites whole parts.
        """
        if not self._table.primary_key:
            return INSERT_ONLY
        if kinds != INSERT_ONLY and self._strategy == "update":
            raise ValidationException(
                f"'{_STRATEGY}' = 'update' is not supported, since ClickHouse updates rows by rewriting whole parts; "
                "'insert' adds the new row, which replaces the old one in a ReplacingMergeTree, 'discard' leaves it out"
            )
        return UPSERT

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        written = (Kind.INSERT,) if self._strategy == "discard" else (Kind.INSERT, Kind.UPDATE_AFTER)
        size = self._options.positive("sink.batch-size", 1000)
        sink = ClickHouseSink(self._server, self._name, self._table.physical_columns, written, size)
        return stream.sink_to(sink).name(name)


def _server(options: Options) -> ClickHouse:
    url = options.text("url").removeprefix("jdbc:")
    url = url if "://" in url else f"clickhouse://{url}"
    url = url.replace("clickhouse://", "http://", 1)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path.strip("/"):
        raise options.invalid("url", "clickhouse://host:port with the port of HTTP, or https://host:port")
    given = [key for key in ("username", "password") if key in options.values]
    if len(given) == 1:
        raise ValidationException("'username' and 'password' must be set at the same time")
    user = (options.text("username"), options.text("password")) if given else None
    return ClickHouse(url, options.text("database-name", "default"), user, options.number("sink.max-retries", 3))


class ClickHouseSink(Sink[ColumnBatch]):
    """Inserts rows, at-least-once.

    Args:
        server: The server.
        table: The table, quoted.
        columns: Its columns.
        written: The kinds of rows that are inserted; others are left out.
        rows: Number of rows of a statement.
    """

    def __init__(
        self, server: ClickHouse, table: str, columns: tuple[Column, ...], written: tuple[Kind, ...], rows: int
    ) -> None:
        super().__init__()
        self.server = server
        names = ", ".join(quoted(column.name) for column in columns)
        self.statement = f"INSERT INTO {table} ({names}) FORMAT JSONEachRow"
        self.columns = columns
        self.written = written
        self.rows = rows

    def create_writer(self, context: WriterInitContext) -> ClickHouseWriter:
        """Return the writer of a subtask."""
        return ClickHouseWriter(self)


class ClickHouseWriter(SinkWriter[ColumnBatch]):
    """Buffers rows and inserts them when there are enough and at the end of each batch."""

    def __init__(self, sink: ClickHouseSink) -> None:
        self._sink = sink
        self._lines: list[str] = []

    def write(self, element: ColumnBatch, timestamp: int | None) -> None:
        """Write the rows of a batch.

        Raises:
            ClickHouseError: ClickHouse rejected rows or did not respond.
            ValueError: a row has a value that JSON has not.
        """
        kinds = element.kinds_or_inserts().tolist()
        lines = lines_of(element, self._sink.columns)
        self._lines += [line for kind, line in zip(kinds, lines, strict=True) if kind in self._sink.written]
        while len(self._lines) >= self._sink.rows:
            self._send(self._sink.rows)

    def flush(self, end_of_input: bool) -> None:
        """Insert the buffered rows, as a checkpoint may follow."""
        if self._lines:
            self._send(len(self._lines))

    def _send(self, count: int) -> None:
        lines, self._lines = self._lines[:count], self._lines[count:]
        self._sink.server.run(self._sink.statement, "\n".join(lines).encode())
