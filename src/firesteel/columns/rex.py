"""Typed expressions over the columns of a row. Calcite: `RexNode`.

The planner creates them from the program; `firesteel.columns.evaluate` computes them over whole batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

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


def constant(rex: Rex) -> object:
    """Return the value of a constant."""
    assert isinstance(rex, Literal)
    return rex.value


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a built-in scalar function, by its SQL name, with operands cast to the types that it accepts.

    Operators are named by their sign or keyword (`+`, `=`, `<>`, `AND`, `NOT`, `IS NULL`, `LIKE`, `CASE`, `ITEM`, ...).
    """

    function: str
    operands: tuple[Rex, ...]
    type: DataType


class UserFunction(Protocol):
    """A user-defined function, as `udf` and the like make it."""

    name: str
    func: Any
    func_type: str

    @property
    def result_type(self) -> DataType:
        """The type of its results."""

    @property
    def eval(self) -> Callable[..., Any]:
        """The callable that computes a result from arguments."""

    def for_call(self) -> UserFunction:
        """Return a copy of the function that no other call of it shares."""

    def open(self, function_context: object) -> None:
        """Prepare the function; called once per subtask."""

    def close(self) -> None:
        """Release the function's resources."""


@dataclass(frozen=True, slots=True)
class UserCall:
    """A call of a user-defined scalar function.

    Attributes:
        function: The function made by `udf`. It is called with the Python values of one row, or with columns if it is a
            pandas function.
    """

    function: UserFunction
    operands: tuple[Rex, ...]
    type: DataType


@dataclass(frozen=True, slots=True)
class SubqueryValue:
    """The value of a subquery for each row; gone when the subquery has become a join. Calcite: `RexSubQuery`.

    Attributes:
        kind: EXISTS, IN, SCALAR, a comparison such as `> ALL`, or ROWS: all rows, as LATERAL has them.
        query: A node of the planner, with `OuterRef`s of the rows around; equal to itself alone.
        operands: The values that are compared with the columns of the query, if the kind compares, then those that the
            query reads of the rows around, in the order in which it reads them first.
        level: How many queries are around the rows around.
    """

    kind: str
    query: object
    operands: tuple[Rex, ...]
    type: DataType
    level: int


@dataclass(frozen=True, slots=True)
class OuterRef:
    """A value of a query around a subquery; gone when the subquery has become a join.

    Attributes:
        rex: The value, over the columns of that query's source.
        level: How many queries are around that query.
    """

    rex: Rex
    type: DataType
    level: int


@dataclass(frozen=True, slots=True)
class Deferred:
    """The result of an aggregate or OVER call, whose column is not known yet.

    Attributes:
        number: The kind of what gives it and, where there are several, its indexes or name.
    """

    number: tuple[str | int, ...]
    type: DataType


Rex = InputRef | Literal | Call | UserCall | SubqueryValue | OuterRef | Deferred


def input_columns(rex: Rex) -> Iterator[int]:
    """Yield the indexes of the columns that an expression reads."""
    if isinstance(rex, InputRef):
        yield rex.index
    elif isinstance(rex, (Call, UserCall, SubqueryValue)):
        for operand in rex.operands:
            yield from input_columns(operand)
