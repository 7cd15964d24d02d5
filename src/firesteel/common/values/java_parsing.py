"""Texts of numbers and truth values as Java parses them (`Integer.valueOf`, `new BigDecimal` and their like)."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

__all__ = ["parse_boolean", "parse_decimal", "parse_double", "parse_integer", "trimmed"]

_BLANKS = "".join(map(chr, range(33)))
_DIGITS = re.compile(r"[+-]?\d+")
_SIMPLE = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_DOUBLE = re.compile(r"[+-]?(NaN|Infinity|([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?)")
_HEXADECIMAL = re.compile(r"[+-]?0[xX]([0-9a-fA-F]+\.?[0-9a-fA-F]*|\.[0-9a-fA-F]+)[pP][+-]?[0-9]+[fFdD]?")
_DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def trimmed(text: str) -> str:
    """Return a text without blanks and control characters around it, as `String.trim`; other spaces stay.

    Example:
        >>> trimmed(" a ")
        'a'
    """
    return text.strip(_BLANKS)


def parse_integer(text: str, bits: int | None, name: str) -> int:
    """Return the integer that a text is, which may be surrounded by blanks.

    Args:
        text: Such as `+12`.
        bits: The width of the type; None for any size.
        name: The type, for the error.

    Raises:
        ValueError: the text is no integer, such as `1_000`, or out of the type's range.

    Example:
        >>> parse_integer(" 12 ", 8, "BYTE")
        12
    """
    if not _DIGITS.fullmatch(text):
        if (plain := trimmed(text)) == text:
            raise ValueError(f"{text[:100]!r} is not an integer")
        return parse_integer(plain, bits, name)
    value = int(text)
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} is out of the range of {name}")
    return value


def parse_double(text: str) -> float:
    """Return the floating-point number that a text is; Java knows `NaN` and `Infinity`, but not `nan` and `inf`.

    Raises:
        ValueError: the text is no number.

    Example:
        >>> parse_double("1.5f"), parse_double("-Infinity")
        (1.5, -inf)
    """
    if _SIMPLE.fullmatch(text):
        return float(text)
    plain = trimmed(text)
    if _DOUBLE.fullmatch(plain):
        return float(plain.rstrip("fFdD") if plain[-1] in "fFdD" else plain.replace("Infinity", "inf"))
    if _HEXADECIMAL.fullmatch(plain):
        return float.fromhex(plain.rstrip("fFdD"))
    raise ValueError(f"{text[:100]!r} is not a number")


def parse_decimal(text: str) -> Decimal:
    """Return the decimal number that a text is, with all its digits.

    Raises:
        ValueError: the text is no number, such as `NaN`.

    Example:
        >>> parse_decimal("1.50")
        Decimal('1.50')
    """
    plain = trimmed(text)
    if not _DECIMAL.fullmatch(plain):
        raise ValueError(f"{text[:100]!r} is not a number")
    try:
        return Decimal(plain)
    except InvalidOperation:  # an exponent out of all bounds
        raise ValueError(f"{text[:100]!r} is not a number") from None


def parse_boolean(text: str) -> bool:
    """Return whether a text is `true` in any case; all others are false."""
    return trimmed(text).lower() == "true"
