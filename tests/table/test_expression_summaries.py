"""The text of expressions is Flink's, as PyFlink 2.3 shows it."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.table import DataTypes, expressions
from firesteel.table.expression import JsonExistsOnError, JsonType, JsonValueOnEmptyOrError, TimeIntervalUnit
from firesteel.table.expression_functions.expression_text import expression_sql
from firesteel.table.expressions import UNBOUNDED_ROW, and_, array, call, col, lit, null_of, or_, range_, row_interval

a, b, c = col("a"), col("b"), col("c")

TEXTS: dict[str, Any] = {
    "plus(a, 2)": a + 2,
    "mod(2, b)": 2 % b,
    "notEquals(a, b)": a != b,
    "and(a, b)": and_(a, b),
    "and(a, b, c)": and_(a, b, c),
    "and(and(a, b), c)": a & b & c,
    "or(a, b, c)": or_(a, b, c),
    "between(a, b, c)": a.between(b, c),
    "notBetween(a, 1, 2)": a.not_between(1, 2),
    "isNotTrue(a)": ~a,
    "minusPrefix(a)": -a,
    "power(a, b)": a**b,
    "ifThenElse(a, b, c)": a.then(b, c),
    "isNull(a)": a.is_null,
    "sum0(a)": a.sum0,
    "distinct(count(a))": a.count.distinct,
    "distinct(a)": a.distinct,
    "first_value(a)": a.first_value,
    "stddevPop(a)": a.stddev_pop,
    "ARRAY_AGG(a)": a.array_agg,
    "as(a, 'x', 'y')": a.alias("x", "y"),
    "cast(a, INT)": a.cast(DataTypes.INT()),
    "desc(a)": a.desc,
    "in(a, b, c)": a.in_(b, c),
    "end(a)": a.end,
    "UNHEX(a)": a.unhex,
    "PERCENTILE(a, array(0.1, 0.5))": a.percentile(array(0.1, 0.5)),
    "ASSIGNMENT('n', a)": a.as_argument("n"),
    "trim(true, false, ' ', a)": a.trim_leading(),
    "charLength(a)": a.char_length,
    "LIKE(a, 'Jo_n%')": a.like("Jo_n%"),
    "similar(a, 'A+')": a.similar("A+"),
    "extract(YEAR, a)": a.extract(TimeIntervalUnit.YEAR),
    "floor(a, YEAR)": a.floor(TimeIntervalUnit.YEAR),
    "get(a, 'x')": a.get("x"),
    "at(a, 0)": a.at(0),
    "120": lit(10).years,
    "864000000": lit(10).days,
    "4": row_interval(4),
    "null": null_of(DataTypes.BIGINT()),
    "over(a, 'w')": a.over("w"),
    "IS_JSON('42')": lit("42").is_json(),
    "IS_JSON('42', SCALAR)": lit("42").is_json(JsonType.SCALAR),
    "JSON_VALUE('{}', '$.x', STRING, NULL, null, NULL, null)": lit("{}").json_value("$.x"),
    "JSON_VALUE('{}', '$.x', INT, DEFAULT, 42, ERROR, null)": lit("{}").json_value(
        "$.x", DataTypes.INT(), JsonValueOnEmptyOrError.DEFAULT, 42, JsonValueOnEmptyOrError.ERROR
    ),
    "JSON_QUERY('{}', '$.x', STRING, WITHOUT_ARRAY, NULL, NULL)": lit("{}").json_query("$.x"),
    "JSON_EXISTS('{}', '$.x', FALSE)": lit("{}").json_exists("$.x", JsonExistsOnError.FALSE),
    "rangeTo(1, 2)": range_(1, 2),
    "UNBOUNDED_ROW": UNBOUNDED_ROW,
    "currentDate()": expressions.current_date(),
    "concat_ws(', ', b, c)": expressions.concat_ws(", ", b, c),
    "toTimestamp('x')": expressions.to_timestamp("x"),
    "a.b.c(a)": call("a.b.c", a),
    "'it''s'": lit("it's"),
    "true": lit(True),
}


@pytest.mark.parametrize("text", TEXTS)
def test_the_text_of_an_expression(text: str) -> None:
    assert str(TEXTS[text]) == text


SQL: dict[str, Any] = {
    "`a` BETWEEN 1 AND `b` + 2": a.between(1, b + 2),
    "(`a` NOT BETWEEN `b` AND `c`) IS TRUE": a.not_between(b, c).is_true,
    "(`a` BETWEEN 1 AND 2) = `b`": a.between(1, 2) == b,
    "(`a` AND `b`) IS NOT TRUE": ~(a & b),
    "`a` AND `b` AND (`c` > 1 OR `c` < 0 OR `c` = 5)": and_(a, b, or_(c > 1, c < 0, c == 5)),
}


@pytest.mark.parametrize("text", SQL)
def test_the_sql_of_an_expression(text: str) -> None:
    assert expression_sql(SQL[text]._node) == text
