"""Subqueries in conditions of joins, beside rows, in groups and in calls of aggregates give what DuckDB gives."""

from __future__ import annotations

import random
from collections import Counter

import duckdb
import pytest

from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table import DataTypes
from tests.seeds import on_spark
from tests.table.environments import environment, remaining

TABLES = {"a": ("k", "v"), "b": ("k", "v"), "c": ("k", "v")}

QUERIES = (
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND a.v IN (SELECT k FROM c)",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.v IN (SELECT k FROM c)",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND b.v NOT IN (SELECT k FROM c WHERE k IS NOT NULL)",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM c WHERE c.k = a.v)",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND NOT EXISTS (SELECT 1 FROM c WHERE c.k = b.v)",
    "SELECT * FROM a RIGHT JOIN b ON a.k = b.k AND a.v > (SELECT MIN(v) FROM c)",
    "SELECT * FROM a RIGHT JOIN b ON a.k = b.k AND b.v IN (SELECT v FROM c WHERE c.k = b.k)",
    "SELECT * FROM a FULL JOIN b ON a.k = b.k AND a.v IN (SELECT k FROM c)",
    "SELECT * FROM a FULL JOIN b ON a.k = b.k AND (b.v IN (SELECT k FROM c) OR a.v IN (SELECT v FROM c))",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND a.v > (SELECT SUM(v) FROM c WHERE c.k = a.k) WHERE a.v > 0",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND (SELECT COUNT(*) FROM c WHERE c.k = b.k) > 1",
    "SELECT * FROM a LEFT JOIN b ON a.k = b.k LEFT JOIN c ON c.k = b.k AND b.v IN (SELECT v FROM a WHERE v < 4)",
    "SELECT * FROM a FULL JOIN b ON a.v = (SELECT MAX(v) FROM c WHERE c.k = b.k) AND a.k > 0",
    "SELECT a.v, b.v FROM a, b LEFT JOIN c ON c.k = b.k WHERE a.k = b.k AND a.v IN (SELECT v FROM c) AND c.v > 0",
    "SELECT k, (SELECT MAX(v) FROM b) IN (SELECT v FROM c WHERE c.k > a.k) FROM a",
    "SELECT a.k, q.m FROM a, LATERAL (SELECT MAX(v) FROM b WHERE b.k = a.k) AS q (m)",
    "SELECT a.k, q.n FROM a CROSS JOIN LATERAL (SELECT COUNT(*) FROM b WHERE b.k = a.k) AS q (n)",
    "SELECT a.k, a.v, q.v FROM a JOIN LATERAL (SELECT v FROM b WHERE b.k = a.k AND b.v > a.v) AS q (v) ON TRUE",
    "SELECT a.k, a.v, q.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.k = a.k AND b.v > a.v) AS q (v) ON TRUE",
    "SELECT a.k, q.v, r.v FROM a, LATERAL (SELECT v FROM b WHERE b.k = a.k) AS q, "
    "LATERAL (SELECT v FROM c WHERE c.k = q.v) AS r",
    "SELECT a.k, q.v FROM a JOIN LATERAL (SELECT DISTINCT v FROM b WHERE b.k <= a.k) AS q ON q.v > 1 WHERE a.v < 4",
    "SELECT a.k, q.v FROM a, LATERAL (SELECT v FROM b WHERE b.k = a.k ORDER BY v DESC LIMIT 1) AS q",
    "SELECT a.k, a.v, q.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.k = a.k) AS q (v) ON q.v > 1",
    "SELECT a.k, a.v, q.v FROM a LEFT JOIN LATERAL (SELECT v FROM b WHERE b.k < a.k) AS q (v) ON q.v <= a.v",
    "SELECT a.k, q.m FROM a LEFT JOIN LATERAL (SELECT MAX(v) AS m FROM b WHERE b.k = a.k) AS q ON q.m > a.v",
    "SELECT a.k, q.v FROM a LEFT JOIN LATERAL (SELECT k, v FROM b) AS q ON q.k = a.k AND q.v > a.v",
    "SELECT a.k, q.x FROM a RIGHT JOIN UNNEST(ARRAY[1, 7]) AS q (x) ON q.x = a.k",
    "SELECT a.k, q.x FROM a FULL JOIN UNNEST(ARRAY[1, 7]) AS q (x) ON q.x = a.k",
    "SELECT SUM((SELECT MAX(v) FROM b)) FROM a",
    "SELECT k, SUM(v + (SELECT MAX(v) FROM b WHERE b.k = a.k)) FROM a GROUP BY k",
    "SELECT k, COUNT(*) FILTER (WHERE v IN (SELECT v FROM b)), SUM(v) FROM a GROUP BY k",
    "SELECT k, COUNT(*) FILTER (WHERE EXISTS (SELECT 1 FROM b WHERE b.v = a.v)) FROM a GROUP BY k HAVING COUNT(*) > 1",
    "SELECT k, MAX((SELECT COUNT(*) FROM b WHERE b.k = a.k)) FROM a GROUP BY k HAVING SUM(v + (SELECT 1)) > 3",
    "SELECT COUNT(*), SUM(v) FROM a GROUP BY (SELECT MAX(v) FROM b WHERE b.k = a.k)",
    "SELECT k, COUNT(*) FROM a GROUP BY k, v IN (SELECT v FROM b)",
    "SELECT k, SUM(v + (SELECT MAX(v) FROM b)), COUNT(*) FROM a GROUP BY GROUPING SETS ((k), ())",
)


def random_rows(choose):
    return [
        (choose.choice([None, 0, 1, 2, 3]), choose.choice([None, 0, 1, 2, 3, 4]))
        for _ in range(choose.randrange(8, 16))
    ]


@pytest.fixture(scope="module")
def rows():
    choose = random.Random(5)
    return {name: random_rows(choose) for name in TABLES}


@pytest.fixture(scope="module")
def database(rows):
    made = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc", "threads": 1})
    for name, values in rows.items():
        made.execute(f"CREATE TABLE {name} (k INT, v INT)")
        made.executemany(f"INSERT INTO {name} VALUES (?, ?)", values)
    yield made
    made.close()


@pytest.fixture(scope="module", params=["batch", "streaming"])
def tables(request, rows):
    made = environment(request.param)
    kind = DataTypes.ROW([DataTypes.FIELD(name, DataTypes.INT()) for name in "kv"])
    for name, values in rows.items():
        made.create_temporary_view(name, made.from_elements(values, kind))
    return made


OVER = (
    "SELECT SUM(v) OVER (PARTITION BY k ORDER BY v), (SELECT MAX(v) FROM b WHERE b.k = a.k) FROM a",
    "SELECT SUM((SELECT MAX(v) FROM b WHERE b.k = a.k)) OVER (PARTITION BY k ORDER BY v) FROM a",
    "SELECT COUNT(*) OVER (PARTITION BY k ORDER BY v) IN (SELECT v FROM b WHERE v IS NOT NULL) FROM a",
    "SELECT k, MAX(SUM(v)) OVER (ORDER BY k) > (SELECT MIN(v) FROM b), COUNT(*) FROM a GROUP BY k",
)


@pytest.mark.slow
@pytest.mark.usefixtures("without_spark")
@pytest.mark.parametrize("query", [*QUERIES, *OVER])
def test_a_query_gives_what_duckdb_gives(tables, database, query):
    assert_duckdbs_rows(tables, database, query)


@pytest.mark.spark
@pytest.mark.parametrize("query", on_spark([*QUERIES, *OVER], 7))
def test_a_query_gives_what_duckdb_gives_on_spark(tables, database, query):
    assert_duckdbs_rows(tables, database, query)


def assert_duckdbs_rows(tables, database, query):
    expected = Counter(map(tuple, database.execute(query).fetchall()))
    assert Counter(remaining(tables.sql_query(query))) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("without_spark")
def test_what_is_compared_with_a_subquery_is_computed_once(tables):
    random_once = "SELECT x = y FROM (SELECT RAND_INTEGER(5) AS x, k AS y FROM a)"
    assert len(remaining(tables.sql_query(random_once))) > 0
    query = "SELECT RAND_INTEGER(5) IN (SELECT k FROM b), RAND() < 2 AND k IN (SELECT k FROM b) FROM a WHERE k = 1"
    found = remaining(tables.sql_query(query))
    assert [row[1] for row in found] == [True] * len(found)
    everything = "SELECT RAND_INTEGER(3) IN (SELECT x FROM (VALUES 0, 1, 2) AS t (x)) FROM a"
    assert set(remaining(tables.sql_query(everything))) == {(True,)}


@pytest.fixture
def planned(t_env):
    for name in TABLES:
        t_env.execute_sql(f"CREATE TABLE {name} (k INT, v INT) WITH ('connector' = 'datagen')")
    return t_env


def test_a_subquery_over_both_sides_of_an_outer_join_is_refused_as_in_flink(planned):
    query = "SELECT * FROM a LEFT JOIN b ON a.k = b.k AND EXISTS (SELECT 1 FROM c WHERE c.k = a.v + b.v)"
    with pytest.raises(TableException, match=r"unexpected correlate variable \$cor0 in the plan"):
        planned.explain_sql(query)


@pytest.mark.parametrize("word", ["ARRAY", "MULTISET"])
def test_collections_of_a_subquery_are_refused_as_in_flink(planned, word):
    with pytest.raises(TableException, match="Cannot generate a valid execution plan for the given query"):
        planned.explain_sql(f"SELECT {word}(SELECT k FROM a)")


def test_names_of_subqueries_in_joins_are_checked(planned):
    with pytest.raises(ValidationException, match="ambiguous"):
        planned.explain_sql("SELECT * FROM a LEFT JOIN b ON a.k = b.k AND v IN (SELECT k FROM c)")
    with pytest.raises(ValidationException, match="'x' not found"):
        planned.explain_sql("SELECT * FROM a LEFT JOIN b ON a.k = b.k AND a.v IN (SELECT x FROM c)")
    with pytest.raises(ValidationException, match="Table 'a' not found"):
        planned.explain_sql("SELECT * FROM a RIGHT JOIN UNNEST(ARRAY[a.k]) AS q (x) ON TRUE")


CORRELATED = (
    ("interval", "FROM s, r WHERE s.k = r.k AND s.t BETWEEN r.t - INTERVAL '1' MINUTE AND r.t AND s.v = a.v"),
    ("temporal", "FROM s JOIN r FOR SYSTEM_TIME AS OF s.t AS x ON s.k = x.k WHERE s.v = a.v"),
)


@pytest.mark.parametrize(("name", "inner"), CORRELATED)
def test_filters_above_joins_of_times_may_be_correlated(planned, name, inner):
    for table in "sr":
        planned.execute_sql(
            f"CREATE TABLE {table} (k INT, v INT, t TIMESTAMP(3), WATERMARK FOR t AS t, PRIMARY KEY (k) NOT ENFORCED) "
            "WITH ('connector' = 'datagen')"
        )
    assert f"{name.title()}Join" in planned.explain_sql(f"SELECT * FROM a WHERE EXISTS (SELECT 1 {inner})")
