import datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.evaluate import compile_filter, compile_rex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function_errors import FunctionError, UnsupportedFunctionError
from firesteel.columns.rex import Call, UserCall
from firesteel.columns.type_text import parse_type, type_text
from tests.columns.rexes import INT, call, column, lit, run


@pytest.mark.parametrize(
    ("left", "sign", "right", "result"),
    [
        (("INT", 7), "/", ("INT", 2), 3),
        (("INT", -7), "/", ("INT", 2), -3),
        (("INT", -7), "%", ("INT", 3), -1),
        (("INT", 2**31 - 1), "+", ("INT", 1), -(2**31)),
        (("BIGINT", 7), "%", ("INT", 3), 1),
        (("DECIMAL(10, 2)", Decimal("2.35")), "/", ("DECIMAL(5, 3)", Decimal("2.345")), Decimal("1.00213220")),
        (("DECIMAL(10, 2)", Decimal("2.35")), "*", ("DECIMAL(5, 3)", Decimal("2.345")), Decimal("5.51075")),
        (("DECIMAL(10, 2)", Decimal("2.35")), "-", ("INT", 3), Decimal("-0.65")),
        (("INT", 7), "/", ("DECIMAL(10, 2)", Decimal("2.35")), Decimal("2.97872340426")),
        (("DECIMAL(10, 2)", Decimal("2.35")), "%", ("DECIMAL(5, 3)", Decimal("2.345")), Decimal("0.005")),
        (("DECIMAL(10, 2)", Decimal("2.35")), "+", ("DOUBLE", 7.0), 9.35),
        (("DOUBLE", 1.0), "/", ("INT", 0), float("inf")),
        (("TIMESTAMP(3)", datetime.datetime(2024, 1, 31)), "+", ("INTERVAL MONTH", 1), datetime.datetime(2024, 2, 29)),
        (
            ("TIMESTAMP(3)", datetime.datetime(2024, 1, 1)),
            "-",
            ("INTERVAL SECOND(3)", datetime.timedelta(hours=1)),
            datetime.datetime(2023, 12, 31, 23),
        ),
        (
            ("DATE", datetime.date(2024, 1, 1)),
            "+",
            ("INTERVAL SECOND(3)", datetime.timedelta(days=2)),
            datetime.date(2024, 1, 3),
        ),
        (("TIME(0)", datetime.time(23)), "+", ("INTERVAL SECOND(3)", datetime.timedelta(hours=2)), datetime.time(1)),
        (("INT", 3), "*", ("INTERVAL SECOND(3)", datetime.timedelta(hours=2)), datetime.timedelta(hours=6)),
    ],
)
def test_arithmetic(left, sign, right, result):
    rex = call(sign, column(0, left[0]), column(1, right[0]))
    rows = (left[0], [left[1], None]), (right[0], [right[1], right[1]])
    assert run(rex, *rows) == [result, None]
    assert run(call(sign, lit(left[1], left[0]), lit(right[1], right[0]))) == [result]


def test_division_by_zero_is_an_error():
    with pytest.raises(ZeroDivisionError):
        run(call("/", lit(1, "INT"), column(0, "INT")), ("INT", [1, 0]))
    assert run(call("/", column(0, "INT"), column(1, "INT")), ("INT", [None]), ("INT", [0])) == [None]


def test_case_branches_are_evaluated_only_for_their_rows():
    quotient = call("/", lit(12, "INT"), column(0, "INT"))
    is_zero = call("=", column(0, "INT"), lit(0, "INT"))
    rows = ("INT", [0, 3, None, 4])
    assert run(call("CASE", is_zero, lit(-1, "INT"), quotient), rows) == [-1, 4, None, 3]
    assert run(call("AND", call("<>", column(0, "INT"), lit(0, "INT")), call(">", quotient, lit(3, "INT"))), rows) == [
        False,
        True,
        None,
        False,
    ]
    assert run(call("OR", is_zero, call(">", quotient, lit(3, "INT"))), rows) == [True, True, None, False]
    unless_zero = call("CASE", is_zero, lit(None, "INT"), column(0, "INT"))
    assert run(call("COALESCE", call("+", unless_zero, lit(1, "INT")), quotient, lit(9, "INT")), ("INT", [1, 3])) == [
        2,
        4,
    ]


def test_case_without_else_and_common_types():
    rex = call("CASE", call(">", column(0, "INT"), lit(1, "INT")), lit("big", "CHAR(3) NOT NULL"))
    assert type_text(rex.type) == "CHAR(3)"
    assert run(rex, ("INT", [1, 2, None])) == [None, "big", None]
    rex = call(
        "IF",
        call("=", column(0, "INT"), lit(1, "INT")),
        lit(1, "INT NOT NULL"),
        lit(Decimal("2.25"), "DECIMAL(3, 2) NOT NULL"),
    )
    assert type_text(rex.type) == "DECIMAL(12, 2)"
    assert run(rex, ("INT", [1, None])) == [Decimal("1.00"), Decimal("2.25")]


@pytest.mark.parametrize(
    ("name", "operands", "result"),
    [
        (">=", [("INT", 1), ("STRING", "1")], True),
        ("<", [("DECIMAL(3, 1)", Decimal("1.5")), ("INT", 2)], True),
        ("=", [("DATE", datetime.date(2024, 1, 1)), ("STRING", "2024-01-01")], True),
        ("=", [("ARRAY<INT>", [1]), ("ARRAY<INT>", [1])], True),
        ("IS DISTINCT FROM", [("INT", None), ("INT", 1)], True),
        ("IS NOT DISTINCT FROM", [("INT", None), ("INT", None)], True),
        ("IN", [("INT", 1), ("INT", 2), ("INT", None)], None),
        ("IN", [("INT", 1), ("INT", 1), ("INT", None)], True),
        ("NOT IN", [("INT", 1), ("INT", 2), ("INT", None)], None),
        ("BETWEEN", [("INT", 2), ("INT", 1), ("DECIMAL(2, 1)", Decimal("2.5"))], True),
        ("NOT BETWEEN", [("INT", 2), ("INT", 3), ("INT", None)], True),
        ("IS TRUE", [("BOOLEAN", None)], False),
        ("IS NOT FALSE", [("BOOLEAN", None)], True),
        ("LIKE", [("STRING", "a\\c%"), ("STRING", "a\\_%")], True),  # without ESCAPE nothing is escaped
        ("LIKE", [("STRING", "abc"), ("STRING", "%b%")], True),
        ("LIKE", [("STRING", "a\nc"), ("STRING", "a%c")], True),
        ("LIKE", [("STRING", "a_c"), ("STRING", "a#_c"), ("STRING", "#")], True),
        ("NOT LIKE", [("STRING", "abc"), ("STRING", "%b")], True),
        ("SIMILAR TO", [("STRING", "abc"), ("STRING", "(a|x)_c")], True),
        ("GREATEST", [("INT", 1), ("BIGINT", 5)], 5),
        ("LEAST", [("STRING", "b"), ("STRING", None)], None),
        (
            "OVERLAPS",
            [
                ("TIME(0)", datetime.time(1)),
                ("INTERVAL SECOND(3)", datetime.timedelta(hours=1)),
                ("TIME(0)", datetime.time(2)),
                ("TIME(0)", datetime.time(3)),
            ],
            True,
        ),
        (
            "OVERLAPS",
            [
                ("DATE", datetime.date(2024, 1, 31)),
                ("INTERVAL MONTH", 1),
                ("DATE", datetime.date(2024, 3, 31)),
                ("INTERVAL MONTH", -1),
            ],
            True,
        ),
    ],
)
def test_conditions(name, operands, result):
    assert run(call(name, *[lit(value, text) for text, value in operands])) == [result]
    refs = [column(index, text) for index, (text, _) in enumerate(operands)]
    assert run(call(name, *refs), *[(text, [value, value]) for text, value in operands]) == [result, result]


def test_filter_takes_only_true():
    condition = compile_filter(call(">", column(0, "INT"), lit(1, "INT")), EvaluationContext())
    batch = ColumnBatch((pa.array([1, 2, None], pa.int32()),), 3)
    assert condition(batch).tolist() == [False, True, False]
    assert condition(batch).dtype == np.bool_


class Doubler:
    name = "f"
    func_type = "general"
    deterministic = True

    def __init__(self):
        self.calls = 0
        self.events = []

    def for_call(self):
        return self

    def open(self, context):
        self.events.append(("open", context))

    def close(self):
        self.events.append("close")

    def eval(self, value):
        self.calls += 1
        return None if value is None else value * 2


def test_equal_calls_of_a_user_function_are_computed_once():
    function = Doubler()
    twice = UserCall(function, (column(0, "INT"),), parse_type("BIGINT"))
    compiled = compile_rex(call("+", twice, twice), EvaluationContext(function_context="ctx"))
    compiled.open()
    batch = ColumnBatch((pa.array([1, None], pa.int32()),), 2)
    assert compiled(batch).to_pylist() == [4, None]
    compiled.close()
    assert function.calls == 2
    assert function.events == [("open", "ctx"), "close"]


def test_different_user_functions_are_not_mixed_up():
    class Tripler(Doubler):
        def eval(self, value):
            return value * 3

    calls = [UserCall(f, (column(0, "INT"),), parse_type("BIGINT")) for f in (Doubler(), Tripler())]
    assert run(call("+", *calls), ("INT", [1])) == [5]


def test_pandas_function_gets_series():
    class Plus(Doubler):
        func_type = "pandas"

        def eval(self, x, y):
            return x + y

    rex = UserCall(Plus(), (column(0, "INT"), lit(1, "INT")), parse_type("BIGINT"))
    assert run(rex, ("INT", [1, 2])) == [2, 3]


def test_unknown_function_and_wrong_types():
    with pytest.raises(UnsupportedFunctionError, match="NO_SUCH"):
        run(Call("NO_SUCH", (), INT))
    with pytest.raises(FunctionError, match=r"Cannot apply '\+' to arguments of type '<INTEGER> \+ <DATE>'"):
        call("+", lit(1, "INT"), lit(None, "DATE"))


def test_asynchronous_function_is_refused_without_an_event_loop():
    class Asynchronous(Doubler):
        async def eval(self, value):
            return value

    with pytest.raises(NotImplementedError, match="asynchronous"):
        run(UserCall(Asynchronous(), (column(0, "INT"),), INT), ("INT", [1]))


def test_pandas_function_gets_none_for_null_texts():
    class Shown(Doubler):
        func_type = "pandas"

        def eval(self, texts):
            return texts.map(repr)

    rex = UserCall(Shown(), (column(0, "STRING"),), parse_type("STRING"))
    assert run(rex, ("STRING", ["a", None])) == ["'a'", "None"]
