"""Statements and expressions that Flink has: they run, or say that they do not and what to do instead."""

from __future__ import annotations

import pytest

from firesteel.common.table_errors import SqlParserError, ValidationException
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import EnvironmentSettings, StreamTableEnvironment, TableEnvironment
from firesteel.table.environment.pandas_conversion import materialized
from firesteel.table.expressions import array, coalesce, col, lag, map_from_arrays, row_interval, with_all_columns
from firesteel.table.planner.parse.parse_statements import _REFUSED
from firesteel.table.window import Over
from firesteel.testing import run_local
from tests.table.environments import environment


@pytest.fixture(scope="module")
def batch() -> TableEnvironment:
    made = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    made.create_temporary_view("t", made.sql_query("SELECT * FROM (VALUES (1, 'a'), (2, 'b'), (3, 'c')) AS x (k, s)"))
    return made


def rows(table):
    with table.execute().collect() as found:
        return sorted((tuple(row) for row in found), key=repr)


WINDOWS = (
    "TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' DAY, `OFFSET` => INTERVAL '1' HOUR)",
    "TUMBLE(DATA => TABLE s, TIMECOL => DESCRIPTOR(ts), SIZE => INTERVAL '1' HOUR, `OFFSET` => INTERVAL '1' MINUTE)",
    "SESSION(DATA => TABLE s PARTITION BY k, TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' MINUTES)",
    "SESSION(DATA => TABLE s PARTITION BY (k, v), TIMECOL => DESCRIPTOR(ts), GAP => INTERVAL '5' MINUTES)",
    "SESSION(TABLE s PARTITION BY k, v, DESCRIPTOR(ts), INTERVAL '5' MINUTES)",
)


@pytest.mark.parametrize("window", WINDOWS)
def test_named_arguments_of_window_functions(window):
    t_env = environment()
    t_env.execute_sql(
        "CREATE TABLE s (k INT, v INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts) WITH ('connector' = 'datagen')"
    )
    assert t_env.sql_query(f"SELECT window_start, COUNT(*) FROM TABLE({window}) GROUP BY window_start, window_end, k")


def test_rows_of_values_need_no_parentheses(batch):
    assert rows(batch.sql_query("SELECT * FROM (VALUES 1, 2)")) == [(1,), (2,)]
    assert rows(batch.sql_query("SELECT a + 1 FROM (VALUES 1, 2) AS x (a)")) == [(2,), (3,)]
    assert rows(batch.sql_query("SELECT s FROM t WHERE k IN (VALUES 1, 3)")) == [("a",), ("c",)]


QUALIFIED = {
    "SELECT id FROM {} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) = 1": [(2,), (4,)],
    "SELECT id, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) AS n FROM {} QUALIFY n < 3": [
        (1, 2),
        (2, 1),
        (3, 2),
        (4, 1),
    ],
    "SELECT DISTINCT k FROM {} WHERE v > 5 QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) <= 2": [
        ("a",),
        ("b",),
    ],
    "SELECT k, SUM(v) FROM {} GROUP BY k QUALIFY ROW_NUMBER() OVER (ORDER BY SUM(v) DESC) = 1": [("a", 30)],
    "SELECT id FROM {} QUALIFY ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) = 1 ORDER BY v LIMIT 1": [(3,)],
}
ROWS = "(VALUES (1, 'a', 10), (2, 'a', 20), (3, 'b', 5), (4, 'b', 7)) AS t (id, k, v)"


@pytest.mark.parametrize("query", QUALIFIED)
def test_qualify_filters_by_window_functions(query):
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    table = t_env.sql_query(query.format(ROWS))
    assert "Rank(" in table.explain()
    t_env.to_changelog_stream(table).collect_async()
    left = materialized(run_local(env).elements)
    assert sorted(map(tuple, left)) == QUALIFIED[query]


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("v > 3", "must contain a window function"),
        ("ROW_NUMBER() OVER (ORDER BY v)", "QUALIFY clause must be a condition"),
    ],
)
def test_qualify_needs_a_condition_over_a_window_function(batch, condition, message):
    with pytest.raises(ValidationException, match=message):
        batch.sql_query(f"SELECT id FROM {ROWS} QUALIFY {condition}")


@pytest.mark.parametrize("key", ["PRIMARY KEY", "PRIMARY KEY ENFORCED"])
def test_a_primary_key_must_not_be_enforced(batch, key):
    for columns in (f"k INT {key}", f"k INT, {key.replace('KEY', 'KEY (k)')}"):
        with pytest.raises(ValidationException, match="doesn't support ENFORCED mode for PRIMARY KEY"):
            batch.execute_sql(f"CREATE TABLE p ({columns}) WITH ('connector' = 'datagen')")


def test_a_table_in_a_text_is_read_by_its_name(batch):
    table = batch.sql_query("SELECT k + 1 AS k FROM t")
    assert rows(batch.sql_query(f"SELECT k FROM {table} WHERE k > 2")) == [(3,), (4,)]
    assert rows(batch.sql_query("SELECT x.k FROM %s AS x" % table)) == [(2,), (3,), (4,)]  # noqa: UP031
    assert str(table) == str(table)
    assert str(table) in batch.list_temporary_views()


def test_a_statement_set_is_explained(batch):
    batch.execute_sql("CREATE TABLE b (k INT, s STRING) WITH ('connector' = 'blackhole')")
    with batch.execute_sql("EXPLAIN STATEMENT SET BEGIN INSERT INTO b SELECT * FROM t; END").collect() as found:
        (row,) = found
    assert "Optimized" in row[0]


@pytest.mark.parametrize("words", _REFUSED)
def test_statements_that_are_not_supported_say_what_to_do_instead(batch, words):
    what, instead = _REFUSED[words]
    with pytest.raises(SqlParserError) as refused:
        batch.execute_sql(f"{words} something")
    assert str(refused.value) == f"SQL parse failed. {what}, at line 1, column 1. {instead}."


def test_expressions(batch):
    t = batch.from_path("t")
    assert rows(t.select(with_all_columns(), coalesce(col("k"), -1)))[1] == (2, "b", 2)
    (one, *_) = rows(t.select(map_from_arrays(array(col("s")), array(col("k")))))
    assert one == ({"a": 1},)
    timed = batch.sql_query("SELECT *, PROCTIME() AS p FROM t")
    window = timed.over_window(Over.partition_by(col("s").is_null).order_by(col("p")).alias("w"))
    found = rows(window.select(col("k"), lag(col("k")).over(col("w")), lag(col("k"), 2, 0).over(col("w"))))
    assert found == [(1, None, 0), (2, 1, 0), (3, 2, 1)]


@pytest.mark.parametrize("columns", ["a INT UNIQUE", "a INT, UNIQUE (a)", "a INT, CONSTRAINT u UNIQUE (a)"])
def test_constraints_of_uniqueness_are_refused(t_env, columns):
    with pytest.raises(ValidationException, match="UNIQUE constraint is not supported yet"):
        t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ('connector' = 'blackhole')")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT k FROM (SELECT a.*, b.* FROM t AS a JOIN t AS b ON a.k = b.v)",
        "SELECT x.k FROM (SELECT k, v AS k FROM t LIMIT 3) AS x",
        "WITH x AS (SELECT k, v AS k FROM t) SELECT k FROM x",
        "WITH x AS (SELECT k, v AS k FROM t UNION ALL SELECT k, v FROM t) SELECT y.k FROM x AS y",
        "SELECT v FROM t WHERE v IN (SELECT k FROM (SELECT k, v AS k FROM t))",
    ],
)
def test_a_name_of_two_columns_is_ambiguous(t_env, query):
    t_env.execute_sql("CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector' = 'datagen')")
    with pytest.raises(ValidationException, match="Column 'k' is ambiguous"):
        t_env.sql_query(query)


def test_columns_of_one_name_have_their_own_in_a_result_and_in_a_view(t_env):
    t_env.execute_sql("CREATE TABLE t (k BIGINT, v BIGINT) WITH ('connector' = 'datagen')")
    pair = "SELECT k, v AS k FROM t"
    assert t_env.sql_query(pair).get_schema().get_field_names() == ["k", "k0"]
    assert t_env.sql_query(f"SELECT a, b FROM ({pair}) AS x(a, b)").get_schema().get_field_names() == ["a", "b"]
    assert t_env.sql_query(f"SELECT * FROM ({pair})").get_schema().get_field_names() == ["k", "k0"]
    t_env.create_temporary_view("w", t_env.sql_query(pair))
    assert t_env.sql_query("SELECT k0 FROM w AS x").get_schema().get_field_names() == ["k0"]


def test_windows_of_the_table_api_are_ordered_by_time(t_env):
    numbers = t_env.from_elements([(1, 2)], ["a", "b"])
    window = Over.partition_by(col("b")).order_by(col("a")).preceding(row_interval(2))
    with pytest.raises(ValidationException, match="must be a TIME ATTRIBUTE, but is: BIGINT"):
        numbers.over_window(window.alias("w")).select(col("b").sum.over(col("w")))
    timed = t_env.sql_query("SELECT 1 AS a, PROCTIME() AS p").over_window(
        Over.order_by(col("p")).preceding(row_interval(0)).alias("w")
    )
    with pytest.raises(ValidationException, match="Preceding row interval must be larger than 0"):
        timed.select(col("a").sum.over(col("w")))
    with pytest.raises(ValidationException, match="needs a call of a function before it"):
        timed.select(col("a").over(col("w")))
