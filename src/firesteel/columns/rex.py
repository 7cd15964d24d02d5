"""Typed expressions over the columns of a row. Calcite: `RexNode`.

The planner makes them of what a program says, `firesteel.columns.evaluate` computes them over whole batches.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class InputRef:
    """The column at an index of the input.

    Attributes:
        type: Its logical type, one of `firesteel.columns.types`.
    """

    index: int
    type: Any


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant: a Python value as `collect` would give it (Decimal, datetime, timedelta, str ...), or None."""

    value: Any
    type: Any


@dataclass(frozen=True, slots=True)
class Call:
    """A scalar function of the library, by its name in SQL, with operands that were cast to what it takes.

    Operators have their sign for a name (`+`, `=`, `<>`, `AND`, `NOT`, `IS NULL`, `LIKE`, `CASE`, `CAST`, `ITEM`...).
    """

    function: str
    operands: tuple[Rex, ...]
    type: Any


@dataclass(frozen=True, slots=True)
class UserCall:
    """A scalar function of the user.

    Attributes:
        function: What `udf` made: called with Python values of one row, or with columns if it is a pandas function.
    """

    function: Any = field(compare=False)
    operands: tuple[Rex, ...]
    type: Any


Rex = InputRef | Literal | Call | UserCall
