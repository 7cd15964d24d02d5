"""Values that Flink 2.3 gave, where Python's functions of the same name have others."""

from __future__ import annotations

import datetime

import pytest

from firesteel.columns.functions.function_errors import FunctionError, UnsupportedFunctionError
from tests.columns.rexes import call, column, lit, run


@pytest.mark.parametrize(
    ("text", "code"),
    [("2024-01-31 10:00:00", 418727230), ("polygenelubricants", -(2**31)), ("abcdefgh", 1259673732), ("12", 1569)],
)
def test_hash_codes_of_texts_have_no_sign(text: str, code: int) -> None:
    assert run(call("HASH_CODE", lit(text, "STRING"))) == [code]


@pytest.mark.parametrize(
    ("text", "data"), [("abc", b"\0\xbc"), ("g", None), ("\0", None), ("0g", None), ("a\n", None), ("", b"")]
)
def test_all_hexadecimal_digits_are_looked_at(text: str, data: bytes | None) -> None:
    assert run(call("UNHEX", lit(text, "STRING"))) == [data]


@pytest.mark.parametrize(("months", "quarter"), [(-13, 1), (-5, -1), (-2, 0), (0, 1), (2, 1), (14, 1), (15, 1), (4, 2)])
def test_quarters_of_intervals(months: int, quarter: int) -> None:
    assert run(call("QUARTER", lit(months, "INTERVAL MONTH"))) == [quarter]


@pytest.mark.parametrize(
    ("text", "pattern", "count"),
    [
        ("aaa", "a{2}", 1),
        ("x{", "x[{]", 1),
        ("x}", "}", 1),
        ("x{a}", r"x\{a\}", 1),
        ("x{", "x{", None),
        ("a{,3}", "a{,3}", None),
        ("aaa", "a{1,2", None),
        ("{", '{"a"', None),
        ("a", "(?P<n>a)", None),
        ("a", "(?#c)a", None),
        ("a", "a**", None),
        ("a", r"\0", None),
        ("a", r"[\b]", None),
        ("größer als groß", r"\b\w", 3),  # no word begins after ö
        ("", r"\B", 1),
        ("aba", "a*?", 4),
        ("]", "|]", 2),
        ("foobar baz", "(?i)FOO|BAZ", 2),
        ("foobar baz", "o(?i)BAR|BAZ", 2),
        ("a\r\nb\rc\n", "(?m)^", 3),
        ("a\r\nb\rc\n", "(?m)$", 4),
    ],
)
def test_matches_are_those_of_java(text: str, pattern: str, count: int | None) -> None:
    assert run(call("REGEXP_COUNT", lit(text, "STRING"), lit(pattern, "STRING"))) == [count]


@pytest.mark.parametrize("pattern", ["(?<=a+)b", "a{1}{2}", "{2}", r"a\1", "^*"])
def test_what_only_java_knows_is_refused(pattern: str) -> None:
    """Flink has results; NULL would be wrong in silence."""
    with pytest.raises(UnsupportedFunctionError, match="Python does not support"):
        call("REGEXP_COUNT", lit("a", "STRING"), lit(pattern, "STRING"))
    with pytest.raises(UnsupportedFunctionError):
        run(call("REGEXP_COUNT", lit("a", "STRING"), column(0, "STRING")), ("STRING", [pattern]))


@pytest.mark.parametrize(
    ("text", "kind", "value", "shown"),
    [
        ("%-5d|", "INT", 7, "7    |"),
        ("%#x", "INT", 255, "0xff"),
        ("%#d", "INT", 7, None),
        ("%+s", "STRING", "a", None),
        ("%+ d", "INT", 7, None),
        ("%-05d", "INT", 7, None),
        ("%,x", "INT", 7, None),
        ("%+x", "INT", None, "null"),
        ("%.1c", "INT", None, None),
        ("%5n", "INT", 7, None),
        ("%5%|%%", "INT", 7, "    %|%"),
        ("%+f", "DOUBLE", float("nan"), "NaN"),
        ("%,.1f", "DOUBLE", 12345.67, "12,345.7"),
    ],
)
def test_formats_are_those_of_java(text: str, kind: str, value: object, shown: str | None) -> None:
    assert run(call("PRINTF", lit(text, "STRING"), lit(value, kind))) == [shown]


@pytest.mark.parametrize("text", ["%h", "%a", "%tY"])
def test_conversions_that_only_java_knows_are_refused(text: str) -> None:
    with pytest.raises(UnsupportedFunctionError, match=r"does not support '%.+' in PRINTF"):
        run(call("PRINTF", lit(text, "STRING"), lit(7, "BIGINT")))


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [
        ("MMMMM EEEEE", "F T"),
        ("eee ee", "Thu 05"),
        ("MMM LLLL EEEE", "Feb February Thursday"),
        ("F", "1"),
        ("'[MM]'", "[MM]"),
    ],
)
def test_patterns_of_timestamps_are_those_of_the_newer_classes(pattern: str, shown: str) -> None:
    moment = lit(datetime.datetime(2024, 2, 29, 23, 59), "TIMESTAMP(3)")
    assert run(call("DATE_FORMAT", moment, lit(pattern, "STRING"))) == [shown]


@pytest.mark.parametrize("pattern", ["yyyy[-MM]", "yyyy#", "MMMMMM", "hhh", "cc", "WW"])
def test_patterns_that_the_newer_classes_refuse_or_read_otherwise_are_refused(pattern: str) -> None:
    with pytest.raises(FunctionError):
        run(call("DATE_FORMAT", lit(datetime.datetime(2024, 2, 29), "TIMESTAMP(3)"), lit(pattern, "STRING")))
    with pytest.raises(FunctionError):
        run(call("TO_TIMESTAMP", lit("2024", "STRING"), lit(pattern, "STRING")))


@pytest.mark.parametrize(
    ("pattern", "shown"),
    [("u", "4"), ("F", "5"), ("yyyy[MM]", "2024[02]"), ("hhhh MMMMM", "0011 February"), ("SS", "00")],
)
def test_patterns_of_texts_and_numbers_are_those_of_the_older_classes(pattern: str, shown: str) -> None:
    assert run(call("DATE_FORMAT", lit("2024-02-29 23:59:00", "STRING"), lit(pattern, "STRING"))) == [shown]
    seconds = lit(1_709_251_140, "BIGINT")
    assert run(call("FROM_UNIXTIME", seconds, lit(pattern, "STRING"))) == [shown]
