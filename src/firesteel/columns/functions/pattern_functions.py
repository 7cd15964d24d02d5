"""LIKE and SIMILAR TO. Flink: `SqlLikeUtils`."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.functions.function import (
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    per_row,
)
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_regexes import NO_LINE_END, java_regex
from firesteel.columns.functions.signatures import BOOLEAN, signature
from firesteel.columns.rex import Literal

_JAVA_SPECIALS = frozenset("[]()|^-+*?{}$\\.")
_SIMILAR_SPECIALS = frozenset("[]()|^-+*_%?{}")
_CLASSES = {
    "ALPHA": "\\p{Alpha}",
    "UPPER": "\\p{Upper}",
    "LOWER": "\\p{Lower}",
    "DIGIT": "\\d",
    "SPACE": " ",
    "WHITESPACE": "\\s",
    "ALNUM": "\\p{Alnum}",
}
_CLASS = re.compile(rf"\[:({'|'.join(_CLASSES)}|{'|'.join(map(str.lower, _CLASSES))}):\]")


def _invalid_escape(pattern: str, index: int) -> FunctionError:
    return FunctionError(f"Invalid escape sequence '{pattern}', {index}")


def _checked_escape(escape: str | None) -> str:
    """Return the escape character, or no text."""
    if escape is not None and len(escape) != 1:
        raise FunctionError(f"Invalid escape character '{escape}'")
    return escape or ""


def like_regex(pattern: str, escape: str | None) -> str:
    """Translate a LIKE pattern to an RE2 regular expression that matches the whole string.

    As in Flink, `_` is no end of a line, while `%` is any text.

    Raises:
        FunctionError: The escape character precedes anything but `%`, `_` or itself.
    """
    escape, parts, index = _checked_escape(escape), [], 0
    while index < len(pattern):
        char = pattern[index]
        index += 1
        if char == escape:
            if index == len(pattern) or pattern[index] not in ("%", "_", escape):
                raise _invalid_escape(pattern, index - 1)
            parts.append(re.escape(pattern[index]))
            index += 1
        else:
            parts.append({"%": ".*", "_": NO_LINE_END}.get(char) or re.escape(char))
    return rf"(?s)\A{''.join(parts)}\z"


def _like(negated: bool) -> Callable[[CallSite], Kernel]:
    def bind(call: CallSite) -> Kernel:
        compute = _constant_like(call) if call.literal(1) is not None and len(call.operands) == 2 else None
        slow = per_row(lambda _: _like_row)(call)

        def kernel(columns: list[Column], length: int) -> Column:
            found = slow(columns, length) if compute is None else compute(columns[0])
            return pc.invert(found) if negated else found

        return kernel

    return bind


def _constant_like(call: CallSite) -> Callable[[Column], Column]:
    pattern: str = call.literal(1)
    inner = pattern.strip("%")
    # Other patterns are plain texts at one place, which Arrow finds without regular expressions.
    if "_" in pattern or "%" in inner or not inner:
        regex = like_regex(pattern, None)
        return lambda column: pc.match_substring_regex(column, regex)
    if pattern.startswith("%") and pattern.endswith("%"):
        return lambda column: pc.match_substring(column, inner)
    if pattern.startswith("%"):
        return lambda column: pc.ends_with(column, inner)
    if pattern.endswith("%"):
        return lambda column: pc.starts_with(column, inner)
    return lambda column: pc.equal(column, pa.scalar(pattern))


@lru_cache(1000)
def _compiled_like(pattern: str, escape: str | None) -> re.Pattern[str]:
    # RE2's `\z`, which Arrow uses, is `\Z` in Python.
    return re.compile(like_regex(pattern, escape).replace(r"\z", r"\Z"))


def _like_row(value: str, pattern: str, escape: str | None = None) -> bool:
    return _compiled_like(pattern, escape).match(value) is not None


@lru_cache(1000)
def similar_regex(pattern: str, escape: str | None) -> str:
    """Translate a SIMILAR TO pattern to a regular expression in Java's syntax.

    As in Flink, a dot is any character, and `^` the start.

    Raises:
        FunctionError: The pattern is invalid.
    """
    escape, parts, index = _checked_escape(escape), [], 0
    while index < len(pattern):
        char = pattern[index]
        if char == escape:
            parts.append(_escaped(pattern, index, escape))
            index += 2
        elif char == "[":
            text, index = _enumeration(pattern, index + 1, escape)
            parts.append(text)
        elif char == "]":
            raise FunctionError(f"Invalid regular expression '{pattern}'")
        else:
            parts.append({"%": "(?s:.*)", "_": NO_LINE_END, ".": NO_LINE_END, "\\": r"\\", "$": r"\$"}.get(char, char))
            index += 1
    return "".join(parts)


def _escaped(pattern: str, index: int, escape: str) -> str:
    char = pattern[index + 1 : index + 2]
    if not char or (char not in _SIMILAR_SPECIALS and char != escape):
        raise _invalid_escape(pattern, index)
    return f"\\{char}" if char in _JAVA_SPECIALS else char


def _enumeration(pattern: str, index: int, escape: str) -> tuple[str, int]:
    """Return the characters between brackets, with these, and the index behind them."""
    found = ""
    while index < len(pattern):
        char = pattern[index]
        if char == "]":
            return f"[{found}]", index + 1
        if char == escape:
            found += _escaped(pattern, index, escape)
            index += 2
        elif match := _CLASS.match(pattern, index):
            found += _CLASSES[match[1].upper()]
            index = match.end()
        elif char in _SIMILAR_SPECIALS - {"-", "^"}:
            break
        else:
            found += char
            index += 1
    raise FunctionError(f"Invalid regular expression '{pattern}'")


def _similar_pattern(pattern: str, escape: str | None) -> re.Pattern[str]:
    return java_regex(similar_regex(pattern, escape))


def _similar(negated: bool) -> Callable[[CallSite], Kernel]:
    def row(value: str, pattern: str, escape: str | None = None) -> bool:
        return (_similar_pattern(pattern, escape).fullmatch(value) is not None) is not negated

    return per_row(lambda call: row)


def _resolve(name: str, translate: Callable[[str, str | None], object]) -> Callable[[Types, Operands], Resolved]:
    """Return the resolver, which refuses constant patterns that are invalid."""
    check = signature(name, BOOLEAN, *["CHARACTER"] * 3, optional=1)

    def resolve(types: Types, operands: Operands) -> Resolved:
        resolved = check(types, operands)
        pattern, *escape = (operand.value if isinstance(operand, Literal) else None for operand in operands[1:])
        if isinstance(pattern, str) and None not in escape:
            translate(pattern, str(escape[0]) if escape else None)
        return resolved

    return resolve


def _fails(call: CallSite) -> bool:
    """Return whether a pattern may be invalid; constant ones have been checked."""
    return any(call.literal(index) is None for index in range(1, len(call.operands)))


FUNCTIONS = [
    Function("LIKE", _resolve("LIKE", like_regex), _like(False), fails=_fails),
    Function("NOT LIKE", _resolve("NOT LIKE", like_regex), _like(True), fails=_fails),
    Function("SIMILAR TO", _resolve("SIMILAR TO", _similar_pattern), _similar(False), fails=_fails),
    Function("NOT SIMILAR TO", _resolve("NOT SIMILAR TO", _similar_pattern), _similar(True), fails=_fails),
]
