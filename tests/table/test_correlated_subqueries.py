"""Correlated subqueries: each form has the rows of nested loops, is refused with Flink's sentence, or fails the job."""

from __future__ import annotations

from typing import get_args

import pytest

from firesteel.errors import JobExecutionError
from firesteel.table.errors import TableException, ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules.domain_rules import UNNESTED
from tests.table.random_queries import environment_with, result_of

TABLES = {
    "t": [(1, 2, "x"), (2, None, "y"), (None, 3, "z"), (1, 2, "x"), (5, 0, "y")],
    "u": [(1, 10, "x"), (1, 20, "y"), (2, 5, None), (None, 7, "y"), (3, None, "z")],
}


@pytest.fixture(scope="module")
def environments():
    return {mode: environment_with(mode, TABLES) for mode in ("batch", "streaming")}


QUERIES = {
    "a count of no rows is 0": (
        "SELECT a, (SELECT COUNT(*) FROM u WHERE c = a) FROM t",
        [(1, 2), (1, 2), (2, 1), (5, 0), (None, 0)],
    ),
    "so are expressions over it": (
        "SELECT a, (SELECT COUNT(*) + 1 FROM u WHERE c = a) FROM t WHERE a > 1",
        [(2, 2), (5, 1)],
    ),
    "and other functions have their values of no rows": (
        "SELECT a, (SELECT JSON_ARRAYAGG(r) FROM u WHERE c = a) FROM t WHERE a > 1",
        [(2, "[]"), (5, "[]")],
    ),
    "an aggregate without groups exists": (
        "SELECT a FROM t WHERE EXISTS (SELECT SUM(d) FROM u WHERE c = a)",
        [(1,), (1,), (2,), (5,), (None,)],
    ),
    "unless HAVING leaves it out": (
        "SELECT a FROM t WHERE EXISTS (SELECT SUM(d) FROM u WHERE c = a HAVING COUNT(*) = 0)",
        [(5,), (None,)],
    ),
    "it never does not exist": ("SELECT a FROM t WHERE NOT EXISTS (SELECT SUM(d) FROM u WHERE c = a)", []),
    "an alias of the outer query comes before a column of the inner one": (
        "SELECT d.a FROM t AS d WHERE EXISTS (SELECT 1 FROM u WHERE c = d.a)",
        [(1,), (1,), (2,)],
    ),
    "also if that column is a row with such a field": (
        "SELECT x.a FROM t AS x WHERE EXISTS (SELECT 1 FROM (SELECT c, CAST(ROW(c) AS ROW<a INT>) AS x FROM u) AS y "
        "WHERE y.c = x.a)",
        [(1,), (1,), (2,)],
    ),
    "a scalar without rows is NULL": (
        "SELECT a, (SELECT d FROM u WHERE c = a AND d <> 10) FROM t",
        [(1, 20), (1, 20), (2, 5), (5, None), (None, None)],
    ),
    "rows that no outer row reads are not checked": (
        "SELECT a, (SELECT d FROM u WHERE c = a) FROM t WHERE a > 1",
        [(2, 5), (5, None)],
    ),
    "an aggregate by other conditions than equations": (
        "SELECT a, (SELECT SUM(d) FROM u WHERE c < a) FROM t",
        [(1, None), (1, None), (2, 30), (5, 35), (None, None)],
    ),
    "an equation of a value that is no column": (
        "SELECT a, (SELECT COUNT(*) FROM u WHERE a = ABS(c - 2)) FROM t",
        [(1, 3), (1, 3), (2, 0), (5, 0), (None, 0)],
    ),
    "an aggregate of outer values": (
        "SELECT a, (SELECT SUM(d + b) FROM u WHERE c = a) FROM t",
        [(1, 34), (1, 34), (2, None), (5, None), (None, None)],
    ),
    "two levels": (
        "SELECT a, (SELECT COUNT(*) FROM u WHERE EXISTS (SELECT 1 FROM t AS v WHERE v.b = t.b AND v.a = u.c)) FROM t",
        [(1, 2), (1, 2), (2, 0), (5, 0), (None, 0)],
    ),
    "a second level with an aggregate": (
        "SELECT a FROM t WHERE 1 = (SELECT COUNT(*) FROM u WHERE d > (SELECT SUM(v.d) FROM u AS v WHERE v.r = t.s))",
        [(1,), (1,)],
    ),
    "a limit per outer row": (
        "SELECT a, (SELECT d FROM u WHERE c = a ORDER BY d DESC LIMIT 1) FROM t",
        [(1, 20), (1, 20), (2, 5), (5, None), (None, None)],
    ),
    "an offset per outer row": (
        "SELECT a, (SELECT SUM(d) FROM (SELECT d FROM u WHERE c >= a ORDER BY d DESC LIMIT 2 OFFSET 1) AS v) FROM t",
        [(1, 15), (1, 15), (2, None), (5, None), (None, None)],
    ),
    "set operations": (
        "SELECT a, (SELECT COUNT(*) FROM (SELECT d FROM u WHERE c = a UNION SELECT b FROM t AS v WHERE v.a = t.a)), "
        "(SELECT MAX(d) FROM (SELECT d FROM u WHERE c = a EXCEPT SELECT d FROM u WHERE d > b + 10) AS w) FROM t",
        [(1, 3, 10), (1, 3, 10), (2, 2, 5), (5, 1, None), (None, 0, None)],
    ),
    "NOT IN sees the NULLs of its own rows alone": (
        "SELECT a FROM t WHERE b NOT IN (SELECT d FROM u WHERE c = a)",
        [(1,), (1,), (5,), (None,)],
    ),
    "IN and NULL as a value": (
        "SELECT a, b IN (SELECT d - 8 FROM u WHERE c = a), b NOT IN (SELECT d FROM u WHERE c = a) FROM t",
        [(1, True, True), (1, True, True), (2, None, None), (5, False, True), (None, False, True)],
    ),
    "aggregates of nothing that read no outer row": (
        "SELECT a, (SELECT COUNT(*) FROM u WHERE d > 100), b IN (SELECT COUNT(*) FROM u WHERE d > 100), "
        "(SELECT COUNT(*) + b FROM u WHERE d > 100), (SELECT MAX(n) FROM (SELECT COUNT(*) AS n FROM u WHERE d > 100)) "
        "FROM t WHERE b < 3",
        [(1, 0, False, 2, 0), (1, 0, False, 2, 0), (5, 0, True, 0, 0)],
    ),
    "rows in a table": ("SELECT a FROM t WHERE (a, b) NOT IN (SELECT c, d FROM u)", [(1,), (1,), (5,)]),
    "a constant that is not in a table with NULL": ("SELECT a FROM t WHERE 4 NOT IN (SELECT d FROM u)", []),
    "ALL and ANY": (
        "SELECT a, b > ALL (SELECT d - 20 FROM u WHERE c = a), b > ANY (SELECT d - 20 FROM u WHERE c < a) FROM t",
        [(1, True, False), (1, True, False), (2, None, None), (5, True, True), (None, True, False)],
    ),
    "groups": (
        "SELECT a, COUNT(*), (SELECT SUM(d) FROM u WHERE c = a), SUM(b) IN (SELECT d - 6 FROM u WHERE c = a) FROM t "
        "GROUP BY a HAVING COUNT(*) > (SELECT COUNT(*) - 2 FROM u WHERE c = a)",
        [(1, 2, 30, True), (2, 1, 5, None), (5, 1, None, False), (None, 1, None, False)],
    ),
    "joins of all kinds": (
        "SELECT a, (SELECT COUNT(*) FROM u FULL JOIN (SELECT * FROM t AS v WHERE v.a = t.a) AS w ON u.c = w.a), "
        "(SELECT COUNT(*) FROM (SELECT * FROM u WHERE c = t.a) AS w RIGHT JOIN t AS v ON w.c = v.a) FROM t",
        [(1, 7, 7), (1, 7, 7), (2, 5, 5), (5, 6, 5), (None, 5, 5)],
    ),
    "ON of a join": (
        "SELECT a, d FROM t JOIN u ON a = c AND d = (SELECT MAX(v.d) FROM u AS v WHERE v.c = t.a)",
        [(1, 20), (1, 20), (2, 5)],
    ),
    "UNNEST and VALUES": (
        "SELECT a, (SELECT SUM(x) FROM UNNEST(ARRAY[a, b, 1]) AS v(x)), (SELECT MAX(x) FROM (VALUES (a), (b)) AS v(x)) "
        "FROM t",
        [(1, 4, 2), (1, 4, 2), (2, 3, 2), (5, 6, 5), (None, 4, 3)],
    ),
    "grouping sets and a ranking": (
        "SELECT a, (SELECT SUM(n) FROM (SELECT COUNT(*) AS n FROM u WHERE c >= a GROUP BY ROLLUP (r)) AS v), "
        "(SELECT SUM(d) FROM (SELECT d, ROW_NUMBER() OVER (PARTITION BY r ORDER BY d) AS n FROM u WHERE c <= a) AS v "
        "WHERE n = 1) FROM t",
        [(1, 8, 30), (1, 8, 30), (2, 4, 35), (5, None, 35), (None, None, None)],
    ),
    "a common table expression that reads outer columns": (
        "SELECT a, (WITH v AS (SELECT d FROM u WHERE c = t.a) SELECT COUNT(*) FROM u WHERE d IN (SELECT d FROM v)) "
        "FROM t",
        [(1, 2), (1, 2), (2, 1), (5, 0), (None, 0)],
    ),
    "groups by outer values": (
        "SELECT a, b, (SELECT MAX(x) FROM (SELECT SUM(d) AS x FROM u GROUP BY c + t.b)) FROM t",
        [(1, 2, 30), (1, 2, 30), (2, None, 42), (5, 0, 30), (None, 3, 30)],
    ),
    "grouping sets of outer values": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT COUNT(*) AS x FROM u GROUP BY GROUPING SETS ((t.b), (c)))) FROM t",
        [(1, 5), (1, 5), (2, 5), (5, 5), (None, 5)],
    ),
    "HAVING of outer values": (
        "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE c = a HAVING COUNT(*) >= t.b)",
        [(1,), (1,), (5,)],
    ),
    "an order by outer values": (
        "SELECT a, (SELECT d FROM u WHERE d > 5 ORDER BY ABS(d - 10 * t.b), d LIMIT 1) FROM t",
        [(1, 20), (1, 20), (2, 7), (5, 7), (None, 20)],
    ),
    "distinct outer values": (
        "SELECT a, (SELECT COUNT(*) FROM (SELECT DISTINCT t.b, r FROM u)) FROM t",
        [(1, 4), (1, 4), (2, 4), (5, 4), (None, 4)],
    ),
    "an outer join by outer values": (
        "SELECT a, (SELECT COUNT(*) FROM u LEFT JOIN t AS v ON c = v.a AND v.b = t.b) FROM t",
        [(1, 7), (1, 7), (2, 5), (5, 5), (None, 5)],
    ),
    "rows of outer values": (
        "SELECT a, (SELECT MAX(x) FROM (VALUES (t.a), (t.b)) AS v (x)) FROM t",
        [(1, 2), (1, 2), (2, 2), (5, 5), (None, 3)],
    ),
    "a set operation by outer values": (
        "SELECT a, (SELECT COUNT(*) FROM (SELECT c FROM u WHERE c <= t.b EXCEPT SELECT a FROM t AS v WHERE v.b = t.b)) "
        "FROM t",
        [(1, 1), (1, 1), (2, 0), (5, 0), (None, 3)],
    ),
}
OVER = {
    "a partition by outer values": (
        "SELECT a, b, (SELECT MAX(x) FROM (SELECT SUM(d) OVER (PARTITION BY t.a, r) AS x FROM u)) FROM t",
        [(1, 2, 27), (1, 2, 27), (2, None, 27), (5, 0, 27), (None, 3, 27)],
    ),
    "an order by outer values": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT SUM(d) OVER (ORDER BY t.b) AS x FROM u)) FROM t",
        [(1, 42), (1, 42), (2, 42), (5, 42), (None, 42)],
    ),
    "an outer value as argument": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT SUM(d + t.b) OVER (PARTITION BY r ORDER BY d) AS x FROM u)) FROM t",
        [(1, 31), (1, 31), (2, None), (5, 27), (None, 33)],
    ),
    "a named window": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT COUNT(*) OVER w AS x FROM u WINDOW w AS (PARTITION BY c + t.a))) FROM t",
        [(1, 2), (1, 2), (2, 2), (5, 2), (None, 5)],
    ),
    "rows by outer values": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT COUNT(*) OVER (PARTITION BY r) AS x FROM u WHERE c = t.a)) FROM t",
        [(1, 1), (1, 1), (2, 1), (5, None), (None, None)],
    ),
    "as many ranks as an outer value": (
        "SELECT a, x FROM t, LATERAL (SELECT d AS x FROM (SELECT d, ROW_NUMBER() OVER (PARTITION BY t.a ORDER BY d "
        "DESC) AS n FROM u) WHERE n <= t.b)",
        [(1, 10), (1, 10), (1, 20), (1, 20), (None, 10), (None, 20), (None, 7)],
    ),
    "an outer value as default": (
        "SELECT a, (SELECT MAX(x) FROM (SELECT LAG(d, 1, t.b) OVER (PARTITION BY r ORDER BY d) AS x FROM u)) FROM t",
        [(1, 7), (1, 7), (2, 7), (5, 7), (None, 7)],
    ),
}
"""Queries whose rows Flink takes from all outer values at once, or loses where an outer value is NULL."""


@pytest.mark.parametrize("form", OVER)
def test_over_in_a_correlated_subquery_has_the_rows_of_nested_loops(environments, form):
    query, expected = OVER[form]
    assert result_of(environments["batch"], query) == sorted(expected, key=repr)


@pytest.mark.parametrize("form", QUERIES)
@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_correlated_subquery_has_the_rows_of_nested_loops(environments, mode, form):
    query, expected = QUERIES[form]
    assert result_of(environments[mode], query) == sorted(expected, key=repr)


def test_an_aggregate_of_an_over_window_is_computed_per_outer_row(environments):
    query = "SELECT a, (SELECT MAX(n) FROM (SELECT COUNT(*) OVER (PARTITION BY r) AS n FROM u WHERE c <> a)) FROM t"
    expected = [(1, 1), (1, 1), (2, 1), (5, 1), (None, None)]
    assert result_of(environments["batch"], query) == sorted(expected, key=repr)
    with pytest.raises(TableException, match="OverAggregate doesn't support consuming update changes"):
        environments["streaming"].execute_sql(query)


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_a_scalar_subquery_of_several_rows_fails_the_job(environments, mode):
    with pytest.raises(JobExecutionError, match="SingleValueAggFunction received more than one element"):
        result_of(environments[mode], "SELECT a, (SELECT d FROM u WHERE c = a) FROM t")


def test_what_does_not_become_a_join_is_refused_in_the_words_of_flink(t_env):
    t_env.execute_sql("CREATE TABLE a (k INT, v INT) WITH ('connector' = 'datagen')")
    t_env.execute_sql("""CREATE TABLE b (k INT, ts TIMESTAMP(3), WATERMARK FOR ts AS ts)
        WITH ('connector' = 'datagen')""")
    window = "TABLE(TUMBLE(TABLE b, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    counts = f"SELECT COUNT(*) AS n FROM {window} WHERE k {{}} a.k GROUP BY window_start, window_end"
    exists = "SELECT v FROM a WHERE EXISTS ({})"
    assert "WindowAggregate(groupBy=[window_start, window_end, " in t_env.explain_sql(exists.format(counts.format("=")))
    with pytest.raises(TableException, match=r"^unexpected correlate variable \$cor0 in the plan$"):
        t_env.explain_sql(exists.format(counts.format("<")))


@pytest.mark.parametrize(
    "query",
    [
        "SELECT x.z FROM t AS x, (SELECT CAST(ROW(c) AS ROW<z INT>) AS x FROM u) AS y",
        "SELECT 1 FROM t AS x WHERE EXISTS (SELECT 1 FROM (SELECT CAST(ROW(c) AS ROW<z INT>) AS x FROM u) AS y "
        "WHERE x.z = 1)",
    ],
)
def test_an_alias_hides_a_column_of_its_name_whose_fields_it_has_not(environments, query):
    with pytest.raises(ValidationException, match="Column 'z' not found in table 'x'"):
        environments["streaming"].sql_query(query)


def test_a_subquery_of_groups_refers_to_groups(environments):
    query = "SELECT a, (SELECT COUNT(*) FROM u WHERE c = t.b) FROM t GROUP BY a"
    with pytest.raises(ValidationException, match="Expression 'b' is not being grouped"):
        environments["batch"].sql_query(query)


def test_each_node_of_plans_is_unnested_or_known_to_be_refused():
    leaves = {rel.TableScan, rel.StreamScan, rel.Values}
    refused = {rel.AssignWatermark, rel.IntervalJoin, rel.TemporalJoin, rel.LookupJoin, rel.WindowJoin, rel.Match}
    assert set(get_args(rel.Rel)) == leaves | refused | set(UNNESTED)


def test_an_equation_with_an_aggregate_needs_one_join(environments):
    query = "SELECT a FROM t WHERE b < (SELECT 2 * SUM(d) FROM u WHERE c = a)"
    text = environments["batch"].sql_query(query).explain()
    plan = text[text.index("== Optimized Physical Plan ==") : text.index("== Optimized Execution Plan ==")]
    assert plan.count("Join(") == 1, plan


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize(
    ("values", "columns", "joins"),
    [
        ("b", "d FROM u WHERE c = a", 3),
        ("(a, b)", "c, d FROM u", 9),
        ("(a, b)", "c, d FROM u WHERE c IS NOT NULL AND d IS NOT NULL", 4),
        ("(a, 1)", "COALESCE(c, 0), 1 FROM u", 2),
    ],
)
def test_not_in_compares_keys_and_not_all_pairs(environments, mode, values, columns, joins):
    query = f"SELECT a FROM t WHERE {values} NOT IN (SELECT {columns})"
    plan = environments[mode].explain_sql(query).partition("== Optimized Execution Plan ==")[2]
    assert "IS NOT FALSE" not in plan
    assert plan.count("LeftAntiJoin") == joins


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE b NOT IN (SELECT d FROM u WHERE c = a AND RAND() > 0.5)",  # has a value per place
        "SELECT a FROM t WHERE (a, b, a + b) NOT IN (SELECT c, d, c + d FROM u)",  # 27 joins
    ],
)
def test_some_not_in_compare_all_pairs(environments, query):
    assert "IS NOT FALSE" in environments["batch"].explain_sql(query)
