"""Models, procedures and materialized tables; `tests/flink_recordings/test_objects.py` compares them with Flink's."""

from __future__ import annotations

import pytest

from firesteel.table import DataTypes, Schema, TableEnvironment
from firesteel.table.errors import SqlParserError, TableException, ValidationException
from firesteel.table.model_descriptor import ModelDescriptor
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax import statements as s
from tests.table.environments import environment

MODEL = "INPUT (a INT) OUTPUT (y INT) WITH ('provider' = 'x')"


def descriptor(provider: str) -> ModelDescriptor:
    texts = Schema.new_builder().column("text", DataTypes.STRING()).build()
    return ModelDescriptor.for_provider(provider).input_schema(texts).output_schema(texts).build()


def text_of(t_env: TableEnvironment, name: str) -> str:
    with t_env.execute_sql(f"SHOW CREATE MODEL {name}").collect() as rows:
        return next(iter(rows))[0]


def test_a_temporary_model_hides_the_model_of_the_catalog() -> None:
    t_env = environment()
    t_env.create_model("m", descriptor("stored"))
    t_env.create_temporary_model("m", descriptor("hiding"))
    assert "CREATE TEMPORARY MODEL" in text_of(t_env, "m")
    assert "'provider' = 'hiding'" in text_of(t_env, "m")
    assert t_env.list_models() == t_env.list_temporary_models() == ["m"]
    assert t_env.drop_temporary_model("m")
    assert not t_env.drop_temporary_model("m")
    assert "'provider' = 'stored'" in text_of(t_env, "m")
    assert t_env.drop_model("m")
    assert t_env.list_models() == []


def test_the_parts_of_a_model_are_parsed() -> None:
    model = parse(f"CREATE TEMPORARY MODEL IF NOT EXISTS db.m {MODEL}")
    assert (model.path, model.is_temporary, model.if_not_exists) == (("db", "m"), True, True)
    assert [column.name for column in (*model.inputs, *model.outputs)] == ["a", "y"]
    assert parse("ALTER MODEL m RESET ('a', 'b')") == s.AlterModel(("m",), "RESET", ("a", "b"))


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("CREATE MODEL m INPUT (a INT, b AS a + 1) OUTPUT (y INT)", "At line 1, column 30: Column `b` can only be"),
        (
            "CREATE MODEL mm INPUT (a INT) WITH ('a' = 'b')",
            "From line 1, column 14 to line 1, column 15: Output",
        ),
        (
            "SELECT * FROM ML_PREDICT(TABLE t, MODEL m, DESCRIPTOR(a))",
            "line 1, column 15 .*ML_PREDICT is not",
        ),
        ("SELECT * FROM TABLE(ML_PREDICT(TABLE t, MODEL m))", "line 1, column 21 .*models can't be executed"),
        ("SELECT * FROM t, LATERAL TABLE(ML_EVALUATE(TABLE t))", "line 1, column 32 .*ML_EVALUATE is not supported"),
    ],
)
def test_errors_of_models_name_their_place(statement: str, text: str) -> None:
    with pytest.raises(ValidationException, match=f"SQL validation failed. .*{text}"):
        parse(statement)


@pytest.mark.parametrize(
    ("statement", "column"),
    [
        ("CREATE MATERIALIZED TABLE t AS SELECT 1", 8),
        ("CREATE OR ALTER MATERIALIZED TABLE t AS SELECT 1", 17),
        ("ALTER MATERIALIZED TABLE t SUSPEND", 7),
        ("DROP MATERIALIZED TABLE IF EXISTS t", 6),
        ("SHOW CREATE MATERIALIZED TABLE t", 13),
    ],
)
def test_materialized_tables_are_refused(statement: str, column: int) -> None:
    with pytest.raises(SqlParserError, match=f"Materialized tables are not supported, at line 1, column {column}"):
        parse(statement)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        (
            "CALL pr(1, x => 'a')",
            "From line 1, column 6 to line 1, column 7: getProcedure is not implemented",
        ),
        ("CALL nope.db.p()", "From line 1, column 6 to line 1, column 14: No match found for function signature p"),
    ],
)
def test_no_catalog_has_procedures(statement: str, text: str) -> None:
    with pytest.raises(TableException, match=text):
        environment().execute_sql(statement)
