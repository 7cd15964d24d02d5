"""Details of the Table API that PyFlink's own tests rely on."""

from __future__ import annotations

from decimal import Decimal

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, MapView, Schema, StreamTableEnvironment
from firesteel.table.planner.rules.constants import folded
from firesteel.table.udf import udf
from firesteel.testing import run_local
from tests.table.environments import environment

HASH_CODES = {
    "'abc'": 96354,
    "''": 0,
    "'日本'": 835047,
    "-1": -1,
    "CAST(1 AS TINYINT)": 1,
    "12345678901": -539222985,
    "-5000000000": 705032702,
    "1.5": 466,
    "CAST(1.50 AS DECIMAL(10, 2))": 4652,
    "CAST(1.5 AS DOUBLE)": 1073217536,
    "CAST(1.5 AS FLOAT)": 1069547520,
    "TRUE": 1231,
    "FALSE": 1237,
    "DATE '2020-01-01'": 18262,
    "TIME '10:20:30'": 37230000,
    "TIMESTAMP '2020-01-01 10:20:30'": -1287610623,
    "TIMESTAMP '2020-01-01 10:20:30.123456'": -1287135620,
    "CAST(NULL AS INT)": None,
}


@pytest.mark.parametrize("text", HASH_CODES)
def test_hash_code_gives_flinks_values(text):
    (rex,) = environment().sql_query(f"SELECT HASH_CODE({text})")._node.expressions
    assert folded(rex).value == HASH_CODES[text]


@pytest.mark.parametrize("text", ["X'01'", "ARRAY[1]", "CURRENT_TIMESTAMP"])
def test_hash_code_refuses_other_types(text):
    with pytest.raises(Exception, match="Cannot apply 'HASH_CODE' to arguments of type"):
        environment().sql_query(f"SELECT HASH_CODE({text})")


def test_a_function_gets_all_digits_of_a_decimal_constant():
    env = StreamExecutionEnvironment.get_execution_environment()
    t_env = StreamTableEnvironment.create(env)
    t_env.create_temporary_system_function("shown", udf(lambda value: str(value), result_type=DataTypes.STRING()))
    query = "SELECT shown(CAST(1.05 AS DECIMAL)), shown(CAST(123.4 AS DECIMAL(2, 0))), CAST(1.05 AS DECIMAL)"
    t_env.to_data_stream(t_env.sql_query(query)).collect_async()
    assert [tuple(row) for row in run_local(env).elements] == [("1.05", "None", Decimal(1))]


def test_entries_of_a_map_view_are_removed_on_the_way():
    view = MapView()
    view.put_all({"a": 1, "b": 2, "c": 3})
    keys = iter(view.keys())
    with pytest.raises(RuntimeError, match="next"):
        keys.remove()
    for key in keys:
        if key != "b":
            keys.remove()
    assert list(view.items()) == [("b", 2)]
    assert list(view.values()) == [2]


def test_a_schema_shows_types_as_they_were_given():
    schema = (
        Schema.new_builder()
        .column("id", DataTypes.INT().not_null())
        .column("payload", "ROW<name STRING, age INT>")
        .column_by_metadata("topic", DataTypes.STRING(), None, True)
        .column_by_metadata("ts", DataTypes.TIMESTAMP(3), "timestamp")
        .build()
    )
    assert str(schema).splitlines()[1:-1] == [
        "  `id` INT NOT NULL,",
        "  `payload` [ROW<name STRING, age INT>],",
        "  `topic` METADATA VIRTUAL,",
        "  `ts` METADATA FROM 'timestamp'",
    ]
