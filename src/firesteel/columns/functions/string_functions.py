"""String functions that operate on whole columns where the operands allow it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import (
    Bind,
    CallSite,
    Column,
    Function,
    Kernel,
    Operands,
    Resolved,
    Types,
    per_row,
    plain,
    vector,
    vector_cast,
)
from firesteel.columns.functions.function_errors import FunctionError, cannot_apply, wrong_count
from firesteel.columns.functions.signatures import INT, STRING, argument, literal_text, signature, varying
from firesteel.columns.type_families import STRINGS
from firesteel.columns.type_rules import any_nullable


def _ascii_or(fast: Callable[[Column], Column], row: Callable[[str], str]) -> Bind:
    """Return a kernel that uses Arrow's function for ASCII strings, else Python's, which agrees with Java."""

    def bind(call: CallSite) -> Kernel:
        slow = per_row(plain(row))(call)

        def kernel(columns: list[Column], length: int) -> Column:
            # Arrow maps a character to one character; Java makes `SS` of `ß`, as Python does.
            ascii_only = pc.all(pc.string_is_ascii(columns[0])).as_py() is not False
            return fast(columns[0]) if ascii_only else slow(columns, length)

        return kernel

    return bind


def _init_cap(text: str) -> str:
    """Capitalize the first letter of each word; as in Flink, words consist of ASCII letters and digits."""
    result, inside = [], False
    for char in text:
        is_part = char.isascii() and char.isalnum()
        result.append((char.lower() if inside else char.upper()) if is_part else char)
        inside = is_part
    return "".join(result)


def _substring(text: str, position: int, length: int | None = None) -> str | None:
    if length is not None and length < 0:
        return None
    start = position - 1 if position > 0 else len(text) + position if position < 0 else 0
    if start < 0:
        return ""
    return text[start:] if length is None else text[start : start + length]


def _bind_substring(call: CallSite) -> Kernel:
    start, length = call.literal(1), call.literal(2)
    slow = per_row(plain(_substring))(call)
    if start is None or start < 1 or (len(call.operands) == 3 and (length is None or length < 0)):
        return slow
    stop = None if length is None else start - 1 + length
    return lambda columns, count: pc.utf8_slice_codeunits(columns[0], start - 1, stop)


def _left(text: str, count: int) -> str:
    return text[: max(count, 0)]


def _right(text: str, count: int) -> str:
    return text[-count:] if count > 0 else ""


def _resolve_trim(types: Types, operands: Operands) -> Resolved:
    """Resolve TRIM(s), TRIM(s, characters) or TRIM(flag, characters, s), where the flag is a constant."""
    if not 1 <= len(types) <= 3:
        raise wrong_count("TRIM", len(types), "1 to 3")
    if len(types) == 3 and literal_text(operands, 0) not in ("BOTH", "LEADING", "TRAILING"):
        raise FunctionError("TRIM takes BOTH, LEADING or TRAILING before the characters")
    texts = types[1:] if len(types) == 3 else types
    if not all(isinstance(x, (*STRINGS, t.NullType)) for x in texts):
        raise cannot_apply("TRIM", types, "TRIM([BOTH|LEADING|TRAILING] <CHARACTER> FROM <CHARACTER>)")
    source = texts[-1] if len(types) == 3 else texts[0]
    casts = [STRING if isinstance(x, t.NullType) else x for x in types]
    length = source.length if isinstance(source, STRINGS) else t.MAX_LENGTH
    return casts, t.VarCharType(length, any_nullable(texts))


def _bind_trim(call: CallSite) -> Kernel:
    if len(call.operands) == 3:
        flag = literal_text(call.operands, 0) or "BOTH"
        return _trim(flag, 2, 1)(call)
    return _trim("BOTH", 0, 1)(call)


def _trim(flag: str, text: int, characters: int) -> Bind:
    """Return the kernel that strips characters, spaces by default."""
    fast = {"BOTH": pc.utf8_trim, "LEADING": pc.utf8_ltrim, "TRAILING": pc.utf8_rtrim}[flag]
    strip = {"BOTH": str.strip, "LEADING": str.lstrip, "TRAILING": str.rstrip}[flag]

    def bind(call: CallSite) -> Kernel:
        constant = " " if characters >= len(call.operands) else call.literal(characters)
        if constant is not None:
            return lambda columns, length: fast(columns[text], constant) if constant else columns[text]
        order = (text, characters)
        slow = per_row(plain(lambda *row: strip(row[order[0]], row[order[1]]) if row[order[1]] else row[order[0]]))
        return slow(call)

    return bind


def _resolve_concat_operator(types: Types, operands: Operands) -> Resolved:
    if len(types) != 2:
        raise wrong_count("||", len(types), "2")
    is_null = [isinstance(x, t.NullType) for x in types]
    if all(isinstance(x, (*STRINGS, t.NullType)) for x in types) and not all(is_null):
        casts: list[Any] = [t.VarCharType(1) if null else x for x, null in zip(types, is_null, strict=True)]
        length = min(t.MAX_LENGTH, sum(x.length for x in casts))
        make = t.CharType if all(isinstance(x, t.CharType) for x in casts) else t.VarCharType
        return casts, make(length, any_nullable(types))
    raise cannot_apply("||", types, "<STRING> || <STRING>")


def _concat(*columns: Column) -> Column:
    empty = pa.scalar(b"" if pa.types.is_binary(columns[0].type) else "", columns[0].type)
    return pc.binary_join_element_wise(*columns, empty, null_handling="emit_null")


def _concat_ws(separator: str | None, *texts: str | None) -> str | None:
    # Arrow's function returns too few rows for columns of NULLs.
    return None if separator is None else separator.join(text for text in texts if text is not None)


def _bind_replace(call: CallSite) -> Kernel:
    pattern, replacement = call.literal(1), call.literal(2)
    if pattern and replacement is not None:
        return lambda columns, length: pc.replace_substring(columns[0], pattern, replacement)
    return per_row(plain(str.replace))(call)


def _locate(needle: str, text: str, position: int = 1) -> int:
    if not needle:
        return 1
    return text.find(needle, max(position - 1, 0)) + 1


def _instr(text: str, needle: str, start: int = 1, nth: int = 1) -> int | None:
    """Return the position of the nth occurrence; a negative start searches backwards from the end."""
    if nth < 1:
        return None
    if start == 0:
        return 0
    if not needle:
        return 1 if start > 0 else len(text) + 1
    index = -1
    if start > 0:
        index = start - 2
        for _ in range(nth):
            index = text.find(needle, index + 1)
            if index < 0:
                return 0
        return index + 1
    end = len(text) + start + len(needle)
    for _ in range(nth):
        index = text.rfind(needle, 0, max(end, 0))
        if index < 0:
            return 0
        end = index + len(needle) - 1
    return index + 1


_TEXT = "CHARACTER"

FUNCTIONS = [
    Function("UPPER", signature("UPPER", argument(0), _TEXT), _ascii_or(pc.ascii_upper, str.upper)),
    Function("LOWER", signature("LOWER", argument(0), _TEXT), _ascii_or(pc.ascii_lower, str.lower)),
    Function("INITCAP", signature("INITCAP", argument(0), _TEXT), per_row(plain(_init_cap))),
    Function("CHAR_LENGTH", signature("CHAR_LENGTH", INT, _TEXT), vector_cast(pc.utf8_length)),
    Function("TRIM", _resolve_trim, _bind_trim),
    Function("LTRIM", signature("LTRIM", varying(0), _TEXT, _TEXT, optional=1), _trim("LEADING", 0, 1)),
    Function("RTRIM", signature("RTRIM", varying(0), _TEXT, _TEXT, optional=1), _trim("TRAILING", 0, 1)),
    Function("BTRIM", signature("BTRIM", STRING, _TEXT, _TEXT, optional=1), _trim("BOTH", 0, 1)),
    Function(
        "SUBSTRING",
        signature("SUBSTRING", varying(0), _TEXT, "INTEGER", "INTEGER", optional=1, nullable=True),
        _bind_substring,
    ),
    Function("LEFT", signature("LEFT", varying(0), _TEXT, "INTEGER", nullable=True), per_row(plain(_left))),
    Function("RIGHT", signature("RIGHT", varying(0), _TEXT, "INTEGER", nullable=True), per_row(plain(_right))),
    Function("||", _resolve_concat_operator, vector(_concat)),
    Function("CONCAT", signature("CONCAT", STRING, _TEXT, variadic=True), vector(_concat)),
    Function(
        "CONCAT_WS",
        signature("CONCAT_WS", STRING, _TEXT, _TEXT, variadic=True),
        per_row(plain(_concat_ws), null_call=True),
    ),
    Function("REPLACE", signature("REPLACE", STRING, _TEXT, _TEXT, _TEXT), _bind_replace),
    Function("POSITION", signature("POSITION", INT, _TEXT, _TEXT, "INTEGER", optional=1), per_row(plain(_locate))),
    Function("LOCATE", signature("LOCATE", INT, _TEXT, _TEXT, "INTEGER", optional=1), per_row(plain(_locate))),
    Function(
        "INSTR",
        signature("INSTR", INT, _TEXT, _TEXT, "INTEGER", "INTEGER", optional=2),
        per_row(plain(_instr)),
    ),
    Function("REVERSE", signature("REVERSE", STRING, _TEXT, nullable=True), vector(pc.utf8_reverse)),
]
