"""Compilation of typed expressions into functions over column batches."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

import pyarrow as pa

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.cells import Array
from firesteel.columns.conversions import converted
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.functions.function import CallSite, Column, as_array
from firesteel.columns.functions.function_errors import UnsupportedFunctionError
from firesteel.columns.functions.registry import find_function
from firesteel.columns.lazy_calls import LAZY, Memo, Node, true_rows
from firesteel.columns.rex import Call, InputRef, Literal, Rex, UserCall
from firesteel.columns.user_calls import UserFunctionNode
from firesteel.columns.values import arrow_type, to_arrow


class CompiledRex:
    """A compiled expression: computes one value per row of a batch.

    `open()` and `close()` open and close the user functions in the expression. The first batch opens them if the caller
    has not.

    Attributes:
        may_fail: Whether it may raise an error for some rows.
    """

    def __init__(self, rex: Rex, context: EvaluationContext) -> None:
        compiler = _Compiler(context)
        self.may_fail = compiler.may_fail(rex)
        # First, as only what occurs again is kept in the memo: a column there takes memory until the batch is done.
        compiler.count(rex)
        self._node = compiler.compile(rex)
        self._functions = compiler.functions
        self._opened = not self._functions

    def open(self) -> None:
        """Open the user functions."""
        if not self._opened:
            self._opened = True
            for function in self._functions:
                function.open()

    def close(self) -> None:
        """Close the user functions."""
        if self._functions and self._opened:
            self._opened = False
            for function in self._functions:
                function.close()

    def __call__(self, batch: ColumnBatch) -> pa.Array:
        """Return the value of the expression for each row."""
        if not self._opened:
            self.open()
        return as_array(self._node(batch, {}), len(batch))


class CompiledFilter:
    """A compiled condition: computes which rows of a batch satisfy it."""

    def __init__(self, rex: Rex, context: EvaluationContext) -> None:
        self._rex = CompiledRex(rex, context)
        self.open = self._rex.open
        self.close = self._rex.close

    def __call__(self, batch: ColumnBatch) -> Array:
        """Return a boolean per row: True where the condition is TRUE, False where it is FALSE or NULL."""
        return true_rows(self._rex(batch), len(batch))


def compile_rex(rex: Rex, context: EvaluationContext) -> CompiledRex:
    """Compile an expression to a function that computes it for the rows of a batch.

    Raises:
        UnsupportedFunctionError: The expression calls a function that firesteel does not implement.
    """
    return CompiledRex(rex, context)


def compile_filter(rex: Rex, context: EvaluationContext) -> CompiledFilter:
    """Compile a condition to a function that returns a boolean per row; NULL counts as FALSE."""
    return CompiledFilter(rex, context)


class _Compiler:
    """Compiles one expression; repeated subexpressions are computed once per batch."""

    def __init__(self, context: EvaluationContext) -> None:
        self.context = context
        self.functions: list[UserFunctionNode] = []
        self._counts: Counter[Hashable] = Counter()
        self._nodes: dict[Hashable, Node] = {}

    def count(self, rex: Rex) -> None:
        """Count how often each subexpression occurs."""
        if isinstance(rex, (Call, UserCall)):
            key = _key(rex)
            if key is not None:
                self._counts[key] += 1
            for operand in rex.operands:
                self.count(operand)

    def compile(self, rex: Rex) -> Node:
        """Return the node that computes an expression."""
        if isinstance(rex, InputRef):
            index = rex.index
            return lambda batch, memo: batch.columns[index]
        if isinstance(rex, Literal):
            scalar = to_arrow([rex.value], rex.type)[0]
            return lambda batch, memo: scalar
        key = _key(rex)
        if key in self._nodes:
            return self._nodes[key]
        assert isinstance(rex, Call | UserCall), f"an expression with a gap: {rex}"
        node = self._user_call(rex) if isinstance(rex, UserCall) else self._call(rex)
        if key is not None and self._counts[key] > 1:
            node = self._nodes[key] = _shared(key, node)
        return node

    def may_fail(self, rex: Rex) -> bool:
        """Return whether computing the expression may raise for some rows."""
        if isinstance(rex, UserCall):
            return True
        if not isinstance(rex, Call):
            return False
        function = find_function(rex.function)
        if function is not None and function.fails(CallSite(rex.operands, rex.type, self.context)):
            return True
        return any(map(self.may_fail, rex.operands))

    def _user_call(self, rex: UserCall) -> Node:
        operands = [self.compile(operand) for operand in rex.operands]
        node = UserFunctionNode(rex, operands, self.context)
        self.functions.append(node)
        return node

    def _call(self, rex: Call) -> Node:
        lazy = LAZY.get(rex.function)
        if lazy is not None:
            return lazy(self, rex)
        function = find_function(rex.function)
        if function is None:
            raise UnsupportedFunctionError(f"firesteel does not support the function {rex.function}")
        kernel = function.bind(CallSite(rex.operands, rex.type, self.context))
        operands = [self.compile(operand) for operand in rex.operands]
        target = arrow_type(rex.type)

        def node(batch: ColumnBatch, memo: Memo) -> Column:
            column = kernel([operand(batch, memo) for operand in operands], len(batch))
            return converted(column, target)

        return node


def _shared(key: Hashable, node: Node) -> Node:
    def shared(batch: ColumnBatch, memo: Memo) -> Column:
        column = memo.get(key)
        if column is None:
            column = memo[key] = node(batch, memo)
        return column

    return shared


def _key(rex: Rex) -> Hashable:
    """Return the key that equal expressions share, or None if each occurrence must be computed separately."""
    try:
        return _deterministic_key(rex)
    except (_NotShareableError, TypeError):
        return None


class _NotShareableError(Exception):
    pass


def _deterministic_key(rex: Rex) -> Hashable:
    if isinstance(rex, InputRef):
        return rex.index
    if isinstance(rex, Literal):
        key = ("literal", rex.value, rex.type)
        hash(key)
        return key
    if isinstance(rex, UserCall):
        if not getattr(rex.function, "deterministic", True):
            raise _NotShareableError
        name: Hashable = id(rex.function)
    else:
        assert isinstance(rex, Call), f"an expression with a gap: {rex}"
        function = find_function(rex.function)
        if function is not None and not function.deterministic:
            raise _NotShareableError
        name = rex.function
    return (name, rex.type, *map(_deterministic_key, rex.operands))
