"""The connector `mongodb`. Flink: `MongoDynamicTableFactory`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from firesteel.columns import column_types as t
from firesteel.columns.batch import Kind
from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.key_lookup import KeyLookup, Retries
from firesteel.connectors.lookup_cache import OPTIONS as LOOKUP_OPTIONS
from firesteel.connectors.lookup_cache import lookup_cache
from firesteel.connectors.mongodb.client import Collection
from firesteel.connectors.mongodb.sink import MongoSink, MongoSinkSettings
from firesteel.connectors.mongodb.source import MongoFinder, MongoSource
from firesteel.connectors.mongodb.values import check_types
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
from firesteel.connectors.table_rows import batches_of

if TYPE_CHECKING:
    from firesteel.connectors.table_connector import Batches
    from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
    from firesteel.datastream.streams.stream_base import DataStreamSink

_STRATEGY = "scan.partition.strategy"
_ONE_SPLIT = "a collection is one split"
OPTIONS = {
    "mongodb": OptionTable(
        required=("uri", "database", "collection"),
        optional=("scan.fetch-size", "scan.cursor.no-timeout", _STRATEGY, "lookup.retry.interval", *LOOKUP_OPTIONS,
                  "sink.buffer-flush.max-rows", "sink.max-retries", "sink.retry.interval", "sink.delivery-guarantee",
                  "sink.ordered-writes", "ordered-writes", "sink.bypass-document-validation"),
        unused={
            "sink.buffer-flush.interval": "rows are sent at the end of each batch",
            "filter.handling.policy": "filters are applied to the documents that are read",
        },
        refused=dict.fromkeys(("scan.partition.size", "scan.partition.samples"), _ONE_SPLIT),
    )
}  # fmt: skip


def source(table: ResolvedTable, context: ConnectorContext) -> MongoTable:
    """Return the source that reads a collection, or looks documents up."""
    return MongoTable(table, False)


def sink(table: ResolvedTable, request: SinkRequest, context: ConnectorContext) -> MongoTable:
    """Return the sink that writes a collection.

    Raises:
        ValidationException: an option is invalid, or an INSERT OVERWRITE has no key.
    """
    if request.overwrite and not table.primary_key:
        raise ValidationException("INSERT OVERWRITE of a collection needs a PRIMARY KEY, whose documents it replaces")
    return MongoTable(table, True)


class MongoTable:
    """A collection; a source, a lookup table and a sink. With a primary key documents are updated, else added."""

    abilities = frozenset({Ability.OVERWRITE, Ability.PARTITIONING})

    kinds: frozenset[Kind] = INSERT_ONLY
    is_bounded = True

    def __init__(self, table: ResolvedTable, is_sink: bool) -> None:
        self._table = table
        self._columns = table.physical_columns
        self._options = options = OPTIONS["mongodb"].read(table.options, "mongodb")
        if urlsplit(options.text("uri")).scheme not in ("mongodb", "mongodb+srv"):
            raise options.invalid("uri", "an address such as mongodb://user:password@localhost:27017")
        options.choice(_STRATEGY, ("default", "single"), "default")
        options.choice("sink.delivery-guarantee", ("none", "at-least-once"), "at-least-once")
        self._collection = Collection(*(options.text(key) for key in ("uri", "database", "collection")))
        check_types(self._columns, is_sink)
        if is_sink:
            self._check_key()

    def _check_key(self) -> None:
        key, types = self._table.primary_key, {column.name: column.type for column in self._columns}
        if "_id" in types and key != ("_id",):
            raise ValidationException(
                "Ambiguous keys being used due to the presence of an _id field. Either use the _id column as the key, "
                "or rename the _id column."
            )
        for name in key:
            if isinstance(types[name], (t.ArrayType, t.MapType, t.RowType)):
                raise ValidationException(f"The primary key '{name}' is {type_text(types[name])}, which is no _id")

    def stream(self, environment: StreamExecutionEnvironment, request: ScanRequest, name: str) -> Batches:
        """Return the stream of column batches."""
        options = self._options
        fetch, keeps = options.positive("scan.fetch-size", 2048), options.flag("scan.cursor.no-timeout", True)
        source = MongoSource(self._collection, request.columns, fetch, keeps)
        rows = environment.from_source(source, WatermarkStrategy.no_watermarks(), name)
        return batches_of(rows, request.columns)

    def lookup(self, keys: list[str]) -> KeyLookup:
        """Return the lookup of documents by the values of some fields."""
        options, by_name = self._options, {column.name: column for column in self._columns}
        wait_ms = options.duration_ms("lookup.retry.interval", 1000)
        assert wait_ms is not None
        finder = MongoFinder(self._collection, self._columns, tuple(by_name[key] for key in keys))
        retries = Retries(options.number("lookup.max-retries", 3), partial(_growing, wait_ms / 1000))
        types = tuple(column.type for column in self._columns)
        return KeyLookup(finder, types, lookup_cache(options), retries, "MongoDB")

    # --- writing -----------------------------------------------------------------------------------------------------

    def accepts(self, kinds: frozenset[Kind]) -> frozenset[Kind]:
        """Return the upsert kinds if there is a key."""
        return UPSERT if self._table.primary_key else INSERT_ONLY

    def consume(self, stream: Batches, name: str) -> DataStreamSink:
        """Write the column batches."""
        options = self._options
        retry_ms = options.duration_ms("sink.retry.interval", 1000)
        assert retry_ms is not None
        settings = MongoSinkSettings(
            self._collection,
            self._columns,
            self._table.primary_key,
            self._table.partition_keys,
            options.positive("sink.buffer-flush.max-rows", 1000),
            options.number("sink.max-retries", 3),
            retry_ms / 1000,
            options.flag("sink.ordered-writes", options.flag("ordered-writes", True)),
            options.flag("sink.bypass-document-validation"),
        )
        return stream.sink_to(MongoSink(settings)).name(name)


def _growing(wait_s: float, retry: int) -> float:
    return wait_s * (retry + 1)
