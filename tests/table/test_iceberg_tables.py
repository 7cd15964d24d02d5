"""Statements and jobs with Iceberg tables, in a SQLite catalog and a local warehouse."""

from __future__ import annotations

import datetime
import sys
import threading
from decimal import Decimal

import pytest

from firesteel.table.errors import TableException, ValidationException

pytest.importorskip("pyiceberg", reason="the extra firesteel[iceberg] is not installed")


from firesteel.connectors.iceberg.tables import IcebergCatalogAddress, IcebergTableAddress
from tests.table.environments import environment
from tests.table.iceberg_lake import TYPES, VALUES, Lake, options_of, selected, with_text


def test_a_table_is_created_when_it_is_used(tmp_path, t_env):
    t_env.execute_sql(
        f"CREATE TABLE t (id BIGINT, p STRING, PRIMARY KEY (id) NOT ENFORCED) PARTITIONED BY (p) "
        f"WITH ({with_text(tmp_path, catalog_table='named')}, 'write.parquet.compression-codec' = 'snappy')"
    )
    t_env.sql_query("SELECT * FROM t")
    address = IcebergTableAddress(IcebergCatalogAddress.of_options("lake", options_of(tmp_path)), "db", "named")
    with address.opened() as table:
        assert [str(field) for field in table.schema().fields] == ["1: id: required long", "2: p: optional string"]
        assert table.schema().identifier_field_names() == {"id"}
        assert [field.name for field in table.spec().fields] == ["p"]
        assert table.properties["write.parquet.compression-codec"] == "snappy"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("'catalog-type' = 'polaris'", "expected one of hive, rest, glue, jdbc, nessie, hadoop, found 'polaris'"),
        ("'catalog-type' = 'jdbc'", "uri"),
        ("'catalog-type' = 'jdbc', 'uri' = 'sqlite:////no/such/directory/c.db'", "Could not open the Iceberg catalog"),
        ("'catalog-type' = 'jdbc', 'uri' = 'x', 'nothing' = '1'", "Unsupported options.*nothing"),
    ],
)
def test_invalid_options_of_a_catalog_are_named(t_env, options, message):
    t_env.execute_sql(f"CREATE TABLE t (id INT) WITH ('connector' = 'iceberg', 'catalog-name' = 'lake', {options})")
    with pytest.raises(ValidationException, match=f"(?s){message}"):
        t_env.sql_query("SELECT * FROM t")


@pytest.mark.parametrize(
    ("columns", "options", "message"),
    [
        ("k STRING NOT NULL, v STRING", {}, "'k' is declared as STRING, but is INT in the Iceberg table lake.db.t"),
        ("k INT NOT NULL, w STRING", {}, "'w' does not exist in the Iceberg table lake.db.t; its columns are k, v"),
        ("v STRING", {}, "'k' is required in the Iceberg table"),
        ("k INT NOT NULL, v STRING", {"upsert_enabled": "true"}, "needs a PRIMARY KEY"),
        ("k INT NOT NULL, v STRING METADATA", {}, "SupportsReadingMetadata"),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path, columns, options, message):
    Lake(tmp_path)
    t_env = environment("batch")
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ({with_text(tmp_path, **options)})")
    with pytest.raises(ValidationException, match=message):
        t_env.execute_sql("INSERT INTO t SELECT * FROM t" if columns != "v STRING" else "INSERT INTO t VALUES ('a')")


def test_other_formats_than_parquet_are_not_written(tmp_path, t_env):
    options = with_text(tmp_path)
    t_env.execute_sql(f"CREATE TABLE t (id INT) WITH ({options}, 'write.format.default' = 'orc')")
    with pytest.raises(ValidationException, match=r"'write\.format\.default' = 'orc' is not supported"):
        t_env.execute_sql("INSERT INTO t VALUES (1)")
    t_env.sql_query("SELECT * FROM t")  # which creates the table with this property
    t_env.execute_sql(f"CREATE TABLE u (id INT) WITH ({options}, 'catalog-table' = 't')")
    with pytest.raises(ValidationException, match=r"'write\.format\.default' = 'orc' is not supported"):
        t_env.execute_sql("INSERT INTO u VALUES (1)")


def test_updates_need_a_primary_key(tmp_path):
    t_env = environment("streaming")
    t_env.execute_sql(f"CREATE TABLE t (v STRING, n BIGINT) WITH ({with_text(tmp_path)})")
    with pytest.raises(TableException, match="doesn't support consuming update"):
        t_env.execute_sql("INSERT INTO t SELECT v, COUNT(*) FROM (VALUES ('a')) AS T(v) GROUP BY v")


def test_a_missing_package_is_named(monkeypatch, t_env):
    monkeypatch.setitem(sys.modules, "pyiceberg", None)
    for name in [name for name in sys.modules if name.startswith(("pyiceberg.", "firesteel.connectors.iceberg.table"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delitem(sys.modules, "firesteel.table.catalogs.iceberg_catalog", raising=False)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'firesteel\[iceberg\]'"):
        t_env.execute_sql("CREATE CATALOG lake WITH ('type' = 'iceberg', 'catalog-type' = 'jdbc', 'uri' = 'x')")


@pytest.mark.spark
def test_all_types_are_written_and_read(tmp_path):
    t_env = environment("batch")
    columns = ", ".join(f"`{name}` {kind}" for name, kind in TYPES.items())
    t_env.execute_sql(f"CREATE TABLE t ({columns}) PARTITIONED BY (s, da) WITH ({with_text(tmp_path)})")
    t_env.execute_sql(f"INSERT INTO t VALUES ({VALUES})").wait()
    address = IcebergTableAddress(IcebergCatalogAddress.of_options("lake", options_of(tmp_path)), "db", "t")
    with address.opened() as table:
        [row] = table.scan().to_arrow().to_pylist()
    assert row["de"] == Decimal("1.50")
    assert row["ti"] == datetime.time(3, 4, 5)
    assert (row["x"], row["v"], row["r"], row["a"]) == (b"abc", b"ab", {"a": 1, "b": "y"}, [1, 2])
    query = (
        "SELECT i, de, da, ti, s, x, r.b, a[2], m['k'] FROM t WHERE s = 'x' AND ts > TIMESTAMP '2024-01-01 00:00:00'"
    )
    assert selected(t_env, query) == [
        (1, Decimal("1.50"), datetime.date(2024, 1, 2), datetime.time(3, 4, 5), "x", b"abc", "y", 2, 3)
    ]
    assert selected(t_env, "SELECT COUNT(*) FROM t") == [(1,)]
    assert selected(t_env, "SELECT i FROM t WHERE s = 'z'") == []


@pytest.mark.spark
def test_rows_are_appended_and_partitions_overwritten(tmp_path):
    t_env = environment("batch", parallelism=2)
    t_env.execute_sql(f"CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) WITH ({with_text(tmp_path)})")
    t_env.execute_sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')").wait()
    t_env.execute_sql("INSERT INTO t VALUES (3, 'b')").wait()
    t_env.execute_sql("INSERT OVERWRITE t PARTITION (p = 'b') SELECT 4").wait()
    assert selected(t_env, "SELECT id, p FROM t") == [(1, "a"), (4, "b")]
    assert len(Lake(tmp_path, "id INT, p STRING", (), ("p",)).snapshots()) == 3


@pytest.mark.spark
def test_a_changelog_of_groups_is_upserted(tmp_path):
    t_env = environment("streaming", parallelism=2)
    t_env.get_config().set("execution.checkpointing.interval", "100ms")
    t_env.execute_sql(f"CREATE TABLE t (k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED) WITH ({with_text(tmp_path)})")
    for _ in range(2):
        t_env.execute_sql(
            "INSERT INTO t SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a'), ('c')) AS T(k) GROUP BY k"
        ).wait()
    t_env.execute_sql("INSERT INTO t /*+ OPTIONS('upsert-enabled' = 'true') */ VALUES ('a', 9)").wait()
    assert selected(t_env, "SELECT k, n FROM t") == [("a", 9), ("b", 1), ("c", 1)]


@pytest.mark.spark
def test_tables_of_a_catalog_are_written_and_followed(tmp_path):
    t_env = environment("streaming")
    options = ", ".join(f"'{key}' = '{text}'" for key, text in options_of(tmp_path).items())
    t_env.execute_sql(f"CREATE CATALOG lake WITH ('type' = 'iceberg', {options})")
    t_env.execute_sql("CREATE TABLE lake.`default`.t (id INT, name STRING)")
    insert = "INSERT INTO lake.`default`.t VALUES ({}, 'x')"
    t_env.execute_sql(insert.format(1)).wait()
    hint = "/*+ OPTIONS('streaming' = 'true', 'monitor-interval' = '100ms') */"
    later = threading.Thread(target=lambda: t_env.execute_sql(insert.format(2)).wait())
    with t_env.execute_sql(f"SELECT id FROM lake.`default`.t {hint}").collect() as rows:
        assert next(rows)[0] == 1
        later.start()
        assert next(rows)[0] == 2
    later.join()


REST = {"uri": "http://localhost:1/"}


@pytest.mark.parametrize(
    ("options", "properties"),
    [
        ({"catalog-impl": "org.apache.iceberg.rest.RESTCatalog", **REST}, {"type": "rest", **REST}),
        ({"catalog-impl": "org.apache.iceberg.aws.glue.GlueCatalog"}, {"type": "glue"}),
        (
            {"catalog-type": "rest", "io-impl": "org.apache.iceberg.aws.s3.S3FileIO", "clients": "5", **REST},
            {"type": "rest", **REST},
        ),
        (
            {
                "catalog-impl": "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri": "jdbc:postgresql://db/lake",
                "jdbc.user": "me",
                "jdbc.password": "a/b",
                "cache-enabled": "true",
            },
            {"type": "sql", "uri": "postgresql+psycopg://me:a%2Fb@db/lake"},
        ),
    ],
)
def test_catalogs_are_named_as_people_write_it(options, properties):
    assert IcebergCatalogAddress.of_options("lake", options).properties == properties


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"catalog-type": "rest", "catalog-impl": "x.Y"}, "both catalog-type and catalog-impl are set"),
        ({"catalog-impl": "my.Catalog"}, "'catalog-impl' of 'iceberg': expected one of org.apache.iceberg.hive"),
        ({"catalog-type": "rest", "io-impl": "my.FileIO", **REST}, "Invalid value for option 'io-impl'"),
    ],
)
def test_other_classes_of_catalogs_are_refused(options, message):
    with pytest.raises(ValidationException, match=message):
        IcebergCatalogAddress.of_options("lake", options)
