"""The output of Flink 2.3's shaded Jackson for the same fields."""

from __future__ import annotations

import pytest

from firesteel.common.values.jackson_csv import jackson_quoter


@pytest.mark.parametrize(
    ("delimiter", "quote", "escape", "written"),
    [
        (",", '"', None, ["a~b", '"a\\b"', '"a""b"', '"a~""\\c"', "ABC", '"x\ty"', '"a b"', "[", "-", "1", "é", ""]),
        (",", '"', "~", ['"a~~b"', "a\\b", '"a""b"', '"a~~""\\c"', "ABC", '"x\ty"', '"a b"', "[", "-", "1", "é", ""]),
        (
            ",",
            '"',
            "\\",
            ["a~b", '"a\\\\b"', '"a""b"', '"a~""\\\\c"', "ABC", '"x\ty"', '"a b"', "[", "-", "1", "é", ""],
        ),
        (
            *("|", '"', None),
            ['"a~b"', '"a\\b"', '"a""b"', '"a~""\\c"', '"ABC"', '"x\ty"', '"a b"', '"["', '"-"', '"1"', "é", ""],
        ),
        (";", None, None, ["a~b", "a\\b", 'a"b', 'a~"\\c', "ABC", "x\ty", "a b", "[", "-", "1", "é", ""]),
    ],
)
def test_fields_are_quoted_as_jackson_quotes_them(delimiter: str, quote: str, escape: str, written: list[str]) -> None:
    write = jackson_quoter(delimiter, quote, escape)
    texts = ["a~b", "a\\b", 'a"b', 'a~"\\c', "ABC", "x\ty", "a b", "[", "-", "1", "é", ""]
    assert [write(text) for text in texts] == written


@pytest.mark.parametrize(
    ("text", "is_quoted"), [("x" * 24, False), ("x" * 25, True), ("😀" * 12, False), ("😀" * 13, True)]
)
def test_long_fields_are_quoted(text: str, is_quoted: bool) -> None:
    assert jackson_quoter(",", '"', None)(text) == (f'"{text}"' if is_quoted else text)
