"""A connector reads each option that its table declares as effective."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import pytest

from firesteel.common.table_errors import ValidationException
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.connectors.formats.table_format import Columns, make_format
from firesteel.connectors.identifiers import Use, table_connectors, table_formats
from firesteel.connectors.table_connector import Column, ResolvedTable, ScanRequest, SinkRequest
from firesteel.connectors.table_options import Options
from firesteel.connectors.table_registry import ConnectorContext
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, TableConfig
from tests.table.test_option_tables import tables


class Recorded(dict[str, str]):
    """Options that note which of them are looked at."""

    def __init__(self, values: Mapping[str, str], seen: set[str], prefix: str = "") -> None:
        super().__init__(values)
        self.seen, self.prefix = seen, prefix

    def __getitem__(self, key: str) -> str:
        self.seen.add(self.prefix + key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.seen.add(self.prefix + key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.seen.add(self.prefix + str(key))
        return super().__contains__(key)

    def below(self, prefix: str) -> Recorded:
        """Return the options with a prefix; whoever asks for them passes on those that it does not know."""
        self.seen.update(self.prefix + key for key in self.keys() if key.startswith(prefix))
        own = {key[len(prefix) :]: value for key, value in self.items() if key.startswith(prefix)}
        return Recorded(own, self.seen, self.prefix + prefix)


@pytest.fixture(autouse=True)
def recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `Options` keep what records."""

    def init(self: Options, values: Mapping[str, str], owner: str, *, warns_of_unknown: bool = False) -> None:
        self.values = values if isinstance(values, Recorded) else dict(values)
        self.owner = owner
        self._warns_of_unknown = warns_of_unknown

    def below(self: Options, prefix: str, owner: str, **how: bool) -> Options:
        values = self.values
        found = (
            values.below(prefix)
            if isinstance(values, Recorded)
            else {key[len(prefix) :]: value for key, value in values.items() if key.startswith(prefix)}
        )
        return Options(found, owner, **how)

    monkeypatch.setattr(Options, "__init__", init)
    monkeypatch.setattr(Options, "below", below)


def _credentials(provider: str, below: str, *keys: str) -> dict[str, str]:
    prefix = "aws.credentials.provider"
    return {prefix: provider, **{f"{prefix}.{below}.{key}": "a" for key in keys}}


COLUMNS = (Column("k", DataTypes.INT().not_null()), Column("v", DataTypes.STRING()))
CACHES = (
    {"lookup.cache": "PARTIAL", "lookup.partial-cache.max-rows": "1"},
    {"lookup.cache.max-rows": "1", "lookup.cache.ttl": "1 s"},
)
SERVERS = {"properties.bootstrap.servers": "localhost:1", "properties.group.id": "g", "topic": "t"}
STREAM = {"format": "json", "aws.region": "eu-west-1", "aws.endpoint": "http://localhost:1"}
CREDENTIALS = (
    {
        "aws.credentials.provider": "BASIC",
        **{f"aws.credentials.provider.basic.{key}": "a" for key in ("accesskeyid", "secretkey")},
    },
    {
        "aws.credentials.provider": "PROFILE",
        **{f"aws.credentials.provider.profile.{key}": "a" for key in ("name", "path")},
    },
    {
        "aws.credentials.provider": "ASSUME_ROLE",
        **{f"aws.credentials.provider.role.{key}": "a" for key in ("arn", "sessionName", "externalId")},
    },
)
DATABASE = dict.fromkeys(("hostname", "username", "password", "database-name", "table-name"), "localhost")
INDEX = {"hosts": "http://localhost:1", "index": "i"}
BACKOFF = {"sink.bulk-flush.backoff.strategy": "CONSTANT"}
SERVICE = {"url": "http://localhost:1", "format": "json"}
COMMIT = {"sink.partition-commit.trigger": "partition-time", "sink.partition-commit.policy.kind": "success-file"}
EXPONENTIAL = "exponential-delay"


def http(prefix: str) -> list[dict[str, str]]:
    lookup = f"{prefix}source.lookup"
    return [
        {**SERVICE, "lookup-method": "POST", f"{lookup}.retry-strategy.type": "fixed-delay", **CACHES[0]},
        {**SERVICE, "lookup-method": "POST", f"{lookup}.retry-strategy.type": EXPONENTIAL},
        {
            **SERVICE,
            f"{lookup}.proxy.host": "h",
            f"{lookup}.proxy.port": "1",
            f"{lookup}.query-creator": "http-generic-json-url",
        },
    ]


VARIANTS: dict[str, list[dict[str, str]]] = {
    "blackhole": [{}],
    "clickhouse": [{"url": "clickhouse://localhost:1", "table-name": "t"}],
    "datagen": [{"number-of-rows": "1"}],
    "elasticsearch-6": [{**INDEX, **BACKOFF, "document-type": "d"}],
    "elasticsearch-7": [{**INDEX, **BACKOFF}],
    "elasticsearch-8": [INDEX],
    "opensearch": [{**INDEX, **BACKOFF}],
    "faker": [{"fields.k.expression": "1", "fields.v.expression": "a"}],
    "filesystem": [
        {"path": "/nowhere", "format": "json", **COMMIT},
        {"path": "/nowhere", "format": "json", **COMMIT, "partition.time-extractor.class": "c"},
    ],
    "firehose": [{"delivery-stream": "s", **STREAM, **each} for each in CREDENTIALS],
    "kinesis": [{"stream": "s", **STREAM, **each} for each in CREDENTIALS],
    "kinesis-legacy": [{"stream": "s", **STREAM, **each} for each in CREDENTIALS],
    "http": http("http."),
    "rest-lookup": http("gid.connector.http."),
    "jdbc": [{"url": "jdbc:postgresql://localhost:1/d", "table-name": "t", **each} for each in CACHES],
    "kafka": [
        {**SERVERS, "format": "json", "scan.bounded.mode": "timestamp", "scan.startup.mode": "timestamp"},
        {**SERVERS, "format": "json", "scan.startup.mode": "specific-offsets"},
        {**SERVERS, "format": "json", "scan.bounded.mode": "specific-offsets"},
        {**SERVERS, "value.format": "json", "key.format": "json", "key.fields": "k"},
    ],
    "upsert-kafka": [
        {**SERVERS, "value.format": "json", "key.format": "json", "scan.bounded.mode": mode}
        for mode in ("timestamp", "specific-offsets")
    ],
    "mongodb": [{"uri": "mongodb://localhost:1", "database": "d", "collection": "c", **each} for each in CACHES],
    "print": [{}],
    "redis": [{"host": "localhost", "command": "SET", **each} for each in CACHES],
    "state": [{"job": "j", "state": "s", "uid": "u", **each} for each in CACHES],
    "savepoint": [{"state.path": "/nowhere", "operator.uid": "u"}],
    "mysql-cdc": [{**DATABASE, "scan.startup.mode": mode} for mode in ("initial", "timestamp", "specific-offset")],
    "postgres-cdc": [{**DATABASE, "schema-name": "s", "slot.name": "s"}],
}


def used(identifier: str, given: Mapping[str, str]) -> set[str]:
    """Return the options that are looked at when a table is read, looked up and written."""
    seen: set[str] = set()
    options = Recorded({"connector": identifier, **given}, seen)
    key = () if identifier in ("blackhole", "print", "filesystem", "kafka") else ("k",)
    table = ResolvedTable(("c", "d", "t"), COLUMNS, options, None, key, ("v",) if identifier == "filesystem" else ())
    module = importlib.import_module(table_connectors()[identifier])
    context = ConnectorContext(TableConfig(), True)
    environment = StreamExecutionEnvironment.get_execution_environment()
    for way in (_read, _looked_up, _written):
        with suppress(ValidationException):  # e.g. an option that has another one missing
            way(module, table, context, environment)
    return seen


def _read(module: Any, table: ResolvedTable, context: ConnectorContext, environment: Any) -> None:
    if hasattr(module, "source"):
        found = module.source(table, context)
        found.stream(
            environment, ScanRequest(COLUMNS, watermarks=WatermarkStrategy.for_monotonous_timestamps()), "read"
        )
        if hasattr(found, "row_count"):
            found.row_count()


def _looked_up(module: Any, table: ResolvedTable, context: ConnectorContext, environment: Any) -> None:
    if hasattr(module, "source") and hasattr(found := module.source(table, context), "lookup"):
        found.lookup(["k"])


def _written(module: Any, table: ResolvedTable, context: ConnectorContext, environment: Any) -> None:
    if hasattr(module, "sink"):
        stream = environment.from_collection([1])
        module.sink(table, SinkRequest(), context).consume(stream, "written")


PASSED_ON = ("delta", "iceberg", "spark")
"""Connectors whose options a library gets as properties, or that need a table to read them."""


@pytest.mark.parametrize("identifier", sorted({*tables()} - {*PASSED_ON}))
def test_each_option_is_read(identifier: str) -> None:
    declared = tables()[identifier]
    seen = set().union(*(used(identifier, given) for given in VARIANTS[identifier]))
    assert sorted({*declared.optional} - seen) == []


# --- formats ---------------------------------------------------------------------------------------------------------

FORMATS: dict[str, list[dict[str, str]]] = {
    "avro": [{}],
    "csv": [{}],
    "json": [{"map-null-key.mode": "LITERAL"}],
    "parquet": [{}],
    "protobuf": [{"message-class-name": "google.protobuf.wrappers_pb2.StringValue"}],
    "raw": [{}],
}
"""Options of the formats; those of Debezium and Confluent pass theirs on to one of these."""

UNUSED = {"decode.json-parser.enabled"}
"""There is one parser."""


@pytest.mark.parametrize(
    ("use", "identifier"), [(u, name) for u in ("files", "messages") for name in table_formats(u) if name in FORMATS]
)
def test_each_option_of_a_format_is_read(use: Use, identifier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    declared: set[str] = set()
    seen: set[str] = set()
    check = Options.check

    def noted(self: Options, required: Any, optional: Any, prefixes: tuple[str, ...] = ()) -> None:
        declared.update(optional)
        check(self, required, optional, prefixes)

    monkeypatch.setattr(Options, "check", noted)
    column = "value" if "protobuf" in identifier else "v"
    for given in FORMATS[identifier]:
        made = make_format(
            identifier, Columns((column,), (DataTypes.STRING(),)), Options(Recorded(given, seen), identifier), use
        )
        with suppress(ValidationException):
            made.check_sink()
    assert sorted(declared - seen - UNUSED) == []
    assert declared
