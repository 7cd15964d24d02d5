"""Values of tables of MariaDB that are captured, and what is refused."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from pathlib import Path

import pytest

from firesteel.common.types import RowKind
from firesteel.table.errors import ValidationException
from tests.table.captured_mysql import MySqlServer
from tests.table.captured_tables import capture, changes

ORDERS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
CHUNKS = {"scan.incremental.snapshot.chunk.size": "20"}
INSERT, DELETE = RowKind.INSERT, RowKind.DELETE
METADATA = ("FULL", "MINIMAL", "NO_LOG")


@pytest.fixture
def metadata(mysql: MySqlServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """Let the server write this much of columns into its log."""
    mysql.execute(f"SET GLOBAL binlog_row_metadata = '{request.param}'")
    yield request.param
    mysql.execute("SET GLOBAL binlog_row_metadata = 'FULL'")


@pytest.fixture
def orders(mysql: MySqlServer) -> MySqlServer:
    mysql.execute(
        "CREATE OR REPLACE TABLE orders (id int PRIMARY KEY, name text)",
        "INSERT INTO orders SELECT seq, concat('name ', seq) FROM seq_1_to_9",
    )
    return mysql


# --- values -----------------------------------------------------------------------------------------------------------

TYPES = (
    ("tinyint", "TINYINT", "-3", -3),
    ("tinyint(1)", "BOOLEAN", "1", True),
    ("tinyint unsigned", "SMALLINT", "255", 255),
    ("smallint unsigned", "INT", "65535", 65_535),
    ("mediumint", "INT", "-8388608", -8_388_608),
    ("mediumint unsigned", "BIGINT", "16777215", 16_777_215),
    ("int unsigned", "BIGINT", "4294967295", 4_294_967_295),
    ("bigint", "BIGINT", "-9000000000", -9_000_000_000),
    ("bigint unsigned", "DECIMAL(20, 0)", "18446744073709551615", Decimal(18_446_744_073_709_551_615)),
    ("float", "FLOAT", "16777217", 16_777_216.0),
    ("float", "DOUBLE", "0.1", 0.10000000149011612),
    ("double", "DOUBLE", "-1.5e300", -1.5e300),
    ("decimal(10, 3)", "DECIMAL(10, 3)", "-12.345", Decimal("-12.345")),
    ("decimal(50, 2)", "STRING", "1e40", "1" + 40 * "0" + ".00"),
    ("bit(1)", "BOOLEAN", "1", True),
    ("bit(10)", "BINARY(2)", "b'1000000101'", b"\2\5"),
    ("date", "DATE", "'2024-02-29'", datetime.date(2024, 2, 29)),
    ("date", "DATE", "'0000-00-00'", None),
    ("time(3)", "TIME(3)", "'01:02:03.5'", datetime.time(1, 2, 3, 500_000)),
    ("datetime", "TIMESTAMP(0)", "'1969-12-31 23:59:59'", datetime.datetime(1969, 12, 31, 23, 59, 59)),
    ("datetime(6)", "TIMESTAMP(3)", "'2024-01-01 00:00:00.9876'", datetime.datetime(2024, 1, 1, 0, 0, 0, 987_000)),
    ("datetime(6)", "TIMESTAMP(6)", "'2024-01-01 00:00:00.123456'", datetime.datetime(2024, 1, 1, 0, 0, 0, 123_456)),
    ("datetime", "TIMESTAMP(6)", "'2024-00-01 00:00:00'", None),
    ("timestamp(2)", "TIMESTAMP(3)", "'2024-06-01 00:00:00.25'", datetime.datetime(2024, 6, 1, 2, 0, 0, 250_000)),
    ("year", "INT", "2024", 2024),
    ("year", "INT", "0000", 0),
    ("char(5)", "STRING", "'a  '", "a"),
    ("varchar(9) charset latin1", "STRING", "'é\\n\"'", 'é\n"'),
    ("text charset utf8mb4", "STRING", "'😀'", "😀"),
    ("longtext", "STRING", "repeat('x', 70000)", "x" * 70_000),
    ("json", "STRING", """'{"a": [1, null]}'""", '{"a": [1, null]}'),
    ("binary(4)", "BINARY(4)", "'ab'", b"ab\0\0"),
    ("varbinary(9)", "BYTES", "x'dead00'", b"\xde\xad\0"),
    ("mediumblob", "BYTES", "x'ff'", b"\xff"),
    ("enum('a', 'é')", "STRING", "'é'", "é"),
    ("set('x', 'y', 'z')", "ARRAY<STRING>", "'z,x'", ["x", "z"]),
    ("set('x', 'y')", "ARRAY<STRING>", "''", []),
    ("set('x', 'y')", "STRING", "'y'", "y"),
)  # fmt: skip


@pytest.mark.parametrize("metadata", METADATA, indirect=True)
def test_values_are_the_same_in_snapshot_log_and_undone(mysql: MySqlServer, tmp_path: Path, metadata: str) -> None:
    names = [f"c{place}" for place in range(len(TYPES))]
    columns = ", ".join(f"{name} {kind[0]} NULL" for name, kind in zip(names, TYPES, strict=True))
    values, nulls = ", ".join(kind[2] for kind in TYPES), ", ".join("NULL" for _ in TYPES)
    mysql.execute(
        f"CREATE OR REPLACE TABLE every (id int PRIMARY KEY, {columns}, z timestamp(6) NULL) CHARSET utf8mb4",
        "SET sql_mode = '', time_zone = '+01:00'",
        "SET SESSION sql_mode = 'ALLOW_INVALID_DATES'",
    )
    with closing(mysql.connect()) as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = '', time_zone = '+00:00'")
        cursor.execute(f"INSERT INTO every VALUES (1, {values}, '2024-01-01 00:00:00'), (2, {nulls}, NULL)")
        declared = ", ".join(f"{name} {kind[1]}" for name, kind in zip(names, TYPES, strict=True))
        options = mysql.options("every", **{"server-time-zone": "Europe/Berlin"})
        query = f"SELECT {', '.join(names)}, CAST(z AS STRING) FROM t"
        schema = f"id INT, {declared}, z TIMESTAMP_LTZ(6)"
        first = changes(capture(schema, options, tmp_path / "a", query))
        expected = (*(kind[3] for kind in TYPES), "2024-01-01 00:00:00.000000")
        assert [row for _, row in first] == [expected, (None,) * (len(TYPES) + 1)]
        cursor.execute(f"INSERT INTO every SELECT id + 2, {', '.join(names)}, z FROM every")
        second = changes(capture(schema, options, tmp_path / "a", query, batch_elements=10_000))
        assert sorted(second, key=repr) == sorted(first, key=repr)


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ALTER TABLE orders ADD COLUMN more int", "column 'more' of test.orders was added"),
        ("ALTER TABLE orders RENAME COLUMN name TO title", "column 'name' of test.orders was dropped"),
        ("ALTER TABLE orders DROP COLUMN name", "column 'name' of test.orders was dropped"),
        ("ALTER TABLE orders MODIFY name varchar(90)", "column 'name' of test.orders has another type now"),
        ("ALTER TABLE orders RENAME TO old_orders", "test.orders was changed by ALTER, and the log does not say which"),
        ("CREATE OR REPLACE TABLE orders (id int PRIMARY KEY, name text)", "test.orders was changed by CREATE"),
        ("TRUNCATE TABLE orders", "test.orders was changed by TRUNCATE, and the log does not say which rows"),
        ("TRUNCATE `test`.orders", "test.orders was changed by TRUNCATE, and the log does not say which rows"),
        ("DROP TABLE IF EXISTS nothing, orders", "test.orders was changed by DROP TABLE"),
        ("RENAME TABLE orders TO old_orders", "test.orders was changed by RENAME"),
        ("SET STATEMENT binlog_format = STATEMENT FOR UPDATE orders SET name = '' WHERE id = 2", "binlog_format"),
        ("SET STATEMENT binlog_row_image = MINIMAL FOR UPDATE orders SET name = 'q' WHERE id = 2", "lacks columns"),
    ],
)
def test_changes_that_are_refused(orders: MySqlServer, tmp_path: Path, change: str, reason: str) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path, batch_elements=1000)
    orders.execute("DROP TABLE IF EXISTS old_orders", change)
    if change.startswith("ALTER") and "RENAME TO" not in change:
        orders.execute("DELETE FROM orders WHERE id = 1")
    with pytest.raises(Exception, match=reason):
        capture(ORDERS, options, tmp_path, batch_elements=10_000)


@pytest.mark.parametrize("metadata", ["NO_LOG"], indirect=True)
@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ADD COLUMN more int", "column 'more' of test.pairs was added"),
        ("RENAME COLUMN a TO c", "column 'a' of test.pairs was dropped"),
        ("DROP COLUMN a", "column 'a' of test.pairs was dropped"),
        ("MODIFY a bigint", "column 'a' of test.pairs has another type now"),
        ("MODIFY a int AFTER b", "test.pairs has its columns in another order"),
        ("TRUNCATE PARTITION p0", "test.pairs was changed by ALTER, and the log does not say which rows"),
    ],
)
def test_changes_that_are_refused_without_names(
    mysql: MySqlServer, tmp_path: Path, metadata: str, change: str, reason: str
) -> None:
    mysql.execute(
        "CREATE OR REPLACE TABLE pairs (id int PRIMARY KEY, a int, b int) PARTITION BY KEY (id)",
        "INSERT INTO pairs VALUES (1, 2, 3)",
    )
    schema, options = "id INT, b INT, PRIMARY KEY (id) NOT ENFORCED", mysql.options("pairs")
    assert changes(capture(schema, options, tmp_path, batch_elements=1000)) == [(INSERT, (1, 3))]
    mysql.execute("INSERT INTO pairs VALUES (4, 5, 6)", "ALTER TABLE pairs ADD INDEX (a), ALGORITHM = COPY")
    mysql.execute("INSERT INTO pairs VALUES (7, 8, 9)")
    found = changes(capture(schema, options, tmp_path, batch_elements=1000))
    assert found == [(INSERT, (4, 6)), (INSERT, (7, 9))]
    mysql.execute(f"ALTER TABLE pairs {change}", "DELETE FROM pairs WHERE id = 1")
    with pytest.raises(Exception, match=reason):
        capture(schema, options, tmp_path, batch_elements=10_000)


@pytest.mark.parametrize("metadata", ["NO_LOG"], indirect=True)
def test_a_table_that_is_altered_between_position_and_chunk_is_refused_without_names(
    orders: MySqlServer, tmp_path: Path, metadata: str
) -> None:
    options = orders.options("orders") | {"scan.incremental.snapshot.chunk.size": "2"}
    schema = "id INT, PRIMARY KEY (id) NOT ENFORCED"
    capture(schema, options, tmp_path, batches=1, batch_elements=2)
    orders.execute("DELETE FROM orders WHERE id = 9", "ALTER TABLE orders RENAME COLUMN name TO title")
    with pytest.raises(Exception, match=r"orders was altered while its snapshot was read.*binlog_row_metadata"):
        capture(schema, options, tmp_path, batch_elements=1000)


def test_like_named_tables_may_be_truncated(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path, batch_elements=1000)
    orders.execute(
        "CREATE OR REPLACE TABLE orders_old (id int)", "TRUNCATE orders_old", "CREATE DATABASE IF NOT EXISTS other"
    )
    orders.execute(
        "CREATE OR REPLACE TABLE other.orders (id int)", "TRUNCATE other.orders", "DELETE FROM orders WHERE id = 1"
    )
    assert changes(capture(ORDERS, options, tmp_path, batch_elements=10_000)) == [(DELETE, (1, "name 1"))]


def test_prepared_transactions_are_refused(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path, batch_elements=1000)
    orders.execute("XA START 'a'", "DELETE FROM orders WHERE id = 1", "XA END 'a'", "XA PREPARE 'a'")
    try:
        with pytest.raises(Exception, match="XA PREPARE"):
            capture(ORDERS, options, tmp_path, batch_elements=10_000)
    finally:
        orders.execute("XA ROLLBACK 'a'")


@pytest.mark.parametrize("metadata", ["MINIMAL"], indirect=True)
@pytest.mark.parametrize("mode", ["earliest-offset", "timestamp"])
def test_an_earlier_log_must_have_names(orders: MySqlServer, tmp_path: Path, metadata: str, mode: str) -> None:
    options = orders.options("orders", **{"scan.startup.mode": mode, "scan.startup.timestamp-millis": "1"})
    with pytest.raises(Exception, match=f"has binlog_row_metadata = MINIMAL; 'FULL' is needed with .* = '{mode}'"):
        capture(ORDERS, options, tmp_path)


@pytest.mark.parametrize(
    ("name", "bad", "good"),
    [
        ("binlog_row_image", "'MINIMAL'", "'FULL'"),
        ("binlog_format", "'MIXED'", "'ROW'"),
        ("log_bin_compress", "ON", "OFF"),
    ],
)
def test_what_the_log_must_have(orders: MySqlServer, tmp_path: Path, name: str, bad: str, good: str) -> None:
    orders.execute(f"SET GLOBAL {name} = {bad}")
    try:
        with pytest.raises(Exception, match=f"has {name} = .*is needed"):
            capture(ORDERS, orders.options("orders"), tmp_path)
    finally:
        orders.execute(f"SET GLOBAL {name} = {good}")


@pytest.mark.parametrize(
    ("columns", "given", "reason"),
    [
        ("id INT, nothing INT", {}, "column 'nothing' of test.orders does not exist; the table has id, name"),
        ("id STRING", {}, r"column 'id' of .* has the type int\(11\), .* allowed is INT or BIGINT or DECIMAL"),
        ("id INT", {"table-name": "nowhere"}, "no table of .* matches"),
        ("id INT", {"scan.incremental.snapshot.chunk.key-column": "name"}, "allowed is a column of the primary key"),
        ("id INT", {"port": "1", "connect.max-retries": "0"}, "127.0.0.1:1"),
        ("id INT", {"server-id": "5400"}, "has no id for subtask 1"),
    ],
)  # fmt: skip
def test_what_the_server_lacks(
    orders: MySqlServer, tmp_path: Path, columns: str, given: dict[str, str], reason: str
) -> None:
    with pytest.raises(Exception, match=reason):
        capture(columns, orders.options("orders") | CHUNKS | given, tmp_path)


@pytest.mark.parametrize("kind", ["point", "uuid", "inet6", "int GENERATED ALWAYS AS (id) STORED"])
def test_columns_that_cannot_be_read(mysql: MySqlServer, tmp_path: Path, kind: str) -> None:
    mysql.execute(f"CREATE OR REPLACE TABLE odd (id int PRIMARY KEY, v {kind})", "INSERT INTO odd (id) VALUES (1)")
    with pytest.raises(Exception, match=r"column 'v' of test\.odd (has the type .*allowed is no type|is generated)"):
        capture("id INT, v STRING", mysql.options("odd"), tmp_path / "a")
    options = mysql.options("odd")
    capture("id INT", options, tmp_path / "b")
    mysql.execute("INSERT INTO odd (id) VALUES (2)")
    assert changes(capture("id INT", options, tmp_path / "b")) == [(INSERT, (2,))]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"scan.startup.mode": "committed-offset"}, "expected one of initial, earliest-offset"),
        ({"scan.startup.mode": "specific-offset"}, "specific-offset.gtid-set', or 'scan.startup"),
        ({"scan.startup.mode": "timestamp"}, "'scan.startup.timestamp-millis' with timestamp"),
        ({"server-id": "8-5"}, "or a range such as '5400-5408'"),
        ({"server-time-zone": "Nowhere"}, "a time zone such as"),
        ({"table-name": "a("}, "a name or a regular expression"),
        ({"connect.timeout": "0 s"}, "a duration above zero"),
        ({"debezium.snapshot.mode": "never"}, "Debezium is not used"),
        ({"scan.newly-added-table.enabled": "true"}, "not captured"),
    ],
)
def test_refused_options(tmp_path: Path, given: dict[str, str], reason: str) -> None:
    options = MySqlServer("mysql://127.0.0.1:1/test").options("orders") | given
    with pytest.raises(ValidationException, match=reason):
        capture("id INT", options, tmp_path)
