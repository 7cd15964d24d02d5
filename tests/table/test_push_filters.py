"""Filters move towards the sources, and inner joins avoid cross products; results stay what they are."""

from __future__ import annotations

import random

import pytest

from firesteel.table import DataTypes, EnvironmentSettings, ExplainDetail, TableEnvironment
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rules import rules
from firesteel.table.planner.rules.join_order import avoid_cross_products
from firesteel.table.planner.rules.outer_joins import narrow_outer_join
from firesteel.table.planner.rules.push_filters import (
    copy_key_conditions,
    filter_partitions,
    push_filter,
    push_join_condition,
)
from firesteel.table.planner.rules.rules import optimize
from tests.table.environments import environment as tables_environment
from tests.table.environments import remaining
from tests.table.random_queries import result_of

TIMED = (
    "CREATE TABLE {} (k INT, v INT, t TIMESTAMP(3), WATERMARK FOR t AS t, PRIMARY KEY (k) NOT ENFORCED)"
    " WITH ('connector' = 'datagen')"
)
WINDOWS = "TABLE(TUMBLE(TABLE s, DESCRIPTOR(t), INTERVAL '1' MINUTE))"
BOUNDS = "window_start, window_end"
NUMBERED = "(SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM s)"

BELOW = {
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) WHERE k > 3 AND n > 1": rel.Aggregate,
    f"SELECT * FROM {WINDOWS} WHERE k > 3 AND window_start > TIMESTAMP '2024-01-01 00:00:00'": rel.WindowTableFunction,
    f"SELECT * FROM (SELECT k, SUM(v) FROM {WINDOWS} GROUP BY k, {BOUNDS}) WHERE k > 3": rel.WindowAggregate,
    "SELECT * FROM (SELECT s.k, r.v FROM s LEFT JOIN r ON s.k = r.k) WHERE k > 3": rel.Join,
    "SELECT * FROM s, r WHERE s.k = r.k AND s.t = r.t AND s.v > 3": rel.IntervalJoin,
    "SELECT * FROM s JOIN r FOR SYSTEM_TIME AS OF s.t AS x ON s.k = x.k WHERE s.v > 3 AND x.v > 4": rel.TemporalJoin,
    "SELECT * FROM (SELECT k, v FROM s UNION ALL SELECT k, v FROM r) WHERE k > 3": rel.Union,
    "SELECT * FROM (SELECT k, v FROM s INTERSECT SELECT k, v FROM r) WHERE k > 3": rel.SetOperation,
    "SELECT * FROM (SELECT k, v FROM s ORDER BY t) WHERE k > 3": rel.Sort,
    f"SELECT * FROM {NUMBERED} WHERE n < 3 AND k > 3": rel.Rank,
    "SELECT * FROM (SELECT k, SUM(v) OVER (PARTITION BY k ORDER BY v) AS x FROM s) WHERE x > 1 AND k > 3": rel.Over,
    "SELECT * FROM s, UNNEST(ARRAY[v, k]) AS u (e) WHERE k > 3 AND e > 4": rel.Correlate,
}

STAYS = (
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) WHERE n > 1",
    "SELECT * FROM (SELECT s.k, r.v FROM s LEFT JOIN r ON s.k = r.k) WHERE v IS NULL",
    "SELECT * FROM (SELECT * FROM s ORDER BY v LIMIT 5) WHERE k > 3",
    f"SELECT * FROM {NUMBERED} WHERE n < 3 AND v > 3",
    "SELECT * FROM (SELECT k, COUNT(*) AS n FROM s GROUP BY k) WHERE k > RAND_INTEGER(3)",
    "SELECT * FROM s WHERE k > 3",  # a watermark is never passed
)


def nodes(node):
    yield node
    for child in node.inputs:
        yield from nodes(child)


def has_filter(node):
    return any(isinstance(one, rel.Filter) for one in nodes(node))


def found(environment, query, kind):
    return [one for one in nodes(optimize(environment.sql_query(query)._node, True)) if isinstance(one, kind)]


@pytest.fixture(scope="module")
def streaming():
    made = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    for name in "sr":
        made.execute_sql(TIMED.format(name))
    return made


@pytest.mark.parametrize("query", BELOW)
def test_a_filter_passes_what_does_not_compute_its_columns(streaming, query):
    (node,) = found(streaming, query, BELOW[query])
    assert has_filter(node.inputs[0]), streaming.explain_sql(query)


@pytest.mark.parametrize("query", STAYS)
def test_a_filter_stays_above_what_it_depends_on(streaming, query):
    filters = found(streaming, query, rel.Filter)
    assert filters
    for one in filters:
        assert isinstance(one.input, rel.AssignWatermark | rel.Aggregate | rel.Join | rel.Rank | rel.Sort), one


def test_a_version_that_is_filtered_out_does_not_give_way_to_an_older_one(streaming):
    query = "SELECT * FROM s JOIN r FOR SYSTEM_TIME AS OF s.t AS x ON s.k = x.k WHERE x.v > 4"
    (join,) = [
        one for one in nodes(optimize(streaming.sql_query(query)._node, True)) if isinstance(one, rel.TemporalJoin)
    ]
    assert not has_filter(join)


def test_a_condition_on_a_key_filters_both_sides(streaming):
    query = "SELECT s.v, r.v FROM s JOIN r ON s.k = r.k WHERE s.k > 3"
    (join,) = found(streaming, query, rel.Join)
    assert has_filter(join.left)
    assert has_filter(join.right)


EQUAL = (
    "s JOIN r ON s.k = r.k JOIN a ON r.k = a.k WHERE s.k > 3",
    "s JOIN r ON s.k = r.k JOIN a ON r.k = a.k WHERE a.k > 3",
    "(SELECT * FROM s WHERE k > 3) AS s JOIN r ON s.k = r.k JOIN a ON r.k = a.k",
    "(SELECT r.k AS x FROM s JOIN r ON s.k = r.k WHERE s.k > 3) AS j JOIN a ON j.x = a.k",
    "s JOIN r ON s.k = r.k LEFT JOIN a ON r.k = a.k WHERE s.k > 3",
    "s JOIN r ON s.k = r.k, a WHERE r.k = a.k AND s.k > 3 AND a.k IN (SELECT k FROM s)",
)


@pytest.mark.parametrize("source", EQUAL)
def test_a_condition_filters_all_tables_with_an_equal_column(streaming, source):
    streaming.execute_sql("CREATE TABLE IF NOT EXISTS a (k INT, v INT) WITH ('connector' = 'datagen')")
    node = optimize(streaming.sql_query(f"SELECT 1 FROM {source}")._node, True)
    scans = [one for one in nodes(node) if isinstance(one, rel.TableScan)]
    filters = [one for one in nodes(node) if isinstance(one, rel.Filter)]
    assert len(filters) == len(scans), streaming.explain_sql(f"SELECT 1 FROM {source}")


def test_rows_of_an_outer_join_may_have_null_in_an_equal_column(streaming):
    query = "SELECT 1 FROM s LEFT JOIN r ON s.k = r.k LEFT JOIN a ON r.k = a.k WHERE s.k > 3"
    streaming.execute_sql("CREATE TABLE IF NOT EXISTS a (k INT, v INT) WITH ('connector' = 'datagen')")
    assert not has_filter(found(streaming, query, rel.Join)[0].right)


def test_a_condition_on_a_correlated_key_filters_the_subquery(streaming):
    query = "SELECT * FROM s WHERE k > 3 AND EXISTS (SELECT 1 FROM r WHERE s.k = r.k)"
    (join,) = found(streaming, query, rel.Join)
    assert has_filter(join.left)
    assert has_filter(join.right)


NARROWED = {
    ("LEFT", "r.v > 3"): "INNER",
    ("LEFT", "s.v > 3"): "LEFT",
    ("LEFT", "r.v IS NULL"): "LEFT",
    ("LEFT", "r.v > 3 OR s.v > 3"): "LEFT",
    ("LEFT", "COALESCE(r.v, 4) > 3"): "LEFT",
    ("LEFT", "r.v > 3 AND RAND() > 0.5"): "INNER",
    ("RIGHT", "s.v + 1 > r.v OR NOT s.k = 1"): "INNER",
    ("RIGHT", "r.v > 3"): "RIGHT",
    ("FULL", "s.v = 1"): "LEFT",
    ("FULL", "r.v IN (1, 2)"): "RIGHT",
    ("FULL", "s.v = r.v"): "INNER",
    ("FULL", "s.v IS NOT NULL OR r.v = 1"): "FULL",
}


@pytest.mark.parametrize(("kind", "condition"), NARROWED)
def test_an_outer_join_is_narrowed_by_a_filter_that_drops_what_it_adds(streaming, kind, condition):
    (join,) = found(streaming, f"SELECT * FROM s {kind} JOIN r ON s.k = r.k WHERE {condition}", rel.Join)
    assert join.kind == NARROWED[kind, condition]


def test_a_narrowed_join_of_streams_retracts_nothing(streaming):
    query = "SELECT s.k, r.v FROM s LEFT JOIN r ON s.k = r.k WHERE r.v > 3"
    assert "changelogMode=[I]" in streaming.explain_sql(query, ExplainDetail.CHANGELOG_MODE)


def test_an_equation_above_a_view_becomes_a_key_of_its_join(streaming):
    query = "SELECT * FROM (SELECT a.k, a.v, b.v AS w FROM s AS a CROSS JOIN r AS b) WHERE v = w"
    (join,) = found(streaming, query, rel.Join)
    assert len(join.left_keys) == 1


DERIVED = {
    "SELECT * FROM s, r WHERE s.v = r.v AND ((s.k = 1 AND r.k = 2) OR (s.k = 3 AND r.k = 4))": 2,
    "SELECT * FROM s, r WHERE s.v = r.v AND NOT ((s.k <> 1 OR r.k <> 2) AND (s.k <> 3 OR r.k <> 4))": 2,
    "SELECT * FROM s JOIN r ON s.v = r.v AND ((s.k = 1 AND r.k = 2) OR (s.k = 3 AND r.k = 4))": 2,
    "SELECT * FROM s, r WHERE s.v = r.v AND ((s.k = 1 AND r.k = 2) OR (s.k > 8 AND s.k < r.k))": 1,
    "SELECT * FROM s, r WHERE s.v = r.v AND ((s.k = 1 AND r.k = 2) OR s.k < r.k)": 0,
    "SELECT * FROM s, r WHERE s.v = r.v AND ((s.k = 1 AND r.k = 2) OR (s.k = RAND_INTEGER(3) AND r.k = 4))": 0,
    "SELECT * FROM s LEFT JOIN r ON s.v = r.v AND ((s.k = 1 AND r.k = 2) OR (s.k = 3 AND r.k = 4))": 0,
    "SELECT * FROM s LEFT JOIN r ON s.v = r.v WHERE (s.k = 1 AND r.k = 2) OR (s.k = 3 AND r.k IS NULL)": 1,
}


@pytest.mark.parametrize("query", DERIVED)
def test_an_or_filters_the_inputs_of_which_each_choice_says_something(streaming, query):
    (join,) = found(streaming, query, rel.Join)
    assert sum(map(has_filter, join.inputs)) == DERIVED[query]


def test_an_or_over_distant_tables_filters_them(streaming):
    query = (
        "SELECT * FROM s AS a, s AS b, r AS c WHERE a.k = b.k AND b.v = c.v"
        " AND ((a.v = 1 AND c.k = 2) OR (a.v = 3 AND c.k = 4))"
    )
    _, below = found(streaming, query, rel.Join)
    (one,) = (node for node in nodes(below.left) if isinstance(node, rel.Filter))
    assert "IN" in str(one.condition)
    assert sum(isinstance(node, rel.Filter) for node in nodes(optimize(streaming.sql_query(query)._node, True))) == 2


CROSSED = (
    "SELECT a.v, b.v, c.k FROM s AS a, r AS b, s AS c WHERE a.k = c.k AND b.v = c.v",
    "SELECT * FROM s AS a CROSS JOIN r AS b JOIN s AS c ON a.k = c.k AND b.v + 1 = c.v",
    "SELECT * FROM s AS a, s AS b, s AS c, r AS d WHERE a.k = d.k AND b.v = d.v AND c.k = b.k AND a.v < c.v",
)


@pytest.mark.parametrize("query", CROSSED)
def test_inner_joins_avoid_cross_products_where_equations_allow_it(streaming, query):
    joins = found(streaming, query, rel.Join)
    assert joins
    assert [join for join in joins if not join.left_keys] == []


def test_joins_with_a_random_condition_keep_their_order(streaming):
    query = "SELECT * FROM s AS a CROSS JOIN r AS b JOIN s AS c ON a.k = c.k AND b.v = c.v AND RAND() < 0.5"
    outer, inner = found(streaming, query, rel.Join)
    assert "RAND" in str(outer.condition)
    assert inner.condition is None


ZEROS = {
    "(SELECT d, COUNT(*) AS n FROM t GROUP BY d)": [("0.0", 3)],
    "(SELECT d, n FROM (SELECT d, ROW_NUMBER() OVER (PARTITION BY d ORDER BY a) AS n FROM t) WHERE n = 1)": [
        ("0.0", 1)
    ],
    "(SELECT d, 1 AS n FROM t INTERSECT SELECT d, 1 FROM t)": [("0.0", 1)],
}


@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("source", ZEROS)
def test_a_filter_that_tells_zeros_apart_stays_above_their_group(mode, source):
    made = tables_environment(mode)
    kind = DataTypes.ROW([DataTypes.FIELD("a", DataTypes.INT()), DataTypes.FIELD("d", DataTypes.DOUBLE())])
    made.create_temporary_view("t", made.from_elements([(0, 0.0), (1, -0.0), (2, -0.0), (3, 1.0)], kind))
    for text in ("0.0", "-0.0"):
        query = f"SELECT CAST(d AS STRING), n FROM {source} WHERE n <= 3 AND CAST(d AS STRING) = '{text}'"
        assert result_of(made, query) == [row for row in ZEROS[source] if row[0] == text]


def test_a_comparison_of_a_group_with_zero_moves(streaming):
    query = "SELECT * FROM (SELECT d, COUNT(*) FROM (SELECT CAST(k AS DOUBLE) AS d FROM s) GROUP BY d) WHERE d >= 0.0E0"
    (node,) = found(streaming, query, rel.Aggregate)
    assert has_filter(node.inputs[0])


# --- results ---------------------------------------------------------------------------------------------------------

NEW = (
    push_filter,
    push_join_condition,
    avoid_cross_products,
    narrow_outer_join,
    copy_key_conditions,
    filter_partitions,
)
TABLES = "SELECT k, v, w FROM "
CHOICES = "(k = 1 AND v = 2 AND w > 3) OR (v = 0 AND k IN (0, 3) AND w IS NOT NULL)"
CONDITIONS = ("k > 1", "k IS NULL", "v = 2", "k = 2 AND v <> 1", "k > 0 OR v IS NULL", "k = v", "NOT k = 1", CHOICES)
SOURCES = (
    "(SELECT k, v, SUM(w) AS w FROM {a} GROUP BY k, v)",
    "(SELECT {a}.k, {a}.v, {b}.w FROM {a} JOIN {b} ON {a}.k = {b}.k)",
    "(SELECT {a}.k, {b}.v, {b}.w FROM {a} LEFT JOIN {b} ON {a}.k = {b}.k AND {a}.v > 1 AND {b}.v > 0)",
    "(SELECT {b}.k, {a}.v, {b}.w FROM {a} RIGHT JOIN {b} ON {a}.k = {b}.k AND {a}.v > 1 AND {b}.v > 0)",
    "(SELECT {a}.k, {b}.v, {b}.w FROM {a} FULL JOIN {b} ON {a}.k = {b}.k AND {a}.v > 1)",
    "(SELECT * FROM {a} WHERE k IN (SELECT k FROM {b} WHERE v > 0))",
    "(SELECT * FROM {a} WHERE k NOT IN (SELECT k FROM {b} WHERE k > 2))",
    "(SELECT * FROM {a} WHERE k NOT IN (SELECT k FROM {b}))",
    "(SELECT * FROM {a} WHERE NOT EXISTS (SELECT 1 FROM {b} WHERE {a}.k = {b}.k AND {b}.v > 0))",
    "(SELECT * FROM {a} UNION ALL SELECT * FROM {b})",
    "(SELECT * FROM {a} INTERSECT ALL SELECT * FROM {b})",
    "(SELECT * FROM {a} EXCEPT SELECT * FROM {b})",
    "(SELECT k, v, w FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY w, v) AS n FROM {a}) WHERE n <= 2)",
    "(SELECT k, e AS v, w FROM {a}, UNNEST(ARRAY[v, w]) AS u (e))",
    "(SELECT {a}.k, {b}.v, x.w FROM {a}, {b}, {a} AS x WHERE {a}.k = x.k AND {b}.v = x.v)",
    "(SELECT k, v, w FROM {a} ORDER BY w, v, k LIMIT 7)",
    "(SELECT k, v, SUM(w) OVER (PARTITION BY k ORDER BY w) AS w FROM {a})",
    "(SELECT y.k, x.v, y.w FROM {a} LEFT JOIN {b} AS x ON {a}.k = x.k LEFT JOIN {a} AS y ON x.k = y.k)",
    "(SELECT {a}.k, x.v, y.w FROM {a} JOIN {b} AS x ON {a}.k = x.k JOIN {a} AS y ON x.k = y.k AND y.v = x.v)",
)


def environment(mode, seed):
    settings = EnvironmentSettings.in_batch_mode() if mode == "batch" else EnvironmentSettings.in_streaming_mode()
    made = TableEnvironment.create(settings)
    chance = random.Random(seed)
    for name in ("a", "b"):
        rows = [(chance.choice([None, 0, 1, 2, 3]), chance.choice([None, 0, 1, 2]), i) for i in range(25)]
        # A sum over groups: in streaming mode a changelog.
        values = ", ".join(str(row).replace("None", "CAST(NULL AS INT)") for row in rows)
        made.create_temporary_view(f"{name}_rows", made.sql_query(f"SELECT * FROM (VALUES {values}) AS t (k, v, w)"))
        made.create_temporary_view(name, made.sql_query(f"SELECT k, v, MAX(w) AS w FROM {name}_rows GROUP BY k, v"))
    return made


def folded(table):
    return sorted(remaining(table), key=repr)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["batch", "streaming"])
@pytest.mark.parametrize("source", SOURCES)
def test_moved_filters_leave_the_same_rows(mode, source, monkeypatch):
    tables = environment(mode, SOURCES.index(source))
    queries = [f"{TABLES} {source.format(a='a', b='b')} WHERE {condition}" for condition in CONDITIONS]
    # One job for all conditions.
    query = " UNION ALL ".join(f"(SELECT {n} AS q, k, v, w FROM ({sql}))" for n, sql in enumerate(queries))
    moved = folded(tables.sql_query(query))
    for name in ("_RULES", "_DERIVATIONS"):
        monkeypatch.setattr(rules, name, tuple(rule for rule in getattr(rules, name) if rule not in NEW))
    assert moved == folded(tables.sql_query(query))
    assert moved or "NOT IN (SELECT k FROM {b})" in source  # b has NULL
