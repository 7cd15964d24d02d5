"""A correlated subquery computed for all outer values at once. Neumann and Kemper, Unnesting Arbitrary Queries, 2015.

The domain is the distinct outer values that a subquery reads. It is joined below the nodes that read them, and each
node above is computed per value of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from firesteel.columns.column_types import RowType
from firesteel.columns.rex import OuterRef, Rex
from firesteel.common.table_errors import TableException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.joins import make_join
from firesteel.table.planner.rel.outer_refs import is_correlated
from firesteel.table.planner.rel.projections import distinct
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, refs, row_type, shift, transform, unique_names
from firesteel.table.planner.rel.time_attributes import without_time_attribute

Rules = Mapping[type, Callable[["Domain", object, list[Rex]], Rel]]
"""(domain, node, conditions as of `Domain.joined`) -> what `Domain.joined` returns, by type of node."""


class Domain:
    """The distinct values of outer rows that a subquery reads.

    Args:
        outer: The node of the outer rows.
        values: The expressions over it.
        level: The level of the outer query.
        is_streaming: Whether the plan runs in streaming mode.
        rules: How nodes are computed per value.
    """

    def __init__(self, outer: Rel, values: Sequence[Rex], level: int, is_streaming: bool, rules: Rules) -> None:
        self.values = tuple(values)
        self.level = level
        self.is_streaming = is_streaming
        self._rules = rules
        kinds = [without_time_attribute(value.type) for value in values]
        names = [f"$cor{i}" for i in range(len(values))]
        self.node = distinct(rel.Project(outer, self.values, row_type(names, kinds)))
        # With the node, as an id may be given to another node once it is gone.
        self._memo: dict[int, tuple[Rel, Rel]] = {}

    def joined(self, node: Rel, conditions: Sequence[Rex] = ()) -> Rel:
        """Return a node for each value of the domain: its own columns, then those of the domain.

        Args:
            node: The node, a part of the subquery.
            conditions: Conditions over these columns; rows for which one is not true are left out.

        Raises:
            TableException: The node can't be computed per value.
        """
        if not is_correlated(node, self.level):
            return make_join(node, self.node, "INNER", conjunction(list(conditions)), self.is_streaming)
        rule = self._rules.get(type(node))
        if rule is None:
            raise cannot_unnest(self.level)
        if conditions:
            return rule(self, node, list(conditions))
        if id(node) not in self._memo:
            self._memo[id(node)] = (node, rule(self, node, []))
        return self._memo[id(node)][1]

    def bound(self, rex: Rex, start: int) -> Rex:
        """Return an expression that reads the domain's columns, which begin at an index."""

        def bind(part: Rex) -> Rex | None:
            if isinstance(part, OuterRef) and part.level == self.level:
                return self.columns(start)[self.values.index(part.rex)]
            return None

        return transform(rex, bind)

    def columns(self, start: int) -> tuple[Rex, ...]:
        """Return the references to the domain's columns, which begin at an index."""
        return tuple(shift(ref, start) for ref in refs(self.node.row_type))

    def places(self, node: Rel) -> tuple[int, ...]:
        """Return the indexes of the domain's columns in a node that `joined` returned."""
        width = len(node.row_type)
        return tuple(range(width - len(self.values), width))

    def kind(self, node: Rel) -> RowType:
        """Return the columns of a node, then those of the domain."""
        row, own = self.node.row_type, node.row_type
        return row_type(unique_names([*own.names, *row.names]), [*own.field_types(), *row.field_types()])


def cannot_unnest(level: int) -> TableException:
    """Return Flink's error for a correlated subquery that does not become a join."""
    return TableException(f"unexpected correlate variable $cor{level} in the plan")
