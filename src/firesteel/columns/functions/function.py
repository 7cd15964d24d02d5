"""The definition of a built-in scalar function: its types and its kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.cells import Cell
from firesteel.columns.conversions import converted
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.pylist import pylist
from firesteel.columns.rex import Literal, Rex
from firesteel.columns.values import arrow_type
from firesteel.common.values.surrogates import without_surrogates

if TYPE_CHECKING:
    from collections.abc import Iterable

Types = Sequence[t.DataType]
Operands = Sequence[Rex]
Resolved = tuple[list[t.DataType], t.DataType]
Column: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar
"""An array with one value per row, or a scalar that holds for all rows."""

Kernel = Callable[[list[Column], int], Column]


@dataclass(frozen=True, slots=True)
class CallSite:
    """One call in a program, for which a kernel is made.

    Attributes:
        operands: The typed operands.
        type: The type of the result.
        context: The evaluation context of the expression.
    """

    operands: tuple[Rex, ...]
    type: t.DataType
    context: EvaluationContext

    @property
    def types(self) -> list[t.DataType]:
        """Return the types of the operands."""
        return [operand.type for operand in self.operands]

    @property
    def arrow_type(self) -> pa.DataType:
        """Return the Arrow type of the result."""
        return arrow_type(self.type)

    def literal(self, index: int, default: object = None) -> Cell:
        """Return the value of a constant operand, or `default` if it is missing or not constant."""
        operand = self.operands[index] if index < len(self.operands) else None
        return operand.value if isinstance(operand, Literal) else default


Bind = Callable[[CallSite], Kernel]

_SAMPLE = 256
"""Number of values that tell whether the values of a column repeat, so that a function is called once for each."""


def never(call: object) -> bool:
    """Return False: no call of the function has the property."""
    return False


def always(call: object) -> bool:
    """Return True: all calls of the function have the property."""
    return True


def may_fail(call: CallSite) -> bool:
    """Return True: the function may raise for some values."""
    return True


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in scalar function. Flink: `BuiltInFunctionDefinition`.

    Attributes:
        name: Its name in SQL.
        resolve: Returns, for the operands and their types, the types to cast the operands to and the result type.
            Raises `FunctionError` for operands that the function does not accept.
        bind: Creates the kernel of a call. A kernel takes one column per operand and the number of rows.
        deterministic: Whether equal calls return equal results for the same row.
        momentary: Returns whether the result of a call depends on when a row is processed, as that of `NOW()` in
            streaming mode.
        fails: Returns whether a call may raise. CASE and AND then compute it only for the rows that need it.
    """

    name: str
    resolve: Callable[[Types, Operands], Resolved]
    bind: Bind
    deterministic: bool = True
    momentary: Callable[[Operands], bool] = never
    fails: Callable[[CallSite], bool] = never


def as_array(column: Column, length: int) -> pa.Array:
    """Return a column as an array with one value per row."""
    if isinstance(column, pa.Scalar):
        return pa.repeat(column, length) if length else pa.array([], column.type)
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def all_scalars(columns: Sequence[Column]) -> bool:
    """Return whether every column is a scalar that holds for all rows."""
    return all(isinstance(column, pa.Scalar) for column in columns)


def per_row(make: Callable[[CallSite], Callable[..., Any]], null_call: bool = False, is_pure: bool = True) -> Bind:
    """Return the kernel of a Python function that is called with the values of one row.

    Args:
        make: Creates the function for a call. Its arguments and result are values as returned by `to_pylist`.
        null_call: Whether the function is called with NULLs; otherwise a NULL operand makes the result NULL.
        is_pure: Whether equal calls return equal results: where values repeat, the function is called once for each.
    """

    def bind(call: CallSite) -> Kernel:
        function, result_type = make(call), call.arrow_type

        def kernel(columns: list[Column], length: int) -> Column:
            constant = all_scalars(columns) and bool(columns)
            length, places = 1 if constant else length, None
            if is_pure:
                columns, places, length = _distinct(columns, length)
            rows = _rows(columns, length)
            if null_call:
                values = [function(*row) for row in rows]
            else:
                values = [None if None in row else function(*row) for row in rows]
            result = _array(values, result_type)
            return result[0] if constant else result if places is None else result.take(places)

        return kernel

    return bind


def _array(values: list[Cell], kind: pa.DataType) -> pa.Array:
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        return pa.array(list(map(_encodable, values)), kind)


def _encodable(value: Cell) -> Cell:
    """Return a value whose texts can be encoded: JSON can name halves of surrogate pairs."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {key: _encodable(item) for key, item in value.items()}
    return type(value)(map(_encodable, value)) if isinstance(value, list | tuple) else value


def _distinct(columns: list[Column], length: int) -> tuple[list[Column], pa.Array | None, int]:
    """Return each distinct row of operands once, if one operand is not constant and has few values.

    Returns:
        The operands, the place of each row among them or None if these are the rows themselves, and their number.
    """
    varying = [place for place, column in enumerate(columns) if not isinstance(column, pa.Scalar)]
    if len(varying) != 1 or length < _SAMPLE:
        return columns, None, length
    column = as_array(columns[varying[0]], length)
    # 0.0 and -0.0 are one value to Arrow; nested values have no dictionary.
    if pa.types.is_floating(column.type) or pa.types.is_nested(column.type) or pa.types.is_null(column.type):
        return columns, None, length
    sample = column.take(pa.array(np.linspace(0, length - 1, _SAMPLE).astype(np.int64)))
    # A dictionary of values that hardly repeat costs more than the calls that it saves.
    if pc.count_distinct(sample, mode="all").as_py() > _SAMPLE // 2:
        return columns, None, length
    encoded = column.dictionary_encode(null_encoding="encode")
    distinct = [encoded.dictionary if place == varying[0] else value for place, value in enumerate(columns)]
    return distinct, encoded.indices, len(encoded.dictionary)


def _rows(columns: list[Column], length: int) -> Iterable[tuple[Cell, ...]]:
    if not columns:
        return [()] * length
    lists = [[c.as_py()] * length if isinstance(c, pa.Scalar) else pylist(c) for c in columns]
    return zip(*lists, strict=True)


def plain(function: Callable[..., Any]) -> Callable[[CallSite], Callable[..., Any]]:
    """Return a `make` for `per_row` that uses the same function for all calls."""
    return lambda call: function


def vector(function: Callable[..., Column]) -> Bind:
    """Return the kernel of a columnar function whose result already has the right Arrow type."""
    return lambda call: lambda columns, length: function(*columns)


def vector_cast(function: Callable[..., Column]) -> Bind:
    """Return the kernel of a columnar function whose result is cast to the Arrow type of the call."""

    def bind(call: CallSite) -> Kernel:
        target = call.arrow_type
        return lambda columns, length: converted(function(*columns), target)

    return bind
