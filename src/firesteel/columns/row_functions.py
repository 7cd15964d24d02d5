"""Expressions over single rows, without arrays: where the next row depends on the result of the one before.

Functions and types that are not named here are computed over a batch of one row, which takes a hundred times as long.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.data_type import DataType
from firesteel.columns.functions.accumulators import wrap
from firesteel.columns.rex import Call, InputRef, Literal, Rex

RowFunction = Callable[[Cell], Cell]
"""A function of a row, or of what stands for one."""

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


def row_function(rex: Rex, columns: Sequence[RowFunction] | None = None) -> RowFunction | None:
    """Return an expression as a function of one row, or None if it has other functions or types.

    Args:
        rex: The expression.
        columns: How the value of each column is found in what the function is called with, if that is no row.
    """
    if isinstance(rex, InputRef):
        return operator.itemgetter(rex.index) if columns is None else columns[rex.index]
    if isinstance(rex, Literal):
        value = rex.value
        return lambda row: value
    if not isinstance(rex, Call):
        return None
    operands = [row_function(operand, columns) for operand in rex.operands]
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
            return _of_doubles(operands, _COMPARISONS[name])
        return _unless_null(operands, _COMPARISONS[name]) if isinstance(types[0], _PLAIN) else None
    if name in _ARITHMETIC and len(types) == 2 and {type(rex.type)} == set(map(type, types)):
        return _arithmetic(_ARITHMETIC[name], rex.type, operands)
    return None


def _unless_null(operands: list[RowFunction], function: Callable[..., Cell]) -> RowFunction:
    """Return a function that is NULL if an operand is."""
    if len(operands) == 1:
        (inner,) = operands

        def of_one(row: Cell) -> Cell:
            value = inner(row)
            return None if value is None else function(value)

        return of_one
    first, second = operands

    def of_two(row: Cell) -> Cell:
        a, b = first(row), second(row)
        return None if a is None or b is None else function(a, b)

    return of_two


def _of_doubles(operands: list[RowFunction], function: Callable[[Cell, Cell], Cell]) -> RowFunction:
    """Return a function of two doubles that is NULL if one of them is."""
    first, second = operands

    def of_two(row: Cell) -> Cell:
        a, b = first(row), second(row)
        # Rows have `NAN`, which equals itself; `float` makes the NaN of it that equals nothing, as in expressions.
        return None if a is None or b is None else function(float(a), float(b))

    return of_two


def _logical(operands: list[RowFunction], decisive: bool) -> RowFunction:
    """Return AND (False decides) or OR (True decides) in three-valued logic."""

    def decided(row: Cell) -> bool | None:
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
        return _of_doubles(operands, function)
    bits = _BITS.get(type(kind))
    return None if bits is None else _unless_null(operands, lambda a, b: wrap(function(a, b), bits))
