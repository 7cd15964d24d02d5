"""Conditions are simplified by rules; the rows for which they are true stay the same."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import compile_filter
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.values import to_arrow
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.description import rex_text
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts
from firesteel.table.planner.rel.traversal import inputs_first
from firesteel.table.planner.rules.rules import optimize
from firesteel.table.planner.rules.simplify import simplified
from tests.table.environments import environment, remaining

VALUES = {
    "a INT": [None, -1, 0, 1, 2, 3, 2**31 - 1, -(2**31)],
    "i TINYINT": [None, 0, 1, 2, -128, 127],
    "d DOUBLE": [None, float("nan"), -0.0, 0.0, 1.0, 1.5, 3.0],
    "s STRING": [None, "", "p", "q", "qq"],
    "m DECIMAL(4, 2)": [None, *map(Decimal, ("-1.50", "0.00", "1.00", "1.25", "99.99"))],
    "b BOOLEAN": [None, True, False],
    "x DATE": [None, datetime.date(2024, 2, 28), datetime.date(2024, 2, 29)],
    "c INT": [None, 0, 1, 2],
}
CONSTANTS = {
    "a": ["0", "1", "2", "1.5", "3", "5000000000", "-2147483648", "2147483647.5"],
    "i": ["0", "1", "127", "128", "-128.5", "300"],
    "d": ["0", "1", "1.5", "3"],
    "s": ["'p'", "'q'", "''"],
    "m": ["1", "1.25", "1.255", "100", "-99.991"],
    "b": ["TRUE", "FALSE"],
    "x": ["DATE '2024-02-28'", "DATE '2024-02-29'", "'2024-03-01'"],
    "c": ["0", "1", "2"],
}


@pytest.fixture(scope="module")
def t_env():
    made = environment("batch")
    made.execute_sql(f"CREATE TABLE t ({', '.join(VALUES)}) WITH ('connector' = 'datagen')")
    made.execute_sql("CREATE TABLE u (k INT, v INT) WITH ('connector' = 'datagen')")
    return made


@pytest.mark.parametrize(
    "condition", ["n < 0", "n = -1", "n < 1", "n <= 3 AND n < 0", "n > 5 AND n < 3", "n = 1 AND n = 2"]
)
def test_ranks_that_do_not_exist_have_no_rows(condition: str) -> None:
    t_env = environment()
    rows = "SELECT a, MAX(b) AS b FROM (VALUES (1, 2), (2, 3)) AS t (a, b) GROUP BY a"
    ranked = f"SELECT a, ROW_NUMBER() OVER (ORDER BY b) AS n FROM ({rows})"
    plan = t_env.sql_query(f"SELECT a FROM ({ranked}) WHERE {condition}").explain()
    assert "Rank" not in plan.partition("== Optimized Execution Plan ==")[2]


def condition_of(t_env, text):
    (found,) = [one for one in inputs_first([t_env.sql_query(f"SELECT * FROM t WHERE {text}")._node]) if is_filter(one)]
    return found.condition


def is_filter(node):
    return isinstance(node, rel.Filter)


SIMPLER = {
    "a = 1 AND a = 2": "never",
    "a > 5 AND a < 3": "never",
    "a >= 3 AND a < 3": "never",
    "a IS NULL AND a = 1": "never",
    "a IS NULL AND a + 1 > c": "never",
    "b AND NOT b": "never",
    "b AND b IS NOT TRUE": "never",
    "NOT b AND b IS NULL": "never",
    "a < c AND c < a": "never",
    "a < c AND c <= a": "never",
    "a = c AND a <> c": "never",
    "a IN (1, 2) AND a = 3": "never",
    "a IN (1, 2) AND a > 2": "never",
    "a = 1 AND (a = 2 OR a = 3)": "never",
    "(a = 1 AND a = 2) OR (s = 'p' AND s = 'q')": "never",
    "a = NULL": "never",
    "a IN (1, 2) AND CAST(NULL AS BOOLEAN)": "never",
    "UPPER('a') = 'B'": "never",
    "a = 1.5": "never",
    "i > 200": "never",
    "m = 1.255": "never",
    "x > '2024-03-01' AND x < DATE '2024-02-01'": "never",
    "1 = 1 AND a = 1": "(a = 1)",
    "a > 1 AND a > 2 AND a >= 2": "(a > 2)",
    "a = 1 AND a > 0 AND a <> 5": "(a = 1)",
    "a > 5 AND a <> 3": "(a > 5)",
    "a > 5 AND a <> 7": "((a > 5) AND (a <> 7))",
    "a IN (1, 2, 3) AND a > 1": "IN(a, 2, 3)",
    "a IN (1, 2, 3) AND a > 2": "(a = 3)",
    "a = 1 OR a = 2 OR a IN (2, 3)": "IN(a, 1, 2, 3)",
    "a NOT IN (1, 2) AND a > 2": "(a > 2)",
    "5 < a AND a IS NOT NULL": "(a > 5)",
    "a > 1.5": "(a > 1)",
    "a >= 1.5 AND a < 5000000000": "(a >= 2)",
    "i < 200": "i IS NOT NULL",
    "m > 1": "(m > 1.00)",
    "b IS TRUE": "b",
    "NOT (NOT b)": "b",
    "NOT (a > 1 OR c = 2)": "((a <= 1) AND (c <> 2))",
    "NOT (d > 1)": "NOT((d > 1.0))",
    "(a = 1 AND c = 2) OR (a = 1 AND c = 3)": "((a = 1) AND IN(c, 2, 3))",
    "(a = 1 AND c > 2) OR a = 1": "(a = 1)",
    "(a = 1 AND c > 2) OR (a = 1 AND s = 'p')": "((a = 1) AND ((c > 2) OR (s = 'p')))",
    "a = 1 AND (a = 2 OR c = 3)": "((a = 1) AND (c = 3))",
    "CHAR_LENGTH('abc') = 3 AND c = 1": "(c = 1)",
    "a = CAST('7' AS INT)": "(a = 7)",
    "RAND() < 0.5 AND RAND() < 0.5": "((RAND() < 0.5) AND (RAND() < 0.5))",
    "1 / 0 = a": "((1 / 0) = a)",
}


@pytest.mark.parametrize("text", SIMPLER)
def test_a_condition_is_simplified(t_env, text):
    found = simplified(conjuncts(condition_of(t_env, text)))
    names = [declared.split()[0] for declared in VALUES]
    assert ("never" if found is None else rex_text(conjunction(found), names)) == SIMPLER[text]


def test_long_conditions_are_simplified_as_well(t_env):
    """A rule that looks at all parts of all parts would take minutes."""
    choices = " OR ".join(f"(a = {i} AND c = {i} AND 1 = 1)" for i in range(250))
    assert len(simplified(conjuncts(condition_of(t_env, choices)))) == 1
    holes = " AND ".join(f"a <> {i}" for i in range(250))
    assert len(simplified(conjuncts(condition_of(t_env, f"{holes} AND a > 200")))) == 50


@pytest.mark.parametrize("operator", ["AND", "OR"])
def test_chains_of_conditions_may_be_of_any_length(operator):
    tables = environment("batch")
    compared = "<>" if operator == "AND" else "="
    chain = f" {operator} ".join(f"k {compared} {2 * number}" for number in range(1500))
    found = tables.sql_query(f"SELECT k FROM (VALUES (3), (2998)) AS t (k) WHERE ({chain}) IS TRUE")
    assert remaining(found) == [(3,)] if operator == "AND" else [(2998,)]


def test_what_is_nested_too_deeply_is_refused_with_a_message():
    tables = environment()
    for text in (" + ".join(["1"] * 3000), "(" * 3000 + "1" + ")" * 3000):
        with pytest.raises(ValidationException, match="nested too deeply"):
            tables.sql_query(f"SELECT {text}")
    union = tables.sql_query(" UNION ALL ".join(["SELECT RAND()"] * 300))  # resolved, but not translated
    with pytest.raises(ValidationException, match="nested too deeply"):
        union.explain()


def test_what_depends_on_the_session_is_not_computed_in_the_plan(t_env):
    text = "CAST(TO_TIMESTAMP_LTZ(0, 3) AS STRING) = s AND CURRENT_DATE = x"
    parts = conjuncts(condition_of(t_env, text))
    assert "CAST" in str(simplified(parts))
    assert "CURRENT_DATE" in str(simplified(parts))


def random_condition(choose, depth=0):
    if depth < 3 and choose.random() < 0.6:
        parts = [random_condition(choose, depth + 1) for _ in range(choose.choice([2, 2, 3]))]
        joined = choose.choice([" AND ", " AND ", " OR "]).join(f"({part})" for part in parts)
        return f"NOT ({joined})" if choose.random() < 0.2 else joined
    column = choose.choice(list(CONSTANTS))
    constants = CONSTANTS[column]
    forms = [f"{column} {choose.choice(['=', '<>', '<', '<=', '>', '>='])} {choose.choice(constants)}"] * 5
    forms.append(f"{choose.choice(constants)} {choose.choice(['=', '<', '>='])} {column}")
    forms.append(f"{column} {choose.choice(['', 'NOT '])}IN ({', '.join(choose.sample(constants, 2))})")
    forms.append(f"{column} IS {choose.choice(['', 'NOT '])}NULL")
    forms.append(f"b IS {choose.choice(['', 'NOT '])}{choose.choice(['TRUE', 'FALSE', 'UNKNOWN'])}")
    forms.append(f"a {choose.choice(['=', '<>', '<', '<='])} c")
    forms.append(f"c {choose.choice(['=', '<>', '<', '<='])} a")
    forms.append(f"a + c > {choose.choice(constants) if column in 'aic' else 1}")
    forms.append(choose.choice(["b", "CAST(NULL AS BOOLEAN)", "1 = 2", "NOT b", "10 > 2"]))
    return choose.choice(forms)


def random_rows(choose, count):
    kinds = {declared: [choose.choice(some) for _ in range(count)] for declared, some in VALUES.items()}
    return list(kinds.values())


def test_simplified_conditions_are_true_for_the_same_rows(t_env):
    choose = random.Random(7)
    kinds = t_env.from_path("t")._node.row_type.field_types()
    batch = ColumnBatch(tuple(map(to_arrow, random_rows(choose, 400), kinds)), 400)
    simpler = 0
    for _ in range(400):
        text = random_condition(choose)
        query = t_env.sql_query(f"SELECT * FROM t WHERE {text}")._node
        if not any(map(is_filter, inputs_first([query]))):
            continue
        condition = condition_of(t_env, text)
        found = simplified(conjuncts(condition))
        simpler += found != conjuncts(condition)
        assert rows_of(batch, found) == rows_of(batch, [condition]), text
        assert found is None or simplified(found) == found, f"a second time it is changed again: {text}"
    assert simpler > 200


def rows_of(batch, parts):
    condition = None if parts is None else conjunction(parts)
    if condition is None:
        return [parts is not None] * len(batch)
    return compile_filter(condition, EvaluationContext())(batch).tolist()


EMPTY = (
    "SELECT * FROM t WHERE a = 1 AND a = 2",
    "SELECT * FROM (SELECT * FROM t WHERE a > 3) WHERE a < 2",
    "SELECT t.s FROM t JOIN u ON t.a = u.k AND u.v > 3 AND u.v < 1",
    "SELECT t.s FROM t JOIN u ON t.a = u.k WHERE t.a > 3 AND u.k < 2",
    "SELECT k FROM (SELECT k, COUNT(*) AS n FROM u GROUP BY k HAVING COUNT(*) > 3) WHERE n < 2",
)


@pytest.mark.parametrize("query", EMPTY)
def test_a_contradiction_leaves_an_empty_plan(t_env, query):
    found = optimize(t_env.sql_query(query)._node, False)
    assert [one for one in inputs_first([found]) if not one.inputs and not isinstance(one, rel.Values)] == []


def test_a_join_of_which_no_row_has_a_match_keeps_the_rows_of_its_outer_side(t_env):
    found = optimize(t_env.sql_query("SELECT t.s, u.v FROM t LEFT JOIN u ON t.a = u.k AND 1 = 2")._node, False)
    scans = [one.table.path[-1] for one in inputs_first([found]) if isinstance(one, rel.TableScan)]
    assert scans == ["t"]


FACTORED = (
    "SELECT t.s FROM t, u WHERE (t.a = u.k AND t.c = 1 AND u.v = 2) OR (t.a = u.k AND t.c = 2 AND u.v = 3)",
    "SELECT t.s, u.v FROM t LEFT JOIN u ON (t.a = u.k AND u.v = 2) OR (t.a = u.k AND t.c = 2)",
    "SELECT t.s FROM t WHERE EXISTS (SELECT 1 FROM u WHERE (t.a = u.k AND u.v = t.c) OR (t.a = u.k AND t.c = 2))",
)


@pytest.mark.parametrize("query", FACTORED)
def test_an_equation_in_all_parts_of_an_or_is_a_key_of_the_join(t_env, query):
    found = optimize(t_env.sql_query(query)._node, False)
    (join,) = [one for one in inputs_first([found]) if isinstance(one, rel.Join)]
    assert len(join.left_keys) == 1
    assert found.row_type.names == t_env.sql_query(query)._node.row_type.names


def test_clauses_of_json_functions_are_no_values():
    value = "JSON_VALUE(s, 'lax $.k' DEFAULT 'x' ON EMPTY)"
    condition = f"{value} = 'x' AND JSON_EXISTS(JSON_OBJECT('k' VALUE s), '$.k')"
    rows = """(VALUES ('{}'), ('{"k": 1}')) AS v (s)"""
    assert remaining(environment().sql_query(f"SELECT s FROM {rows} WHERE {condition}")) == [("{}",)]
