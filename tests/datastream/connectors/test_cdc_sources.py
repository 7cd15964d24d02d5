"""Changes of tables of real servers as a DataStream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.connectors.cdc.enumerator import POLLING_MS
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.cdc import (
    DebeziumDeserializationSchema,
    JsonDebeziumDeserializationSchema,
    MySqlSource,
    MySqlSourceBuilder,
    PostgresIncrementalSourceBuilder,
    PostgresSourceBuilder,
    StartupOptions,
)
from firesteel.testing import ManualClock, run_local
from tests.table.captured_mysql import MySqlServer, mysql_server
from tests.table.captured_tables import Server, server


@pytest.fixture(scope="module")
def mysql() -> Iterator[MySqlServer]:
    with mysql_server() as found:
        yield found


def elements(source: Any, checkpoint: Path, **more: Any) -> list[Any]:
    """The elements of some batches."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "changes").collect_async()
    given = {"batches": 8, "batch_elements": 10_000, **more}
    with ManualClock() as clock:
        return run_local(env, checkpoint=checkpoint, clock=clock, clock_step_ms=2 * POLLING_MS, **given).elements


def mysql_source(mysql: MySqlServer, *tables: str) -> MySqlSourceBuilder:
    builder = MySqlSource.builder().hostname("127.0.0.1").port(mysql.port).username("tester").password("se&cret")
    return builder.database_list("test").table_list(*tables).deserializer(JsonDebeziumDeserializationSchema())


def shown(texts: list[str]) -> list[tuple[Any, ...]]:
    """Operations, tables and rows of JSON texts."""
    records = [json.loads(text) for text in texts]
    return [(one["op"], one["source"]["table"], one["before"], one["after"]) for one in records]


def test_tables_of_mysql(mysql: MySqlServer, tmp_path: Path) -> None:
    mysql.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, amount decimal(10, 2))",
        "CREATE TABLE item_1 (k int, v varchar(9), PRIMARY KEY (k))",
        "CREATE TABLE other (k int PRIMARY KEY)",
        "INSERT INTO orders VALUES (1, 1.5)",
        "INSERT INTO item_1 VALUES (1, 'é')",
    )
    source = mysql_source(mysql, "test.orders, test.item_.*").debezium_properties({"decimal.handling.mode": "string"})
    first = elements(source.build(), tmp_path)
    assert sorted(shown(first), key=repr) == [
        ("r", "item_1", None, {"k": 1, "v": "é"}),
        ("r", "orders", None, {"id": 1, "amount": "1.50"}),
    ]
    record = json.loads(first[0])
    assert (record["ts_ms"], record["transaction"], record["source"]["snapshot"]) == (0, None, "true")
    mysql.execute(
        "INSERT INTO orders VALUES (2, 2)",
        "UPDATE item_1 SET v = 'w'",
        "INSERT INTO other VALUES (1)",
        "UPDATE orders SET id = 3 WHERE id = 2",
        "DELETE FROM orders WHERE id = 1",
    )
    second = elements(source.build(), tmp_path)
    assert shown(second) == [
        ("c", "orders", None, {"id": 2, "amount": "2.00"}),
        ("u", "item_1", {"k": 1, "v": "é"}, {"k": 1, "v": "w"}),
        ("d", "orders", {"id": 2, "amount": "2.00"}, None),
        ("c", "orders", None, {"id": 3, "amount": "2.00"}),
        ("d", "orders", {"id": 1, "amount": "1.50"}, None),
    ]
    record = json.loads(second[0])
    assert record["ts_ms"] == record["source"]["ts_ms"] > 1_700_000_000_000
    assert record["source"] | {"ts_ms": 0} == {
        "connector": "mysql", "name": "mysql_binlog_source", "db": "test", "table": "orders", "ts_ms": 0,
        "snapshot": "false",
    }  # fmt: skip


MYSQL_VALUES = (
    ("tinyint(1)", "1", 1),
    ("bigint unsigned", "18446744073709551615", 18_446_744_073_709_551_615),
    ("float", "0.5", 0.5),
    ("decimal(5, 2)", "-1.28", "gA=="),
    ("decimal(50, 1)", "2.5", "2.5"),
    ("bit(1)", "1", True),
    ("bit(16)", "b'0000000100000010'", "AgE="),
    ("date", "'1970-01-11'", 10),
    ("time(6)", "'-01:00:00.000001'", -3_600_000_001),
    ("datetime(3)", "'1970-01-01 00:00:01.5'", 1500),
    ("datetime(6)", "'1970-01-01 00:00:01.5'", 1_500_000),
    ("timestamp(3)", "from_unixtime(1700000000.25)", "2023-11-14T22:13:20.25Z"),
    ("timestamp", "from_unixtime(1700000000)", "2023-11-14T22:13:20Z"),
    ("year", "2024", 2024),
    ("set('x', 'y')", "'y,x'", "x,y"),
    ("enum('a')", "'a'", "a"),
    ("blob", "x'00ff'", "AP8="),
)


def test_values_of_mysql(mysql: MySqlServer, tmp_path: Path) -> None:
    columns = ", ".join(f"c{place} {kind} NULL" for place, (kind, _, _) in enumerate(MYSQL_VALUES))
    values = ", ".join(text for _, text, _ in MYSQL_VALUES)
    mysql.execute(f"CREATE TABLE every (id int PRIMARY KEY, {columns})", f"INSERT INTO every VALUES (1, {values})")
    source = mysql_source(mysql, "test.every").build()
    found = elements(source, tmp_path)
    mysql.execute(f"INSERT INTO every VALUES (1 + 1, {values})", "INSERT INTO every (id) VALUES (3)")
    found += elements(source, tmp_path)
    expected = {f"c{place}": value for place, (_, _, value) in enumerate(MYSQL_VALUES)}
    nulls = dict.fromkeys(expected)
    assert [after for _, _, _, after in shown(found)] == [{"id": 1} | expected, {"id": 2} | expected, {"id": 3} | nulls]


class Keys(DebeziumDeserializationSchema):
    """Two elements for each change."""

    def deserialize(self, record: Any) -> Iterator[Any]:
        yield record.op
        yield (record.after or record.before)["id"]


def test_an_own_schema_and_where_to_start(mysql: MySqlServer, tmp_path: Path) -> None:
    mysql.execute("CREATE TABLE started (id int PRIMARY KEY)", "INSERT INTO started VALUES (1)")
    file, place, *_ = mysql.execute("SHOW MASTER STATUS")[0]
    mysql.execute("INSERT INTO started VALUES (2)", "DELETE FROM started WHERE id = 1")
    source = mysql_source(mysql, "test.started").deserializer(Keys())
    at = source.startup_options(StartupOptions.specific_offset(file, place)).build()
    assert elements(at, tmp_path / "a") == ["c", 2, "d", 1]
    assert elements(source.startup_options(StartupOptions.latest()).build(), tmp_path / "b") == []
    bounded = source.startup_options(StartupOptions.snapshot()).build()
    assert elements(bounded, tmp_path / "c", batches=None) == ["r", 2]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda source: source.include_schema_changes(True), "schema changes are refused"),
        (lambda source: source.scan_newly_added_table_enabled(True), "added later are not captured"),
        (lambda source: source.debezium_properties({"snapshot.mode": "never"}), "Debezium is not used"),
        (lambda source: source.startup_options(StartupOptions.committed()).build(), "starts at initial, earliest"),
        (lambda source: source.table_list().build(), "set table_list"),
        (lambda source: source.server_id("x").build(), "a server id is a number"),
        (lambda source: JsonDebeziumDeserializationSchema(True), "include_schema is not supported"),
    ],
)
def test_what_is_refused(change: Any, reason: str) -> None:
    source = mysql_source(MySqlServer("mysql://127.0.0.1:1/test"), "test.orders")
    with pytest.raises(ValueError, match=reason):
        change(source)


# --- PostgreSQL -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as found:
        yield found


def postgres_source(postgres: Server, slot: str, *tables: str) -> PostgresIncrementalSourceBuilder:
    port = int(postgres.options("t")["port"])
    builder = PostgresSourceBuilder.PostgresIncrementalSource.builder().hostname("127.0.0.1").port(port)
    builder = builder.database("postgres").schema_list("public").username("tester").password("-").slot_name(slot)
    return builder.table_list(*tables).deserializer(JsonDebeziumDeserializationSchema()).split_size(2)


def test_tables_of_postgresql(postgres: Server, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE orders (id int PRIMARY KEY, amount numeric(10, 2))",
        "CREATE TABLE item_1 (k int PRIMARY KEY, v text)",
        "CREATE TABLE other (k int PRIMARY KEY)",
        "CREATE SCHEMA more",
        "CREATE TABLE more.item_2 (k int PRIMARY KEY)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "ALTER TABLE item_1 REPLICA IDENTITY FULL",
        "INSERT INTO orders SELECT n, n FROM generate_series(1, 9) AS n",
        "INSERT INTO item_1 SELECT n, 'é' FROM generate_series(1, 9) AS n",
        "INSERT INTO more.item_2 VALUES (1)",
    )
    source = postgres_source(postgres, "tables", ".*orders, .*item_.*")
    source = source.debezium_properties({"decimal.handling.mode": "string"}).build()
    first = shown(elements(source, tmp_path))
    orders = [("r", "orders", None, {"id": n, "amount": f"{n}.00"}) for n in range(1, 10)]
    assert sorted(first, key=repr) == [*(("r", "item_1", None, {"k": n, "v": "é"}) for n in range(1, 10)), *orders]
    postgres.execute(
        "INSERT INTO orders VALUES (20, 2)",
        "UPDATE item_1 SET v = 'w' WHERE k = 1",
        "INSERT INTO other VALUES (1)",
        "UPDATE orders SET id = 30 WHERE id = 20",
    )
    second = elements(source, tmp_path)
    assert shown(second) == [
        ("c", "orders", None, {"id": 20, "amount": "2.00"}),
        ("u", "item_1", {"k": 1, "v": "é"}, {"k": 1, "v": "w"}),
        ("d", "orders", {"id": 20, "amount": "2.00"}, None),
        ("c", "orders", None, {"id": 30, "amount": "2.00"}),
    ]
    assert json.loads(second[0])["source"] | {"ts_ms": 0} == {
        "connector": "postgresql", "name": "postgres_cdc_source", "db": "postgres", "schema": "public",
        "table": "orders", "ts_ms": 0, "snapshot": "false",
    }  # fmt: skip


POSTGRES_VALUES = (
    ("smallint", "-3", -3),
    ("double precision", "0.5", 0.5),
    ("numeric(5, 2)", "-1.28", "gA=="),
    ("numeric", "2.5", {"scale": 1, "value": "GQ=="}),
    ("boolean", "true", True),
    ("date", "'1970-01-11'", 10),
    ("time", "'01:00:00.000001'", 3_600_000_001),
    ("timestamp", "'1970-01-01 00:00:01.5'", 1_500_000),
    ("timestamptz", "to_timestamp(1700000000.25)", "2023-11-14T22:13:20.25Z"),
    ("uuid", "'00000000-0000-0000-0000-00000000000a'", "00000000-0000-0000-0000-00000000000a"),
    ("jsonb", """'{"a": 1}'""", '{"a": 1}'),
    ("bytea", r"'\x00ff'", "AP8="),
    ("int[]", "'{1,NULL}'", [1, None]),
    ("text[]", "'{a,b}'", ["a", "b"]),
)


def test_values_of_postgresql(postgres: Server, tmp_path: Path) -> None:
    columns = ", ".join(f"c{place} {kind}" for place, (kind, _, _) in enumerate(POSTGRES_VALUES))
    values = ", ".join(text for _, text, _ in POSTGRES_VALUES)
    postgres.execute(f"CREATE TABLE every (id int PRIMARY KEY, {columns})", f"INSERT INTO every VALUES (1, {values})")
    source = postgres_source(postgres, "every", "public.every").build()
    found = elements(source, tmp_path)
    postgres.execute(f"INSERT INTO every VALUES (2, {values})", "INSERT INTO every (id) VALUES (3)")
    found += elements(source, tmp_path)
    expected = {f"c{place}": value for place, (_, _, value) in enumerate(POSTGRES_VALUES)}
    nulls = dict.fromkeys(expected)
    assert [after for _, _, _, after in shown(found)] == [{"id": 1} | expected, {"id": 2} | expected, {"id": 3} | nulls]


def test_what_postgresql_lacks(postgres: Server, tmp_path: Path) -> None:
    postgres.execute("CREATE TABLE paid (id int PRIMARY KEY, v money)", "INSERT INTO paid VALUES (1, 1)")
    with pytest.raises(Exception, match=r"column 'v' of table public.paid .* has the type money, which has no form"):
        elements(postgres_source(postgres, "paid", "public.paid").build(), tmp_path / "a")
    with pytest.raises(Exception, match=r"none of the tables of database postgres .* matches"):
        elements(postgres_source(postgres, "none", "nowhere.paid").build(), tmp_path / "b")
    with pytest.raises(ValueError, match="the plugin must be pgoutput"):
        postgres_source(postgres, "plugin", "public.paid").decoding_plugin_name("decoderbufs")
    with pytest.raises(ValueError, match="starts at initial, latest-offset, committed-offset, found earliest-offset"):
        postgres_source(postgres, "early", "public.paid").startup_options(StartupOptions.earliest()).build()
