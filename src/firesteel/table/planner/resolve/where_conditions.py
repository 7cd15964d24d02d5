"""Resolution of WHERE."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType, NullType
from firesteel.columns.rex import Literal, Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.planner.resolve.subqueries import subqueries_of
from firesteel.table.syntax.unresolved import Apply, Unresolved, where

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


def filter_by(node: Rel, condition: Unresolved, scope: Scope, queries: QueryResolver) -> Rel:
    """Return the rows of a node for which the condition of WHERE is true."""
    resolver = ExpressionResolver(scope, queries.context.catalogs, subqueries_of(queries, scope))
    parts = [part for one in _conjuncts(condition) for part in conjuncts(_condition(resolver.resolve(one), one))]
    return rel.Filter(node, conjunction(parts) or Literal(True, BooleanType(False)))


def _condition(rex: Rex, part: object) -> Rex:
    if isinstance(rex.type, NullType):
        return Literal(None, BooleanType())
    if not isinstance(rex.type, BooleanType):
        position = getattr(part, "position", None)
        raise ValidationException(f"SQL validation failed. {where(position)}WHERE clause must be a condition")
    return rex


def _conjuncts(condition: Unresolved) -> list[Unresolved]:
    """Return the parts of a condition that ANDs join."""
    if isinstance(condition, Apply) and condition.function == "AND":
        return [part for operand in condition.operands for part in _conjuncts(operand)]
    return [condition]
