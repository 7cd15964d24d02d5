"""Resolution of joins in FROM: conditions, and the columns of both sides."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType
from firesteel.columns.rex import InputRef, Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_time
from firesteel.table.planner.rel.equi_joins import joined_type
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import shift
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, ScopeColumn, Side
from firesteel.table.planner.resolve.select_hints import SelectHints, input_name
from firesteel.table.planner.resolve.subqueries import subqueries_of
from firesteel.table.syntax import queries as q
from firesteel.table.syntax.unresolved import Ref, Unresolved

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


class JoinResolver:
    """A resolver of joins whose sides are resolved.

    Args:
        queries: Resolves nested queries.
        outer: The scope of the enclosing query.
        hints: The hints of the SELECT, which joins look up.
    """

    def __init__(self, queries: QueryResolver, outer: Scope | None, hints: SelectHints) -> None:
        self._queries = queries
        self._context = queries.context
        self._outer = outer
        self._hints = hints

    def join(self, item: q.Join, left: Side, right: Side, as_of: Unresolved | None) -> Side:
        """Return the join of two sides.

        Args:
            item: The join.
            left: Its left side.
            right: Its right side.
            as_of: The time of FOR SYSTEM_TIME AS OF, or None.

        Raises:
            ValidationException: a name is unknown, or there is no such join.
        """
        both = self._side_by_side(left, right)
        kind = "INNER" if item.kind == "CROSS" else item.kind
        time = None if as_of is None else self._resolver(left[1]).resolve(as_of)
        condition = self._condition(item, both, left, right)
        types = joined_type(left[0].row_type, right[0].row_type, kind)
        join = rel.Join(left[0], right[0], kind, (), (), condition, types, False, self._ttl(item), None)
        node = join if time is None else rel.TemporalJoin(join, _time_column(kind, time), None)
        if kind in ("SEMI", "ANTI"):
            return node, left[1]
        return node, self._joined_scope(item, node, left, right)

    # --- conditions --------------------------------------------------------------------------------------------------

    def _condition(self, item: q.Join, both: Scope, left: Side, right: Side) -> Rex | None:
        names = _using(item, left[1], right[1])
        if names:
            return self._equal(names, left, right)
        if item.condition is None:
            return None
        subqueries = None if item.kind in ("SEMI", "ANTI") else subqueries_of(self._queries, both)
        condition = ExpressionResolver(both, self._context.catalogs, subqueries).resolve(item.condition)
        if not isinstance(condition.type, BooleanType):
            raise ValidationException("SQL validation failed. ON clause must be a condition")
        return condition

    def _equal(self, names: tuple[str, ...], left: Side, right: Side) -> Rex:
        resolver, width = self._resolver(Scope(())), len(left[0].row_type)
        pairs = [(left[1].find(Ref((name,))), shift(right[1].find(Ref((name,))), width)) for name in names]
        parts: list[Rex] = [resolver.call("=", pair) for pair in pairs]
        return reduce(lambda a, b: resolver.call("AND", (a, b)), parts)

    def _ttl(self, item: q.Join) -> tuple[str | None, str | None]:
        return self._hints.of_join(input_name(item.left), input_name(item.right))

    def _resolver(self, scope: Scope) -> ExpressionResolver:
        return ExpressionResolver(scope, self._context.catalogs)

    # --- columns of the result ---------------------------------------------------------------------------------------

    def _side_by_side(self, left: Side, right: Side) -> Scope:
        moved = [replace(column, rex=shift(column.rex, len(left[0].row_type))) for column in right[1].columns]
        return Scope([*left[1].columns, *moved], self._outer)

    def _joined_scope(self, item: q.Join, node: Rel, left: Side, right: Side) -> Scope:
        types = node.row_type.field_types()

        def typed(rex: Rex) -> Rex:
            return InputRef(rex.index, types[rex.index]) if isinstance(rex, InputRef) else rex

        columns = [replace(column, rex=typed(column.rex)) for column in self._side_by_side(left, right).columns]
        names = _using(item, left[1], right[1])
        if not names:
            return Scope(columns, self._outer)
        merged = [self._merged(name, columns, item.kind) for name in names]
        rest = [replace(column, in_star=column.in_star and column.name not in names) for column in columns]
        return Scope([*merged, *rest], self._outer)

    def _merged(self, name: str, columns: list[ScopeColumn], kind: str) -> ScopeColumn:
        """Return the column that USING makes of two: that of the side which has all rows, or the first that is set."""
        first, second = [column.rex for column in columns if column.name == name][:2]
        if kind == "FULL":
            return ScopeColumn(name, (), self._resolver(Scope(())).call("COALESCE", (first, second)))
        return ScopeColumn(name, (), second if kind == "RIGHT" else first)


def _using(item: q.Join, left: Scope, right: Scope) -> tuple[str, ...]:
    if not item.natural:
        return item.using
    names = {name for name, _ in right.star()}
    return tuple(name for name, _ in left.star() if name in names)


def _time_column(kind: str, time: Rex) -> int:
    """Return the column of the left side whose time a join FOR SYSTEM_TIME AS OF looks up."""
    if kind not in ("INNER", "LEFT"):
        raise ValidationException(f"Temporal table join currently only supports INNER JOIN and LEFT JOIN, found {kind}")
    if not isinstance(time, InputRef) or not is_time(time.type):
        raise ValidationException(
            "Temporal table join currently only supports 'FOR SYSTEM_TIME AS OF' left table's time attribute field"
        )
    return time.index
