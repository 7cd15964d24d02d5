"""Parsed JSON values as scalars: numbers may be written as texts and texts as numbers, as in Flink.

A number with a fraction or an exponent is a `Number`, float or Decimal, as the caller lets it be parsed.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

from firesteel.common.typeinfo import Types
from firesteel.common.values.java_parsing import parse_boolean, parse_decimal, parse_double, parse_integer
from firesteel.common.values.java_text import java_formatter
from firesteel.connectors.formats.json.codec import object_of, quoted, shown
from firesteel.connectors.formats.text_values import parse_bytes

_double_text = java_formatter(Types.DOUBLE())


class Number(str):
    """A number with a fraction or exponent, as it was written."""

    __slots__ = ()


_FRACTIONAL = (Number, float, Decimal)


def integer_reader(bits: int | None, name: str, cuts: bool) -> Callable[[Any], int]:
    """Return the function that reads an integer.

    Args:
        bits: The width of the type; None for any size.
        name: The type, for errors.
        cuts: Whether a number with a fraction loses it; else it is an error.
    """
    high = (1 << (bits or 64) - 1) - 1

    def read(value: Any) -> int:
        if value.__class__ is int and -high <= value <= high:  # as nearly all are
            return value
        if cuts and isinstance(value, _FRACTIONAL):
            value = int(_finite(float(value)))
        return parse_integer(scalar_text(value), bits, name)

    return read


def _finite(value: float) -> float:
    if value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is not an integer")
    return value


def read_double(value: object) -> float:
    """Return a floating-point number.

    Raises:
        ValueError: the value is none, such as `true`.
    """
    return float(value) if isinstance(value, (float, Decimal)) else parse_double(scalar_text(value))


def read_decimal(value: object) -> Decimal:
    """Return a decimal number with all digits that were parsed.

    Raises:
        ValueError: the value is none, such as `true`.
    """
    return value if isinstance(value, Decimal) else parse_decimal(scalar_text(value))


def read_boolean(value: object) -> bool:
    """Return whether a value is true, or a text that says so.

    Raises:
        ValueError: the value is an object or array.
    """
    return value if isinstance(value, bool) else parse_boolean(scalar_text(value))


def read_bytes(value: object) -> bytes:
    """Return bytes in base64.

    Raises:
        ValueError: the value is no text, or no base64.
    """
    return parse_bytes(string_of(value))


def read_text(value: object) -> str:
    """Return a text, or the JSON of a value that is none; half a surrogate pair becomes `?`, as in Java."""
    text = _compact(value) if isinstance(value, (dict, list)) else scalar_text(value)
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def string_of(value: object) -> str:
    """Return a value that must be a JSON string.

    Raises:
        ValueError: it is another value.
    """
    if not isinstance(value, str) or isinstance(value, Number):
        raise ValueError(f"expected a text, found {shown(value)}")
    return value


def scalar_text(value: object) -> str:
    """Return the text of a JSON value without parts.

    Raises:
        ValueError: it is an object or array.
    """
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, (float, Decimal)):
        return _double_text(value)
    raise ValueError(f"expected a scalar, found {shown(value)}")


def _compact(value: object) -> str:
    """Return compact JSON, with numbers as Java writes them."""
    if isinstance(value, dict):
        return object_of([f"{quoted(key)}:{_compact(item)}" for key, item in value.items()])
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    if isinstance(value, Number):
        return _double_text(float(value))
    if isinstance(value, str):
        return quoted(value)
    return "null" if value is None else scalar_text(value)


def number_text(text: str) -> str:
    """Return the JSON of a number by its Java text; JSON has no NaN and Infinity, so they become strings."""
    return text if text[-1].isdigit() else f'"{text}"'
