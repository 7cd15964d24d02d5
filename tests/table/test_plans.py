"""Plans: Flink's names of operators, and the effect of the rules on queries."""

from __future__ import annotations

import pytest

from firesteel.table import ExplainDetail
from firesteel.table.errors import ValidationException


@pytest.fixture
def tables(t_env):
    for name in ("a", "b"):
        t_env.execute_sql(f"""CREATE TABLE {name} (k INT, v INT, s STRING, ts TIMESTAMP(3),
            WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH ('connector' = 'datagen')""")
    return t_env


def plan(t_env, sql, *details):
    text = t_env.sql_query(sql).explain(*details)
    return text[text.index("== Optimized Physical Plan ==") : text.index("== Optimized Execution Plan ==")]


@pytest.mark.parametrize(
    ("sql", "operators", "missing"),
    [
        ("SELECT k FROM a WHERE v > 1", ["Calc(select=[k], where=[(v > 1)])"], []),
        ("SELECT a.v FROM a, b WHERE a.k = b.k", ["Join(joinType=[InnerJoin], where=[(k = k)]"], ["where=[true]"]),
        (
            "SELECT a.v FROM a, b WHERE a.k = b.k AND a.ts BETWEEN b.ts - INTERVAL '1' HOUR AND b.ts",
            ["IntervalJoin("],
            ["+- Join("],
        ),
        ("SELECT a.v FROM a JOIN b ON a.k = b.k AND b.v > 3", ["Calc(select=[k], where=[(v > 3)])"], []),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) WHERE n <= 3",
            ["Rank(rankType=[ROW_NUMBER], rankRange=[rankStart=1, rankEnd=3], partitionBy=[k], orderBy=[v ASC]"],
            ["OverAggregate"],
        ),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (ORDER BY v DESC) AS n FROM a) WHERE n <= 4 AND n IN (0, 2, 3)",
            ["Rank(rankType=[ROW_NUMBER], rankRange=[rankStart=1, rankEnd=3]", "where=[IN(w0$o0, 0, 2, 3)]"],
            ["OverAggregate"],
        ),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) "
            "WHERE CAST(n AS INT) < 3",
            ["rankRange=[rankStart=1, rankEnd=2]"],
            ["OverAggregate"],
        ),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY v) AS n FROM a) "
            "WHERE CAST(n AS BOOLEAN) = TRUE",
            ["OverAggregate("],
            ["Rank("],
        ),
        (
            "SELECT k FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts DESC) AS n FROM a) WHERE n = 1",
            ["Deduplicate(keep=[LastRow], key=[k], order=[ROWTIME])"],
            ["Rank("],
        ),
        (
            "SELECT window_start, COUNT(*) FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
            "GROUP BY window_start, window_end",
            ["WindowAggregate(groupBy=[window_start, window_end]", "WatermarkAssigner(rowtime=[ts]"],
            ["GroupAggregate"],
        ),
        (
            "SELECT COUNT(*) FROM a GROUP BY TUMBLE(ts, INTERVAL '1' HOUR), k",
            ["GroupWindowAggregate(groupBy=[k], window=[TUMBLE(time_col=["],
            [],
        ),
        ("SELECT k FROM a WHERE k IN (SELECT v FROM b)", ["Join(joinType=[LeftSemiJoin], where=[(k = v)]"], []),
        ("SELECT k, COUNT(*) FROM a GROUP BY k", ["GroupAggregate(groupBy=[k], select=[k, COUNT(*) AS EXPR$1])"], []),
    ],
)
def test_plans_have_the_operators_of_flink(tables, sql, operators, missing):
    text = plan(tables, sql)
    assert [operator for operator in operators if operator not in text] == [], text
    assert [operator for operator in missing if operator in text] == [], text


def test_connectors_read_only_the_columns_that_are_used(tables):
    def scans(sql):
        return [line.split("fields=")[1][:-1] for line in plan(tables, sql).splitlines() if "TableSourceScan" in line]

    assert scans("SELECT k FROM a WHERE v > 1") == ["[k, v, ts]"]  # watermarks need the time
    assert scans("SELECT a.v FROM a JOIN b ON a.k = b.k") == ["[k, v, ts]", "[k, ts]"]
    window = "TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' HOUR))"
    assert scans(f"SELECT window_end, SUM(v) FROM {window} GROUP BY window_start, window_end") == ["[v, ts]"]
    assert scans("SELECT COUNT(*) FROM a") == ["[ts]"]


def test_a_plan_shows_the_changelog_mode_of_each_operator(tables):
    text = plan(tables, "SELECT k, COUNT(*) FROM a GROUP BY k", ExplainDetail.CHANGELOG_MODE)
    assert "changelogMode=[I,UB,UA]" in text.splitlines()[1]
    assert "changelogMode=[I])" in text.splitlines()[-2]


def test_time_attributes_go_through_queries_as_in_flink(tables):
    def types(sql):
        return str(tables.sql_query(sql).get_schema())

    for sql in (
        "SELECT ts FROM a WHERE v > 1",
        "SELECT ts, COUNT(*) FROM a GROUP BY ts",
        "SELECT ts + INTERVAL '1' DAY AS ts FROM a",
        "SELECT COALESCE(ts, ts) AS ts FROM a",
        "SELECT NULLIF(ts, ts) AS ts FROM a",
        "SELECT k, MAX(ts) AS ts FROM a GROUP BY k",
        "SELECT a.ts FROM a JOIN b ON a.k = b.k",
        "SELECT ts FROM a UNION ALL SELECT ts FROM b",
    ):
        assert "ts: TIMESTAMP(3) *ROWTIME*" in types(sql), sql
    assert "*ROWTIME*" not in types("SELECT CAST(ts AS TIMESTAMP(3)) FROM a")
    windows = types("SELECT * FROM TABLE(TUMBLE(TABLE a, DESCRIPTOR(ts), INTERVAL '1' HOUR))")
    assert "window_time: TIMESTAMP(3) NOT NULL *ROWTIME*" in windows
    assert " ts: TIMESTAMP(3) *ROWTIME*\n" in windows


def test_windows_go_over_a_union_of_streams_and_not_over_computed_times(tables):
    def windows(query):
        return plan(tables, f"SELECT COUNT(*) FROM TABLE(TUMBLE(({query}), DESCRIPTOR(ts), INTERVAL '1' HOUR)) "
                            "GROUP BY window_start, window_end")  # fmt: skip

    assert "Union" in windows("SELECT ts FROM a UNION ALL SELECT ts FROM b")
    for query in ("SELECT COALESCE(ts, ts) AS ts FROM a", "SELECT a.ts FROM a JOIN b ON a.k = b.k"):
        with pytest.raises(ValidationException, match="time attribute"):
            windows(query)


@pytest.mark.parametrize(
    ("sql", "message"),
    [
        ("SELECT SUM(v) OVER (ORDER BY v ROWS 1 PRECEDING) FROM a", "must be defined on a time attribute"),
        (
            "SELECT k, RANK() OVER (ORDER BY ts) FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k ORDER BY ts "
            "DESC) AS n FROM a) WHERE n = 1",
            "OverAggregate doesn't support",
        ),
        ("SELECT k FROM a ORDER BY k", "Sort on a non-time-attribute field is not supported."),
        ("SELECT k FROM a OFFSET 3 ROWS", "OFFSET without FETCH"),
    ],
)
def test_unsupported_operations_on_streams_are_reported_before_execution(tables, sql, message):
    with pytest.raises(Exception, match=message):
        tables.execute_sql(sql)
