"""Functions of numbers and texts: one call over constants and over columns."""

import datetime
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import CallSite, per_row
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.type_text import parse_type, type_text
from tests.columns.rexes import call, column, lit, run

D = Decimal
S = "STRING"
HELLO = "  Hello World "


def values(name, operands):
    """Return the call's value over constants, and over a column of the same value, with the type of the result."""
    constant = call(name, *[lit(value, text) for text, value in operands])
    texts = ("YEAR", "MONTH", "DAY", "HOUR", "WEEK", "BOTH", "LEADING")
    refs = [lit(v, x) if v in texts else column(i, x) for i, (x, v) in enumerate(operands)]
    columns = [(text, [value, value]) for text, value in operands] or [("INT", [1, 1])]
    assert run(call(name, *refs), *columns) == run(constant) * 2 or run(constant)[0] != run(constant)[0]
    repeated = [(text, items * 150) for text, items in columns]
    assert run(call(name, *refs), *repeated) == run(constant) * 300 or run(constant)[0] != run(constant)[0]
    return run(constant)[0], type_text(constant.type)


@pytest.mark.parametrize(
    ("name", "operands", "result", "data_type"),
    [
        ("ABS", [("DECIMAL(2, 1)", D("-2.5"))], D("2.5"), "DECIMAL(2, 1)"),
        ("CEIL", [("DECIMAL(2, 1)", D("-2.5"))], D("-2"), "DECIMAL(2, 0)"),
        ("FLOOR", [("DECIMAL(2, 1)", D("-2.5"))], D("-3"), "DECIMAL(2, 0)"),
        ("ROUND", [("DECIMAL(2, 1)", D("-2.5"))], D("-3"), "DECIMAL(2, 0)"),
        ("ROUND", [("DECIMAL(7, 4)", D("2.7775")), ("INT NOT NULL", 2)], D("2.78"), None),
        ("TRUNCATE", [("DOUBLE", 2.79), ("INT", 1)], 2.7, "DOUBLE"),
        ("ROUND", [("DOUBLE", 1.005), ("INT", 2)], 1.01, "DOUBLE"),
        ("ROUND", [("INT", 155), ("INT", -1)], 160, "INT"),
        ("SIGN", [("DECIMAL(2, 1)", D("-2.5"))], D("-1.0"), "DECIMAL(2, 1)"),
        ("POWER", [("DOUBLE NOT NULL", 0.5), ("INT NOT NULL", 2)], 0.25, "DOUBLE NOT NULL"),
        ("SQRT", [("INT", 9)], 3.0, "DOUBLE"),
        ("SQRT", [("INT", -9)], pytest.approx(math.nan, nan_ok=True), "DOUBLE"),
        ("LOG", [("INT", 3), ("INT", 9)], 2.0, "DOUBLE"),
        ("LOG2", [("INT", 8)], 3.0, "DOUBLE"),
        ("LN", [("INT", 0)], -math.inf, "DOUBLE"),
        ("PI", [], math.pi, "DOUBLE NOT NULL"),
        ("CEIL", [("DOUBLE", 0.5)], 1.0, "DOUBLE"),
        ("BIN", [("INT NOT NULL", 5)], "101", "STRING NOT NULL"),
        ("HEX", [("INT NOT NULL", 255)], "FF", "STRING NOT NULL"),
        ("HEX", [(S, "hé")], "68C3A9", S),
        ("UNHEX", [(S, "F")], b"\x00", "BYTES"),
        ("MOD", [("INT", -7), ("INT", 3)], -1, "INT"),
    ],
)
def test_numbers(name, operands, result, data_type):
    value, found = values(name, operands)
    assert value == result
    # A column is no constant, so the digits of ROUND decide about the type of constants only.
    assert data_type in (None, found)


@pytest.mark.parametrize(
    ("name", "operands", "result", "data_type"),
    [
        ("UPPER", [("CHAR(2)", "aß")], "ASS", "CHAR(2)"),
        ("LOWER", [(S, HELLO)], "  hello world ", S),
        ("INITCAP", [(S, "flink,sql;x")], "Flink,Sql;X", S),
        ("CHAR_LENGTH", [(S, HELLO)], 14, "INT"),
        ("TRIM", [(S, HELLO)], "Hello World", S),
        ("TRIM", [("CHAR(4)", "BOTH"), ("CHAR(1)", "x"), (S, "flink,sql;x")], "flink,sql;", S),
        ("LTRIM", [(S, HELLO)], "Hello World ", S),
        ("RTRIM", [(S, HELLO)], "  Hello World", S),
        ("REVERSE", [(S, "abc")], "cba", S),
        ("SUBSTRING", [(S, HELLO), ("INT", 3)], "Hello World ", S),
        ("SUBSTRING", [(S, HELLO), ("INT", 3), ("INT", 4)], "Hell", S),
        ("SUBSTR", [(S, HELLO), ("INT", -3)], "ld ", S),
        ("SUBSTR", [(S, "ab"), ("INT", -3)], "", S),
        ("SUBSTR", [(S, "ab"), ("INT", 0), ("INT", 1)], "a", S),
        ("LEFT", [(S, HELLO), ("INT", 2)], "  ", S),
        ("RIGHT", [(S, HELLO), ("INT", 2)], "d ", S),
        ("POSITION", [(S, "l"), (S, HELLO)], 5, "INT"),
        ("INSTR", [(S, HELLO), (S, "o")], 7, "INT"),
        ("INSTR", [(S, "banana"), (S, "a"), ("INT", -1), ("INT", 2)], 4, "INT"),
        ("LOCATE", [(S, "l"), (S, HELLO), ("INT", 6)], 6, "INT"),
        ("||", [("CHAR(1) NOT NULL", "a"), ("CHAR(2) NOT NULL", "bc")], "abc", "CHAR(3) NOT NULL"),
        ("||", [(S, "a"), ("CHAR(1)", None)], None, S),
        ("CONCAT", [(S, "a"), (S, "-"), (S, "x")], "a-x", S),
        ("CONCAT_WS", [(S, "/"), (S, None), (S, "y"), (S, None)], "y", S),
        ("REPLACE", [(S, "hello"), (S, "l"), (S, "L")], "heLLo", S),
        ("REPEAT", [(S, "ab"), ("INT", 2)], "abab", S),
        ("LPAD", [(S, ""), ("INT", 5), (S, "*")], "*****", S),
        ("LPAD", [(S, HELLO), ("INT", 5), (S, "*")], "  Hel", S),
        ("RPAD", [(S, HELLO), ("INT", 16), (S, "*")], "  Hello World **", S),
        ("OVERLAY", [(S, HELLO), (S, "ZZ"), ("INT", 2), ("INT", 1)], " ZZHello World ", S),
        ("OVERLAY", [(S, ""), (S, "ZZ"), ("INT", 2), ("INT", 1)], "", S),
        ("SPLIT_INDEX", [(S, "flink,sql;x"), (S, ","), ("INT", 1)], "sql;x", S),
        ("SPLIT_INDEX", [(S, ""), (S, ","), ("INT", 1)], None, S),
        ("REGEXP_REPLACE", [(S, HELLO), (S, "[lo]+"), (S, "_")], "  He_ W_r_d ", S),
        ("REGEXP_REPLACE", [(S, "2024-01"), (S, r"(\d+)-(\d+)"), (S, r"$2/\1")], r"$2/\1", S),
        ("REGEXP_EXTRACT", [(S, "flink,sql;x"), (S, r"(\w+).(\w+)"), ("INT", 2)], "sql", S),
        ("REGEXP", [(S, HELLO), (S, "l.*l")], True, "BOOLEAN"),
        ("REGEXP_EXTRACT_ALL", [(S, "a1b2"), (S, r"([a-z])\d")], ["a", "b"], "ARRAY<STRING>"),
        ("REGEXP_COUNT", [(S, "aXbY"), (S, r"\p{Upper}")], 2, "INT"),
        ("ASCII", [(S, "")], 0, "INT"),
        ("CHR", [("INT NOT NULL", 65)], "A", S),
        ("STR_TO_MAP", [("CHAR(7) NOT NULL", "a=1,b=2")], [("a", "1"), ("b", "2")], "MAP<STRING, STRING>"),
        ("MD5", [(S, "")], "d41d8cd98f00b204e9800998ecf8427e", "CHAR(32)"),
        ("TO_BASE64", [(S, HELLO)], "ICBIZWxsbyBXb3JsZCA=", S),
        ("FROM_BASE64", [(S, "ICBIZWxsbyBXb3JsZCA=")], HELLO, S),
        ("ENCODE", [(S, "é"), (S, "UTF-8")], "é".encode(), "BYTES"),
        ("PARSE_URL", [(S, "http://h.example/p?q=1"), (S, "QUERY"), (S, "q")], "1", S),
        ("PARSE_URL", [(S, "http://h.example/p?q=1"), (S, "HOST")], "h.example", S),
        ("URL_DECODE", [(S, "a%20b+c")], "a b c", S),
        ("IS_ALPHA", [(S, None)], False, "BOOLEAN NOT NULL"),
        ("IS_DIGIT", [(S, "12")], True, "BOOLEAN NOT NULL"),
        ("IS_DECIMAL", [(S, "1.5")], True, "BOOLEAN NOT NULL"),
        ("TRANSLATE", [(S, "abc"), (S, "ab"), (S, "x")], "xc", S),
        ("ELT", [("INT", 2), (S, "a"), (S, "b")], "b", S),
        ("STARTSWITH", [(S, "abc"), (S, "ab")], True, "BOOLEAN"),
        ("SHA2", [(S, "x"), ("INT", 224)], "54a2f7f92a5f975d8096af77a126edda7da60c5aa872ef1b871701ae", "VARCHAR(128)"),
        ("INET_ATON", [(S, "127.0.0.1")], 2130706433, "BIGINT"),
        ("INET_NTOA", [("BIGINT", 2130706433)], "127.0.0.1", S),
    ],
)
def test_texts(name, operands, result, data_type):
    assert values(name, operands) == (result, data_type)


def test_null_makes_null():
    assert run(call("UPPER", column(0, S)), (S, [None, "a"])) == [None, "A"]
    assert run(call("LPAD", column(0, S), lit(3, "INT"), lit("*", S)), (S, [None, "a"])) == [None, "**a"]
    assert run(call("REGEXP_EXTRACT", lit("a", S), lit("(", S))) == [None]


def test_seeded_random_numbers_are_those_of_java():
    rex = call("RAND", lit(42, "INT"))
    assert run(rex, ("INT", [1, 2])) == [0.7275636800328681, 0.6832234717598454]
    rex = call("RAND_INTEGER", lit(42, "INT"), lit(10, "INT"))
    assert run(rex, ("INT", [1, 2, 3])) == [0, 3, 8]
    # Also of a column that is long enough for a look at whether its values repeat.
    for rex in (call("RAND", lit(42, "INT")), call("RAND_INTEGER", column(0, "INT"))):
        assert len(set(run(rex, ("INT", [1_000_000] * 1000)))) > 990


def test_a_column_of_seeds_begins_a_sequence_in_each_row():
    assert run(call("RAND", column(0, "INT")), ("INT", [7, 7, None])) == [0.7306990420600421] * 2 + [None]
    assert run(call("RAND_INTEGER", column(0, "INT"), lit(100, "INT")), ("INT", [7, 7])) == [36, 36]


def test_random_integers_have_a_bound_of_int():
    with pytest.raises(FunctionError, match="Cannot apply 'RAND_INTEGER'"):
        call("RAND_INTEGER", lit(2**32, "BIGINT"))
    rex = call("CASE", call(">", column(0, "INT"), lit(0, "INT")), call("RAND_INTEGER", column(0, "INT")))
    assert run(rex, ("INT", [0, 1])) == [None, 0]


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
def test_the_smallest_number_divided_by_minus_one_is_itself(bits):
    kind, least = {8: "TINYINT", 16: "SMALLINT", 32: "INT", 64: "BIGINT"}[bits], -(2 ** (bits - 1))
    division = call("/", column(0, kind), column(1, kind))
    assert run(division, (kind, [least, least, 7, None]), (kind, [-1, 1, -1, -1])) == [least, least, -7, None]
    assert run(call("/", lit(least, kind), lit(-1, kind)), (kind, [0])) == [least]
    assert run(call("%", column(0, kind), lit(-1, kind)), (kind, [least, 7])) == [0, 0]
    uuids = run(call("||", call("UUID"), call("UUID")), ("INT", [1, 2]))
    assert len({text[:36] for text in uuids} | {text[36:] for text in uuids}) == 4


def test_wrong_operands():
    with pytest.raises(FunctionError, match=r"Cannot apply 'UPPER' to arguments of type 'UPPER\(<INTEGER>\)'"):
        call("UPPER", lit(1, "INT"))
    with pytest.raises(FunctionError, match="expecting 2 to 3 arguments, found 1"):
        call("SUBSTRING", lit("a", S))
    with pytest.raises(FunctionError, match="Unsupported algorithm"):
        run(call("SHA2", lit("x", S), lit(1, "INT")))


MOMENT = datetime.datetime(2024, 5, 17, 13, 45, 59, 123000)


def test_concat_ws_of_columns_of_nulls():
    rex = call("CONCAT_WS", column(0, S), column(1, S))
    assert run(rex, (S, ["-", None, "-"]), (S, [None, None, None])) == ["", None, ""]


def test_remainder_takes_exact_numbers_only():
    for left, right in (("DOUBLE", "INT"), ("INT", "FLOAT"), ("DECIMAL(3, 1)", "DOUBLE")):
        with pytest.raises(FunctionError, match="<EXACT_NUMERIC> % <EXACT_NUMERIC>"):
            call("MOD", column(0, left), column(1, right))


@pytest.mark.parametrize(
    ("text", "operands", "result"),
    [
        ("%s %b", [("BOOLEAN", True), ("BOOLEAN", True)], "true true"),
        ("%,d", [("INT", 1234567)], "1,234,567"),
        ("%2$s %1$s", [(S, "a"), (S, "b")], "b a"),
        ("%s %<s %s", [(S, "a"), (S, "b")], "a a b"),
        ("%s|%5d|%b", [(S, None), ("INT", None), (S, None)], "null| null|false"),
        ("%5.2f", [("DOUBLE", 1.5)], " 1.50"),
        ("%5.2f", [("DECIMAL(2, 1)", D("1.5"))], " 1.50"),
        ("%.0f %.2f", [("DOUBLE", 0.5), ("DOUBLE", 1.005)], "1 1.01"),
        ("%e %.1e", [("DOUBLE", 12345.678), ("DOUBLE", 9.99)], "1.234568e+04 1.0e+01"),
        (
            "%g %g %g",
            [("DOUBLE", 0.00012345), ("DOUBLE", 1234567.0), ("DOUBLE", 0.0)],
            "0.000123450 1.23457e+06 0.00000",
        ),
        ("%s %s", [("DOUBLE", 1.0e10), ("DOUBLE", 3.0)], "1.0E10 3.0"),
        ("%-5d|%05d|%+d|%(d", [("INT", 1), ("INT", 2), ("INT", 3), ("INT", -4)], "1    |00002|+3|(4)"),
        (
            "%x %o %x %X",
            [("INT", 255), ("INT", -8), ("BIGINT", -1), ("INT", 255)],
            "ff 37777777770 ffffffffffffffff FF",
        ),
        (
            "%S|%.3s|%c|%5s|%-5s|",
            [(S, "abc"), (S, "abcdef"), ("INT", 65), (S, "x"), (S, "y")],
            "ABC|abc|A|    x|y    |",
        ),
        ("%%%n", [], "%\n"),
        ("%q", [("INT", 1)], None),
        ("%", [("INT", 1)], None),
        ("%d", [(S, "a")], None),
        ("%s %s", [(S, "a")], None),
        ("%-d", [("INT", 1)], None),
        ("%<s", [(S, "a")], None),
    ],
)
def test_printf_formats_as_java(text, operands, result):
    assert values("PRINTF", [(S, text), *operands]) == (result, S)


@pytest.mark.parametrize(
    ("operands", "result"),
    [
        ([""], []),
        (["a=1,"], [("a", "1")]),
        (["a=1=2"], [("a", "1=2")]),
        (["a="], [("a", "")]),
        (["a=1;b=2", "(;)", "="], [("a", "1"), ("b", "2")]),
        (["a1b2", r"\p{Digit}", "x"], [("a", None), ("b", None)]),
    ],
)
def test_str_to_map_splits_as_java(operands, result):
    assert values("STR_TO_MAP", [(S, operand) for operand in operands])[0] == result


def test_the_host_of_a_url_keeps_its_case():
    url = (S, "http://User@ExAmple.COM:80/p?q=1#f")
    assert values("PARSE_URL", [url, (S, "HOST")])[0] == "ExAmple.COM"
    assert values("PARSE_URL", [url, (S, "AUTHORITY")])[0] == "User@ExAmple.COM:80"


def test_other_digits_make_no_address():
    assert values("INET_ATON", [(S, "\u00b2")])[0] is None
    assert values("INET_ATON", [(S, "1.2.3.\u0664")])[0] is None


@given(st.lists(st.none() | st.text("ab", max_size=2), min_size=1, max_size=4), st.booleans(), st.integers(255, 600))
def test_a_function_is_called_once_for_values_that_repeat(known, null_call, length):
    calls = []
    site = CallSite((column(0, S), lit("x", S)), parse_type(S), EvaluationContext())
    kernel = per_row(lambda _: lambda *row: calls.append(row) or repr(row), null_call)(site)
    values = [known[place % len(known)] for place in range(length)]
    found = kernel([pa.array(values, pa.string()), pa.scalar("x")], length).to_pylist()
    assert found == [None if value is None and not null_call else repr((value, "x")) for value in values]
    assert length < 256 or len(calls) == len(set(known) if null_call else set(known) - {None})


@pytest.mark.parametrize("values", [[0.0, -0.0] * 300, [[1], [2]] * 300, [None] * 600, [str(n) for n in range(600)]])
def test_values_that_do_not_repeat_or_have_no_dictionary_are_taken_one_by_one(values):
    site = CallSite((column(0, S),), parse_type(S), EvaluationContext())
    kernel = per_row(lambda _: repr, null_call=True)(site)
    assert kernel([pa.array(values)], len(values)).to_pylist() == list(map(repr, values))
