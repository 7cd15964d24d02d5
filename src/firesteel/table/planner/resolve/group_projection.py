"""The columns that an aggregate reads."""

from __future__ import annotations

from firesteel.columns.column_types import (
    RowType,
)
from firesteel.columns.rex import InputRef, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import row_type, unique_names


class GroupProjection:
    """The columns that an aggregate reads: keys and arguments, without duplicates."""

    def __init__(self, node: Rel) -> None:
        self._node = node
        self._expressions: list[Rex] = []
        self._names: list[str] = []
        self._apart = 0

    def keep_apart(self) -> None:
        """Give later expressions columns of their own: a grouping set replaces keys by NULL, and not arguments."""
        self._apart = len(self._expressions)

    def column(self, rex: Rex, name: str = "") -> int:
        """Return the index of the column of an expression, adding it if necessary."""
        if rex not in self._expressions[self._apart :]:
            self._expressions.append(rex)
            known = self._node.row_type.names[rex.index] if isinstance(rex, InputRef) else ""
            self._names.append(name or known or f"$f{len(self._names)}")
        return self._expressions.index(rex, self._apart)

    def node(self) -> Rel:
        """Return the node with these columns."""
        kind: RowType = row_type(unique_names(self._names), [rex.type for rex in self._expressions])
        return rel.Project(self._node, tuple(self._expressions), kind)
