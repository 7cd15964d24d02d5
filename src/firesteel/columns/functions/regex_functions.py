"""Functions of regular expressions in Java's syntax."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import Function, Operands, Resolved, Types, per_row, plain
from firesteel.columns.functions.function_errors import FunctionError, UnsupportedFunctionError
from firesteel.columns.functions.java_regexes import java_matches, java_regex
from firesteel.columns.functions.signatures import BOOLEAN, INT, STRING, signature
from firesteel.columns.rex import Literal

_TEXT = "CHARACTER"


def _or_null(function: Callable[..., object]) -> Callable[..., object]:
    """Return a function that returns None for an invalid regular expression or group, as Flink does."""

    def safe(*args: object) -> object:
        try:
            return function(*args)
        except UnsupportedFunctionError:
            raise
        except (FunctionError, IndexError, re.error):
            return None

    return safe


def _regexp(text: str, pattern: str) -> bool:
    """Return whether the pattern is found; as in Flink, one that is empty or invalid is not."""
    return bool(pattern) and _is_valid(pattern) and java_regex(pattern).search(text) is not None


def _replace(text: str, pattern: str, replacement: str) -> str:
    """Return the text with each match replaced; as in Flink, `$1` in the replacement is no group."""
    parts, place = [], 0
    for match in java_matches(java_regex(pattern), text):
        parts += [text[place : match.start()], replacement]
        place = match.end()
    return "".join([*parts, text[place:]])


def _extract(text: str, pattern: str, group: int = 0) -> str | None:
    match = java_regex(pattern).search(text) if group >= 0 else None
    return match.group(group) if match else None


def _extract_all(text: str, pattern: str, group: int = 1) -> list[str | None] | None:
    regex = java_regex(pattern)
    if not 0 <= group <= regex.groups:
        return None
    return [match.group(group) for match in java_matches(regex, text)]


def _count(text: str, pattern: str) -> int:
    return sum(1 for _ in java_matches(java_regex(pattern), text))


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


def _checked(check: Callable[[Types, Operands], Resolved]) -> Callable[[Types, Operands], Resolved]:
    """Return a resolver that also refuses constant expressions that only Java has."""

    def resolve(types: Types, given: Operands) -> Resolved:
        resolved = check(types, given)
        if isinstance(given[1], Literal) and isinstance(given[1].value, str):
            _is_valid(given[1].value)
        return resolved

    return resolve


def _is_valid(pattern: str) -> bool:
    """Return whether Java knows the expression.

    Raises:
        UnsupportedFunctionError: Python cannot express it.
    """
    try:
        java_regex(pattern)
    except UnsupportedFunctionError:
        raise
    except FunctionError:
        return False
    return True


FUNCTIONS = [
    Function(
        name,
        _checked(signature(name, result, *operands, **options)),
        per_row(plain(function)),
        fails=lambda call: call.literal(1) is None,
    )
    for name, result, operands, options, function in _ROWS
]
