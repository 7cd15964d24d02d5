"""Integers of the width of a type, as Java's `parseInt` and its like read them."""

from __future__ import annotations

import re

from firesteel.common.typeinfo import BasicType

_BITS = {BasicType.BYTE: 8, BasicType.SHORT: 16, BasicType.INT: 32, BasicType.LONG: 64}
_DIGITS = re.compile(r"[+-]?\d+")


def parse_whole(text: str, basic_type: BasicType) -> int:
    """Return the integer that a text is, which may be surrounded by blanks.

    Raises:
        ValueError: the text is no integer, such as `1_000`, or out of the type's range.
    """
    if not _DIGITS.fullmatch(text.strip()):
        raise ValueError(f"{text[:100]!r} is not an integer")
    return in_range(int(text), basic_type)


def in_range(value: int, basic_type: BasicType) -> int:
    """Return an integer unchanged.

    Raises:
        ValueError: the integer is out of the type's range.
    """
    bits = _BITS.get(basic_type)
    if bits is not None and not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{value} is out of the range of {basic_type.name}")
    return value
