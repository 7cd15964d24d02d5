"""Types of expressions, as recorded from Flink 2.3."""

import pytest

from firesteel.columns.type_text import type_text
from firesteel.table import DataTypes
from firesteel.table.errors import ValidationException
from firesteel.table.expressions import (
    array,
    call_sql,
    col,
    concat,
    date_format,
    from_unixtime,
    lit,
    row,
    to_date,
    to_timestamp,
    unix_timestamp,
)

COLUMNS = {
    "i": "INT",
    "s": "STRING",
    "n": "STRING NOT NULL",
    "c": "CHAR(3)",
    "f": "FLOAT",
    "d": "DOUBLE",
    "e": "DECIMAL(10, 2)",
    "ts": "TIMESTAMP(3)",
    "b": "BOOLEAN",
    "`day`": "DATE",
    "tl": "TIMESTAMP_LTZ(3)",
    "tl6": "TIMESTAMP_LTZ(6)",
    "ni": "INT NOT NULL",
    "nc": "CHAR(3) NOT NULL",
    "nv": "VARCHAR(5) NOT NULL",
    "nts": "TIMESTAMP(3) NOT NULL",
    "a": "ARRAY<INT> NOT NULL",
    "na": "ARRAY<INT NOT NULL> NOT NULL",
    "l": "ARRAY<BIGINT> NOT NULL",
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
        ("TRANSLATE(n, s, s)", "STRING NOT NULL"),
        ("SUBSTRING(n, 1)", "STRING"),
        ("SUBSTRING(n FROM 1 FOR 2)", "STRING"),
        ("TO_DATE(n)", "DATE"),
        ("ASCII(n)", "INT NOT NULL"),
        ("ELEMENT(na)", "INT NOT NULL"),
        ("ARRAY_APPEND(na, ni)", "ARRAY<INT NOT NULL> NOT NULL"),
        ("ARRAY_APPEND(na, i)", "ARRAY<INT>"),
        ("ARRAY_APPEND(a, ni)", "ARRAY<INT> NOT NULL"),
        ("ARRAY_APPEND(a, CAST(ni AS SMALLINT))", "ARRAY<INT>"),
        ("ARRAY_POSITION(l, ni)", "INT"),
        ("ARRAY_POSITION(l, CAST(ni AS BIGINT))", "INT NOT NULL"),
        ("ARRAY_REMOVE(l, i)", "ARRAY<BIGINT> NOT NULL"),
        ("COALESCE(f, e)", "DOUBLE"),
        ("COALESCE(e, f, d)", "DOUBLE"),
        ("COALESCE(ts, `day`)", "DATE"),
        ("GREATEST(`day`, ts)", "DATE"),
        ("COALESCE(ts, tl)", "TIMESTAMP_LTZ(3)"),
        ("CASE WHEN b THEN ts ELSE tl END", "TIMESTAMP(3)"),
        ("CASE WHEN b THEN tl ELSE ts END", "TIMESTAMP_LTZ(3)"),
        ("CASE WHEN b THEN tl6 ELSE ts END", "TIMESTAMP(6)"),
        ("CASE WHEN b THEN ts ELSE tl6 END", "TIMESTAMP_LTZ(6)"),
        ("IF(b, ts, tl6)", "TIMESTAMP(3)"),
        ("INTERVAL '1' DAY", "INTERVAL SECOND(3) NOT NULL"),
        ("INTERVAL '1-2' YEAR TO MONTH", "INTERVAL MONTH NOT NULL"),
        ("TIMESTAMPADD(HOUR, 1, `day`)", "TIMESTAMP(6)"),
        ("TIMESTAMPADD(SECOND, 1, nts)", "TIMESTAMP(3) NOT NULL"),
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


@pytest.mark.parametrize("over", ["", " OVER (ORDER BY PROCTIME())"])
@pytest.mark.parametrize(
    ("delimiter", "needed"),
    [
        ("n", "be a literal"),
        ("'-' || '+'", "be a literal"),
        ("CAST('-' AS STRING)", "be a literal"),
        ("CAST(NULL AS STRING)", "not be NULL"),
    ],
)
def test_the_delimiter_of_listagg_is_a_literal(source, delimiter, needed, over):
    assert type_of(source, f"LISTAGG(s, '-'){over}") == "STRING"
    with pytest.raises(ValidationException, match=f"Argument to function 'LISTAGG' must {needed}"):
        type_of(source, f"LISTAGG(s, {delimiter}){over}")


@pytest.mark.parametrize(
    ("percentage", "error"),
    [
        ("d", "Cannot apply 'PERCENTILE'"),
        ("ARRAY[0.5, d]", "Cannot apply 'PERCENTILE'"),
        ("1.5", "between 0 and 1, found 1.5"),
        ("-0.5", "between 0 and 1, found -0.5"),
    ],
)
def test_a_percentage_is_a_number_that_is_not_null(source, percentage, error):
    for allowed in ("0.5", "1", "CAST(0.5 AS DOUBLE)", "0.25 + 0.25", "ARRAY[0.5, 1]"):
        assert "DOUBLE" in type_of(source, f"PERCENTILE(i, {allowed})")
    with pytest.raises(ValidationException, match=error):
        type_of(source, f"PERCENTILE(i, {percentage})")


@pytest.mark.parametrize(("name", "argument"), [("LAST", "A.i"), ("FIRST", "-1"), ("LAST", "1.5")])
def test_navigation_in_a_pattern_goes_a_constant_number_of_rows(source, name, argument):
    pattern = "SELECT x FROM (SELECT *, PROCTIME() AS p FROM src) MATCH_RECOGNIZE (PARTITION BY s ORDER BY p "
    pattern += f"MEASURES {name}(A.i, {{}}) AS x PATTERN (A B) DEFINE B AS B.i > 1)"
    source.sql_query(pattern.format(1))
    with pytest.raises(ValidationException, match=f"{name} goes a constant number of rows"):
        source.sql_query(pattern.format(argument))


@pytest.mark.parametrize("name", ["ARRAY_APPEND", "ARRAY_PREPEND", "ARRAY_POSITION", "ARRAY_REMOVE", "ARRAY_CONTAINS"])
def test_an_element_does_not_widen_an_array(source, name):
    with pytest.raises(ValidationException, match=f"Cannot apply '{name}' to arguments"):
        type_of(source, f"{name}(a, CAST(i AS BIGINT))")


# --- Table API: other type strategies than in SQL ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (lit("hello").substring(2, 3), "VARCHAR(5) NOT NULL"),
        (col("n").substr(2), "STRING NOT NULL"),
        (col("s").substr(2), "STRING"),
        (col("n").left(col("i")), "STRING"),
        (col("nv").right(2), "VARCHAR(5) NOT NULL"),
        (col("n").parse_url("HOST"), "STRING NOT NULL"),
        (col("n").reverse, "STRING NOT NULL"),
        (col("n").split_index(",", 1), "STRING NOT NULL"),
        (col("n").str_to_map(), "MAP<STRING, STRING> NOT NULL"),
        (date_format(col("nts"), "yyyy"), "STRING NOT NULL"),
        (from_unixtime(44), "STRING NOT NULL"),
        (to_date(col("n")), "DATE NOT NULL"),
        (to_timestamp(col("s")), "TIMESTAMP(3)"),
        (unix_timestamp("2020-01-01 00:00:00"), "BIGINT"),
        (col("n").ascii, "TINYINT NOT NULL"),
        (col("i").chr, "CHAR(1)"),
        (array(7).element, "INT"),
        (col("a").array_append(1), "ARRAY<INT>"),
        (col("na").array_append(1), "ARRAY<INT NOT NULL> NOT NULL"),
        (col("a").array_position(1), "INT"),
        (row(1, col("s")), "ROW<`f0` INT NOT NULL, `f1` STRING> NOT NULL"),
        (concat("a", "bc"), "VARCHAR(3) NOT NULL"),
        (concat(col("c"), col("nv")), "VARCHAR(8)"),
        (col("n").concat("x"), "STRING NOT NULL"),
        (lit("a") + lit("bc"), "VARCHAR(2) NOT NULL"),
        (col("nc") + col("nc"), "CHAR(3) NOT NULL"),
        (col("n") + col("i"), "STRING"),
        (~col("b"), "BOOLEAN NOT NULL"),
        (col("i").cast(DataTypes.STRING()).substr(1), "STRING"),
        (call_sql("SUBSTRING(n, 1)"), "STRING"),
    ],
)
def test_types_of_the_table_api_are_those_of_flink(source, expression, expected):
    schema = source.from_path("src").select(expression.alias("v")).get_schema()
    assert type_text(schema.get_field_data_types()[0]) == expected
