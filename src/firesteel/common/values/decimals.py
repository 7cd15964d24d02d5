"""Decimals of a precision and a scale."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Context, Decimal

__all__ = ["fitted"]

_WIDE = Context(prec=100)


def fitted(number: Decimal, precision: int, scale: int) -> Decimal | None:
    """Return a number rounded to a scale, or None if it then has more digits than the precision.

    Flink: `DecimalData.fromBigDecimal`.

    Example:
        >>> fitted(Decimal("1.5"), 2, 0), fitted(Decimal("99.5"), 2, 0)
        (Decimal('2'), None)
    """
    rounded = number.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _WIDE)
    return rounded if len(rounded.as_tuple().digits) <= precision or not rounded else None
