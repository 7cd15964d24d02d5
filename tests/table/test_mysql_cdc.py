"""Tables of a MariaDB server that are captured with their changes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pymysql
import pytest

from firesteel.common.types import RowKind
from firesteel.connectors.mysql_cdc import server as server_module
from firesteel.connectors.mysql_cdc.server import log_end
from firesteel.testing import Fault
from tests.table import cdc_faults
from tests.table.captured_mysql import MySqlServer, mysql_server
from tests.table.captured_tables import capture, changes, folded
from tests.waiting import wait_for

ORDERS = "id INT, name STRING, PRIMARY KEY (id) NOT ENFORCED"
CHUNKS = {"scan.incremental.snapshot.chunk.size": "20"}
INSERT, BEFORE, AFTER, DELETE = RowKind.INSERT, RowKind.UPDATE_BEFORE, RowKind.UPDATE_AFTER, RowKind.DELETE


@pytest.fixture
def orders(mysql: MySqlServer) -> MySqlServer:
    mysql.execute(
        "CREATE OR REPLACE TABLE orders (id int PRIMARY KEY, name text)",
        "INSERT INTO orders SELECT seq, concat('name ', seq) FROM seq_1_to_250",
    )
    return mysql


def rows_of(mysql: MySqlServer, query: str = "SELECT * FROM orders") -> list[Any]:
    return sorted(mysql.execute(query), key=repr)


def test_a_table_and_its_changes(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders") | CHUNKS
    first = changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=1000))
    assert [kind for kind, _ in first] == [INSERT] * 250
    orders.execute(
        "UPDATE orders SET name = 'new' WHERE id = 3",
        "DELETE FROM orders WHERE id = 4",
        "UPDATE orders SET id = 1005 WHERE id = 5",
        "INSERT INTO orders VALUES (1006, 'more')",
    )
    second = changes(capture(ORDERS, options, tmp_path, batch_elements=10_000))
    assert second == [
        (BEFORE, (3, "name 3")),
        (AFTER, (3, "new")),
        (DELETE, (4, "name 4")),
        (DELETE, (5, "name 5")),
        (INSERT, (1005, "name 5")),
        (INSERT, (1006, "more")),
    ]
    assert folded(first + second) == rows_of(orders)


def test_changes_between_and_during_chunks(orders: MySqlServer, tmp_path: Path) -> None:
    """Some chunks are read before changes, others after them, and others while there are some."""
    options, stopping = orders.options("orders") | CHUNKS, threading.Event()
    found = changes(capture(ORDERS, options, tmp_path, batches=2, batch_elements=20))
    assert 0 < len(found) < 250
    orders.execute("UPDATE orders SET name = concat(name, '!') WHERE id % 3 = 0", "DELETE FROM orders WHERE id % 7 = 0")
    orders.execute("UPDATE orders SET id = id + 300 WHERE id % 11 = 0 ORDER BY id DESC")

    def change() -> None:
        number = 1000
        while not stopping.is_set():
            number += 1
            orders.execute(
                f"UPDATE orders SET name = 'n{number}' WHERE id % 5 = {number % 5}",
                f"INSERT INTO orders VALUES ({number}, 'late')",
                f"DELETE FROM orders WHERE id = {number % 250}",
                f"UPDATE IGNORE orders SET id = {number % 250} WHERE id = {number - 3}",
            )

    thread = threading.Thread(target=change)
    thread.start()
    try:
        found += changes(capture(ORDERS, options, tmp_path, batches=12, batch_elements=60))
    finally:
        stopping.set()
        thread.join()
    found += changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=100_000))
    assert folded(found) == rows_of(orders)


def test_repeated_batches_read_the_same_changes(orders: MySqlServer, tmp_path: Path) -> None:
    options, stopping = orders.options("orders") | CHUNKS, threading.Event()
    faults = [Fault(batch, stage=0, slot=slot, after_rows=1) for batch in range(1, 12) for slot in range(2)]

    def change() -> None:
        for number in range(400):
            if stopping.is_set():
                return
            key = number * 37 % 250
            orders.execute(
                f"UPDATE orders SET name = '{number}' WHERE id = {key}",
                f"DELETE FROM orders WHERE id = {key * 3 % 250}",
                f"INSERT IGNORE INTO orders VALUES ({key}, 'x')",
            )

    thread = threading.Thread(target=change)
    thread.start()
    try:
        found = changes(
            capture(ORDERS, options, tmp_path, batches=14, batch_elements=60, faults=faults, replayed=range(2, 9))
        )
    finally:
        stopping.set()
        thread.join()
    found += changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=100_000))
    assert folded(found) == rows_of(orders)


def test_files_of_the_log(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders") | {"scan.startup.mode": "latest-offset"}
    found = changes(capture(ORDERS, options, tmp_path))
    for id_ in range(5):
        orders.execute(
            f"UPDATE orders SET name = 'x' WHERE id BETWEEN {10 * id_ + 1} AND {10 * id_ + 9}", "FLUSH BINARY LOGS"
        )
    found += changes(capture(ORDERS, options, tmp_path, batches=3, batch_elements=1))
    assert 0 < len(found) < 90
    found += changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=10_000))
    assert [row[0] for kind, row in found if kind is AFTER] == [10 * i + j for i in range(5) for j in range(1, 10)]
    file = orders.execute("SHOW MASTER STATUS")[0][0]
    orders.execute("FLUSH BINARY LOGS", "FLUSH BINARY LOGS", "DELETE FROM orders WHERE id = 1")
    newest = orders.execute("SHOW MASTER STATUS")[0][0]
    # The server notices late that nobody reads a file any more.
    wait_for(lambda: orders.execute(f"PURGE BINARY LOGS TO '{newest}'", "SHOW BINARY LOGS")[0][0] == newest)
    with pytest.raises(Exception, match=f"has removed {file} of its log: start the job without its savepoint"):
        capture(ORDERS, options, tmp_path)


def test_a_transaction_is_never_divided(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders") | {"scan.startup.mode": "latest-offset"}
    changes(capture(ORDERS, options, tmp_path))
    orders.execute("UPDATE orders SET name = 'y'")
    found = changes(capture(ORDERS, options, tmp_path, batches=1, batch_elements=1))
    assert len(found) in (0, 500)


# --- where to start ---------------------------------------------------------------------------------------------------


def position(mysql: MySqlServer) -> tuple[str, int]:
    file, place, *_ = mysql.execute("SHOW MASTER STATUS")[0]
    return file, place


def test_starts_without_a_snapshot(orders: MySqlServer, tmp_path: Path) -> None:
    file, place = position(orders)
    gtid = orders.execute("SELECT @@gtid_binlog_pos")[0][0]
    latest = orders.options("orders", **{"scan.startup.mode": "latest-offset"})
    assert changes(capture(ORDERS, latest, tmp_path / "latest")) == []
    orders.execute("DELETE FROM orders WHERE id = 9")
    expected = [(DELETE, (9, "name 9"))]
    assert changes(capture(ORDERS, latest, tmp_path / "latest")) == expected
    offset = {"scan.startup.mode": "specific-offset"}
    at = {"scan.startup.specific-offset.file": file, "scan.startup.specific-offset.pos": str(place)}
    for name, more in (("file", at), ("gtid", {"scan.startup.specific-offset.gtid-set": gtid})):
        assert changes(capture(ORDERS, latest | offset | more, tmp_path / name)) == expected
    last = {"scan.startup.specific-offset.gtid-set": orders.execute("SELECT @@gtid_binlog_pos")[0][0]}
    assert changes(capture(ORDERS, latest | offset | last, tmp_path / "end")) == []
    with pytest.raises(Exception, match=r"has no position 4 in binlog\.999999; it has binlog.0"):
        capture(ORDERS, latest | offset | {"scan.startup.specific-offset.file": "binlog.999999"}, tmp_path / "none")


def test_starts_at_the_first_file_and_at_a_time(mysql: MySqlServer, tmp_path: Path) -> None:
    mysql.execute(
        "CREATE TABLE timed (id int PRIMARY KEY)",
        "FLUSH BINARY LOGS",
        "SET timestamp = 2100000000",
        "INSERT INTO timed VALUES (1)",
        "SET timestamp = 2100000010",
        "INSERT INTO timed VALUES (2)",
    )
    options = mysql.options("timed")
    columns = "id INT, o TIMESTAMP_LTZ(3) METADATA FROM 'op_ts' VIRTUAL"
    query = "SELECT id, CAST(o AS STRING) FROM t"
    earliest = changes(
        capture(columns, options | {"scan.startup.mode": "earliest-offset"}, tmp_path / "a", query, batches=9)
    )
    assert earliest == [(INSERT, (1, "2036-07-18 13:20:00.000")), (INSERT, (2, "2036-07-18 13:20:10.000"))]
    for ms, rows in ((2_100_000_001_000, earliest[1:]), (2_100_000_010_000, earliest[1:]), (4_000_000_000_000, [])):
        timed = {"scan.startup.mode": "timestamp", "scan.startup.timestamp-millis": str(ms)}
        assert changes(capture(columns, options | timed, tmp_path / str(ms), query, batches=9)) == rows


def test_the_snapshot_alone_is_bounded(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders", **{"scan.startup.mode": "snapshot"}) | CHUNKS
    found = changes(capture(ORDERS, options, tmp_path, batches=None))
    assert sorted((row for _, row in found), key=repr) == rows_of(orders)


def test_another_server_is_refused(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders")
    capture(ORDERS, options, tmp_path)
    orders.execute("SET GLOBAL server_id = 2")
    try:
        with pytest.raises(Exception, match=r"another server \(server_id 2\) than before \(server_id 1\)"):
            capture(ORDERS, options, tmp_path)
    finally:
        orders.execute("SET GLOBAL server_id = 1")


def test_a_crash_gives_tables_new_numbers(tmp_path: Path) -> None:
    """Rows in the log name their table by a number, which is another one after a crash."""
    with mysql_server(is_restarted=True) as mysql:
        mysql.execute("CREATE TABLE orders (id int PRIMARY KEY, name text)")
        others = [f"other_{number}" for number in range(40)]
        mysql.execute(*(f"CREATE TABLE {other} (id int PRIMARY KEY, name decimal(30, 2))" for other in others))
        options = mysql.options("orders", **{"scan.startup.mode": "latest-offset"})
        capture(ORDERS, options, tmp_path)
        mysql.execute("INSERT INTO orders VALUES (1, 'a')")
        mysql.crash()
        wait_for(lambda: is_up(mysql))
        mysql.execute(*(f"INSERT INTO {other} VALUES (7, 1.5)" for other in others))
        mysql.execute("INSERT INTO orders VALUES (2, 'b')")
        found = changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=10_000))
        assert found == [(INSERT, (1, "a")), (INSERT, (2, "b"))]


def is_up(mysql: MySqlServer) -> bool:
    try:
        return bool(mysql.execute("SELECT 1"))
    except pymysql.err.OperationalError:
        return False


# --- several tables, kinds and metadata -------------------------------------------------------------------------------


def test_several_tables_with_metadata(mysql: MySqlServer, tmp_path: Path) -> None:
    for database, table in (("test", "part_1"), ("test", "part_2"), ("other", "part_1"), ("test", "party")):
        mysql.execute(
            f"CREATE DATABASE IF NOT EXISTS {database}", f"CREATE TABLE {database}.{table} (id int PRIMARY KEY)"
        )
        mysql.execute(f"INSERT INTO {database}.{table} SELECT seq FROM seq_1_to_30")
    options = mysql.options("part_[0-9]+", **{"database-name": "test|other"}) | CHUNKS
    columns = (
        "id INT, d STRING METADATA FROM 'database_name' VIRTUAL, t STRING METADATA FROM 'table_name' VIRTUAL, "
        "k STRING METADATA FROM 'row_kind' VIRTUAL"
    )
    first = changes(capture(columns, options, tmp_path, batches=8, batch_elements=1000))
    parts = [("test", "part_1"), ("test", "part_2"), ("other", "part_1")]
    expected = [(id_, database, table, "+I") for database, table in parts for id_ in range(1, 31)]
    assert sorted(row for _, row in first) == sorted(expected)
    mysql.execute(
        "DELETE FROM part_2 WHERE id = 1", "UPDATE other.part_1 SET id = 99 WHERE id = 2", "DELETE FROM party"
    )
    second = changes(capture(columns, options, tmp_path, batch_elements=10_000))
    assert [row for _, row in second] == [
        (1, "test", "part_2", "-D"),
        (2, "other", "part_1", "-D"),
        (99, "other", "part_1", "+I"),
    ]


def test_changes_as_insertions(orders: MySqlServer, tmp_path: Path) -> None:
    options = orders.options("orders", **{"scan.read-changelog-as-append-only.enabled": "true"})
    columns = "id INT, k STRING METADATA FROM 'row_kind' VIRTUAL"
    capture(columns, options, tmp_path, batch_elements=1000)
    orders.execute("UPDATE orders SET name = '' WHERE id = 7", "DELETE FROM orders WHERE id = 8")
    found = changes(capture(columns, options, tmp_path))
    assert found == [(INSERT, (7, "-U")), (INSERT, (7, "+U")), (INSERT, (8, "-D"))]


def test_a_table_without_a_key(mysql: MySqlServer, tmp_path: Path) -> None:
    mysql.execute("CREATE TABLE keyless (v int)")
    with pytest.raises(Exception, match=r"test\.keyless has no primary key"):
        capture("v INT", mysql.options("keyless"), tmp_path / "a")
    options = mysql.options("keyless", **{"scan.startup.mode": "latest-offset"})
    capture("v INT", options, tmp_path / "b")
    mysql.execute("INSERT INTO keyless VALUES (1), (1)", "DELETE FROM keyless LIMIT 1")
    found = changes(capture("v INT", options, tmp_path / "b"))
    assert found == [(INSERT, (1,)), (INSERT, (1,)), (DELETE, (1,))]


# --- keys -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "value", "is_divided"),
    [
        ("bigint unsigned PRIMARY KEY", "seq * 7", True),
        ("decimal(12, 3) PRIMARY KEY", "(cast(seq AS signed) - 100) / 8", True),
        ("date PRIMARY KEY", "date '2024-01-01' + interval seq day", True),
        ("varchar(20) PRIMARY KEY", "concat(char(60 + seq * 7 % 50), seq)", True),
        (
            "varchar(20) COLLATE utf8mb4_nopad_bin PRIMARY KEY",
            "concat(char(60 + seq % 50), space(seq % 3), seq)",
            True,
        ),
        ("varchar(20) CHARSET latin1 PRIMARY KEY", "concat(substr('éàüÄß ''\\\\', 1 + seq % 8, 1), seq)", True),
        ("binary(8) PRIMARY KEY", "concat(seq, 'a')", True),
        ("datetime(3) PRIMARY KEY", "timestamp '2024-01-01 00:00:00.5' + interval seq second", False),
        ("int, v2 int DEFAULT 5, n int AUTO_INCREMENT UNIQUE, PRIMARY KEY (k, n)", "seq DIV 30", True),
    ],
)
def test_keys_that_divide_a_table(mysql: MySqlServer, tmp_path: Path, key: str, value: str, is_divided: bool) -> None:
    """A run reads some chunks; the others are read after changes, which readers undo or the log leaves out."""
    mysql.execute(
        f"CREATE OR REPLACE TABLE divided (k {key}, v int)",
        f"INSERT INTO divided (k, v) SELECT {value}, seq FROM seq_1_to_200",
    )
    options = mysql.options("divided") | {"scan.incremental.snapshot.chunk.size": "6"}
    found = changes(capture("v INT", options, tmp_path, batches=1, batch_elements=1, parallelism=1))
    assert len(found) < 80 if is_divided else len(found) == 200
    mysql.execute("UPDATE divided SET v = v + 1000 WHERE v % 2 = 0", "DELETE FROM divided WHERE v % 5 = 0")
    found += changes(capture("v INT", options, tmp_path, batches=8, batch_elements=10_000))
    assert folded(found) == rows_of(mysql, "SELECT v FROM divided")


def test_mysql_knows_less_of_a_snapshot(orders: MySqlServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MySQL does not tell the position of a snapshot: changes that it may have or not have are undone."""
    options = orders.options("orders") | CHUNKS
    found = changes(capture(ORDERS, options, tmp_path, batches=1, batch_elements=1, parallelism=1))
    orders.execute("UPDATE orders SET name = 'w' WHERE id % 2 = 0", "DELETE FROM orders WHERE id % 5 = 0")
    seen: list[pymysql.Connection[Any]] = []

    def not_mariadb(connection: pymysql.Connection[Any]) -> bool:
        """Say that it is MySQL, and change rows after the snapshot and before its position is asked for."""
        if not seen:
            orders.execute("UPDATE orders SET name = 'v' WHERE id > 100", "INSERT INTO orders VALUES (240, 'again')")
        seen.append(connection)
        return False

    monkeypatch.setattr(server_module, "is_mariadb", not_mariadb)
    found += changes(capture(ORDERS, options, tmp_path, batches=8, batch_elements=10_000))
    assert seen
    assert folded(found) == rows_of(orders)
    assert log_end(seen[-1]) if seen[-1].open else True


@pytest.mark.spark
def test_the_totals_of_the_example_survive_a_crash(tmp_path: Path) -> None:
    hit, _, violation = cdc_faults.run("mariadb", [cdc_faults.SERVER, "slot"], 1, tmp_path)
    assert hit == [cdc_faults.SERVER, "slot"]
    assert violation == ""
