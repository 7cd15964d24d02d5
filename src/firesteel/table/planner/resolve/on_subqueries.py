"""Subqueries in the condition of an outer join: a column with the value of each is added to the side that it reads."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.columns.rex import InputRef
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import of_sides
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type, unique_names
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, ScopeColumn
from firesteel.table.planner.resolve.subqueries import Subqueries
from firesteel.table.planner.rules.domain import cannot_unnest
from firesteel.table.syntax.unresolved import Apply, Ref, Subquery, Unresolved

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver

Side = tuple[Rel, Scope]


class OnSubqueries:
    """The sides of an outer join, which get columns with the values of subqueries in its condition.

    Args:
        queries: Resolves the subqueries.
        left: The left input and its columns.
        right: The right input.
        both: The columns of both.
    """

    def __init__(self, queries: QueryResolver, left: Side, right: Side, both: Scope) -> None:
        self._queries = queries
        self._both = both
        self._names = 0
        self.sides = [left, right]

    def without(self, condition: Unresolved) -> Unresolved:
        """Return a condition that reads columns of the sides in place of its subqueries.

        Raises:
            TableException: a subquery refers to both sides.
            ValidationException: a subquery is not valid.
        """
        if isinstance(condition, Subquery):
            return self._column_of(condition)
        if isinstance(condition, Apply):
            return replace(condition, operands=tuple(map(self.without, condition.operands)))
        return condition

    def _column_of(self, subquery: Subquery) -> Ref:
        resolver = ExpressionResolver(self._both, self._queries.context.catalogs, self._of(self._both).add)
        resolver.resolve(subquery)  # for errors other than that it is not of one side
        for place, side in enumerate(self.sides):
            try:
                self.sides[place], name = self._with_column(side, subquery)
            except ValidationException:
                continue
            return Ref((name,))
        raise cannot_unnest(self._both.level)

    def _of(self, scope: Scope) -> Subqueries:
        return Subqueries(self._queries, scope)

    def _with_column(self, side: Side, subquery: Subquery) -> tuple[Side, str]:
        node, scope = side
        subqueries = self._of(scope)
        value = ExpressionResolver(scope, self._queries.context.catalogs, subqueries.add).resolve(subquery)
        attached, (value,) = subqueries.attach(node, [value])
        name = f"$on{self._names}"
        self._names += 1
        names = unique_names([*node.row_type.names, name])
        kind = row_type(names, [*node.row_type.field_types(), value.type])
        width = len(node.row_type)
        grown = rel.Project(attached, (*refs(attached.row_type)[:width], value), kind)
        column = ScopeColumn(name, (), InputRef(width, value.type), in_star=False)
        return (grown, Scope([*scope.columns, column], scope.outer)), name


def without_added_columns(node: Rel, left: Rel, right: Rel, grown: Rel) -> Rel:
    """Return a join without the columns that were added to its sides.

    Args:
        node: The join of the sides with more columns.
        left: The left side as it was.
        right: The right side as it was.
        grown: The left side with more columns.
    """
    width, start, types = len(left.row_type), len(grown.row_type), node.row_type.field_types()
    names = unique_names([*left.row_type.names, *right.row_type.names])
    kept = [*types[:width], *types[start : start + len(right.row_type)]]
    return of_sides(node, width, start, row_type(names, kept))
