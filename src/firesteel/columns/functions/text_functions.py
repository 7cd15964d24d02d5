"""String functions that operate on one value at a time."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus, unquote_plus, urlsplit

from firesteel.columns import column_types as t
from firesteel.columns.functions.function import (
    Bind,
    CallSite,
    Function,
    Operands,
    Types,
    may_fail,
    never,
    per_row,
    plain,
)
from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_format import FormatError, java_format
from firesteel.columns.functions.java_regexes import java_matches, java_regex
from firesteel.columns.functions.signatures import BOOLEAN, BYTES, INT, STRING, Result, signature
from firesteel.columns.type_rules import common_argument_type

_TEXT = "CHARACTER"
_INT = "INTEGER"


def _pad(left: bool) -> Callable[[str, int, str], str | None]:
    def pad(text: str, length: int, filler: str) -> str | None:
        if length < 0 or not filler:
            return None
        missing = length - len(text)
        if missing <= 0:
            return text[:length]
        fill = (filler * (missing // len(filler) + 1))[:missing]
        return fill + text if left else text + fill

    return pad


def _concatenated(types: Types, operands: Operands) -> t.DataType:
    texts: list[Any] = list(types[:2])
    return t.VarCharType(min(t.MAX_LENGTH, sum(text.length for text in texts)))


def _chosen(types: Types, operands: Operands) -> t.DataType | None:
    return common_argument_type(types[1:])


def _overlay(text: str, placed: str, start: int, length: int | None = None) -> str:
    count = len(placed) if length is None else length
    if start <= 0 or start > len(text):
        return text
    rest = text[start - 1 + count :] if start + count <= len(text) and count > 0 else ""
    return text[: start - 1] + placed + rest


def _split_index(text: str, separator: str | int, index: int) -> str | None:
    if isinstance(separator, int):
        if not 1 <= separator <= 255:
            return None
        separator = chr(separator)
    parts = [] if not text else text.split(separator) if separator else re.split(r"\s", text)
    return parts[index] if 0 <= index < len(parts) else None


def _split(text: str, separator: str) -> list[str]:
    return text.split(separator) if separator else list(text)


def _ascii(text: str) -> int:
    first = text.encode()[0] if text else 0
    return first - 256 if first > 127 else first


def _chr(number: int) -> str:
    return "" if number < 0 else chr(number & 0xFF)


def _to_base64(value: str | bytes) -> str:
    return base64.b64encode(value.encode() if isinstance(value, str) else value).decode()


def _from_base64(value: str | bytes) -> str:
    """Return the text of a value in Base64, whose padding may be missing.

    Raises:
        FunctionError: it is not Base64.
    """
    data = value.encode() if isinstance(value, str) else value
    try:
        return base64.b64decode(data if b"=" in data else data + b"=" * (-len(data) % 4), validate=True).decode(
            "utf-8", "replace"
        )
    except binascii.Error as error:
        raise FunctionError(f"FROM_BASE64: {value!r} is not Base64: {error}") from error


def _java_split(text: str, regex: re.Pattern[str]) -> list[str]:
    """Return the parts as Java's `split`: without groups, empty parts at the end, and one at the start by no text."""
    parts, start = [], 0
    for match in java_matches(regex, text):
        if match.end():
            parts.append(text[start : match.start()])
            start = match.end()
    parts.append(text[start:])
    while parts and not parts[-1]:
        parts.pop()
    return parts


def _str_to_map(text: str, list_delimiter: str = ",", key_delimiter: str = "=") -> list[tuple[str, str | None]]:
    result: dict[str, str | None] = {}
    between = java_regex(key_delimiter)
    for part in _java_split(text, java_regex(list_delimiter)):
        match = next((found for found in java_matches(between, part) if found.end()), None)
        result[part if match is None else part[: match.start()]] = None if match is None else part[match.end() :]
    return list(result.items())


def _parse_url(url: str, part: str, key: str | None = None) -> str | None:
    try:
        split = urlsplit(url)
    except ValueError:
        return None
    if not split.scheme:
        return None
    if key is not None:
        match = re.search(rf"(?:&|^){re.escape(key)}=([^&]*)", split.query) if part == "QUERY" else None
        return match.group(1) if match else None
    userinfo = split.netloc.rpartition("@")[0]
    parts: dict[str, str | None] = {
        "HOST": _host(split.netloc),
        "PATH": split.path,
        "QUERY": split.query or None,
        "REF": split.fragment or None,
        "PROTOCOL": split.scheme,
        "FILE": f"{split.path}?{split.query}" if split.query else split.path,
        "AUTHORITY": split.netloc,
        "USERINFO": userinfo or None,
    }
    return parts.get(part)


def _host(netloc: str) -> str | None:
    """Return the host as it is written; `hostname` of urlsplit has small letters."""
    match = re.fullmatch(r"(?:.*@)?(\[[^]]*\]|[^:]*)(?::\d*)?", netloc)
    return match[1].strip("[]") or None if match else None


def _url_encode(text: str) -> str:
    """Return the text as `application/x-www-form-urlencoded`; unlike in a URL, `~` has a code there."""
    return quote_plus(text, safe="*-._").replace("~", "%7E")


def _url_decode(text: str) -> str | None:
    if re.search("%(?![0-9A-Fa-f]{2})", text):
        return None
    return unquote_plus(text)


def _translate(text: str, source: str | None, target: str | None) -> str:
    if not source:
        return text
    table: dict[int, str | None] = {}
    for index, char in enumerate(source):
        table.setdefault(ord(char), target[index] if target and index < len(target) else None)
    return text.translate(table)


def _elt(index: int, *values: object) -> object:
    return values[index - 1] if index is not None and 1 <= index <= len(values) else None


def _printf(call: CallSite) -> Callable[..., Any]:
    types = call.types[1:]

    def printf(format_text: str | None, *values: object) -> str | None:
        try:
            return None if format_text is None else java_format(format_text, values, types)
        except FormatError:
            return None

    return printf


def _charset(name: str) -> str:
    names = {"us-ascii", "iso-8859-1", "utf-8", "utf-16be", "utf-16le", "utf-16"}
    if name.lower() not in names:
        raise FunctionError(f"Unknown character set {name!r}; known ones: {', '.join(sorted(names))}")
    return name.lower()


def _encode(text: str, charset: str) -> bytes:
    prefix = b"\xfe\xff" if _charset(charset) == "utf-16" else b""
    return prefix + text.encode("utf-16be" if prefix else charset.lower(), "replace")


def _decode(value: bytes, charset: str) -> str:
    return value.decode(_charset(charset), "replace")


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _inet_aton(text: str) -> int | None:
    parts = text.split(".")
    if not 1 <= len(parts) <= 4 or not all(_is_number(part) and int(part) < 256 for part in parts[:-1]):
        return None
    if not _is_number(parts[-1]) or int(parts[-1]) >= 256 ** (5 - len(parts)):
        return None
    head = sum(int(part) << (8 * (3 - index)) for index, part in enumerate(parts[:-1]))
    return head + int(parts[-1])


def _inet_ntoa(number: int) -> str | None:
    if not 0 <= number < 1 << 32:
        return None
    return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))


def _hash(name: str) -> Bind:
    def digest(value: str | bytes) -> str:
        return hashlib.new(name, value.encode() if isinstance(value, str) else value).hexdigest()

    return per_row(plain(digest))


def _sha2(value: str | bytes, bits: int) -> str:
    if bits not in (224, 256, 384, 512):
        raise FunctionError(f"Unsupported algorithm SHA-{bits}; SHA2 takes 224, 256, 384 or 512")
    return hashlib.new(f"sha{bits}", value.encode() if isinstance(value, str) else value).hexdigest()


_HASHES = (("MD5", 32), ("SHA1", 40), ("SHA224", 56), ("SHA256", 64), ("SHA384", 96), ("SHA512", 128))

# Name, result type, operand families, options of the signature, function of one row.
_ROWS: tuple[tuple[str, Result, tuple[str, ...], dict[str, Any], Callable[..., Any]], ...] = (
    ("REPEAT", STRING, (_TEXT, _INT), {}, lambda text, count: text * max(count, 0)),
    ("LPAD", STRING, (_TEXT, _INT, _TEXT), {}, _pad(True)),
    ("RPAD", STRING, (_TEXT, _INT, _TEXT), {}, _pad(False)),
    ("OVERLAY", _concatenated, (_TEXT, _TEXT, _INT, _INT), {"optional": 1}, _overlay),
    ("SPLIT_INDEX", STRING, (_TEXT, "CHARACTER|INTEGER", _INT), {"nullable": True}, _split_index),
    ("SPLIT", t.ArrayType(STRING), (_TEXT, _TEXT), {}, _split),
    ("ASCII", INT, (_TEXT,), {}, _ascii),
    ("CHR", STRING, (_INT,), {"nullable": True}, _chr),
    ("TO_BASE64", STRING, ("CHARACTER_OR_BINARY",), {}, _to_base64),
    ("FROM_BASE64", STRING, ("CHARACTER_OR_BINARY",), {}, _from_base64),
    ("STR_TO_MAP", t.MapType(STRING, STRING), (_TEXT,) * 3, {"optional": 2, "nullable": True}, _str_to_map),
    ("PARSE_URL", STRING, (_TEXT,) * 3, {"optional": 1, "nullable": True}, _parse_url),
    ("URL_ENCODE", STRING, (_TEXT,), {"nullable": True}, _url_encode),
    ("URL_DECODE", STRING, (_TEXT,), {"nullable": True}, _url_decode),
    (
        "STARTSWITH",
        BOOLEAN,
        ("CHARACTER_OR_BINARY",) * 2,
        {"common": True},
        lambda text, prefix: text.startswith(prefix),
    ),
    ("ENDSWITH", BOOLEAN, ("CHARACTER_OR_BINARY",) * 2, {"common": True}, lambda text, suffix: text.endswith(suffix)),
    ("ENCODE", BYTES, (_TEXT, _TEXT), {}, _encode),
    ("DECODE", STRING, ("BINARY", _TEXT), {}, _decode),
    ("SHA2", t.VarCharType(128), ("CHARACTER_OR_BINARY", _INT), {}, _sha2),
    ("INET_ATON", t.BigIntType(), (_TEXT,), {"nullable": True}, _inet_aton),
    ("INET_NTOA", STRING, (_INT,), {"nullable": True}, _inet_ntoa),
)

# The same, for functions that are also called with NULLs.
_NULL_ROWS: tuple[tuple[str, Result, tuple[str, ...], dict[str, Any], Callable[..., Any]], ...] = (
    ("ELT", _chosen, (_INT, _TEXT), {"variadic": True, "nullable": True}, _elt),
    (
        "TRANSLATE",
        STRING,
        (_TEXT,) * 3,
        {"nullable": lambda types: types[0].is_nullable},
        lambda text, source, target: None if text is None else _translate(text, source, target),
    ),
)

_MAY_FAIL = frozenset({"FROM_BASE64", "SHA2", "ENCODE", "DECODE", "STR_TO_MAP"})


FUNCTIONS = [
    Function(
        "PRINTF",
        signature("PRINTF", STRING, _TEXT, "ANY", variadic=True, optional=1, nullable=True),
        per_row(_printf, null_call=True),
        fails=may_fail,
    ),
    *(
        Function(
            n,
            signature(n, result, *ops, **options),
            per_row(plain(f)),
            fails=may_fail if n in _MAY_FAIL else never,
        )
        for n, result, ops, options, f in _ROWS
    ),
    *(
        Function(n, signature(n, result, *ops, **options), per_row(plain(f), null_call=True))
        for n, result, ops, options, f in _NULL_ROWS
    ),
    *(
        Function(name, signature(name, t.CharType(length), "CHARACTER_OR_BINARY"), _hash(name.lower()))
        for name, length in _HASHES
    ),
]
