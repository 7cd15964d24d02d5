"""Expressions as text and the expressions of today that they mean."""

from __future__ import annotations

import datetime

import pytest

from firesteel.pyflink1.tables.text_expressions.parser import parse_expressions
from firesteel.pyflink1.tables.text_expressions.tokens import ExpressionParserException
from firesteel.table import DataTypes, EnvironmentSettings, TableEnvironment
from firesteel.table import expressions as ex
from firesteel.table.expression import TimeIntervalUnit, TimePointUnit
from firesteel.table.expression_functions.expression_base import node_of
from firesteel.table.expressions import col, lit
from firesteel.table.syntax.unresolved import Apply, Star

BIGINT, INT = DataTypes.BIGINT().not_null(), DataTypes.INT().not_null()
A, B, C = col("a"), col("b"), col("c")
ONE, TWO, THREE = (lit(number, INT) for number in (1, 2, 3))


def parsed(text):
    return [node_of(found) for found in parse_expressions(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", A),
        ("a.sum as b", A.sum.alias("b")),
        ("a.sum AS b", A.sum.alias("b")),
        ("a.as(b)", A.alias("b")),
        ("as(a, b)", A.alias("b")),
        ("sum(a) as b", A.sum.alias("b")),
        ("words(a) as (b, c)", ex.call("words", A).alias("b", "c")),
        ("a > 3 && b = 'x'", (A > THREE) & (B == "x")),
        ("a > 1 || b < 2 && c <> 3", ((A > ONE) | (B < TWO)) & (C != THREE)),
        ("a === b", A == B),
        ("a == b", A == B),
        ("a !== b", A != B),
        ("a >= 1 || a <= 2", (A >= ONE) | (A <= TWO)),
        ("a + b * c", A + B * C),
        ("(a + b) * c", (A + B) * C),
        ("a - b - c", A - B - C),
        ("a -1", A - ONE),
        ("a % 2 === b", A % TWO == B),
        ("-a", -A),
        ("+a / 2", A / TWO),
        ("!a", ex.not_(A)),
        ("!a.isNull()", ex.not_(A.is_null)),
        ("a.isNotNull", A.is_not_null),
        ("1L", lit(1, BIGINT)),
        ("-1", lit(-1, INT)),
        ("1.5", lit(1.5, DataTypes.DOUBLE().not_null())),
        ("1.5f", lit(1.5, DataTypes.FLOAT().not_null())),
        ("'it''s'", lit("it's")),
        ('"he ""said"""', lit('he "said"')),
        ("true", lit(True)),
        ("FALSE", lit(False)),
        ("Null(INT)", ex.null_of(DataTypes.INT())),
        ("nullOf(LONG)", ex.null_of(DataTypes.BIGINT())),
        ("a.cast(INT)", A.cast(DataTypes.INT())),
        ("a.cast(LONG)", A.cast(DataTypes.BIGINT())),
        ("a.cast(BIGINT)", A.cast(DataTypes.BIGINT())),
        ("cast(a, SQL_TIMESTAMP)", A.cast(DataTypes.TIMESTAMP(3))),
        ("a.cast(MAP(STRING, INT))", A.cast(DataTypes.MAP(DataTypes.STRING(), DataTypes.INT()))),
        ("a.cast(OBJECT_ARRAY(INT))", A.cast(DataTypes.ARRAY(DataTypes.INT()))),
        ("a.toDate", A.to_date),
        ("toTimestamp(a)", A.to_timestamp),
        ("10.minutes", lit(10, INT).minutes),
        ("2.rows", ex.row_interval(2)),
        ("a + 1.day", A + ONE.day),
        ("w.start", col("w").start),
        ("w.end as until", col("w").end.alias("until")),
        ("rt.rowtime", col("rt").rowtime),
        ("pt.proctime", col("pt").proctime),
        ("a.desc", A.desc),
        ("a.asc()", A.asc),
        ("a.flatten()", A.flatten),
        ("a.sum.distinct", A.sum.distinct),
        ("a.get('f')", A.get("f")),
        ("a.in(1, 2)", A.in_(ONE, TWO)),
        ("a.between(1, 2)", A.between(ONE, TWO)),
        ("a.charLength()", A.char_length),
        ("a.upperCase()", A.upper_case),
        ("upper(a)", ex.call("upper", A)),
        ("a.substring(1, 2)", A.substring(ONE, TWO)),
        ("substring(a, 1, 2)", A.substring(ONE, TWO)),
        ("a.trim()", A.trim()),
        ("a.trim(LEADING, 'x')", A.trim_leading("x")),
        ("trim(BOTH, 'x', a)", A.trim("x")),
        ("a.log(2)", A.log(TWO)),
        ("log(2, a)", ex.call("log", TWO, A)),
        ("a.extract(DAY)", A.extract(TimeIntervalUnit.DAY)),
        ("extract(a, HOUR)", A.extract(TimeIntervalUnit.HOUR)),
        ("a.floor(HOUR)", A.floor(TimeIntervalUnit.HOUR)),
        ("floor(a)", ex.call("floor", A)),
        ("ceil(a, DAY)", A.ceil(TimeIntervalUnit.DAY)),
        ("timestampDiff(DAY, a, b)", ex.timestamp_diff(TimePointUnit.DAY, A, B)),
        ("(a > 1).?(b, c)", (A > ONE).then(B, C)),
        ("?(a > 1, b, c)", ex.if_then_else(A > ONE, B, C)),
        ("a.max over w", A.max.over(col("w"))),
        ("max(a) over w as m", A.max.over(col("w")).alias("m")),
        ("unbounded_range", ex.UNBOUNDED_RANGE),
        ("UNBOUNDED_ROW", ex.UNBOUNDED_ROW),
        ("a to c", ex.range_("a", "c")),
        ("withColumns(1 to 2)", ex.with_columns(ex.range_(1, 2))),
        ("array(a, b)", ex.array(A, B)),
        ("row(a, b)", ex.row(A, B)),
        ("concat(a, '_x')", A.concat("_x")),
        ("my_function(a, b)", ex.call("my_function", A, B)),
        ("a.my_function(b)", ex.call("my_function", A, B)),
    ],
)
def test_a_text_means_an_expression(text, expected):
    assert parsed(text) == [node_of(expected)]


def test_texts_are_separated_by_commas_outside_of_calls():
    assert parsed("a, concat(a, b) as c") == [node_of(A), node_of(A.concat(B).alias("c"))]


def test_a_star_is_all_columns_or_all_rows():
    assert parsed("*") == [Star()]
    assert parsed("COUNT(*)") == [Apply("COUNT", (Star(),))]


def test_a_call_over_distinct_values():
    assert parsed("sum.distinct(a)") == [Apply("sum", (node_of(A),), distinct=True, named=True)]


@pytest.mark.parametrize(
    ("text", "column", "fragment"),
    [
        ("a +", 4, "end of expression"),
        ("a, , b", 4, ", b"),
        ("(a", 3, "end of expression"),
        ("a b", 3, "b"),
        ("a # b", 3, "# b"),
        ("a.cast(NOTHING)", 8, "NOTHING)"),
        ("a.extract(FORTNIGHT)", 11, "FORTNIGHT)"),
        ("a as 'x'", 6, "'x'"),
        ("99999999999", 1, "99999999999"),
        ("a.b.", 5, "end of expression"),
        ("a.get(b)", 9, "end of expression"),
        ("a.?(b)", 4, "(b)"),
    ],
)
def test_other_texts_are_refused_with_the_position(text, column, fragment):
    with pytest.raises(ExpressionParserException) as found:
        parse_expressions(text)
    assert f"at column {column}: " in str(found.value)
    assert str(found.value).endswith(f" at '{fragment}'")


class Names:
    def __init__(self, table):
        self._table = table

    def table(self, name):
        return self._table if name == "others" else None

    def is_function(self, name):
        return name == "charLength"


def test_in_takes_a_table():
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    others = t_env.from_elements([(1,)], ["b"])
    (found,) = parse_expressions("a.in(others)", Names(others))
    assert node_of(found) == node_of(A.in_(others))
    (found,) = parse_expressions("a.in(c)", Names(others))
    assert node_of(found) == node_of(A.in_(C))


def test_functions_of_the_user_go_before_built_in_ones():
    (found,) = parse_expressions("a.charLength()", Names(None))
    assert node_of(found) == node_of(ex.call("charLength", A))


def test_an_interval_is_a_constant():
    (found,) = parsed("30.seconds")
    assert found.value == datetime.timedelta(seconds=30)
