"""Catalogs of type `spark`, with the Spark of this process."""

import datetime
import os
import pickle
from decimal import Decimal

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from firesteel.client.spark_tables import SparkTableError
from firesteel.common.files.run_directory import RUN_DIRECTORY, run_directory
from firesteel.connectors.spark import staging as connector
from firesteel.entrypoint.spark_session import shared_gateway
from firesteel.table import DataTypes, ExplainDetail
from firesteel.table.errors import CatalogException, ValidationException
from tests.table.conftest import rows_of
from tests.table.environments import environment

pytestmark = pytest.mark.spark

AT = datetime.datetime(2024, 5, 1, 12, 0, 0, 123456, tzinfo=datetime.UTC)
ALL_TYPES = (
    "flag BOOLEAN, tiny TINYINT, small SMALLINT, id INT, big BIGINT, f FLOAT, d DOUBLE, price DECIMAL(10, 2), "
    "wide DECIMAL(38, 18), name STRING, code CHAR(3), bytes BINARY, day DATE, at TIMESTAMP, wall TIMESTAMP_NTZ, "
    "tags ARRAY<STRING>, counts MAP<STRING, INT>, place STRUCT<city: STRING, at: TIMESTAMP, zips: ARRAY<INT>>"
)
FULL_ROW = (
    True, 1, 2, 3, 4, 1.5, 2.5, Decimal("1.50"), Decimal("0.000000000000000001"), "Ann", "ab ", b"\x00\xff",
    datetime.date(1500, 1, 1), AT, datetime.datetime(1000, 1, 2, 3, 4, 5, 600000), ["x", None], {"a": 1, "b": None},
    ("Rome", AT, [1, None]),
)  # fmt: skip


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """The session of the program, with tables in the database `shop`; what it stages is beside nobody else's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(RUN_DIRECTORY, str(tmp_path_factory.mktemp("run", numbered=True)))
        yield from session_with_tables(tmp_path_factory)


def session_with_tables(tmp_path_factory):
    session = SparkSession(shared_gateway({}).context())
    location = tmp_path_factory.mktemp("shop")
    session.sql(f"CREATE DATABASE shop COMMENT 'All sales' LOCATION '{location}'")
    session.sql(f"CREATE TABLE shop.types ({ALL_TYPES}) USING parquet")
    rows = session.createDataFrame([FULL_ROW, (None,) * len(FULL_ROW)], ALL_TYPES.replace("CHAR(3)", "STRING"))
    rows.write.insertInto("shop.types")
    session.sql(
        "CREATE TABLE shop.orders (id INT COMMENT 'the number', item STRING, amount DOUBLE, day DATE, region STRING) "
        "USING parquet PARTITIONED BY (day, region) COMMENT 'Orders by day'"
    )
    session.sql(
        "INSERT INTO shop.orders VALUES (1, 'pen', 1.5, DATE'2024-05-01', 'a/b'), (2, 'cup', 7, DATE'2024-05-01', 'c'),"
        " (3, 'pen', 2, DATE'2024-05-02', 'a/b'), (4, 'hat', 20, DATE'2024-05-03', NULL)"
    )
    session.sql("CREATE TABLE shop.items (item STRING, color STRING) USING csv")
    session.sql("INSERT INTO shop.items VALUES ('pen', 'red'), ('cup', NULL)")
    session.sql("CREATE TABLE shop.nothing (`a b` INT, `c.d` STRING) USING json")
    session.sql("CREATE VIEW shop.totals AS SELECT item, SUM(amount) AS total FROM shop.orders GROUP BY item")
    session.sql(
        "CREATE VIEW shop.broken AS SELECT CAST(raise_error('no luck') AS STRING) AS text, item FROM shop.orders"
    )
    session.sql("CREATE VIEW shop.spans AS SELECT INTERVAL '1' DAY AS span, 1 AS n")
    # Derby, which PySpark includes, would write its log to the working directory.
    session._jvm.java.lang.System.setProperty("derby.stream.error.file", f"{location}.log")
    database = {"url": "jdbc:derby:memory:shop;create=true", "driver": "org.apache.derby.jdbc.EmbeddedDriver"}
    session.createDataFrame([("pen", 3), ("cup", None)], "item STRING, stock INT").write.jdbc(
        database["url"], "stocks", properties=database
    )
    options = ", ".join(f"{key} '{text}'" for key, text in database.items())
    session.sql(f"CREATE TABLE shop.stocks USING jdbc OPTIONS ({options}, dbtable 'stocks')")
    session.range(3).createOrReplaceTempView("of_the_program")
    yield session
    session.sql("DROP DATABASE shop CASCADE")


def with_catalog(mode="batch", options="", parallelism=2):
    t_env = environment(mode, parallelism)
    t_env.execute_sql(f"CREATE CATALOG s WITH ('type' = 'spark', 'default-database' = 'shop'{options})")
    t_env.use_catalog("s")
    return t_env


def staging_directory():
    return run_directory() / "spark"


def is_nothing_staged():
    return not staging_directory().exists() or not list(staging_directory().iterdir())


def query(t_env, sql):
    with t_env.execute_sql(sql).collect() as rows:
        return sorted((tuple(row) for row in rows), key=repr)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_all_types_are_read_in_both_modes(spark, mode):
    t_env = with_catalog(mode)
    found = t_env.from_path("types").to_spark(spark).orderBy("id").collect()
    expected = spark.table("shop.types").orderBy("id").collect()
    assert found == expected
    assert is_nothing_staged()


def test_databases_tables_and_columns_are_shown(spark):
    t_env = with_catalog()
    assert rows_of(t_env.execute_sql("SHOW DATABASES")) == [("default",), ("shop",)]
    tables = ["broken", "items", "nothing", "orders", "spans", "stocks", "totals", "types"]
    assert [name for (name,) in rows_of(t_env.execute_sql("SHOW TABLES"))] == tables
    assert rows_of(t_env.execute_sql("SHOW VIEWS")) == []
    described = [tuple(row)[:3] for row in t_env.execute_sql("DESCRIBE orders").collect()]
    assert described[0] == ("id", "INT", True)
    assert described[3] == ("day", "DATE", True)
    ((text,),) = rows_of(t_env.execute_sql("SHOW CREATE TABLE orders"))
    assert text == (
        "CREATE TABLE `s`.`shop`.`orders` (\n  `id` INT COMMENT 'the number',\n"
        "  `item` VARCHAR(2147483647),\n  `amount` DOUBLE,\n  `day` DATE,\n  `region` VARCHAR(2147483647)\n)\n"
        "COMMENT 'Orders by day'\nPARTITIONED BY (`day`, `region`)\n"
        "WITH (\n  'connector' = 'spark',\n  'table' = 'spark_catalog.shop.orders'\n)\n"
    )
    assert t_env.get_catalog("s").get_database("shop").get_comment() == "All sales"
    types = t_env.from_path("types").get_schema().get_field_data_types()
    assert types[9:15] == [
        DataTypes.STRING(), DataTypes.STRING(), DataTypes.BYTES(), DataTypes.DATE(),
        DataTypes.TIMESTAMP_LTZ(6), DataTypes.TIMESTAMP(6),
    ]  # fmt: skip


def test_only_the_columns_and_partitions_of_a_query_are_staged_and_removed_after_it(spark, monkeypatch):
    staged = []

    def write(staging, inner=connector.Staging.write):
        inner(staging)
        files = [f"{directory}/{name}" for directory, _, names in os.walk(staging._path) for name in names]
        files = [name for name in files if name.endswith(".parquet")]
        found = [pyarrow.parquet.read_metadata(name) for name in files]
        staged.append((found[0].schema.to_arrow_schema().names, sum(file.num_rows for file in found)))

    monkeypatch.setattr(connector.Staging, "write", write)
    t_env = with_catalog()
    assert query(t_env, "SELECT id FROM orders WHERE `day` >= DATE '2024-05-02'") == [(3,), (4,)]
    assert query(t_env, "SELECT id FROM orders WHERE region = 'a/b' OR region IS NULL") == [(1,), (3,), (4,)]
    assert query(t_env, "SELECT id FROM orders WHERE region = 'nowhere'") == []
    assert staged == [(["id", "day"], 2), (["id", "region"], 3), (["id", "region"], 0)]
    assert is_nothing_staged()


@pytest.mark.parametrize("escaped", ["true", "false"])
def test_partitions_are_found_however_the_session_reads_texts(spark, escaped):
    spark.sql("CREATE TABLE IF NOT EXISTS shop.quoted (v INT, name STRING) USING parquet PARTITIONED BY (name)")
    texts = ["it's", "a\\b", '"', "50% = 1/2", "\N{SNOWMAN}"]
    rows = spark.createDataFrame(list(enumerate(texts)), "v INT, name STRING")
    rows.write.insertInto("shop.quoted", overwrite=True)
    t_env = with_catalog(options=f", 'spark.sql.parser.escapedStringLiterals' = '{escaped}'")
    for number, text in enumerate(texts):
        quoted = text.replace("'", "''")
        assert query(t_env, f"SELECT v FROM quoted WHERE name = '{quoted}'") == [(number,)]
    spark.sql("DROP TABLE shop.quoted")


def test_explain_stages_nothing(spark, monkeypatch):
    monkeypatch.setattr(connector.Staging, "write", lambda staging: pytest.fail("staged"))
    text = with_catalog().explain_sql("SELECT id FROM orders", ExplainDetail.JSON_EXECUTION_PLAN)
    assert "Physical Execution Plan" in text


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_tables_of_both_engines_are_joined(spark, mode, tmp_path):
    t_env = with_catalog(mode)
    t_env.create_temporary_view("pages", t_env.from_elements([("pen", 5), ("hat", 6)], ["item", "page"]))
    sql = (
        "SELECT o.id, i.color, p.page FROM orders o JOIN pages p ON o.item = p.item "
        "LEFT JOIN items i ON o.item = i.item"
    )
    rows = sorted(map(tuple, t_env.sql_query(sql).to_spark(spark).collect()))
    assert rows == [(1, "red", 5), (3, "red", 5), (4, None, 6)]
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE `out` (item STRING, total DOUBLE) WITH ('connector' = 'filesystem', 'format' = 'csv', "
        f"'path' = '{tmp_path}/out')"
    )
    t_env.execute_sql("INSERT INTO `out` SELECT t.item, total FROM totals t JOIN stocks s ON t.item = s.item").wait()
    lines = sorted(line for path in (tmp_path / "out").iterdir() for line in path.read_text().splitlines())
    assert lines == ["cup,7.0", "pen,3.5"]
    assert is_nothing_staged()


def test_rows_that_spark_adds_later_are_read_by_the_next_query(spark):
    t_env = with_catalog()
    spark.sql("CREATE TABLE shop.grows (n INT) USING parquet")
    try:
        assert query(t_env, "SELECT n FROM grows") == []
        spark.sql("INSERT INTO shop.grows VALUES (1)")
        assert query(t_env, "SELECT n FROM grows") == [(1,)]
        assert query(t_env, "SELECT `c.d`, `a b` FROM nothing") == []
    finally:
        spark.sql("DROP TABLE shop.grows")


def test_a_table_like_one_of_spark_adds_a_watermark(spark):
    t_env = with_catalog("streaming")
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE timed (ts AS CAST(`day` AS TIMESTAMP(3)), WATERMARK FOR ts AS ts - INTERVAL '9' DAY) "
        "LIKE orders"
    )
    sql = (
        "SELECT window_start, SUM(amount) FROM TUMBLE(TABLE timed, DESCRIPTOR(ts), INTERVAL '1' DAY) "
        "GROUP BY window_start, window_end"
    )
    assert [total for _, total in query(t_env, sql)] == [8.5, 2.0, 20.0]


def test_staged_files_are_in_the_configured_directory(spark, tmp_path, monkeypatch):
    t_env = with_catalog(options=f", 'staging.path' = '{tmp_path}/staging'")
    assert query(t_env, "SELECT COUNT(*) FROM orders") == [(4,)]
    assert list((tmp_path / "staging").iterdir()) == []
    t_env = with_catalog()
    t_env.get_config().set("io.tmp.dirs", str(tmp_path / "tmp"))
    assert query(t_env, "SELECT COUNT(*) FROM orders") == [(4,)]
    assert list((tmp_path / "tmp" / f"firesteel-spark-{os.getuid()}").iterdir()) == []


def test_options_of_spark_apply_to_the_catalog_or_are_refused(spark, tmp_path):
    (tmp_path / "moments.csv").write_text("2024-05-01 12:00:00")
    spark.sql(f"CREATE TABLE shop.moments (at TIMESTAMP) USING csv LOCATION '{tmp_path}'")
    t_env = with_catalog(options=", 'spark.sql.session.timeZone' = 'Asia/Tokyo'")
    assert query(t_env, "SELECT CAST(`at` AS STRING) FROM moments") == [("2024-05-01 03:00:00.000000",)]
    spark.sql("DROP TABLE shop.moments")
    assert spark.conf.get("spark.sql.session.timeZone") != "Asia/Tokyo"
    with pytest.raises(ValidationException, match=r"'spark.sql.warehouse.dir' = '/x' can't be changed"):
        with_catalog(options=", 'spark.sql.warehouse.dir' = '/x'")
    with pytest.raises(ValidationException, match=r"'spark.master' = 'yarn' can't be changed"):
        with_catalog(options=", 'spark.master' = 'yarn'")


def test_invalid_options_and_names_are_refused(spark):
    t_env = environment()
    for options, message in (
        ("'uri' = 'x'", "does not know uri; its options are type, default-database, spark-catalog, staging.path"),
        ("'default-database' = 'nope'", "'spark_catalog' has no database 'nope'; set 'default-database' to one of"),
        ("'spark-catalog' = 'nope'", "nope"),
    ):
        with pytest.raises(ValidationException, match=message):
            t_env.execute_sql(f"CREATE CATALOG s WITH ('type' = 'spark', {options})")
    t_env = with_catalog()
    with pytest.raises(ValidationException, match="nope"):
        t_env.execute_sql("SELECT * FROM nope")
    with pytest.raises(ValidationException, match="Column 'span' has Spark's type interval day"):
        t_env.execute_sql("SELECT n FROM spans")
    with pytest.raises(CatalogException, match="Database nope does not exist"):
        t_env.get_catalog("s").list_tables("nope")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE t (i INT)",
        "CREATE VIEW t AS SELECT 1 AS n",
        "DROP TABLE orders",
        "ALTER TABLE orders RENAME TO others",
        "ALTER TABLE orders ADD (x INT)",
        "CREATE DATABASE d",
        "DROP DATABASE `default`",
        "INSERT INTO items VALUES ('cap', 'blue')",
    ],
)
def test_changes_are_refused(spark, statement):
    with pytest.raises(ValidationException, match=r"can only be read.*to_spark\(\)"):
        with_catalog().execute_sql(statement)


def test_declared_columns_must_be_those_of_spark(spark):
    t_env = environment()
    for columns, message in (
        ("x INT", "Column 'x' is not in shop.items of Spark, which has item, color"),
        ("item INT", "Column 'item' is string in shop.items of Spark, but INT"),
        ("item STRING, p STRING METADATA", "declares metadata columns"),
    ):
        t_env.execute_sql(f"CREATE TEMPORARY TABLE t ({columns}) WITH ('connector' = 'spark', 'table' = 'shop.items')")
        with pytest.raises(ValidationException, match=message):
            t_env.execute_sql("SELECT * FROM t")
        t_env.execute_sql("DROP TEMPORARY TABLE t")


def test_an_error_of_spark_ends_the_query(spark):
    with pytest.raises(SparkTableError, match=r"^Spark: .*no luck"):
        with_catalog().execute_sql("SELECT text FROM broken")
    assert is_nothing_staged()


def test_staging_is_not_part_of_the_job():
    staging = connector.Staging(lambda path: None, "/nowhere", {})
    assert pickle.loads(pickle.dumps(staging)) is None
