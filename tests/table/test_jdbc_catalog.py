"""Tables of databases through a catalog."""

import sqlite3
from contextlib import closing
from urllib.parse import parse_qsl, urlsplit

import pytest

from firesteel.columns.type_text import type_text
from firesteel.common.table_errors import DatabaseNotExistException, TableNotExistException
from firesteel.connectors.jdbc.address import database_of
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.catalog import JdbcCatalog, ObjectPath
from firesteel.table.catalogs.jdbc_metadata import Address
from firesteel.table.errors import CatalogException, ValidationException
from tests.datastream.connectors import database_servers

pytestmark = pytest.mark.slow


def columns(catalog, database, table):
    schema = catalog.get_table(ObjectPath(database, table)).schema
    return {column.name: type_text(column.type) for column in schema._columns}, schema._primary_key


@pytest.fixture
def directory(tmp_path):
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database, database:
        database.execute(
            "CREATE TABLE orders (id INTEGER PRIMARY KEY, name VARCHAR(9) NOT NULL, price DECIMAL(8, 2), at TIMESTAMP, "
            "day DATE, ok BOOLEAN, weight REAL, raw BLOB)"
        )
        database.execute(
            "INSERT INTO orders VALUES (1, 'pen', '1.50', '2024-01-02 03:04:05', '2024-01-02', 1, 0.5, x'61')"
        )
        database.execute("CREATE TABLE odd (x)")
    (tmp_path / "notes.txt").write_text("no database")
    return tmp_path


@pytest.fixture
def catalog(directory):
    return JdbcCatalog("c", "shop.db", None, None, f"jdbc:sqlite:{directory}")


def test_files_of_a_directory_are_databases(catalog):
    assert catalog.list_databases() == ["shop.db"]
    assert catalog.list_tables("shop.db") == ["odd", "orders"]
    assert columns(catalog, "shop.db", "orders") == (
        {
            "id": "BIGINT NOT NULL",
            "name": "STRING NOT NULL",
            "price": "DECIMAL(8, 2)",
            "at": "TIMESTAMP(6)",
            "day": "DATE",
            "ok": "BOOLEAN",
            "weight": "DOUBLE",
            "raw": "BYTES",
        },
        ("id",),
    )


def test_missing_or_unsupported_settings_are_named(catalog):
    with pytest.raises(DatabaseNotExistException, match=r"notes\.txt"):
        catalog.list_tables("notes.txt")
    with pytest.raises(TableNotExistException, match="nothing"):
        catalog.get_table(ObjectPath("shop.db", "nothing"))
    with pytest.raises(CatalogException, match="Column 'x' of table 'odd' has the type ''"):
        catalog.get_table(ObjectPath("shop.db", "odd"))
    with pytest.raises(CatalogException, match="supported: jdbc:postgresql"):
        JdbcCatalog("c", "d", None, None, "jdbc:oracle://host")


def test_looking_for_a_table_creates_no_database(catalog, directory):
    with pytest.raises(TableNotExistException, match=r"other\.db"):
        catalog.get_table(ObjectPath("other.db", "t"))
    assert not (directory / "other.db").exists()
    assert catalog.list_databases() == ["shop.db"]


def test_passwords_are_not_shown():
    assert "se&cret" not in repr(Address("jdbc:mysql://host", "tester", "se&cret"))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'default-database' = 'd'", "misses base-url"),
        ("'base-url' = 'jdbc:sqlite:/x', 'default-database' = 'd', 'a' = 'b'", "does not know a"),
    ],
)
def test_options_of_create_catalog_are_checked(t_env, options, message):
    with pytest.raises(ValidationException, match=message):
        t_env.execute_sql(f"CREATE CATALOG c WITH ('type' = 'jdbc', {options})")


@pytest.mark.spark
def test_tables_of_a_catalog_are_read_and_written(directory):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        "CREATE CATALOG shop WITH ('type' = 'jdbc', 'default-database' = 'shop.db', "
        f"'base-url' = 'jdbc:sqlite:{directory}')"
    )
    t_env.execute_sql("USE CATALOG shop")
    assert t_env.list_tables() == ["odd", "orders"]
    t_env.execute_sql("INSERT INTO orders (id, name, ok) VALUES (2, 'ink', FALSE), (1, 'pencil', TRUE)").wait()
    with t_env.execute_sql("SELECT id, name, ok FROM orders").collect() as rows:
        assert sorted(tuple(row) for row in rows) == [(1, "pencil", True), (2, "ink", False)]


def catalog_at(url):
    parts = urlsplit(url.removeprefix("jdbc:"))
    user = dict(parse_qsl(parts.query))
    base = f"jdbc:{parts.scheme}://{parts.netloc}"
    return JdbcCatalog("c", parts.path[1:], user["user"], user.get("password"), base)


def test_tables_of_postgresql_have_schemas_and_types():
    psycopg = pytest.importorskip("psycopg")
    with database_servers.postgresql() as url:
        catalog = catalog_at(url)
        with psycopg.connect(url.removeprefix("jdbc:"), autocommit=True) as connection:
            connection.execute("CREATE SCHEMA s")
            connection.execute(
                "CREATE TABLE t (a int4, b varchar(5), c numeric(10, 3), d numeric, e timestamp(3), f timestamptz, "
                "g int8[], h text NOT NULL, i bytea, j bool, k char(2), l float4, m time, PRIMARY KEY (h, a))"
            )
            connection.execute("CREATE TABLE s.u (p point)")
        assert catalog.list_databases() == ["postgres"]
        assert catalog.list_tables("postgres") == ["public.t", "s.u"]
        found, key = columns(catalog, "postgres", "t")
        assert found == columns(catalog, "postgres", "public.t")[0]
        assert key == ("h", "a")
        assert list(found.values()) == [
            "INT NOT NULL",
            "VARCHAR(5)",
            "DECIMAL(10, 3)",
            "DECIMAL(38, 18)",
            "TIMESTAMP(3)",
            "TIMESTAMP_LTZ(6)",
            "ARRAY<BIGINT>",
            "STRING NOT NULL",
            "BYTES",
            "BOOLEAN",
            "CHAR(2)",
            "FLOAT",
            "TIME(6)",
        ]
        with pytest.raises(CatalogException, match="type 'point'"):
            catalog.get_table(ObjectPath("postgres", "s.u"))


def test_tables_of_mariadb_have_types():
    with database_servers.mariadb() as url:
        catalog, database = catalog_at(url), "test"
        with closing(database_of(url, None, None).connect()) as connection, connection.cursor() as cursor:
            cursor.execute(
                "CREATE TABLE t (a INT UNSIGNED PRIMARY KEY, b TINYINT(1), c DATETIME(3), d VARCHAR(7), "
                "e DECIMAL(9, 2), f LONGTEXT, g BIGINT UNSIGNED, h BLOB)"
            )
        assert database in catalog.list_databases()
        assert catalog.list_tables(database) == ["t"]
        found, key = columns(catalog, database, "t")
        assert key == ("a",)
        assert list(found.values()) == [
            "BIGINT NOT NULL",
            "BOOLEAN",
            "TIMESTAMP(3)",
            "VARCHAR(7)",
            "DECIMAL(9, 2)",
            "STRING",
            "DECIMAL(20, 0)",
            "BYTES",
        ]
