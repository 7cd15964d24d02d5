"""The common part of expressions: their node and the conversion of operands."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from firesteel.table.syntax.unresolved import Apply, Lit, Unresolved

if TYPE_CHECKING:
    from firesteel.table.expression import Expression


class ExpressionBase(ABC):
    """A node of `firesteel.table.syntax.unresolved` and the means to build larger ones around it."""

    _node: Unresolved

    @abstractmethod
    def _wrap(self, node: Unresolved) -> Expression[Any]:
        """Return an expression around a node."""

    def _call(self, function: str, *operands: object) -> Expression[Any]:
        """Return a call of a function with this expression as first operand; trailing `None`s are left out."""
        return self._wrap(Apply(function, (self._node, *operand_nodes(operands))))


def operand_nodes(operands: tuple[object, ...]) -> tuple[Unresolved, ...]:
    """Return the nodes of operands, without trailing ones that are None (optional arguments)."""
    count = len(operands)
    while count and operands[count - 1] is None:
        count -= 1
    return tuple(node_of(operand) for operand in operands[:count])


def node_of(value: object) -> Unresolved:
    """Return the node of an expression, or a literal of a Python value."""
    return value._node if isinstance(value, ExpressionBase) else Lit(value)  # noqa: SLF001 - the door to it


def unary(function: str, doc: str) -> property:
    """Return a property that calls a function with the expression as its only operand."""

    def call(self: ExpressionBase) -> Expression[Any]:
        return self._call(function)

    call.__doc__ = doc
    return property(call)
