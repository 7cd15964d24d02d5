"""Expressions over single rows have the values that they have over batches."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.rex import Call, InputRef, Literal
from firesteel.columns.row_functions import row_function
from firesteel.columns.rows import batch_of, rows_of
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import arrow_type
from tests.seeds import examples

VALUES = {
    "INT": [0, 1, -(2**31), 2**31 - 1],
    "BIGINT": [0, 7, -(2**63), 2**63 - 1],
    "DOUBLE": [0.0, -0.0, 1.5, float("nan"), float("inf"), 1e308],
    "STRING": ["", "a", "B", "é"],
    "BOOLEAN": [True, False],
    "DECIMAL(8, 2)": [Decimal("0.00"), Decimal("-1.50"), Decimal("12.25")],
    "DATE": [datetime.date(1969, 12, 31), datetime.date(2026, 1, 1)],
    "TIMESTAMP(3)": [datetime.datetime(1970, 1, 1), datetime.datetime(2026, 1, 1, 0, 0, 0, 1000)],
}
TYPES = {name: parse_type(name) for name in VALUES}
NAMES = list(VALUES)
BOOLEAN = TYPES["BOOLEAN"]


def operands(name):
    """A column of a type, of which each row has two, or a constant of it."""
    place = 2 * NAMES.index(name)
    columns = st.sampled_from([InputRef(place, TYPES[name]), InputRef(place + 1, TYPES[name])])
    return columns | st.sampled_from(VALUES[name]).map(lambda value: Literal(value, TYPES[name]))


def comparisons(name):
    signs = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
    return st.builds(lambda sign, a, b: Call(sign, (a, b), BOOLEAN), signs, numbers(name), numbers(name))


def numbers(name):
    if name not in ("INT", "BIGINT", "DOUBLE"):
        return operands(name)
    signs = st.sampled_from("+-*")
    sums = st.builds(lambda sign, a, b: Call(sign, (a, b), TYPES[name]), signs, operands(name), operands(name))
    return operands(name) | sums


def logical(inner):
    name = st.sampled_from(["IS NULL", "IS NOT NULL", "NOT"])
    one = st.builds(lambda function, rex: Call(function, (rex,), BOOLEAN), name, inner)
    return one | st.builds(
        lambda function, a, b: Call(function, (a, b), BOOLEAN), st.sampled_from(["AND", "OR"]), inner, inner
    )


CONDITIONS = st.recursive(st.sampled_from(NAMES).flatmap(comparisons), logical, max_leaves=5)
EXPRESSIONS = CONDITIONS | st.sampled_from(NAMES).flatmap(numbers)
ROWS = st.tuples(*(st.none() | st.sampled_from(VALUES[name]) for name in NAMES for _ in "ab"))


@settings(max_examples=examples(400), deadline=None)
@given(EXPRESSIONS, st.lists(ROWS, min_size=1, max_size=5))
def test_a_row_has_the_value_that_it_has_in_a_batch(rex, rows):
    batch = batch_of(rows, [arrow_type(TYPES[name]) for name in NAMES for _ in "ab"])
    of_row = row_function(rex)
    wanted = compile_rex(rex, EvaluationContext())(batch).to_pylist()
    assert list(map(repr, map(of_row, rows_of(batch)))) == list(map(repr, wanted))


@pytest.mark.parametrize(
    "rex",
    [
        Call("UPPER", (InputRef(6, TYPES["STRING"]),), TYPES["STRING"]),
        Call("/", (InputRef(0, TYPES["INT"]), InputRef(1, TYPES["INT"])), TYPES["INT"]),
        Call("=", (InputRef(0, TYPES["INT"]), InputRef(2, TYPES["BIGINT"])), BOOLEAN),
        Call("NOT", (Call("LIKE", (InputRef(6, TYPES["STRING"]), Literal("a", TYPES["STRING"])), BOOLEAN),), BOOLEAN),
    ],
)
def test_what_is_not_named_is_left_to_batches(rex):
    assert row_function(rex) is None
