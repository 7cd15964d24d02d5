"""Names of tables and columns in statements for databases, as Flink's programs have them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.connectors.jdbc.names import SqlNames, exact_table
from firesteel.table.catalog import JdbcCatalog
from tests.datastream.connectors import database_servers
from tests.table.local_runs import create, environments, insert, read, written

POSTGRES, MYSQL, SQLITE = "jdbc:postgresql://h/d", "jdbc:mysql://h/d", "jdbc:sqlite:/d"


@pytest.mark.parametrize(
    ("url", "table", "name", "expected"),
    [
        (POSTGRES, "Shop.Orders", "userId", ('"shop"."orders"', '"userid"')),
        (POSTGRES, "orders", "order", ('"orders"', '"order"')),
        (POSTGRES, "orders", '"userId"', ('"orders"', '"userId"')),
        (POSTGRES, 's."My.Orders"', "userId", ('"s"."My.Orders"', '"userId"')),
        (POSTGRES, "orders", 'a"b', ('"orders"', '"a""b"')),
        (POSTGRES, "Straße", "Ärger", ('"straße"', '"Ärger"')),
        (MYSQL, "Shop.Orders", "user`Id", ("`Shop`.`Orders`", "`user``Id`")),
        (SQLITE, "Orders", '"userId"', ('"Orders"', '"""userId"""')),
    ],
)
def test_names_are_those_of_flink(url: str, table: str, name: str, expected: tuple[str, str]) -> None:
    names = SqlNames(url, table)
    assert (names.table, names.quoted(name)) == expected


def test_tables_of_a_catalog_keep_their_names() -> None:
    assert exact_table(POSTGRES, "public.orders", ["id"]) == "public.orders"
    assert exact_table(POSTGRES, "public.orders", ["userId"]) == '"public"."orders"'
    assert exact_table(MYSQL, "Orders", ["userId"]) == "Orders"


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    pytest.importorskip("psycopg")
    with database_servers.postgresql() as found:
        yield found


def execute(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url.removeprefix("jdbc:"), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.slow
def test_a_table_made_without_quotes_is_written_and_read(url: str) -> None:
    execute(url, 'CREATE TABLE Rides (PULocationID int PRIMARY KEY, "order" text)')
    columns = "PULocationID INT, `order` STRING, PRIMARY KEY (PULocationID) NOT ENFORCED"
    table = create("t", columns, {"connector": "jdbc", "url": url, "table-name": "Rides"})
    written(table, "SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (1, 'c')) AS v (i, o)")
    assert sorted(read("SELECT PULocationID, `order` FROM t", table)) == [(1, "c"), (2, "b")]
    assert read("SELECT `order` FROM t WHERE PULocationID = 2", table) == [("b",)]
    orders = "CREATE VIEW o AS SELECT *, PROCTIME() AS p FROM (VALUES (1)) AS x (k)"
    query = "SELECT t.`order` FROM o JOIN t FOR SYSTEM_TIME AS OF o.p AS t ON o.k = t.PULocationID"
    assert read(query, table, orders) == [("c",)]


@pytest.mark.slow
def test_a_table_made_with_quotes_is_used_through_the_catalog(url: str) -> None:
    execute(url, 'CREATE TABLE "Shop" ("userId" int PRIMARY KEY)')
    host = url.partition("://")[2].partition("/")[0]
    env, t_env = environments()
    t_env.register_catalog("c", JdbcCatalog("c", "postgres", "tester", "", f"jdbc:postgresql://{host}"))
    insert(env, t_env, "INSERT INTO c.postgres.`Shop` VALUES (7)")
    given = {"connector": "jdbc", "url": url, "table-name": '"Shop"'}
    assert read("SELECT * FROM t", create("t", "userId INT", given)) == [(7,)]
