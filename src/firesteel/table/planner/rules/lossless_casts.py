"""Comparisons of a cast column with a constant, as comparisons of the column. Calcite: `RexSimplify`."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext

from firesteel.columns.column_types import (
    BigIntType,
    BooleanType,
    DataType,
    DecimalType,
    IntType,
    SmallIntType,
    TinyIntType,
)
from firesteel.columns.rex import Call, Literal, Rex

__all__ = ["FALSE", "compared_as_column", "one_of_column"]

_ENDS = ((TinyIntType, 2**7), (SmallIntType, 2**15), (IntType, 2**31), (BigIntType, 2**63))
FALSE = Literal(False, BooleanType(False))
_ROUNDINGS = {">": ROUND_FLOOR, "<=": ROUND_FLOOR, "<": ROUND_CEILING, ">=": ROUND_CEILING}
"""Where the bound of a comparison goes if the column has no such value: `x > 1.5` is `x > 1` of whole numbers."""


def compared_as_column(rex: Call) -> Rex:
    """Return a comparison without the cast of its first operand, if the cast keeps all values of exact numbers.

    The result is TRUE for the same rows; it may be FALSE where it was NULL.
    """
    first, second = rex.operands
    if not (isinstance(first, Call) and first.function == "CAST" and isinstance(second, Literal)):
        return rex
    (column,) = first.operands
    limits = _limits(column.type)
    if limits is None or second.value is None or not _keeps_values(column.type, first.type):
        return rex
    return _compared(rex, column, Decimal(second.value), limits)


def one_of_column(rex: Call) -> Rex:
    """Return an IN without the cast of its first operand, if the cast keeps all values of exact numbers."""
    value, *constants = rex.operands
    if not all(isinstance(constant, Literal) and constant.value is not None for constant in constants):
        return rex
    equations = [compared_as_column(Call("=", (value, constant), rex.type)) for constant in constants]
    found = [one for one in equations if isinstance(one, Call)]
    if not found:
        return FALSE
    column = found[0].operands[0]
    return Call("IN", (column, *(one.operands[1] for one in found)), rex.type)


def _compared(rex: Call, column: Rex, value: Decimal, limits: _Limits) -> Rex:
    # With the 28 digits of Python's default, `quantize` fails for a DECIMAL(38).
    with localcontext(prec=100):
        bound = value.quantize(Decimal(1).scaleb(-limits.scale), _ROUNDINGS.get(rex.function, ROUND_FLOOR))
    if not limits.least <= bound <= limits.greatest or (bound != value and rex.function in ("=", "<>")):
        is_below = bound < limits.least
        holds = rex.function == "<>" or (rex.function != "=" and (rex.function in (">", ">=")) is is_below)
        return Call("IS NOT NULL", (column,), BooleanType(False)) if holds else FALSE
    kind = column.type.not_null()
    constant = Literal(bound if isinstance(kind, DecimalType) else int(bound), kind)
    return Call(rex.function, (column, constant), rex.type)


@dataclass(frozen=True, slots=True)
class _Limits:
    """The exact numbers of a type: all multiples of 10 to the power of `-scale` within the bounds."""

    least: Decimal
    greatest: Decimal
    scale: int


def _limits(kind: DataType) -> _Limits | None:
    if isinstance(kind, DecimalType):
        greatest = (Decimal(10) ** kind.precision - 1).scaleb(-kind.scale, Context(prec=100))
        return _Limits(-greatest, greatest, kind.scale)
    end = next((end for integer, end in _ENDS if isinstance(kind, integer)), None)
    return None if end is None else _Limits(Decimal(-end), Decimal(end - 1), 0)


def _keeps_values(kind: DataType, wider: DataType) -> bool:
    source, target = _limits(kind), _limits(wider)
    if source is None or target is None:
        return False
    return target.least <= source.least and source.greatest <= target.greatest and source.scale <= target.scale
