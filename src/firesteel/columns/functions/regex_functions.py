"""Functions of regular expressions in Java's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import Function, may_fail, never_fails, per_row, plain
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.signatures import BOOLEAN, INT, STRING, signature

_TEXT = "CHARACTER"
_CLASSES = {
    "Alpha": "a-zA-Z",
    "Digit": "0-9",
    "Alnum": "a-zA-Z0-9",
    "Upper": "A-Z",
    "Lower": "a-z",
    "Space": r"\s",
    "Punct": r"!-/:-@\[-`{-~",
    "XDigit": "0-9a-fA-F",
    "Blank": r" \t",
    "L": r"a-zA-Z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u0370-\u1fff\u2c00-\ud7ff",
    "Lu": r"A-Z\u00c0-\u00d6\u00d8-\u00de",
    "Ll": r"a-z\u00df-\u00f6\u00f8-\u00ff",
    "N": "0-9",
    "Nd": "0-9",
    "IsAlphabetic": r"a-zA-Z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02c1\u0370-\u1fff\u2c00-\ud7ff",
    "IsDigit": "0-9",
}
_SPECIAL = re.compile(r"\\([pP])(?:\{(\w+)\}|(\w))|\\(z|Z|h|.)|\(\?<(?=[a-zA-Z])|(\[|\])", re.DOTALL)


@lru_cache(1000)
def java_regex(pattern: str) -> re.Pattern[str]:
    """Translate a Java regular expression to Python.

    Raises:
        FunctionError: The expression is invalid, or uses a feature that Python cannot express.
    """
    depth = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal depth
        negated, long_name, short_name, escaped, bracket = match.groups()
        if bracket:
            depth += 1 if bracket == "[" else -1
            return bracket
        if negated:
            name = long_name or short_name
            if name not in _CLASSES or (negated == "P" and depth):
                raise FunctionError(f"firesteel does not support \\{negated}{{{name}}} in {pattern!r}")
            inside = _CLASSES[name]
            return inside if depth else f"[{'^' if negated == 'P' else ''}{inside}]"
        if escaped:
            return {"z": r"\Z", "Z": r"(?=\n?\Z)", "h": r" \t" if depth else r"[ \t]"}.get(escaped, "\\" + escaped)
        return "(?P<"

    try:
        return re.compile(_SPECIAL.sub(replace, pattern), re.ASCII)
    except re.error as error:
        raise FunctionError(f"Invalid regular expression {pattern!r}: {error}") from error


def _or_null(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that returns None for an invalid regular expression or group."""

    def safe(*args: object) -> object:
        try:
            return function(*args)
        except (FunctionError, IndexError, re.error):
            return None

    return safe


def _regexp(text: str, pattern: str) -> bool:
    return bool(pattern) and java_regex(pattern).search(text) is not None


def _replace(text: str, pattern: str, replacement: str) -> str:
    """Return the text with each match replaced; as in Flink, `$1` in the replacement is no group."""
    return java_regex(pattern).sub(lambda _: replacement, text)


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    match = java_regex(pattern).search(text) if group >= 0 else None
    return match.group(group) if match else None


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    regex = java_regex(pattern)
    if not 0 <= group <= regex.groups:
        return None
    return [match.group(group) for match in regex.finditer(text)]


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in java_regex(pattern).finditer(text))


def _instr(text: str, pattern: str) -> int:
    match = java_regex(pattern).search(text)
    return match.start() + 1 if match else 0


_NULLABLE = {"nullable": True}

_ROWS: tuple[tuple[str, t.DataType, tuple[str, ...], dict[str, Any], Callable[..., Any]], ...] = (
    ("REGEXP", BOOLEAN, (_TEXT, _TEXT), {}, _regexp),
    ("REGEXP_REPLACE", STRING, (_TEXT,) * 3, {}, _or_null(_replace)),
    ("REGEXP_EXTRACT", STRING, (_TEXT, _TEXT, "INTEGER"), {"optional": 1, **_NULLABLE}, _or_null(_extract)),
    (
        "REGEXP_EXTRACT_ALL",
        t.ArrayType(STRING),
        (_TEXT, _TEXT, "INTEGER"),
        {"optional": 1, **_NULLABLE},
        _or_null(_extract_all),
    ),
    ("REGEXP_COUNT", INT, (_TEXT, _TEXT), _NULLABLE, _or_null(_count)),
    ("REGEXP_INSTR", INT, (_TEXT, _TEXT), _NULLABLE, _or_null(_instr)),
    ("REGEXP_SUBSTR", STRING, (_TEXT, _TEXT), _NULLABLE, _or_null(_extract)),
)

FUNCTIONS = [
    Function(
        name,
        signature(name, result, *operands, **options),
        per_row(plain(function)),
        fails=may_fail if name == "REGEXP" else never_fails,
    )
    for name, result, operands, options, function in _ROWS
]
