"""VARIANT: values of JSON, with the results of Flink 2.3."""

from __future__ import annotations

import pytest

from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.table.planner.rel.constants import ONE_ROW, folded
from tests.table.environments import environment

VALUES = {
    """JSON_STRING(PARSE_JSON('{"b":1,"a":[1, 2]}'))""": '{"a":[1,2],"b":1}',
    """JSON_STRING(PARSE_JSON('{"b": 1.0, "a": 1e3, "c": 12345678901234567890}'))""": (
        '{"a":1000.0,"b":1,"c":12345678901234567890}'
    ),
    """JSON_STRING(PARSE_JSON('"\\u00e9\\n"'))""": '"é\\n"',
    "JSON_STRING(TRY_PARSE_JSON('{bad'))": None,
    "JSON_STRING(TRY_PARSE_JSON('NaN'))": None,
    """JSON_STRING(PARSE_JSON('{"a":1, "a":2}', TRUE))""": '{"a":2}',
    "JSON_STRING(PARSE_JSON('null'))": "null",
    "PARSE_JSON('null') IS NULL": False,
    "JSON_STRING(PARSE_JSON(CAST(NULL AS STRING)))": None,
    """JSON_STRING(PARSE_JSON('{"b":[1,2.5,"x",null]}')['b'][2])""": "2.5",
    """JSON_STRING(PARSE_JSON('{"b":[1,2.5,"x",null]}')['b'][4])""": "null",
    """JSON_STRING(PARSE_JSON('{"b":[1]}')['b'][9])""": None,
    """PARSE_JSON('{"a":1}')['z'] IS NULL""": True,
    "TYPEOF(PARSE_JSON('1'))": "VARIANT NOT NULL",
    """TYPEOF(PARSE_JSON('{"a":1}')['a'])""": "VARIANT",
    "PARSE_JSON('[1, 2]') = PARSE_JSON('[1,2]')": True,
}


@pytest.mark.parametrize("text", VALUES)
def test_variants_have_flinks_values(text):
    (rex,) = environment().sql_query(f"SELECT {text}")._node.expressions
    assert folded(rex).value == VALUES[text]


@pytest.mark.parametrize(
    "text",
    ["CAST({} AS INT)", "CAST({} AS STRING)", "TRY_CAST({} AS DOUBLE)", "{} < {}", "{} + 1", "{}[1.5]", "UPPER({})"],
)
def test_variants_are_neither_cast_nor_compared_by_order(text):
    with pytest.raises(Exception, match=r"VARIANT|VariantType"):
        environment().sql_query(f"SELECT {text}".replace("{}", "PARSE_JSON('1')"))


@pytest.mark.parametrize("text", ["PARSE_JSON('{bad')", """PARSE_JSON('{"a":1,"a":2}')""", "PARSE_JSON('1')['a']"])
def test_what_is_no_such_json_fails(text):
    (rex,) = environment().sql_query(f"SELECT JSON_STRING({text})")._node.expressions
    with pytest.raises(FunctionError):
        compile_rex(rex, EvaluationContext())(ONE_ROW)


@pytest.mark.spark
def test_variants_are_written_and_printed_but_not_collected(capfd):
    t_env = environment("batch")
    query = """SELECT PARSE_JSON('{"b": [1, "x"]}') AS v"""
    with pytest.raises(
        TypeError, match="Unsupported type: VARIANT NOT NULL, it is not supported yet in current python"
    ):
        t_env.execute_sql(query).collect()
    t_env.execute_sql(query).print()
    assert '{"b":[1,"x"]}' in capfd.readouterr().out
    t_env.execute_sql("CREATE TABLE p (v VARIANT, n BIGINT) WITH ('connector' = 'print')")
    t_env.execute_sql(f"INSERT INTO p SELECT v, COUNT(*) FROM ({query}) GROUP BY v").wait()
    assert '+I[{"b":[1,"x"]}, 1]' in capfd.readouterr().out
