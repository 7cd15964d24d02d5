"""Tables of ClickHouse against a server."""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator
from decimal import Decimal

import pytest

from firesteel.connectors.clickhouse.client import ClickHouse, ClickHouseError
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from tests.datastream.connectors.database_servers import clickhouse
from tests.table.local_runs import create, explained, read, written

pytestmark = pytest.mark.slow

Run = Callable[[str], list[dict[str, object]]]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with clickhouse() as found:
        yield found


@pytest.fixture
def run(url: str) -> Run:
    server = ClickHouse(url, "default", ("tester", "secret"), 0)
    server.run("DROP TABLE IF EXISTS t")

    def run(statement: str) -> list[dict[str, object]]:
        return [json.loads(line) for line in server.run(statement).splitlines()]

    return run


def table(server: str, columns: str, **options: str) -> str:
    given = {"connector": "clickhouse", "url": server.replace("http:", "clickhouse:"), "table-name": "t"}
    return create("t", columns, given | {"username": "tester", "password": "secret"} | options)


COLUMNS = (
    "id BIGINT, name STRING, `at` TIMESTAMP(0), it TIMESTAMP_LTZ(0), d DATE, price DECIMAL(18, 4), f DOUBLE, "
    "tags ARRAY<STRING>, n INT, b BOOLEAN"
)
STORED = (
    "CREATE TABLE t (id Int64, name String, at DateTime, it DateTime, d Date, price Decimal(18, 4), f Float64, "
    "tags Array(String), n Nullable(Int32), b UInt8) ENGINE = MergeTree ORDER BY id"
)
ROW = (
    "SELECT 9223372036854775807, 'q\"\\ö', TIMESTAMP '2024-02-29 12:00:00', TO_TIMESTAMP_LTZ(1709209800, 0), "
    "DATE '2024-02-29', CAST(12345678901234.5678 AS DECIMAL(18, 4)), 1e-10, ARRAY['a', 'b'], CAST(NULL AS INT), TRUE"
)


def test_rows_are_written_and_read(url: str, run: Run) -> None:
    run(STORED)
    written(table(url, COLUMNS), ROW)
    [row] = read("SELECT * FROM t", table(url, COLUMNS))
    assert row[0] == 9223372036854775807
    assert row[1] == 'q"\\ö'
    assert str(row[2]) == "2024-02-29 12:00:00"
    assert row[3].to_epoch_milli() == 1709209800000
    assert row[4:] == (datetime.date(2024, 2, 29), Decimal("12345678901234.5678"), 1e-10, ["a", "b"], None, True)
    assert read("SELECT b, id FROM t WHERE n IS NULL", table(url, COLUMNS)) == [(True, 9223372036854775807)]
    assert read("SELECT COUNT(*) FROM t", table(url, COLUMNS)) == [(1,)]


def test_ranges_of_a_column_are_splits(url: str, run: Run) -> None:
    run("CREATE TABLE t (id Int64) ENGINE = MergeTree ORDER BY id")
    rows = ", ".join(f"({n})" for n in range(10))
    written(table(url, "id BIGINT", **{"sink.batch-size": "3"}), f"SELECT * FROM (VALUES {rows}) AS v (id)")
    names = {"column": "id", "num": "4", "lower-bound": "0", "upper-bound": "9"}
    options = {f"scan.partition.{name}": value for name, value in names.items()}
    assert sorted(read("SELECT id FROM t", table(url, "id BIGINT", **options))) == [(n,) for n in range(10)]


CHANGES = "SELECT k, SUM(v) FROM (VALUES ('a', 1), ('b', 2), ('a', 3)) AS x (k, v) GROUP BY k"
KEYED = "k STRING, v INT, PRIMARY KEY (k) NOT ENFORCED"


@pytest.mark.parametrize(("strategy", "found"), [("insert", ["a1", "a4", "b2"]), ("discard", ["a1", "b2"])])
def test_updates_are_inserted_or_discarded(url: str, run: Run, strategy: str, found: list[str]) -> None:
    run("CREATE TABLE t (k String, v Int32) ENGINE = MergeTree ORDER BY k")
    written(table(url, KEYED, **{"sink.update-strategy": strategy}), CHANGES)
    assert sorted(f"{row['k']}{row['v']}" for row in run("SELECT * FROM t FORMAT JSONEachRow")) == found


def test_updates_in_place_are_refused(url: str) -> None:
    with pytest.raises(ValidationException, match=r"'sink.update-strategy' = 'update' is not supported"):
        explained(table(url, KEYED), CHANGES)
    explained(table(url, KEYED), "SELECT 'a', 1")


BAD: list[tuple[str, dict[str, str], str]] = [
    ("k STRING, v BYTES", {}, "Column 'v' is BYTES; tables of ClickHouse may have BOOLEAN"),
    ("k STRING, v TIMESTAMP_LTZ(3)", {}, "Column 'v' is TIMESTAMP_LTZ(3)"),
    ("k STRING, v INT", {"url": "ftp://a"}, "clickhouse://host:port with the port of HTTP"),
    ("k STRING, v INT", {"sink.ignore-delete": "false"}, "expected true: ClickHouse deletes rows by rewriting"),
    ("k STRING, v INT", {"use-local": "true"}, "name the local table instead"),
    ("k STRING, v INT", {"scan.partition.num": "2"}, "must be set together, found scan.partition.num"),
]


@pytest.mark.parametrize(("columns", "options", "message"), BAD)
def test_bad_tables_are_refused(columns: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(ValidationException, match=re.escape(message)):
        read("SELECT * FROM t", table("http://127.0.0.1:1", columns, **options))


def test_errors_hide_passwords_in_the_address() -> None:
    server = ClickHouse("http://sa:geheim@127.0.0.1:1?password=geheim", "default", None, 0)
    with pytest.raises(ClickHouseError, match=r"ClickHouse at http://sa:\*{6}@127\.0\.0\.1:1") as refused:
        server.run("SELECT 1")
    assert "geheim" not in f"{refused.value} {server!r}"


def test_credentials_belong_together() -> None:
    given = {"connector": "clickhouse", "url": "clickhouse://a:1", "table-name": "t", "username": "tester"}
    with pytest.raises(ValidationException, match="'username' and 'password' must be set at the same time"):
        explained(create("t", "n INT", given), "SELECT 1")


def test_errors_name_the_statement(url: str, run: Run) -> None:
    with pytest.raises(UserFunctionError, match=r"ClickHouse at .*INSERT INTO `t`.*status 404: .*doesn't exist"):
        written(table(url, "n INT"), "SELECT 1")
    run("CREATE TABLE t (n Float64) ENGINE = MergeTree ORDER BY n")
    with pytest.raises(UserFunctionError, match="JSON has no number"):
        written(table(url, "n DOUBLE"), "SELECT CAST('NaN' AS DOUBLE)")
    with pytest.raises(ClickHouseError, match="refused"):
        ClickHouse("http://127.0.0.1:1", "default", None, 0).run("SELECT 1")
    with pytest.raises(Exception, match=r"SELECT `n` FROM `t`.*Missing columns|Unknown|no column"):
        read("SELECT * FROM t", table(url, "other INT"))
