"""Expressions over single rows, without arrays: where the next row depends on the result of the one before.

Functions and types that are not named here are computed over a batch of one row, which takes a hundred times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.data_type import DataType
from firesteel.columns.functions.accumulators import wrap
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.columns.rows import Row

RowFunction = Callable[[Row], Cell]

_COMPARISONS: dict[str, Callable[[Cell, Cell], bool]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ARITHMETIC: dict[str, Callable[[Cell, Cell], Cell]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
_BITS: dict[type[DataType], int] = {t.TinyIntType: 8, t.SmallIntType: 16, t.IntType: 32, t.BigIntType: 64}
_PLAIN = (*_BITS, t.BooleanType, t.CharType, t.VarCharType, t.DateType, t.DecimalType, t.TimestampType)
"""Types whose Python values compare as those of SQL do. NaN of floats does not: in rows it equals itself."""


def row_function(rex: Rex) -> RowFunction | None:
    """Return an expression as a function of one row, or None if it has other functions or types."""
    if isinstance(rex, InputRef):
        index = rex.index
        return lambda row: row[index]
    if isinstance(rex, Literal):
        value = rex.value
        return lambda row: value
    if not isinstance(rex, Call):
        return None
    operands = [row_function(operand) for operand in rex.operands]
    functions = [operand for operand in operands if operand is not None]
    return _call(rex, functions) if len(functions) == len(operands) else None


def _call(rex: Call, operands: list[RowFunction]) -> RowFunction | None:
    name, types = rex.function, [operand.type for operand in rex.operands]
    if name in ("AND", "OR"):
        return _logical(operands, name == "OR")
    if name == "NOT":
        return _unless_null(operands, operator.not_)
    if name in ("IS NULL", "IS NOT NULL"):
        (inner,), is_null = operands, name == "IS NULL"
        return lambda row: (inner(row) is None) == is_null
    if name in _COMPARISONS and len(types) == 2 and type(types[0]) is type(types[1]):
        if isinstance(types[0], t.DoubleType):
            compare = _COMPARISONS[name]
            # Rows have `NAN`, which equals itself; `float` makes the NaN of it that equals nothing, as in expressions.
            return _unless_null(operands, lambda a, b: compare(float(a), float(b)))
        return _unless_null(operands, _COMPARISONS[name]) if isinstance(types[0], _PLAIN) else None
    if name in _ARITHMETIC and len(types) == 2 and {type(rex.type)} == set(map(type, types)):
        return _arithmetic(_ARITHMETIC[name], rex.type, operands)
    return None


def _unless_null(operands: list[RowFunction], function: Callable[..., Cell]) -> RowFunction:
    """Return a function that is NULL if an operand is."""
    if len(operands) == 1:
        (inner,) = operands

        def of_one(row: Row) -> Cell:
            value = inner(row)
            return None if value is None else function(value)

        return of_one
    first, second = operands

    def of_two(row: Row) -> Cell:
        a, b = first(row), second(row)
        return None if a is None or b is None else function(a, b)

    return of_two


def _logical(operands: list[RowFunction], decisive: bool) -> RowFunction:
    """Return AND (False decides) or OR (True decides) in three-valued logic."""

    def decided(row: Row) -> bool | None:
        is_unknown = False
        for operand in operands:
            value: bool | None = operand(row)
            if value is decisive:
                return value
            is_unknown |= value is None
        return None if is_unknown else not decisive

    return decided


def _arithmetic(
    function: Callable[[Cell, Cell], Cell], kind: DataType, operands: list[RowFunction]
) -> RowFunction | None:
    if isinstance(kind, t.DoubleType):
        return _unless_null(operands, lambda a, b: function(float(a), float(b)))
    bits = _BITS.get(type(kind))
    return None if bits is None else _unless_null(operands, lambda a, b: wrap(function(a, b), bits))
