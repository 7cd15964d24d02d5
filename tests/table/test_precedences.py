"""Operators bind as those of Flink 2.3's parser."""

from __future__ import annotations

import itertools

import pytest

from firesteel.common.table_errors import SqlParserError, ValidationException
from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.planner.parse.parser import parse_expression
from firesteel.table.planner.parse.precedences import OPERATORS, PREFIXES
from firesteel.table.syntax.unresolved import Apply, Lit, Ref, Unresolved

FLINK = {
    **dict.fromkeys(("*", "/", "%", "||"), (60, 61)),
    **dict.fromkeys(("+", "-"), (40, 41)),
    **dict.fromkeys(("LIKE", "ILIKE", "SIMILAR TO"), (33, 32)),
    **dict.fromkeys(("IN", "BETWEEN"), (32, 33)),
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "IS DISTINCT FROM", "OVERLAPS"), (30, 31)),
    **dict.fromkeys(("IS NULL", "IS NOT TRUE", "IS JSON VALUE"), (28, 29)),
    "AND": (24, 25),
    "OR": (22, 23),
}
"""`getLeftPrec()` and `getRightPrec()` of the operators in `FlinkSqlOperatorTable`."""

FLINK_PREFIXES = {"NOT": 27, "-": 81, "+": 81}
"""`getRightPrec()` of those before an operand."""

BINARY = [name for name in FLINK if not name.startswith("IS ") and name not in ("IN", "BETWEEN")] + ["IS DISTINCT FROM"]


def text(expression: Unresolved) -> str:
    """Return an expression with all brackets."""
    match expression:
        case Ref(path):
            return ".".join(path)
        case Lit(value):
            return str(value)
        case Apply(function, operands):
            return f"({' '.join([str(function), *map(text, operands)])})"
    raise AssertionError(expression)


def test_the_numbers_are_flinks() -> None:
    spelled = {"IS NULL": "IS", "IS NOT TRUE": "IS", "IS JSON VALUE": "IS", "SIMILAR TO": "SIMILAR"}
    ours = {name: tuple(OPERATORS[spelled.get(name, name)]) for name in FLINK}
    assert ours == FLINK
    assert PREFIXES == FLINK_PREFIXES
    assert OPERATORS.keys() == {spelled.get(name, name) for name in FLINK} | {"!=", "QUANTIFIED"}


@pytest.mark.parametrize("first", BINARY)
def test_pairs_of_operators_bind_by_the_numbers(first: str) -> None:
    for second in BINARY:
        found = text(parse_expression(f"a {first} b {second} c"))
        takes_middle = FLINK[second][0] >= FLINK[first][1]
        assert found == (f"({first} a ({second} b c))" if takes_middle else f"({second} ({first} a b) c)")


@pytest.mark.parametrize(("operator", "prefix"), [*itertools.product(BINARY, FLINK_PREFIXES)])
def test_prefixes_bind_by_the_numbers(operator: str, prefix: str) -> None:
    alone = {"NOT": "(NOT {})", "-": "(NEGATE {})", "+": "{}"}[prefix]
    takes_more = FLINK[operator][0] >= FLINK_PREFIXES[prefix]
    expected = alone.format(f"({operator} a b)") if takes_more else f"({operator} {alone.format('a')} b)"
    assert text(parse_expression(f"{prefix} a {operator} b")) == expected
    assert text(parse_expression(f"a {operator} {prefix} b")) == f"({operator} a {alone.format('b')})"


@pytest.mark.parametrize("operator", BINARY)
def test_postfixes_bind_by_the_numbers(operator: str) -> None:
    for postfix in ("IS NULL", "IS NOT TRUE", "IS JSON VALUE"):
        takes_all = FLINK[operator][1] > FLINK[postfix][0]
        expected = f"({postfix} ({operator} a b))" if takes_all else f"({operator} a ({postfix} b))"
        assert text(parse_expression(f"a {operator} b {postfix}")) == expected
        assert text(parse_expression(f"a {postfix} {operator} b")) == f"({operator} ({postfix} a) b)"


RECORDED = {
    "a + b || c * d": "(+ a (* (|| b c) d))",
    "a || b * c": "(* (|| a b) c)",
    "a IS DISTINCT FROM b IN (c, z)": "(IS DISTINCT FROM a (IN b c z))",
    "a IS DISTINCT FROM b BETWEEN x AND y": "(IS DISTINCT FROM a (BETWEEN b x y))",
    "a LIKE b NOT IN (c, z)": "(LIKE a (NOT (IN b c z)))",
    "a LIKE b LIKE c ESCAPE d": "(LIKE a (LIKE b c d))",
    "a LIKE b ESCAPE c LIKE d": "(LIKE a b (LIKE c d))",
    "a = NOT b = c": "(= a (NOT (= b c)))",
    "a = NOT b AND c": "(AND (= a (NOT b)) c)",
    "a IN (b, z) IN (c, z)": "(IN (IN a b z) c z)",
    "NOT a IN (b, z) = c": "(NOT (= (IN a b z) c))",
    "a BETWEEN x = u AND y": "(BETWEEN a (= x u) y)",
    "a BETWEEN x AND y LIKE b": "(BETWEEN a x (LIKE y b))",
    "a BETWEEN x AND y IN (b, z)": "(IN (BETWEEN a x y) b z)",
    "a BETWEEN x AND y BETWEEN u AND v": "(BETWEEN (BETWEEN a x y) u v)",
    "a BETWEEN x AND y AND z": "(AND (BETWEEN a x y) z)",
    "a = b IS NOT DISTINCT FROM c": "(IS NOT DISTINCT FROM (= a b) c)",
    "- a [1] * b": "(* (NEGATE (ITEM a 1)) b)",
}
"""Expressions with the trees of Flink's parser."""


@pytest.mark.parametrize("expression", RECORDED)
def test_expressions_have_the_trees_of_flink(expression: str) -> None:
    assert text(parse_expression(expression)) == RECORDED[expression]


def test_a_quantified_comparison_binds_as_in() -> None:
    tree = parse_expression("a = b < ALL (SELECT 1)")
    assert isinstance(tree, Apply)
    assert tree.function == "="


@pytest.mark.parametrize("behind", ["+ c", "|| c", "LIKE c", "* c"])
def test_a_list_is_no_operand(behind: str) -> None:
    with pytest.raises(SqlParserError, match="Encountered"):
        parse_expression(f"a IN (b, z) {behind}")


def test_a_concatenation_is_part_of_a_sum() -> None:
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    with pytest.raises(ValidationException, match=r"Cannot apply '\+' to arguments of type '<INTEGER> \+ <CHAR\(2\)>'"):
        t_env.sql_query("SELECT 1 + '2' || '3'")
