import json

import pytest

from firesteel.common.table_errors import PartitionNotExistException
from firesteel.table import DataTypes, ResultKind, TableSchema
from firesteel.table.catalog import CatalogBaseTable, CatalogPartitionSpec, ObjectPath
from firesteel.table.catalogs.memory_catalog import GenericInMemoryCatalog
from firesteel.table.errors import CatalogException, SqlParserException, ValidationException


def rows_of(result):
    return [tuple(row) for row in result.collect()]


def create(t_env, name="t", columns="id INT, name STRING", options=""):
    return t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = 'datagen'{options})")


def test_statements_without_rows_give_ok(t_env):
    result = create(t_env)
    assert result.get_result_kind() == ResultKind.SUCCESS
    assert rows_of(result) == [("OK",)]
    assert result.get_job_client() is None


def test_describe_shows_keys_extras_and_watermarks(t_env):
    create(
        t_env,
        columns="id INT, ts TIMESTAMP(3), n AS id * 2, m BIGINT METADATA FROM 'x' VIRTUAL, "
        "WATERMARK FOR ts AS ts - INTERVAL '5' SECOND, PRIMARY KEY (id) NOT ENFORCED",
    )
    assert rows_of(t_env.execute_sql("DESCRIBE t")) == [
        ("id", "INT", False, "PRI(id)", None, None),
        ("ts", "TIMESTAMP(3) *ROWTIME*", True, None, None, "`ts` - INTERVAL '5' SECOND"),
        ("n", "INT", False, None, "AS `id` * 2", None),
        ("m", "BIGINT", True, None, "METADATA FROM 'x' VIRTUAL", None),
    ]


def test_alter_function_replaces_a_function_of_a_catalog(t_env):
    t_env.execute_sql("CREATE FUNCTION f AS 'tests.table.functions.double' LANGUAGE PYTHON")
    t_env.execute_sql("ALTER FUNCTION f AS 'tests.table.functions.negated' LANGUAGE PYTHON")
    assert str(t_env.sql_query("SELECT f(2)").get_schema().get_field_data_types()[0]) == "VARCHAR"
    with pytest.raises(ValidationException, match=r"Function default_database\.g does not exist in Catalog"):
        t_env.execute_sql("ALTER FUNCTION g AS 'tests.table.functions.double' LANGUAGE PYTHON")
    t_env.execute_sql("ALTER FUNCTION IF EXISTS g AS 'tests.table.functions.double' LANGUAGE PYTHON")
    with pytest.raises(ValidationException, match="Alter temporary system function is not supported"):
        t_env.execute_sql("ALTER TEMPORARY SYSTEM FUNCTION f AS 'tests.table.functions.double' LANGUAGE PYTHON")


@pytest.mark.parametrize("what", ["MODELS", "PROCEDURES", "MATERIALIZED TABLES"])
def test_a_database_has_no_other_objects(t_env, what):
    assert rows_of(t_env.execute_sql(f"SHOW {what} LIKE 'a%'")) == []
    with pytest.raises(ValidationException, match="Database nodb does not exist"):
        t_env.execute_sql(f"SHOW {what} FROM nodb")


def test_alter_table_adds_at_positions_and_drops(t_env):
    create(t_env)
    t_env.execute_sql("ALTER TABLE t ADD (extra DOUBLE AFTER id, zero INT FIRST)")
    t_env.execute_sql("ALTER TABLE t RENAME extra TO score")
    t_env.execute_sql("ALTER TABLE t DROP zero")
    t_env.execute_sql("ALTER TABLE t RENAME TO u")
    assert t_env.list_tables() == ["u"]
    assert [row[0] for row in rows_of(t_env.execute_sql("DESCRIBE u"))] == ["id", "score", "name"]


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("ALTER TABLE t ADD id INT", "already exists"),
        ("ALTER TABLE t DROP nope", "`nope` does not exist"),
        ("ALTER TABLE t DROP id", "computed column `double_id`"),
        ("ALTER TABLE t MODIFY nope INT", "`nope` which does not exist"),
        ("ALTER TABLE nope ADD x INT", "`nope` doesn't exist"),
        ("CREATE TABLE t (a INT) WITH ('connector' = 'print')", "default_database.t already exists"),
        ("DROP TABLE gone", "'default_catalog.default_database.gone' does not exist"),
        ("DROP VIEW t", "View with identifier"),
        ("CREATE TABLE x (a INT, a INT) WITH ('connector' = 'print')", "duplicates: [a]"),
        ("CREATE TABLE x (a INT, PRIMARY KEY (b) NOT ENFORCED) WITH ('connector' = 'print')", "'b' does not exist"),
        ("CREATE TABLE x (a INT, WATERMARK FOR a AS a) WITH ('connector' = 'print')", "time field type is INT"),
        ("INSERT INTO missing_sink SELECT 1", "`missing_sink`' in any of the catalogs"),
        ("INSERT INTO t VALUES (1)", "do not match"),
        ("INSERT INTO t VALUES (DATE '2024-01-01', 'x')", "Incompatible types for sink column 'id' at position 1"),
        ("INSERT INTO t (nope) VALUES (1)", "Unknown target column 'nope'"),
        ("INSERT INTO t /*+ OPTIONS('nope' = '1') */ VALUES (1, 'x')", "'nope'='1'"),
        ("USE nope", "[nope] does not exist"),
        ("USE CATALOG nope", "Catalog nope does not exist"),
    ],
)
def test_errors_name_what_is_wrong(t_env, statement, text):
    create(t_env, columns="id INT, name STRING, double_id AS id * 2")
    with pytest.raises(ValidationException) as raised:
        t_env.execute_sql(statement)
    assert text in str(raised.value)


def test_set_is_refused(t_env):
    with pytest.raises(Exception, match="get_config"):
        t_env.execute_sql("SET 'a' = 'b'")


def test_sql_query_takes_queries_only(t_env):
    with pytest.raises(ValidationException, match="only accepts a single SQL query"):
        t_env.sql_query("CREATE TABLE t (a INT) WITH ('connector' = 'print')")


def test_like_takes_over_what_its_options_say(t_env):
    create(t_env, "base", "id INT, n AS id * 2, PRIMARY KEY (id) NOT ENFORCED", ", 'number-of-rows' = '1'")
    t_env.execute_sql(
        "CREATE TABLE d (e STRING) WITH ('number-of-rows' = '2') "
        "LIKE base (INCLUDING ALL OVERWRITING OPTIONS EXCLUDING GENERATED EXCLUDING CONSTRAINTS)"
    )
    assert rows_of(t_env.execute_sql("DESCRIBE d")) == [
        ("id", "INT", True, None, None, None),
        ("e", "STRING", True, None, None, None),
    ]
    assert "'number-of-rows' = '2'" in rows_of(t_env.execute_sql("SHOW CREATE TABLE d"))[0][0]


def test_like_without_overwriting_refuses_an_option_of_both(t_env):
    create(t_env, "base", options=", 'number-of-rows' = '1'")
    with pytest.raises(ValidationException, match="OVERWRITING OPTIONS"):
        t_env.execute_sql("CREATE TABLE d WITH ('number-of-rows' = '2') LIKE base (INCLUDING OPTIONS)")


def test_show_create_table_gives_the_statement(t_env):
    t_env.execute_sql(
        "CREATE TEMPORARY TABLE t (id INT COMMENT 'key', s STRING NOT NULL, PRIMARY KEY (id) NOT ENFORCED) "
        "COMMENT 'it''s' PARTITIONED BY (s) WITH ('connector' = 'print')"
    )
    assert rows_of(t_env.execute_sql("SHOW CREATE TABLE t"))[0][0] == (
        "CREATE TEMPORARY TABLE `default_catalog`.`default_database`.`t` (\n"
        "  `id` INT NOT NULL COMMENT 'key',\n"
        "  `s` VARCHAR(2147483647) NOT NULL,\n"
        "  CONSTRAINT `PK_id` PRIMARY KEY (`id`) NOT ENFORCED\n"
        ")\n"
        "COMMENT 'it''s'\n"
        "PARTITIONED BY (`s`)\n"
        "WITH (\n"
        "  'connector' = 'print'\n"
        ")\n"
    )


def test_lists_follow_patterns(t_env):
    for name in ("alpha", "beta", "alphabet"):
        create(t_env, name)
    assert rows_of(t_env.execute_sql("SHOW TABLES LIKE 'alpha%'")) == [("alpha",), ("alphabet",)]
    assert rows_of(t_env.execute_sql("SHOW TABLES NOT LIKE 'alpha%'")) == [("beta",)]
    assert rows_of(t_env.execute_sql("SHOW TABLES ILIKE 'BET_'")) == [("beta",)]
    assert rows_of(t_env.execute_sql("SHOW COLUMNS FROM beta LIKE 'na%'"))[0][0] == "name"


def test_databases_and_catalogs(t_env):
    t_env.execute_sql("CREATE CATALOG c WITH ('type' = 'generic_in_memory')")
    t_env.execute_sql("CREATE DATABASE c.d COMMENT 'x'")
    create(t_env, "c.d.t")
    t_env.execute_sql("USE c.d")
    assert (t_env.get_current_catalog(), t_env.get_current_database()) == ("c", "d")
    assert t_env.list_tables() == ["t"]
    assert rows_of(t_env.execute_sql("SHOW CURRENT DATABASE")) == [("d",)]
    t_env.execute_sql("USE CATALOG default_catalog")
    with pytest.raises(ValidationException, match="not empty"):
        t_env.execute_sql("DROP DATABASE c.d")
    t_env.execute_sql("DROP DATABASE c.d CASCADE")
    t_env.execute_sql("DROP CATALOG c")
    assert t_env.list_catalogs() == ["default_catalog"]


def test_a_view_reads_its_tables_wherever_it_is_used(t_env):
    create(t_env)
    t_env.execute_sql("CREATE VIEW v (a) AS WITH w AS (SELECT id FROM t) SELECT id FROM w")
    t_env.execute_sql("CREATE DATABASE other")
    t_env.execute_sql("USE other")
    assert t_env.from_path("default_database.v").get_schema().get_field_names() == ["a"]


def test_temporary_tables_hide_others(t_env):
    create(t_env)
    t_env.execute_sql("CREATE TEMPORARY TABLE t (other INT) WITH ('connector' = 'datagen')")
    assert t_env.from_path("t").get_schema().get_field_names() == ["other"]
    with pytest.raises(ValidationException, match="Drop it first"):
        t_env.execute_sql("DROP TABLE t")
    assert t_env.drop_temporary_table("t")
    assert t_env.from_path("t").get_schema().get_field_names() == ["id", "name"]


def test_schema_text_has_computed_columns_watermark_and_key(t_env):
    create(
        t_env,
        columns="id INT, ts TIMESTAMP(3), n AS id + 1, WATERMARK FOR ts AS ts, PRIMARY KEY (id) NOT ENFORCED",
    )
    assert str(t_env.from_path("t").get_schema()) == (
        "root\n |-- id: INT NOT NULL\n |-- ts: TIMESTAMP(3) *ROWTIME*\n |-- n: INT NOT NULL AS `id` + 1\n"
        " |-- WATERMARK FOR ts: TIMESTAMP(3) AS `ts`\n |-- CONSTRAINT PK_id PRIMARY KEY (id)\n"
    )


def test_options_of_connectors_are_checked(t_env):
    t_env.execute_sql("CREATE TABLE a (x INT) WITH ('connector' = 'filesystem', 'format' = 'csv')")
    t_env.execute_sql("CREATE TABLE b (x INT) WITH ('connector' = 'datagen', 'number-of-rowz' = '1')")
    t_env.execute_sql("CREATE TABLE c (x INT) WITH ('connector' = 'nope')")
    t_env.execute_sql("CREATE TABLE d (x INT) WITH ('connector' = 'print')")
    t_env.execute_sql("CREATE TABLE e (x INT) WITH ('connector' = 'filesystem', 'path' = 'p', 'format' = 'jsn')")
    for name, text in (
        ("a", "Missing required options are:\n\npath"),
        ("b", "Unsupported options:\n\nnumber-of-rowz; did you mean 'number-of-rows'?"),
        ("c", "Could not find any factory for identifier 'nope'"),
        ("d", "can only be used as a sink"),
        ("e", "Could not find any format factory for identifier 'jsn'; did you mean 'json'?"),
    ):
        with pytest.raises(ValidationException) as raised:
            t_env.sql_query(f"SELECT * FROM {name}")
        assert text in str(raised.value)


def test_a_misspelt_type_is_named_with_the_one_that_is_meant(t_env):
    with pytest.raises(SqlParserException, match="expected a type, found 'INTT'; did you mean 'INT'\\?"):
        t_env.execute_sql("CREATE TABLE a (x INTT) WITH ('connector' = 'datagen')")


def test_show_columns_has_comments_if_a_column_has_one(t_env):
    t_env.execute_sql("CREATE TABLE c (a INT COMMENT 'first', b INT) COMMENT 'table' WITH ('connector' = 'print')")
    assert rows_of(t_env.execute_sql("SHOW COLUMNS FROM c LIKE 'a'"))[0][-1] == "first"
    t_env.execute_sql("CREATE TABLE d LIKE c")
    assert "COMMENT 'table'" not in rows_of(t_env.execute_sql("SHOW CREATE TABLE d"))[0][0]


def test_the_json_plan_has_the_operators_of_the_job(t_env):
    t_env.execute_sql("CREATE TABLE sink (a INT, b BIGINT) WITH ('connector' = 'blackhole')")
    for statement, types in (
        (
            "SELECT x, COUNT(*) FROM (VALUES (1)) AS t(x) GROUP BY x",
            ["Data Source", "Operator", "Operator", "Operator"],
        ),
        ("INSERT INTO sink VALUES (1, 2)", ["Data Source", "Operator", "Data Sink"]),
    ):
        text = rows_of(t_env.execute_sql(f"EXPLAIN JSON_EXECUTION_PLAN {statement}"))[0][0]
        plan = json.loads(text.partition("== Physical Execution Plan ==")[2])
        assert [node["pact"] for node in plan["nodes"]] == types


def test_temporary_tables_and_views_are_not_renamed(t_env):
    for name in ("t1", "t2"):
        t_env.execute_sql(f"CREATE TEMPORARY TABLE {name} (a INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("CREATE TEMPORARY VIEW v1 AS SELECT 1 AS b")
    for target in ("t2", "t3", "other.t3"):
        with pytest.raises(ValidationException, match="doesn't exist or is a temporary table"):
            t_env.execute_sql(f"ALTER TABLE t1 RENAME TO {target}")
    with pytest.raises(ValidationException, match="doesn't exist or is a temporary view"):
        t_env.execute_sql("ALTER VIEW v1 RENAME TO t2")
    assert t_env.list_tables() == ["t1", "t2", "v1"]


def test_a_table_that_a_temporary_view_hides_is_dropped(t_env):
    t_env.execute_sql("CREATE TABLE t (a INT) WITH ('connector' = 'datagen')")
    t_env.create_temporary_view("t", t_env.from_elements([(1,)], ["b"]))
    assert t_env.drop_table("t")
    assert t_env.drop_temporary_view("t")
    assert t_env.list_tables() == []


def test_dropping_from_what_is_missing_can_be_ignored():
    catalog = GenericInMemoryCatalog("c", "d")
    catalog.drop_partition(ObjectPath("d", "missing"), CatalogPartitionSpec({"a": "1"}), True)
    catalog.drop_partition(ObjectPath("missing", "t"), CatalogPartitionSpec({"a": "1"}), True)
    catalog.drop_model(ObjectPath("missing", "m"), True)
    with pytest.raises(PartitionNotExistException):
        catalog.drop_partition(ObjectPath("d", "missing"), CatalogPartitionSpec({"a": "1"}), False)


def test_a_table_does_not_become_a_view():
    catalog, path = GenericInMemoryCatalog("c", "d"), ObjectPath("d", "t")
    schema = TableSchema(["a"], [DataTypes.INT()])
    catalog.create_table(path, CatalogBaseTable.create_table(schema), False)
    view = CatalogBaseTable.create_view("SELECT 1", "SELECT 1", schema, {})
    with pytest.raises(CatalogException, match="Table types don't match"):
        catalog.alter_table(path, view, False)
