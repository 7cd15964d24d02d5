"""Resolved expressions (module as `pyflink.table.resolved_expression`)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from firesteel.table.expression import Expression
from firesteel.table.expression_functions.expression_summary import expression_summary
from firesteel.table.expression_functions.expression_text import expression_sql
from firesteel.table.syntax.unresolved import Apply

if TYPE_CHECKING:
    from firesteel.table.types import DataType

__all__ = ["ResolvedExpression"]


class ResolvedExpression(Expression[Any]):
    """An expression with its type (Flink: `ResolvedExpression`), as returned by `ResolvedSchema`.

    Args:
        node: The unresolved expression.
        data_type: The type of its values.
        text: Its text; by default derived from the node.
    """

    def __init__(self, node: Any, data_type: Any = None, text: str = "") -> None:
        super().__init__(node)
        self._data_type = data_type
        self._text = text

    def as_serializable_string(self) -> str:
        """Return the expression as SQL."""
        return expression_sql(self._node)

    def as_summary_string(self) -> str:
        """Return the expression for messages."""
        return self._text or expression_summary(self._node)

    def __str__(self) -> str:
        return self.as_summary_string()

    def get_output_data_type(self) -> DataType:
        """Return the type of its values."""
        return self._data_type  # type: ignore[no-any-return]

    def get_resolved_children(self) -> list[ResolvedExpression]:
        """Return the operands of a call."""
        operands = self._node.operands if isinstance(self._node, Apply) else ()
        return [ResolvedExpression(operand) for operand in operands]
