"""Types of expressions, as recorded from Flink 2.3."""

import pytest

from firesteel.columns.type_text import type_text
from firesteel.table.errors import ValidationException

COLUMNS = {
    "i": "INT",
    "s": "STRING",
    "n": "STRING NOT NULL",
    "c": "CHAR(3)",
    "f": "FLOAT",
    "d": "DOUBLE",
    "e": "DECIMAL(10, 2)",
    "ts": "TIMESTAMP(3)",
}


@pytest.fixture
def source(t_env):
    columns = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    t_env.execute_sql(f"CREATE TABLE src ({columns}) WITH ('connector' = 'datagen')")
    return t_env


def type_of(t_env, expression):
    schema = t_env.sql_query(f"SELECT {expression} AS v FROM src").get_schema()
    return type_text(schema.get_field_data_types()[0])


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("CAST(i AS VARCHAR)", "STRING"),
        ("CAST(s AS VARBINARY)", "BYTES"),
        ("CAST(s AS CHAR)", "CHAR(1)"),
        ("LPAD(n, 5, 'x')", "STRING NOT NULL"),
        ("LPAD(s, 5, 'x')", "STRING"),
        ("REGEXP_REPLACE(n, 'a', 'b')", "STRING NOT NULL"),
        ("REGEXP_EXTRACT(n, 'a', 0)", "STRING"),
        ("TO_BASE64(n)", "STRING NOT NULL"),
        ("URL_ENCODE(n)", "STRING"),
        ("TYPEOF(n)", "STRING"),
        ("JSON_EXISTS(n, '$.a')", "BOOLEAN"),
        ("BTRIM(c)", "STRING"),
        ("OVERLAY('abcdef' PLACING 'xx' FROM 2 FOR 3)", "VARCHAR(8) NOT NULL"),
        ("ELT(2, 'a', 'b')", "CHAR(1)"),
        ("ARRAY_AGG(n)", "ARRAY<STRING NOT NULL> NOT NULL"),
        ("ARRAY_AGG(s)", "ARRAY<STRING>"),
        ("COALESCE(f, d)", "DOUBLE"),
        ("COALESCE(e, f)", "FLOAT"),
        ("GREATEST(f, d)", "DOUBLE"),
        ("CASE WHEN i = 1 THEN f ELSE d END", "FLOAT"),
        ("IF(i = 1, f, d)", "FLOAT"),
        ("i IN (s, '2')", "BOOLEAN"),
        ("s > 0", "BOOLEAN"),
    ],
)
def test_types_are_those_of_flink(source, expression, expected):
    assert type_of(source, expression) == expected


@pytest.mark.parametrize(
    ("expression", "first", "second"),
    [
        ("i = s", "INTEGER", "VARCHAR"),
        ("c <> e", "CHAR", "DECIMAL"),
        ("CASE s WHEN 1 THEN 2 END", "VARCHAR", "INTEGER"),
    ],
)
def test_texts_do_not_equal_numbers(source, expression, first, second):
    with pytest.raises(ValidationException, match=f"implicit type conversion between {first} and {second}"):
        type_of(source, expression)


def test_an_array_is_in_no_list_of_texts(source):
    with pytest.raises(ValidationException, match="Cannot apply 'IN' to arguments"):
        type_of(source, "ARRAY[i] IN (s)")
