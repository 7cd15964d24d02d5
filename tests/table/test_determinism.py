"""Rules that move or repeat an expression ask whether its value stays the same."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
import pytest

from firesteel.columns.column_types import IntType, TimestampType
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import CallSite, as_array
from firesteel.columns.functions.registry import find_function, function_names
from firesteel.columns.rex import Literal
from firesteel.columns.values import arrow_type
from firesteel.common import Row
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.expressions import (
    col,
    current_date,
    current_time,
    current_timestamp,
    current_watermark,
    local_time,
    local_timestamp,
    rand,
    rand_integer,
    unix_timestamp,
    uuid,
)
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

_CONSTANT_IN_BATCH = {"NOW", "CURRENT_TIMESTAMP", "CURRENT_DATE", "CURRENT_TIME", "LOCALTIME", "LOCALTIMESTAMP"}
_NEVER_CONSTANT = {
    *("PROCTIME", "CURRENT_ROW_TIMESTAMP", "CURRENT_WATERMARK", "UNIX_TIMESTAMP", "UUID", "RAND", "RAND_INTEGER"),
    "CURRENT_DATABASE",
}
NON_DETERMINISTIC = {"STREAMING": _NEVER_CONSTANT | _CONSTANT_IN_BATCH, "BATCH": _NEVER_CONSTANT}
"""Functions for which `isDeterministic()` of Flink 2.3 is false.

They are those of `FlinkSqlOperatorTable` by mode, to which the Table API's functions are converted too, and of
`BuiltInFunctionDefinitions`. The functions that are constant in batch mode have `isDynamicFunction()` there.
CURRENT_DATABASE is one as Flink asks for the database while a job runs; ours knows it when the job begins.
"""


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


def bound(name: str, context: EvaluationContext) -> Any:
    """Return a function of no arguments that computes a call of one row."""
    operands: tuple[Any, ...] = (Literal(None, TimestampType(3)),) if name == "CURRENT_WATERMARK" else ()
    operands += (Literal(1 << 30, IntType()),) if name == "RAND_INTEGER" else ()
    function = find_function(name)
    assert function is not None
    _, result = function.resolve([one.type for one in operands], operands)
    kernel = function.bind(CallSite(operands, result, context))
    columns = [pa.scalar(one.value, arrow_type(one.type)) for one in operands]
    return lambda: as_array(kernel(columns, 1), 1).to_pylist()[0]


def test_functions_whose_results_change_are_flinks() -> None:
    functions = {name: find_function(name) for name in function_names()}
    changing = {name for name, one in functions.items() if not one.deterministic or one.momentary(())}
    assert changing == NON_DETERMINISTIC["STREAMING"] - {"CURRENT_DATABASE"}
    assert {name for name in changing if not functions[name].deterministic} == {"RAND", "RAND_INTEGER", "UUID"}


@pytest.mark.parametrize("mode", NON_DETERMINISTIC)
@pytest.mark.parametrize("name", sorted(NON_DETERMINISTIC["STREAMING"] - {"CURRENT_DATABASE"}))
def test_values_change_where_flinks_do(mode: str, name: str) -> None:
    clock = itertools.count(1_600_000_000_000_000, 100_000_000_000)
    context = EvaluationContext(
        streaming=mode == "STREAMING",
        query_start_us=1_500_000_000_000_000,
        clock_us=lambda: next(clock),
        watermark_ms=lambda: next(clock) // 1_000_000,
    )
    compute = bound(name, context)
    assert (len({compute() for _ in range(5)}) > 1) == (name in NON_DETERMINISTIC[mode])


CALLS = {
    "CURRENT_WATERMARK": ("CURRENT_WATERMARK(ts)", current_watermark(col("ts"))),
    "RAND": ("RAND()", rand()),
    "RAND_INTEGER": ("RAND_INTEGER(9)", rand_integer(9)),
    "UUID": ("UUID()", uuid()),
    "UNIX_TIMESTAMP": ("UNIX_TIMESTAMP()", unix_timestamp()),
    "CURRENT_TIMESTAMP": ("CURRENT_TIMESTAMP", current_timestamp()),
    "CURRENT_DATE": ("CURRENT_DATE", current_date()),
    "CURRENT_TIME": ("CURRENT_TIME", current_time()),
    "LOCALTIME": ("LOCALTIME", local_time()),
    "LOCALTIMESTAMP": ("LOCALTIMESTAMP", local_timestamp()),
    "NOW": ("NOW()", None),
    "PROCTIME": ("PROCTIME()", None),
    "CURRENT_ROW_TIMESTAMP": ("CURRENT_ROW_TIMESTAMP()", None),
}
"""Calls in SQL, and in the Table API where PyFlink has the function."""


def is_computed_twice(table: Any) -> bool:
    """Return whether the filter over a projection has the projection's call once more."""
    plan = table.explain().split("== Optimized Physical Plan ==")[1].split("== Optimized Execution")[0]
    (calc,) = [line for line in plan.splitlines() if "where=" in line]
    return "where=[x IS NOT NULL]" not in calc


def views(t_env: StreamTableEnvironment) -> None:
    t_env.execute_sql("CREATE TEMPORARY VIEW timed AS SELECT id, TIMESTAMP '2020-01-01 00:00:00' AS ts FROM t")


@pytest.mark.parametrize("name", CALLS)
def test_a_changing_value_is_computed_once_in_sql(env: Any, name: str) -> None:
    t_env = env[1]
    views(t_env)
    query = "SELECT x FROM (SELECT DISTINCT {} AS x, id FROM timed) WHERE x IS NOT NULL"
    assert not is_computed_twice(t_env.sql_query(query.format(CALLS[name][0])))
    assert is_computed_twice(t_env.sql_query(query.format("UNIX_TIMESTAMP(CAST(id AS STRING))")))


@pytest.mark.parametrize("name", [name for name, (_, call) in CALLS.items() if call is not None])
def test_a_changing_value_is_computed_once_in_the_table_api(env: Any, name: str) -> None:
    t_env = env[1]
    views(t_env)

    def query(call: Any) -> Any:
        projected = t_env.from_path("timed").select(call.alias("x"), col("id")).distinct()
        return projected.where(col("x").is_not_null)

    assert not is_computed_twice(query(CALLS[name][1]))
    assert is_computed_twice(query(unix_timestamp(col("id").cast(DataTypes.STRING()))))


def test_all_changing_functions_have_a_call() -> None:
    assert CALLS.keys() == NON_DETERMINISTIC["STREAMING"] - {"CURRENT_DATABASE"}
