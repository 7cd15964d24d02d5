"""Databases and tables of an Iceberg catalog."""

from __future__ import annotations

import pytest

from firesteel.columns.type_text import type_text
from firesteel.table.catalog import ObjectPath
from firesteel.table.errors import CatalogException, ValidationException
from tests.table.conftest import rows_of

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")


from tests.table.iceberg_lake import TYPES, options_of


@pytest.fixture
def in_lake(tmp_path, t_env):
    options = ", ".join(f"'{key}' = '{text}'" for key, text in options_of(tmp_path).items())
    t_env.execute_sql(f"CREATE CATALOG lake WITH ('type' = 'iceberg', {options})")
    t_env.execute_sql("USE CATALOG lake")
    return t_env


def test_databases_are_created_and_dropped(in_lake):
    in_lake.execute_sql("CREATE DATABASE sales COMMENT 'all sales' WITH ('owner' = 'Ann')")
    in_lake.execute_sql("CREATE DATABASE IF NOT EXISTS sales")
    assert in_lake.list_databases() == ["default", "sales"]
    database = in_lake.get_catalog("lake").get_database("sales")
    assert (database.get_comment(), database.get_properties()["owner"]) == ("all sales", "Ann")
    with pytest.raises(CatalogException, match="already exists"):
        in_lake.execute_sql("CREATE DATABASE sales")
    in_lake.execute_sql("CREATE TABLE sales.t (id INT)")
    with pytest.raises(CatalogException, match="not empty"):
        in_lake.execute_sql("DROP DATABASE sales")
    in_lake.execute_sql("DROP TABLE sales.t")
    in_lake.execute_sql("DROP DATABASE sales")
    in_lake.execute_sql("DROP DATABASE IF EXISTS sales")
    with pytest.raises(CatalogException, match="does not exist"):
        in_lake.execute_sql("DROP DATABASE sales")
    with pytest.raises(CatalogException, match="does not exist"):
        in_lake.get_catalog("lake").get_database("sales")


def test_tables_are_created_renamed_and_dropped(in_lake):
    columns = ", ".join(f"`{name}` {kind}" for name, kind in TYPES.items())
    in_lake.execute_sql(
        f"CREATE TABLE t ({columns}, PRIMARY KEY (i) NOT ENFORCED) COMMENT 'many types' PARTITIONED BY (s)"
    )
    assert in_lake.list_tables() == ["t"]
    found = in_lake.get_catalog("lake").get_table(ObjectPath("default", "t"))
    types = {column.name: type_text(column.type) for column in found.schema._columns}
    assert types == {**TYPES, "i": "INT NOT NULL"}
    assert (found.partition_keys, found.schema._primary_key, found.get_comment()) == (("s",), ("i",), "many types")
    assert ("i", "INT", False, "PRI(i)", None, None) in rows_of(in_lake.execute_sql("DESCRIBE t"))
    in_lake.execute_sql("ALTER TABLE t RENAME TO u")
    assert in_lake.list_tables() == ["u"]
    with pytest.raises(ValidationException, match="already exists"):
        in_lake.execute_sql("CREATE TABLE u (id INT)")
    in_lake.execute_sql("CREATE TABLE IF NOT EXISTS u (id INT)")
    in_lake.execute_sql("DROP TABLE u")
    assert in_lake.list_tables() == []


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("CREATE TABLE t (id INT, two AS id * 2)", "computed columns"),
        ("CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts)", "watermark"),
        ("CREATE TABLE t (id INT) WITH ('connector' = 'datagen')", "'connector'='datagen'"),
        ("CREATE VIEW v AS SELECT 1 AS n", "Views"),
        ("CREATE TABLE nowhere.t (id INT)", "Database nowhere does not exist"),
        ("CREATE CATALOG c WITH ('type' = 'iceberg', 'a' = 'b')", "does not know a"),
        ("CREATE CATALOG c WITH ('type' = 'iceberg', 'catalog-type' = 'polaris')", "hive, rest, glue, jdbc"),
    ],
)
def test_statements_that_a_catalog_does_not_support_are_refused(in_lake, statement, message):
    with pytest.raises(ValidationException, match=message):
        in_lake.execute_sql(statement)
