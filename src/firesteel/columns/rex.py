"""Typed expressions over the columns of a row. Calcite: `RexNode`.

The planner creates them from the program; `firesteel.columns.evaluate` computes them over whole batches.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from firesteel.columns.data_type import DataType


@dataclass(frozen=True, slots=True)
class InputRef:
    """The column at an index of the input.

    Attributes:
        type: Its logical type, from `firesteel.columns.column_types`.
    """

    index: int
    type: DataType


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a Python value as returned by `collect` (Decimal, datetime, timedelta, str, ...), or None."""

    value: Any
    type: DataType


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a built-in scalar function, by its SQL name, with operands cast to the types that it accepts.

    Operators are named by their sign or keyword (`+`, `=`, `<>`, `AND`, `NOT`, `IS NULL`, `LIKE`, `CASE`, `ITEM`, ...).
    """

    function: str
    operands: tuple[Rex, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of a user-defined scalar function.

    Attributes:
        function: The function made by `udf`. It is called with the Python values of one row, or with columns if it is a
            pandas function.
    """

    function: Any
    operands: tuple[Rex, ...]
    type: DataType


Rex = InputRef | Literal | Call | UserCall


def input_columns(rex: Rex) -> Iterator[int]:
    """Yield the indexes of the columns that an expression reads."""
    if isinstance(rex, InputRef):
        yield rex.index
    elif isinstance(rex, (Call, UserCall)):
        for operand in rex.operands:
            yield from input_columns(operand)
