"""Constants of expressions as text."""

from __future__ import annotations

from decimal import Decimal

from firesteel.pyflink1.tables.text_expressions.tokens import Token
from firesteel.table.expression import Expression
from firesteel.table.expressions import lit
from firesteel.table.types import DataTypes

_MAX_INT = 2**31 - 1


def number(token: Token) -> Expression[object]:
    """Return a number: INT, BIGINT (`1L`), DECIMAL (`1.5p`), FLOAT (`1.5f`) or DOUBLE.

    Raises:
        ValueError: an INT is too large, as in Java.
    """
    digits, suffix = token.text.rstrip("lLfFdDpP"), token.text[-1].lower()
    if suffix == "l":
        return lit(int(digits), DataTypes.BIGINT().not_null())
    if suffix == "p":
        return lit(Decimal(digits))
    if suffix == "f":
        return lit(float(digits), DataTypes.FLOAT().not_null())
    if suffix != "d" and digits.isdigit():
        return _int(int(digits))
    return lit(float(digits), DataTypes.DOUBLE().not_null())


def _int(value: int) -> Expression[object]:
    if value > _MAX_INT:
        raise ValueError(f"{value} is no INT; write {value}L")
    return lit(value, DataTypes.INT().not_null())


def text(token: Token) -> Expression[object]:
    """Return a text, without its quotes."""
    quote = token.text[0]
    return lit(token.text[1:-1].replace(quote * 2, quote))
