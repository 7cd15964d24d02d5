"""Arithmetic of decimals in integers gives what Python's decimals give."""

from __future__ import annotations

from decimal import Context, Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions import arithmetic
from firesteel.columns.rex import Call
from firesteel.columns.type_text import parse_type
from firesteel.columns.values import to_arrow
from tests.columns.rexes import call, column, lit
from tests.seeds import examples

DIGITS = Context(prec=60)
KINDS = ["DECIMAL(5, 0)", "DECIMAL(15, 2)", "DECIMAL(18, 9)", "DECIMAL(32, 4)", "DECIMAL(38, 0)", "DECIMAL(38, 18)"]


def values(kind):
    parsed = parse_type(kind)
    edge = 10**parsed.precision - 1
    near = st.integers(-1000, 1000) | st.sampled_from([edge, -edge, 2**61 % edge, -(2**62) % edge, 5 * 10**9 % edge])
    return near.map(lambda number: Decimal(number).scaleb(-parsed.scale, DIGITS))


@settings(max_examples=examples(500), deadline=None)
@given(st.data())
def test_integers_give_what_decimals_give(data):
    name = data.draw(st.sampled_from("+-*/"))
    left, right = (data.draw(st.sampled_from(KINDS)) for _ in "ab")
    constant = data.draw(st.none() | values(right))
    rows = data.draw(st.lists(st.tuples(st.none() | values(left), st.none() | values(right)), min_size=1, max_size=4))
    first = column(0, left)
    expression = call(name, first, column(1, right) if constant is None else lit(constant, right))
    arrays = [to_arrow([row[i] for row in rows], parse_type(kind)) for i, kind in enumerate((left, right))]
    compute = arithmetic._decimal_function(name, expression.type)
    pairs = [(a, b if constant is None else constant) for a, b in rows]
    if name == "/" and any(a is not None and b is not None and not b for a, b in pairs):
        with pytest.raises(Exception, match="zero"):
            compile_rex(expression, EvaluationContext())(ColumnBatch(tuple(arrays), len(rows)))
        return
    wanted = [None if a is None or b is None else compute(a, b) for a, b in pairs]
    found = compile_rex(expression, EvaluationContext())(ColumnBatch(tuple(arrays), len(rows)))
    assert found.to_pylist() == wanted


def test_small_values_of_wide_types_take_no_decimals(monkeypatch):
    monkeypatch.setattr(arithmetic, "fit_decimal", None)
    kinds = ("DECIMAL(32, 4)", "DECIMAL(38, 2)")
    arrays = tuple(to_arrow([Decimal(number)], parse_type(kind)) for number, kind in zip((7, 2), kinds, strict=True))
    for name in "+-*/":
        expression = call(name, *(column(place, kind) for place, kind in enumerate(kinds)))
        assert compile_rex(expression, EvaluationContext())(ColumnBatch(arrays, 1)).to_pylist()[0] is not None


@settings(max_examples=examples(300), deadline=None)
@given(st.sampled_from([*KINDS, "DECIMAL(17, 17)", "DECIMAL(38, 30)"]), st.data())
def test_decimals_become_the_doubles_of_flink(kind, data):
    parsed = parse_type(kind)
    rows = data.draw(st.lists(st.none() | values(kind), min_size=1, max_size=4))
    expression = Call("CAST", (column(0, kind),), parse_type("DOUBLE"))
    found = compile_rex(expression, EvaluationContext())(ColumnBatch((to_arrow(rows, parsed),), len(rows)))
    assert found.to_pylist() == [None if row is None else double(row, parsed) for row in rows]


def double(value, kind):
    """Return a DOUBLE as `DecimalDataUtils.doubleValue` does, which divides up to a precision of 18."""
    return float(int(value.scaleb(kind.scale, DIGITS))) / 10**kind.scale if kind.precision <= 18 else float(value)
