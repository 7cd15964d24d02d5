"""Catalogs of type `hadoop`: directories with the versions of tables, which are read and never written."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from firesteel.table.errors import CatalogException, ValidationException

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")


from tests.table.iceberg_lake import Lake, selected


@pytest.fixture
def warehouse(tmp_path: Path) -> Path:
    """Return a warehouse with the table `db.t`, whose versions are named as by Iceberg's HadoopTableOperations."""
    lake = Lake(tmp_path)
    for rows in ([(1, "a")], [(2, "b")]):
        lake.commit(lake.sink(), lake.batch(*rows), number=len(rows[0][1]) + rows[0][0])
    metadata = next((tmp_path / "lake").rglob("metadata"))
    versions = sorted(metadata.glob("*.metadata.json"))
    for number, version in enumerate(versions, start=1):
        version.rename(metadata / f"v{number}.metadata.json")
    (metadata / "version-hint.text").write_text("1")  # it may be behind
    return metadata.parent.parent.parent


@pytest.fixture
def in_warehouse(warehouse: Path, t_env):
    t_env.execute_sql(
        f"CREATE CATALOG h WITH ('type' = 'iceberg', 'catalog-type' = 'hadoop', 'warehouse' = 'file://{warehouse}', "
        "'default-database' = 'db')"
    )
    t_env.execute_sql("USE CATALOG h")
    return t_env


@pytest.mark.spark
def test_the_last_version_is_read(in_warehouse, warehouse):
    directories = [path.name for path in warehouse.iterdir()]
    assert in_warehouse.list_databases() == directories
    assert in_warehouse.list_tables() == ["t"]
    assert selected(in_warehouse, "SELECT * FROM t") == [(1, "a"), (2, "b")]
    [metadata] = warehouse.rglob("metadata")
    last = max(metadata.glob("v*.metadata.json"))
    (metadata / last.name.replace(".metadata.json", ".gz.metadata.json")).write_bytes(gzip.compress(last.read_bytes()))
    last.unlink()
    assert selected(in_warehouse, "SELECT k FROM t WHERE v = 'b'") == [(2,)]


def test_nothing_is_written(in_warehouse):
    with pytest.raises(ValidationException, match="type 'hadoop' can only be read"):
        in_warehouse.explain_sql("INSERT INTO t VALUES (3, 'c')")
    statements = ["CREATE TABLE u (id INT)", "DROP TABLE t", "ALTER TABLE t RENAME TO u", "CREATE DATABASE x"]
    for statement in statements:
        with pytest.raises((CatalogException, ValidationException), match="type 'hadoop' and can only be read"):
            in_warehouse.execute_sql(statement)
    with pytest.raises(CatalogException, match="does not exist"):
        in_warehouse.get_catalog("h").list_tables("nope")


def test_a_warehouse_is_required(t_env):
    with pytest.raises(ValidationException, match="warehouse \\(of 'catalog-type' = 'hadoop'\\)"):
        t_env.execute_sql("CREATE CATALOG h WITH ('type' = 'iceberg', 'catalog-type' = 'hadoop')")
