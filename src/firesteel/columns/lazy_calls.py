"""Lazily evaluated calls: AND, OR, CASE, IF and COALESCE compute an operand only for the rows that need it.

An operand that cannot raise is computed for all rows, which is faster than selecting rows first.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns import column_types as t
from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.conversions import converted
from firesteel.columns.functions.function import Column, as_array
from firesteel.columns.rex import Call, Literal, Rex
from firesteel.columns.values import arrow_type

Memo = dict[Hashable, Column]
Node = Callable[[ColumnBatch, Memo], Column]


class Compiler(Protocol):
    """The part of the expression compiler that lazy calls need."""

    def compile(self, rex: Rex) -> Node:
        """Return the node that computes an expression."""

    def may_fail(self, rex: Rex) -> bool:
        """Return whether computing the expression may raise for some rows."""


def true_rows(column: Column, length: int) -> Array:
    """Return the mask of rows in which a boolean column is TRUE."""
    if isinstance(column, pa.Scalar):
        return np.full(length, bool(column.as_py()))
    if column.null_count:
        column = pc.fill_null(column, False)
    mask: Array = column.to_numpy(zero_copy_only=False)
    return mask


def _scatter(column: Column, mask: Array) -> Column:
    """Expand a column of the selected rows to all rows, with NULL in the others."""
    if isinstance(column, pa.Scalar):
        return column
    positions = np.cumsum(mask) - 1
    return column.take(pa.array(positions, pa.int64(), mask=~mask))


def _and_or(decides: bool, combine: Callable[[Column, Column], Column]) -> Callable[[Compiler, Call], Node]:
    """Return the compiler of AND (`decides` is False) or OR (`decides` is True).

    Rows whose left operand equals `decides` do not need the right one.
    """

    def build(compiler: Compiler, call: Call) -> Node:
        node = compiler.compile(call.operands[0])
        for operand in call.operands[1:]:
            node = pair(node, compiler.compile(operand), compiler.may_fail(operand))
        return node

    def pair(left_node: Node, right_node: Node, careful: bool) -> Node:
        def node(batch: ColumnBatch, memo: Memo) -> Column:
            left = left_node(batch, memo)
            if not careful:
                return combine(left, right_node(batch, memo))
            decided = left if decides else pc.invert(left)
            open_rows = ~true_rows(decided, len(batch))
            if not open_rows.any():
                return left
            if open_rows.all():
                return combine(left, right_node(batch, memo))
            # A memo of its own: the columns of the other one have all rows.
            return combine(left, _scatter(right_node(batch.filter(open_rows), {}), open_rows))

        return node

    return build


class _Branch:
    """A condition or value of CASE."""

    def __init__(self, compiler: Compiler, rex: Rex) -> None:
        self._node = compiler.compile(rex)
        self._careful = compiler.may_fail(rex)

    def condition(self, batch: ColumnBatch, memo: Memo, rows: Array) -> Array:
        """Return which of the given rows satisfy the condition."""
        if not self._careful or rows.all():
            return rows & true_rows(self._node(batch, memo), len(batch))
        result = np.zeros(len(batch), bool)
        if rows.any():
            result[rows] = true_rows(self._node(batch.filter(rows), {}), int(rows.sum()))
        return result

    def value(self, batch: ColumnBatch, memo: Memo, rows: Array) -> tuple[pa.Array, Array | int]:
        """Return values, and the position in them of each given row; at least one row is given."""
        count = int(rows.sum())
        if self._careful and count < len(batch):
            column = self._node(batch.filter(rows), {})
            positions = np.arange(count)
        else:
            column = self._node(batch, memo)
            positions = np.flatnonzero(rows)
        if isinstance(column, pa.Scalar):
            return pa.array([column.as_py()], column.type), 0
        return as_array(column, len(batch)), positions


def _case(compiler: Compiler, call: Call) -> Node:
    """Compile CASE; the operands are condition, value, condition, value, ..., and the value of ELSE."""
    operands = call.operands if len(call.operands) % 2 else (*call.operands, _null(call))
    conditions = [_Branch(compiler, rex) for rex in operands[:-1:2]]
    values = [_Branch(compiler, rex) for rex in (*operands[1:-1:2], operands[-1])]
    target = arrow_type(call.type)

    def node(batch: ColumnBatch, memo: Memo) -> Column:
        length = len(batch)
        if not length:
            return pa.array([], target)
        undecided = np.ones(length, bool)
        chosen = []
        for condition in conditions:
            rows = condition.condition(batch, memo, undecided)
            chosen.append(rows)
            undecided = undecided & ~rows
        chosen.append(undecided)
        parts: list[pa.Array] = []
        indices, offset = np.zeros(length, np.int64), 0
        for value, rows in zip(values, chosen, strict=True):
            if not rows.any():
                continue
            part, positions = value.value(batch, memo, rows)
            indices[rows] = positions + offset
            offset += len(part)
            parts.append(converted(part, target))
        return pa.concat_arrays(parts).take(pa.array(indices))

    return node


def _null(call: Call) -> Rex:
    return Literal(None, call.type)


def _coalesce(compiler: Compiler, call: Call) -> Node:
    """Compile COALESCE; as CASE if an operand may raise."""
    if any(map(compiler.may_fail, call.operands[1:])):
        operands: list[Rex] = []
        for operand in call.operands[:-1]:
            operands += (Call("IS NOT NULL", (operand,), t.BooleanType(False)), operand)
        return _case(compiler, Call("CASE", (*operands, call.operands[-1]), call.type))
    nodes = [compiler.compile(operand) for operand in call.operands]
    return lambda batch, memo: pc.coalesce(*[node(batch, memo) for node in nodes])


def _json_option(compiler: Compiler, call: Call) -> Node:
    """Compile a clause of a JSON function to its default, or NULL if it has none.

    The name and value of a clause are constants, not columns.
    """
    if len(call.operands) > 2:
        return compiler.compile(call.operands[2])
    null = pa.scalar(None, pa.null())
    return lambda batch, memo: null


LAZY: dict[str, Callable[[Compiler, Call], Node]] = {
    "AND": _and_or(False, pc.and_kleene),
    "OR": _and_or(True, pc.or_kleene),
    "CASE": _case,
    "IF": _case,
    "COALESCE": _coalesce,
    "IFNULL": _coalesce,
    "JSON OPTION": _json_option,
}
