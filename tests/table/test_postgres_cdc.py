"""Tables of a PostgreSQL server that are captured with their changes."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import psycopg
import pytest

from firesteel.common.types import RowKind
from firesteel.table.errors import ValidationException
from firesteel.testing import Fault
from tests.table import cdc_faults
from tests.table.captured_tables import Server, capture, changes, folded, server

ORDERS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
CHUNKS = {"scan.incremental.snapshot.enabled": "true", "scan.incremental.snapshot.chunk.size": "60"}
INSERT, BEFORE, AFTER, DELETE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as found:
        yield found


@pytest.fixture
def orders(postgres: Server) -> Server:
    postgres.execute(
        "DROP TABLE IF EXISTS orders",
        "CREATE TABLE orders (id int PRIMARY KEY, name text)",
        "ALTER TABLE orders REPLICA IDENTITY FULL",
        "INSERT INTO orders SELECT n, 'name ' || n FROM generate_series(1, 250) AS n",
    )
    return postgres


def rows_of(postgres: Server, table: str = "orders") -> list[Any]:
    return sorted(postgres.execute(f"SELECT * FROM {table}"), key=repr)


def test_a_table_and_its_changes(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders") | CHUNKS
    first = changes(capture(ORDERS, options, tmp_path))
    assert [kind for kind, _ in first] == [INSERT] * 250
    orders.execute(
        "INSERT INTO orders VALUES (1000, NULL), (1001, '')",
        "UPDATE orders SET name = 'new' WHERE id = 4",
        "DELETE FROM orders WHERE id = 5",
        "UPDATE orders SET id = 1002 WHERE id = 6",
    )
    second = changes(capture(ORDERS, options, tmp_path))
    assert second == [
        (INSERT, (1000, None)),
        (INSERT, (1001, "")),
        (BEFORE, (4, "name 4")),
        (AFTER, (4, "new")),
        (DELETE, (5, "name 5")),
        (DELETE, (6, "name 6")),
        (INSERT, (1002, "name 6")),
    ]
    assert folded(first + second) == rows_of(orders)


def test_a_snapshot_that_is_lost_goes_on_at_a_later_point(orders: Server, tmp_path: Path) -> None:
    """Each run ends its session; the next one reads the other chunks after more changes."""
    options, found = orders.options("orders") | CHUNKS, []
    for run in range(8):
        rows = 1 if run < 5 else 200  # a chunk of a snapshot, then some of the log
        run_result = capture(ORDERS, options, tmp_path, batches=1, batch_elements=rows, parallelism=1)
        found += changes(run_result)
        orders.execute(
            f"UPDATE orders SET name = 'run {run}' WHERE id % 7 = {run % 7}",
            f"DELETE FROM orders WHERE id % 11 = {run}",
            f"INSERT INTO orders SELECT n, 'more' FROM generate_series({300 + 10 * run}, {305 + 10 * run}) AS n",
            f"UPDATE orders SET id = id + 5000 WHERE id % 13 = {run} AND id < 5000",
            f"UPDATE orders SET id = id - 6000 WHERE id % 17 = {run} AND id >= 5000",
        )
    found += changes(capture(ORDERS, options, tmp_path, batch_elements=10_000))
    assert any(kind is AFTER for kind, _ in found), "the log was not reached"
    assert folded(found) == rows_of(orders)


def test_a_savepoint_goes_on_at_another_parallelism(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders") | CHUNKS
    before = capture(ORDERS, options, tmp_path / "a", parallelism=1, batches=2, batch_elements=1, savepoint=tmp_path)
    orders.execute("UPDATE orders SET name = 'new' WHERE id % 3 = 0", "DELETE FROM orders WHERE id % 5 = 0")
    after = capture(ORDERS, options, tmp_path / "b", parallelism=3, batches=8, restore=before.savepoint)
    assert 0 < len(changes(before)) < 250
    assert folded(changes(before) + changes(after)) == rows_of(orders)


def test_repeated_batches_read_the_same_changes(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders") | CHUNKS
    faults = [Fault(batch, stage=0, slot=slot, after_rows=1) for batch in range(1, 12) for slot in range(2)]
    stop, failures = threading.Event(), []

    def change() -> None:
        try:
            with psycopg.connect(orders.url, autocommit=True) as connection:
                for number in range(400):
                    if stop.is_set():
                        return
                    key = number * 37 % 250
                    connection.execute("UPDATE orders SET name = %s WHERE id = %s", (str(number), key))
                    connection.execute("DELETE FROM orders WHERE id = %s", (key * 3 % 250,))
                    connection.execute("INSERT INTO orders VALUES (%s, 'x') ON CONFLICT DO NOTHING", (key,))
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        found = changes(
            capture(ORDERS, options, tmp_path, batches=12, batch_elements=10, faults=faults, replayed=range(2, 9))
        )
    finally:
        stop.set()
        thread.join()
    assert not failures
    found += changes(capture(ORDERS, options, tmp_path, batch_elements=100_000))
    assert folded(found) == rows_of(orders)


def test_the_slot_follows_earlier_checkpoints(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders", **{"scan.lsn-commit.checkpoints-num-delay": "0"})
    slot = options["slot.name"]
    query = f"SELECT confirmed_flush_lsn - '0/0' FROM pg_replication_slots WHERE slot_name = '{slot}'"
    capture(ORDERS, options, tmp_path)
    at = [orders.execute(query)[0][0]]
    for _ in range(3):
        orders.execute("INSERT INTO orders SELECT max(id) + 1, 'more' FROM orders")
        capture(ORDERS, options, tmp_path)
        at.append(orders.execute(query)[0][0])
    assert at == sorted(at)
    assert at[-1] > at[0]
    orders.execute(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())", "DELETE FROM orders")
    orders.execute(f"SELECT pg_replication_slot_advance('{slot}', pg_current_wal_lsn())")
    with pytest.raises(Exception, match=f"slot '{slot}' was advanced to .* are lost, where this checkpoint"):
        capture(ORDERS, options, tmp_path)
    orders.execute(f"SELECT pg_drop_replication_slot('{slot}')")
    with pytest.raises(Exception, match=f"the replication slot '{slot}' does not exist any more"):
        capture(ORDERS, options, tmp_path)


# --- modes of changes -------------------------------------------------------------------------------------------------


def test_upserts_need_the_key_alone(postgres: Server, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE keyed (id int PRIMARY KEY, v int)", "INSERT INTO keyed VALUES (1, 1), (2, 2), (3, 3)"
    )
    options = postgres.options("keyed", **{"changelog-mode": "upsert"})
    columns = "id INT, v INT, PRIMARY KEY (id) NOT ENFORCED"
    found = changes(capture(columns, options, tmp_path))
    postgres.execute(
        "UPDATE keyed SET v = 10 WHERE id = 1", "DELETE FROM keyed WHERE id = 2", "UPDATE keyed SET id = 4 WHERE id = 3"
    )
    found += changes(capture(columns, options, tmp_path))
    assert folded(found) == [(1, 10), (4, 3)]


def test_changes_without_old_rows_are_refused(postgres: Server, tmp_path: Path) -> None:
    postgres.execute("CREATE TABLE plain (id int PRIMARY KEY, v int)", "INSERT INTO plain VALUES (1, 1)")
    options = postgres.options("plain")
    capture("id INT, v INT", options, tmp_path)
    postgres.execute("UPDATE plain SET v = 2")
    hint = r"Set ALTER TABLE public.plain REPLICA IDENTITY FULL.*'changelog-mode' = 'upsert'"
    with pytest.raises(Exception, match="does not have the old row of an update. " + hint):
        capture("id INT, v INT", options, tmp_path)


def test_changes_as_insertions_with_metadata(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders", **{"scan.read-changelog-as-append-only.enabled": "true"})
    columns = (
        "id INT, d STRING METADATA FROM 'database_name' VIRTUAL, s STRING METADATA FROM 'schema_name' VIRTUAL, "
        "t STRING METADATA FROM 'table_name' VIRTUAL, k STRING METADATA FROM 'row_kind' VIRTUAL, "
        "o TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL"
    )
    query = "SELECT id, d, s, t, k, CAST(o AS STRING) FROM t"
    first = changes(capture(columns, options, tmp_path, query))
    assert {row[1:] for _, row in first} == {("postgres", "public", "orders", "+I", "1970-01-01 00:00:00.000")}
    today = datetime.datetime.now(datetime.UTC).year
    orders.execute("UPDATE orders SET name = '' WHERE id = 7", "DELETE FROM orders WHERE id = 8")
    second = changes(capture(columns, options, tmp_path, query))
    assert [(kind, row[0], row[4]) for kind, row in second] == [(INSERT, 7, "-U"), (INSERT, 7, "+U"), (INSERT, 8, "-D")]
    assert all(int(row[5][:4]) >= today - 1 for _, row in second)


def test_starts_without_a_snapshot(orders: Server, tmp_path: Path) -> None:
    latest = orders.options("orders", **{"scan.startup.mode": "latest-offset"})
    committed = latest | {"scan.startup.mode": "committed-offset"}
    with pytest.raises(Exception, match="committed-offset, but there is no slot"):
        capture(ORDERS, committed, tmp_path / "none")
    assert changes(capture(ORDERS, latest, tmp_path / "a")) == []
    orders.execute("DELETE FROM orders WHERE id = 9")
    assert changes(capture(ORDERS, committed, tmp_path / "b")) == [(DELETE, (9, "name 9"))]
    assert changes(capture(ORDERS, latest, tmp_path / "a")) == [(DELETE, (9, "name 9"))]
    assert changes(capture(ORDERS, latest, tmp_path / "c")) == []


# --- values -----------------------------------------------------------------------------------------------------------

TYPES = (
    ("smallint", "SMALLINT", "-3", -3),
    ("int", "INT", "7", 7),
    ("bigint", "BIGINT", "9000000000", 9_000_000_000),
    ("bigint", "DECIMAL(20, 0)", "9000000000", Decimal(9_000_000_000)),
    ("real", "FLOAT", "0.5", 0.5),
    ("double precision", "DOUBLE", "'-Infinity'", float("-inf")),
    ("numeric(10, 3)", "DECIMAL(10, 3)", "12.345", Decimal("12.345")),
    ("numeric", "DECIMAL(10, 2)", "12.345", Decimal("12.35")),
    ("boolean", "BOOLEAN", "true", True),
    ("date", "DATE", "'2024-02-29'", datetime.date(2024, 2, 29)),
    ("time", "TIME(3)", "'01:02:03.5'", datetime.time(1, 2, 3, 500_000)),
    ("timestamp", "TIMESTAMP(3)", "'1969-12-31 23:59:59.9876'", datetime.datetime(1969, 12, 31, 23, 59, 59, 987_000)),
    ("char(3)", "STRING", "'a'", "a  "),
    ("varchar(9)", "STRING", "E'a\\nb\"c,'", 'a\nb"c,'),
    ("json", "STRING", """'{"a": [1, null]}'""", '{"a": [1, null]}'),
    ("uuid", "STRING", "'00000000-0000-0000-0000-00000000000a'", "00000000-0000-0000-0000-00000000000a"),
    ("bytea", "BYTES", r"'\xdead00'", b"\xde\xad\0"),
    ("int[]", "ARRAY<INT>", "'{1,NULL,3}'", [1, None, 3]),
    ("text[]", "ARRAY<STRING>", """ARRAY['a,b', 'NULL', NULL, '{"', '']""", ["a,b", "NULL", None, '{"', ""]),
)  # fmt: skip


def test_values_are_the_same_in_snapshot_and_log(postgres: Server, tmp_path: Path) -> None:
    names = [f"c{place}" for place in range(len(TYPES))]
    columns = ", ".join(f"{name} {kind[0]}" for name, kind in zip(names, TYPES, strict=True))
    values = ", ".join(kind[2] for kind in TYPES)
    nulls = ", ".join("NULL" for _ in TYPES)
    postgres.execute(
        f"CREATE TABLE every (id int PRIMARY KEY, {columns}, z timestamptz)",
        f"INSERT INTO every VALUES (1, {values}, '2024-01-01 01:00+01'), (2, {nulls}, NULL)",
    )
    declared = ", ".join(f"{name} {kind[1]}" for name, kind in zip(names, TYPES, strict=True))
    options = postgres.options("every")
    query = f"SELECT {', '.join(names)}, CAST(z AS STRING) FROM t"
    first = changes(capture(f"id INT, {declared}, z TIMESTAMP_LTZ(6)", options, tmp_path, query))
    expected = (*(kind[3] for kind in TYPES), "2024-01-01 00:00:00.000000")
    assert [row for _, row in first] == [expected, (None,) * (len(TYPES) + 1)]
    postgres.execute(f"INSERT INTO every SELECT id + 2, {', '.join(names)}, z FROM every")
    second = changes(capture(f"id INT, {declared}, z TIMESTAMP_LTZ(6)", options, tmp_path, query))
    assert second == first


def test_large_values_that_an_update_keeps(postgres: Server, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE large (id int PRIMARY KEY, v int, x text)",
        "ALTER TABLE large ALTER x SET STORAGE EXTERNAL",
        "INSERT INTO large VALUES (1, 1, repeat('x', 100000))",
    )
    columns, mode = "id INT, v INT, x STRING, PRIMARY KEY (id) NOT ENFORCED", {"changelog-mode": "upsert"}
    options = postgres.options("large", **mode)
    capture(columns, options, tmp_path / "a")
    without = postgres.options("large", **mode)
    capture("id INT, v INT, PRIMARY KEY (id) NOT ENFORCED", without, tmp_path / "b")
    postgres.execute("UPDATE large SET v = 2")
    with pytest.raises(Exception, match=r"does not repeat the large value of column 'x'.*REPLICA IDENTITY FULL"):
        capture(columns, options, tmp_path / "a")
    found = changes(capture("id INT, v INT, PRIMARY KEY (id) NOT ENFORCED", without, tmp_path / "b"))
    assert found[-1] == (AFTER, (1, 2))
    postgres.execute("ALTER TABLE large REPLICA IDENTITY FULL")
    options = postgres.options("large")
    first = changes(capture(columns, options, tmp_path / "c"))
    postgres.execute("UPDATE large SET v = 3")
    assert folded(first + changes(capture(columns, options, tmp_path / "c", batch_elements=10_000))) == [
        (1, 3, "x" * 100_000)
    ]


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ADD COLUMN more int", "column 'more' of .* was added"),
        ("DROP COLUMN name", "column 'name' of .* was dropped"),
        ("ALTER COLUMN name TYPE varchar(90)", "column 'name' of .* has another type now"),
    ],
)
def test_schema_changes_are_refused(orders: Server, tmp_path: Path, change: str, reason: str) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path)
    orders.execute(f"ALTER TABLE orders {change}", "DELETE FROM orders WHERE id = 1")
    with pytest.raises(Exception, match=f"{reason}.*Schema changes are refused"):
        capture(ORDERS, options, tmp_path)


def test_truncations_are_refused(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path)
    orders.execute("DELETE FROM orders WHERE id = 1", "TRUNCATE orders")
    with pytest.raises(Exception, match="was truncated, and the log does not say which rows it had"):
        capture(ORDERS, options, tmp_path)


def test_truncations_that_are_not_published(orders: Server, tmp_path: Path) -> None:
    orders.execute("CREATE PUBLICATION rows_only FOR TABLE orders WITH (publish = 'insert, update, delete')")
    options = orders.options("orders", **{"debezium.publication.name": "rows_only"})
    capture(ORDERS, options, tmp_path)
    orders.execute("TRUNCATE orders", "INSERT INTO orders VALUES (1, 'a')")
    assert changes(capture(ORDERS, options, tmp_path, batch_elements=10_000)) == [(INSERT, (1, "a"))]


def test_a_slot_that_has_lost_its_log(orders: Server, tmp_path: Path) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path)
    orders.execute("ALTER SYSTEM SET max_slot_wal_keep_size = '1MB'", "SELECT pg_reload_conf()")
    try:
        for _ in range(4):
            orders.execute("UPDATE orders SET name = 'more'", "SELECT pg_switch_wal()", "CHECKPOINT")
        with pytest.raises(Exception, match="the server has removed the log of slot"):
            capture(ORDERS, options, tmp_path)
    finally:
        orders.execute("ALTER SYSTEM RESET max_slot_wal_keep_size", "SELECT pg_reload_conf()")


def test_batch_mode_is_refused(orders: Server, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="is unbounded"):
        capture(ORDERS, orders.options("orders"), tmp_path, batches=None)


@pytest.mark.parametrize(
    ("columns", "given", "reason"),
    [
        ("id INT, nothing INT", {}, "column 'nothing' of .* does not exist; the table has id, name"),
        ("id STRING, name INT", {}, "column 'name' of .* has the type text, .* allowed is STRING"),
        ("id INT", {"table-name": "nowhere"}, "there is no table public.nowhere of database postgres"),
        ("id INT", {"debezium.publication.name": "other", "debezium.publication.autocreate.mode": "disabled"},
         "is in no publication 'other'"),
        ("id INT", CHUNKS | {"scan.incremental.snapshot.chunk.key-column": "name"}, "allowed is a column of"),
        ("id INT", {"port": "1", "connect.max-retries": "0"}, "127.0.0.1:1"),
    ],
)  # fmt: skip
def test_what_the_server_lacks(
    orders: Server, tmp_path: Path, columns: str, given: dict[str, str], reason: str
) -> None:
    with pytest.raises(Exception, match=reason):
        capture(columns, orders.options("orders") | given, tmp_path)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"decoding.plugin.name": "wal2json"}, "expected one of pgoutput, found 'wal2json'"),
        ({"scan.startup.mode": "snapshot"}, "expected one of initial, latest-offset, committed-offset"),
        ({"changelog-mode": "upsert"}, "needs a PRIMARY KEY"),
        ({"slot.name": "Not-A-Name"}, "lower-case letters"),
        ({"table-name": "orders_.*"}, "regular expressions are not supported"),
        ({"connect.timeout": "0 s"}, "a duration above zero"),
        ({"connect.max-retries": "-1"}, "zero or more"),
        ({"scan.lsn-commit.checkpoints-num-delay": "-1"}, "zero or more"),
        ({"debezium.publication.autocreate.mode": "some"}, "one of filtered, all_tables, disabled"),
        ({"debezium.slot.drop.on.stop": "true"}, "Debezium is not used"),
    ],
)
def test_refused_options(tmp_path: Path, given: dict[str, str], reason: str) -> None:
    options = Server("postgresql://127.0.0.1:1/postgres").options("orders") | given
    with pytest.raises(ValidationException, match=reason):
        capture("id INT", options, tmp_path)


# --- tables -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "chunks"),
    [
        ('text COLLATE "C" PRIMARY KEY', "chr(60 + n * 7) || n", 5),
        ('text COLLATE "und-x-icu" PRIMARY KEY', "chr(60 + n * 7) || n", 1),
        ("uuid PRIMARY KEY", "md5(n::text)::uuid", 5),
        ("numeric PRIMARY KEY", "(n - 100) / 8.0", 5),
        ("numeric NOT NULL", "(ARRAY['-Infinity', n / 8.0, 'Infinity', 'NaN']::numeric[])[1 + n / 51]", 4),
        ("date PRIMARY KEY", "date '2024-01-01' + n", 1),
        ("bigint NOT NULL", "n / 3", 5),
    ],
)
def test_keys_that_divide_a_table(postgres: Server, tmp_path: Path, key: str, value: str, chunks: int) -> None:
    """A run reads one chunk; the others are read after changes."""
    postgres.execute(
        "DROP TABLE IF EXISTS divided",
        f"CREATE TABLE divided (k {key}, v int)",
        "ALTER TABLE divided REPLICA IDENTITY FULL",
        f"INSERT INTO divided SELECT {value}, n FROM generate_series(1, 200) AS n",
    )
    options = postgres.options("divided") | CHUNKS | {"scan.incremental.snapshot.chunk.size": "45"}
    if "PRIMARY" not in key:
        with pytest.raises(Exception, match=r"has no primary key, so 'scan.incremental.snapshot.chunk.key-column'"):
            capture("v INT", options, tmp_path)
        options["scan.incremental.snapshot.chunk.key-column"] = "k"
    found = changes(capture("v INT", options, tmp_path, batches=1, batch_elements=1, parallelism=1))
    assert len(found) < 60 if chunks > 1 else len(found) == 200
    postgres.execute("UPDATE divided SET v = v + 1000 WHERE v % 2 = 0", "DELETE FROM divided WHERE v % 5 = 0")
    found += changes(capture("v INT", options, tmp_path, batches=8, batch_elements=10_000))
    assert folded(found) == rows_of(postgres, "(SELECT v FROM divided) AS d")


def test_tables_of_other_kinds_are_refused(postgres: Server, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE parts (id int) PARTITION BY RANGE (id)",
        "CREATE TABLE made (id int, g int GENERATED ALWAYS AS (id) STORED)",
    )
    with pytest.raises(Exception, match="is no ordinary table"):
        capture("id INT", postgres.options("parts"), tmp_path)
    with pytest.raises(Exception, match=r"column 'g' of .* is generated"):
        capture("g INT", postgres.options("made"), tmp_path)


@pytest.mark.spark
def test_the_totals_of_the_example_survive_a_crash(tmp_path: Path) -> None:
    hit, _, violation = cdc_faults.run("postgres", [cdc_faults.SERVER, "slot"], 1, tmp_path)
    assert hit == [cdc_faults.SERVER, "slot"]
    assert violation == ""
