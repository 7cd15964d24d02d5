"""Functions of the user whose names are those of built-in functions and operators. Flink: `FunctionCatalog`."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.table.errors import ValidationException
from firesteel.table.expressions import call, col
from firesteel.table.udf import udaf, udf
from firesteel.testing import run_local


@pytest.fixture
def env() -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    environment = StreamExecutionEnvironment.get_execution_environment()
    environment.set_parallelism(1)
    return environment, StreamTableEnvironment.create(environment)


def row(env: Any, build: Any) -> list[Any]:
    """The last row of a table over the row `(3, 4, 'Ab')`."""
    environment, t_env = env
    table = t_env.from_elements([(3, 4, "Ab")], ["a", "b", "s"])
    t_env.drop_temporary_view("t")
    t_env.create_temporary_view("t", table)
    environment._transformations.clear()
    t_env.to_changelog_stream(build(t_env, table)).collect_async()
    return list(run_local(environment).elements[-1])


def constant(*_: Any) -> int:
    return 100


def text(*_: Any) -> str:
    return "mine"


NUMBER = udf(constant, result_type=DataTypes.BIGINT())
TEXT = udf(text, result_type=DataTypes.STRING())
HUNDRED = udaf(lambda column: 100, result_type=DataTypes.BIGINT(), func_type="pandas")
OPERATORS = ["plus", "equals", "and", "upper", "like", "concat", "case", "substring", "sum", "between", "cast"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_sql_mean_the_built_in_function(env: Any, name: str) -> None:
    env[1].create_temporary_system_function(name, HUNDRED if name == "sum" else NUMBER)
    sql = """SELECT a + b, a = 3 AND s LIKE 'A%', CASE WHEN a BETWEEN 1 AND 3 THEN SUBSTRING(s FROM 1 FOR 1) END,
        CAST(a AS INT) FROM t"""
    assert row(env, lambda t_env, _: t_env.sql_query(sql)) == [7, True, "A", 3]


IN_TABLE_API = {
    "plus": (col("a") + col("b"), 7),
    "mod": (col("b") % col("a"), 1),
    "equals": (col("a") == 3, True),
    "and": ((col("a") == 3) & (col("b") == 4), True),
    "upper": (col("s").upper_case, "AB"),
    "like": (col("s").like("A%"), True),
    "substring": (col("s").substring(1, 1), "A"),
    "sum": (col("a").sum, 3),
}
"""Operators and methods, with what they give; as PyFlink 2.3 has been asked."""


@pytest.mark.parametrize("name", IN_TABLE_API)
def test_operators_and_methods_of_the_table_api_mean_system_functions_of_the_user_first(env: Any, name: str) -> None:
    expression, built_in = IN_TABLE_API[name]
    function = HUNDRED if name == "sum" else NUMBER
    env[1].create_temporary_function(name, function)
    assert row(env, lambda _, table: table.select(expression)) == [built_in]
    env[1].create_temporary_system_function(name, function)
    assert row(env, lambda _, table: table.select(expression)) == [100]


def test_calls_by_name_mean_system_functions_of_the_user_first(env: Any) -> None:
    env[1].create_temporary_system_function("upper", TEXT)
    env[1].create_temporary_system_function("plus", NUMBER)
    assert row(env, lambda t_env, _: t_env.sql_query("SELECT UPPER(s), plus(a, b) FROM t")) == ["mine", 100]
    calls = (call("upper", col("s")), call("plus", col("a"), col("b")))
    assert row(env, lambda _, table: table.select(*calls)) == ["mine", 100]


def test_built_in_functions_come_before_those_of_catalogs(env: Any) -> None:
    env[1].create_temporary_function("upper", TEXT)
    env[1].create_temporary_function("plus", NUMBER)
    sql = "SELECT UPPER(s), default_database.`upper`(s) FROM t"
    assert row(env, lambda t_env, _: t_env.sql_query(sql)) == ["AB", "mine"]
    calls = (call("upper", col("s")), call("plus", col("a"), col("b")))
    assert row(env, lambda _, table: table.select(*calls)) == ["AB", 7]
    with pytest.raises(ValidationException, match="No match found for function signature plus"):
        row(env, lambda t_env, _: t_env.sql_query("SELECT plus(a, b) FROM t"))


def test_built_in_functions_by_their_names_in_the_table_api(env: Any) -> None:
    calls = (call("minus", col("b"), col("a")), call("isNull", col("a")), call("charLength", col("s")))
    assert row(env, lambda _, table: table.select(*calls)) == [1, False, 2]
