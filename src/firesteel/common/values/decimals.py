"""Decimals of a precision and a scale, and arithmetic that keeps all of their digits."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

__all__ = ["EXACT", "fitted", "unscaled"]

EXACT = Context(prec=1000)
"""The context of all arithmetic with decimals of users: `+`, `-`, `abs` and methods without it round to 28 digits."""


def fitted(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a number rounded to a scale, or None if it then has more digits than the precision.

    Flink: `DecimalData.fromBigDecimal`.

    Example:
        >>> fitted(Decimal("1.5"), 2, 0), fitted(Decimal("99.5"), 2, 0)
        (Decimal('2'), None)
        >>> fitted(Decimal("1e2000"), 2, 0) is None  # of more digits than could be rounded
        True
    """
    if number and number.adjusted() >= precision:
        return None
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, EXACT)
    return rounded if len(rounded.as_tuple().digits) <= precision or not rounded else None


def unscaled(number: Decimal, scale: int) -> int:
    """Return the digits of a number, of which `scale` are behind the point, as an integer.

    Example:
        >>> unscaled(Decimal("-1.5"), 2)
        -150
    """
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), f"{number} is no finite number"
    return int(Decimal((sign, digits, exponent + scale)))
