"""The connector `jdbc`. Flink: `JdbcDynamicTableFactory`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from firesteel.columns.batch import Kind
from firesteel.columns.column_types import DoubleType, FloatType, IntegralType, NumericType
from firesteel.columns.rex import Rex
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.jdbc.address import database_of
from firesteel.connectors.jdbc.conditions import SqlCondition, SqlConditions
from firesteel.connectors.jdbc.lookup import JdbcLookup, LookupQuery
from firesteel.connectors.jdbc.names import MYSQL, POSTGRES, SqlNames, scheme_of
from firesteel.connectors.jdbc.parameters import GenericParameterValuesProvider
from firesteel.connectors.jdbc.sink import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from firesteel.connectors.jdbc.source import JdbcSource
from firesteel.connectors.jdbc.table_sink import JdbcTableSink
from firesteel.connectors.lookup_cache import OPTIONS as LOOKUP_OPTIONS
from firesteel.connectors.lookup_cache import lookup_cache
from firesteel.connectors.option_table import OptionTable
from firesteel.connectors.scalar_columns import check_scalars
from firesteel.connectors.scan_ranges import RANGE_OPTIONS, scan_ranges
from firesteel.connectors.table_connector import INSERT_ONLY, UPSERT, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.connectors.table_rows import batches_of, row_type_of
from firesteel.functions.operator_builder import with_operator
from firesteel.functions.operator_descriptors import ColumnsToRowsOperator

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment

_FILTERS = "filter.handling.policy"
_OPTIONS = (
    "username",
    "password",
    "scan.fetch-size",
    "sink.max-retries",
    _FILTERS,
    *RANGE_OPTIONS,
    *LOOKUP_OPTIONS,
)
_UNUSED = {
    "driver": "the driver follows from the URL",
    "connection.max-retry-timeout": "a connection that is lost is recognized when it is used",
    "scan.auto-commit": "rows are fetched a part at a time in any case",
    **dict.fromkeys(
        ("sink.buffer-flush.max-rows", "sink.buffer-flush.interval"),
        "rows are written in transactions with the checkpoints",
    ),
}
_DIALECTS = {**dict.fromkeys(MYSQL, "MySQL"), **dict.fromkeys(POSTGRES, "PostgreSQL"), "sqlite": "SQLite"}
_NUMBERS = {"sqlite": (IntegralType, FloatType, DoubleType)}  # it stores decimals as texts
_REFUSED = {"compatible-mode": "the dialect follows from the URL"}
OPTIONS = {"jdbc": OptionTable(("url", "table-name"), _OPTIONS, ("properties.",), unused=_UNUSED, refused=_REFUSED)}


def source(table: ResolvedTable, context: ConnectorContext) -> JdbcTable:
    """Return the source that reads a table of a database."""
    return JdbcTable(table)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> JdbcTable:
    """Return the sink that writes a table of a database."""
    return JdbcTable(table)


class JdbcTable:
    """A table of a database; a source and a sink. With a primary key rows are replaced, else added."""

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable) -> None:
        self._table = table
        self._options = OPTIONS["jdbc"].read(table.options, "jdbc")
        self._url = _with_properties(self._options)
        self._scheme = scheme_of(self._url)
        self._names = SqlNames(self._url, self._options.text("table-name"))
        self._filters = self._options.choice(_FILTERS, ("always", "never"), "always") == "always"
        self._ranges = scan_ranges(self._options, table.physical_columns, _NUMBERS.get(self._scheme, (NumericType,)))
        dialect = f"{_DIALECTS.get(self._scheme, self._scheme)} dialect"
        check_scalars(table.physical_columns, dialect, has_arrays=self._scheme in POSTGRES)

    def uses_condition(self, rex: Rex) -> bool:
        """Return whether the database can filter by a condition."""
        return self._filters and self._conditions().of(rex) is not None

    def _conditions(self) -> SqlConditions:
        columns = self._table.physical_columns
        return SqlConditions(self._scheme, tuple(self._names.quoted(column.name) for column in columns))

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        options = self._options
        # COUNT(*) reads no column, but a SELECT has to have one.
        columns = ", ".join(self._names.quoted(column.name) for column in request.columns) or "1"
        builder = JdbcSource.builder().set_db_url(self._url)
        splits = self._splits(request.condition)
        where = f" WHERE {splits[0].text}" if splits[0].text else ""
        builder.set_sql(f"SELECT {columns} FROM {self._names.table}{where}")
        if splits[0].parameters:
            provider = GenericParameterValuesProvider([split.parameters for split in splits])
            builder.set_jdbc_parameter_values_provider(provider)
        builder.set_type_information(row_type_of(request.columns))
        if "username" in options.values:
            builder.set_username(options.text("username")).set_password(options.text("password"))
        if options.number("scan.fetch-size", 0) > 0:
            builder.set_result_set_fetch_size(options.number("scan.fetch-size"))
        rows = environment.from_source(builder.build(), WatermarkStrategy.no_watermarks(), name)
        return batches_of(rows, request.columns)

    def _splits(self, condition: Rex | None) -> list[SqlCondition]:
        """Return the condition of each split: the same text, with parameters of its own."""
        where = None if condition is None else self._conditions().of(condition)
        if self._ranges is None:
            return [where or SqlCondition("")]
        text = f"{self._names.quoted(self._ranges.column)} BETWEEN ? AND ?"
        ranges = [SqlCondition(text, bounds) for bounds in self._ranges.bounds]
        return ranges if where is None else [SqlCondition.joined("AND", [where, part]) for part in ranges]

    def lookup(self, keys: list[str]) -> JdbcLookup:
        """Return the lookup of all columns by the values of key columns.

        Raises:
            ValidationException: an option of lookups is invalid.
        """
        options, columns = self._options, self._table.physical_columns
        by_name = {column.name: column for column in columns}
        condition = " AND ".join(f"{self._names.quoted(key)} = ?" for key in keys)
        user, password = (options.values.get(key) for key in ("username", "password"))
        selected = ", ".join(self._names.quoted(column.name) for column in columns)
        key_type = row_type_of([by_name[key] for key in keys])
        row_type = row_type_of(columns)
        query = LookupQuery(
            database_of(self._url, user, password),
            f"SELECT {selected} FROM {self._names.table} WHERE {condition}",
            key_type,
            row_type,
            tuple(by_name[key].type for key in keys),
            tuple(column.type for column in columns),
            options.number("lookup.max-retries", 3),
        )
        return JdbcLookup(query, lookup_cache(options))

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the upsert kinds if there is a key."""
        return UPSERT if self._table.primary_key else INSERT_ONLY

    def consume(self, stream: Any, name: str) -> Any:
        """Write the column batches."""
        columns = self._table.physical_columns
        types, names = tuple(column.type for column in columns), tuple(column.name for column in columns)
        row_type = row_type_of(columns)
        rows = with_operator(stream, "ColumnsToRows", ColumnsToRowsOperator(types, names), row_type)
        connection = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(self._url)
        if "username" in self._options.values:
            connection.with_user_name(self._options.text("username")).with_password(self._options.text("password"))
        execution = JdbcExecutionOptions.builder().with_max_retries(self._options.number("sink.max-retries", 3))
        statement, to, how = self._statement(names), connection.build(), execution.build()
        if not self._table.primary_key:
            return rows.sink_to(JdbcSink.sink(statement, row_type, to, how)).name(name)
        keys = tuple(names.index(key) for key in self._table.primary_key)
        return rows.sink_to(JdbcTableSink(statement, self._deletion(), keys, row_type, to, how)).name(name)

    def _deletion(self) -> str:
        keys = " AND ".join(f"{self._names.quoted(key)} = ?" for key in self._table.primary_key)
        return f"DELETE FROM {self._names.table} WHERE {keys}"

    def _statement(self, names: tuple[str, ...]) -> str:
        columns, marks = ", ".join(map(self._names.quoted, names)), ", ".join("?" * len(names))
        insert = f"INSERT INTO {self._names.table} ({columns}) VALUES ({marks})"
        keys = self._table.primary_key
        if not keys:
            return insert
        # A table of key columns alone has nothing to update, but the clause must not be empty.
        others = [name for name in names if name not in keys] or list(keys)
        if self._scheme in MYSQL:
            return f"{insert} ON DUPLICATE KEY UPDATE " + ", ".join(
                f"{self._names.quoted(name)}=VALUES({self._names.quoted(name)})" for name in others
            )
        updates = ", ".join(f"{self._names.quoted(name)}=EXCLUDED.{self._names.quoted(name)}" for name in others)
        return f"{insert} ON CONFLICT ({', '.join(map(self._names.quoted, keys))}) DO UPDATE SET {updates}"


def _with_properties(options: Options) -> str:
    """Return the address with the connection properties in its query."""
    url, properties = options.text("url"), options.below("properties.", "properties").values
    if not properties:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(sorted(properties.items()))}"
