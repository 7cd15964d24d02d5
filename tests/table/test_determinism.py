"""Rules that move or repeat an expression ask whether its value stays the same."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.columns.functions.registry import find_function, function_names
from firesteel.common import Row
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.udf import udf
from firesteel.testing import run_local

VALUES = ", ".join(f"({number})" for number in range(200))
ONCE = {
    "a filter over a projection": "SELECT r FROM (SELECT id, RAND() AS r FROM t) WHERE r < 0.5",
    "a filter over a view": "SELECT r FROM v WHERE r < 0.5",
    "a projection that reads it twice": """SELECT IF(r = s, 0.0, 1.0) FROM (SELECT r, r AS s FROM (SELECT RAND() AS r
        FROM t))""",
    "a filter by rank": """SELECT r FROM (SELECT RAND() AS r, ROW_NUMBER() OVER (PARTITION BY id ORDER BY id) AS n
        FROM t) WHERE n <= 1 AND r < 0.5""",
    "a join key": """SELECT IF(y.id < 100, 0.0, 1.0) FROM (SELECT RAND_INTEGER(100) AS k FROM t) x JOIN t y
        ON x.k = y.id""",
    "IN": "SELECT IF(r < 0.5, 0.0, 1.0) FROM (SELECT RAND() AS r FROM t) WHERE r IN (SELECT r) AND r < 0.5",
}
"""Queries whose values are below 0.5 if RAND() is computed once per row."""

APART = {
    "one side of a join": ("SELECT * FROM t a JOIN t b ON a.id = b.id AND RAND() < a.id", "Join(joinType=[InnerJoin]"),
    "a key of a join": ("SELECT * FROM t a JOIN t b ON a.id + RAND_INTEGER(2) = b.id", "Join(joinType=[InnerJoin]"),
    "WHERE below an outer join": (
        "SELECT * FROM t a JOIN t b ON a.id = b.id LEFT JOIN t c ON b.id = c.id WHERE RAND() < a.id",
        "Calc(select=[id, id0, id1], where=",
    ),
    "a filter between joins": (
        """SELECT * FROM (SELECT a.id AS x, b.id AS y FROM t a, t b WHERE RAND() < a.id) q
        JOIN t c ON c.id = q.x AND c.id = q.y""",
        "+- Calc(select=[id AS x, id0 AS y], where=",
    ),
}
"""Queries with a random condition that reads one side of a join, and the operator of the plan that computes it."""


@pytest.fixture
def env() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    t_env = StreamTableEnvironment.create(environment)
    t_env.execute_sql(f"CREATE TEMPORARY VIEW t AS SELECT * FROM (VALUES {VALUES}) AS t (id)")
    t_env.execute_sql("CREATE TEMPORARY VIEW v AS SELECT id, RAND() AS r FROM t")
    return environment, t_env


def rows(env: Any, sql: str) -> list[Row]:
    environment, t_env = env
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    return [Row(*row) for row in run_local(environment).elements]


@pytest.mark.parametrize("name", ONCE)
def test_a_random_number_is_drawn_once_per_row(env: Any, name: str) -> None:
    found = rows(env, ONCE[name])
    assert found
    assert all(value < 0.5 for (value,) in found)


@pytest.mark.parametrize("name", APART)
def test_a_random_condition_is_computed_per_pair_of_rows(env: Any, name: str) -> None:
    sql, place = APART[name]
    plan = env[1].explain_sql(sql).split("== Optimized Physical Plan ==")[1].split("== Optimized Execution")[0]
    assert [line for line in plan.splitlines() if "RAND" in line and line.startswith(place)]
    assert plan.count("RAND") == 1


def test_functions_that_differ_are_computed_apart(env: Any) -> None:
    for name, factor in (("f", 1), ("g", 100)):
        function = udf(lambda value, by=factor: value * by, result_type=DataTypes.BIGINT())
        env[1].create_temporary_function(name, function)
    assert rows(env, "SELECT SUM(f(id)), SUM(g(id)) FROM t")[-1] == Row(19900, 1990000)


def test_a_random_value_is_drawn_once_for_in(env: Any) -> None:
    found = rows(env, "SELECT id FROM t WHERE RAND_INTEGER(2) IN (SELECT id FROM t WHERE id < 2)")
    assert len(found) == 200


def test_a_random_value_is_drawn_once_for_in_elsewhere(env: Any) -> None:
    query = "SELECT RAND_INTEGER(2) IN (SELECT id FROM t WHERE id < 2) FROM t"
    plan = env[1].explain_sql(query).split("== Optimized Physical Plan ==")[1].split("== Optimized Execution")[0]
    assert plan.count("RAND_INTEGER") == 1
    assert rows(env, query)[-1] == Row(True)


def test_functions_whose_results_change_are_named() -> None:
    functions = {name: find_function(name) for name in function_names()}
    changing = {name for name, one in functions.items() if not one.deterministic}
    momentary = {name for name, one in functions.items() if one.momentary}
    assert changing == {"RAND", "RAND_INTEGER", "UUID"}
    assert momentary == {
        *("NOW", "CURRENT_TIMESTAMP", "CURRENT_ROW_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "CURRENT_WATERMARK"),
        *("LOCALTIME", "LOCALTIMESTAMP", "PROCTIME"),
    }
