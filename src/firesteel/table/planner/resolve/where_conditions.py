"""Resolution of WHERE: conditions, and subqueries in them; [NOT] IN and [NOT] EXISTS become semi and anti joins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType, NullType
from firesteel.columns.rex import Literal, Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import extended, first_columns
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    is_deterministic,
    refs,
)
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, where
from firesteel.table.planner.resolve.subqueries import Subqueries, check_width
from firesteel.table.planner.resolve.unresolved_tools import walk as walk_unresolved
from firesteel.table.planner.rules import apply as applies
from firesteel.table.syntax.unresolved import Apply, Subquery, Unresolved

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


def filter_by(node: Rel, conditions: list[Unresolved], scope: Scope, queries: QueryResolver) -> Rel:
    """Return the rows of a node for which all conditions of WHERE are true; those without subqueries come first."""
    subqueries = Subqueries(queries, scope)
    resolver = ExpressionResolver(scope, queries.context.catalogs, subqueries.add)
    plain = [part for part in conditions if not has_subquery(part)]
    memberships = [found for part in conditions if (found := _membership(part)) is not None]
    others = [part for part in conditions if has_subquery(part) and _membership(part) is None]
    node = _filtered(node, [_condition(resolver.resolve(part), part) for part in plain])
    source = node
    for kind, subquery in memberships:
        inner = queries.resolve(subquery.query, scope)
        compared = _compared(subquery, inner, ExpressionResolver(scope, queries.context.catalogs))
        outer, operands = _computed_once(node, compared)
        apply = applies.Apply(outer, inner, kind, scope.level, source, tuple(operands))
        joined = applies.unnest(apply, queries.context.is_streaming)
        node = joined if outer is node else first_columns(joined, node.row_type)
    if not others:
        return node
    kind_before = node.row_type
    attached, rexes = subqueries.attach(node, [_condition(resolver.resolve(part), part) for part in others])
    return first_columns(_filtered(attached, rexes), kind_before)


def _filtered(node: Rel, rexes: list[Rex]) -> Rel:
    if not rexes:
        return node
    return rel.Filter(node, conjunction([part for rex in rexes for part in conjuncts(rex)]) or _true())


def has_subquery(expression: Unresolved) -> bool:
    """Return whether a subquery occurs in an expression."""
    return any(isinstance(part, Subquery) for part in walk_unresolved(expression))


def _true() -> Literal:
    return Literal(True, BooleanType(False))


def _condition(rex: Rex, part: object) -> Rex:
    if isinstance(rex.type, NullType):
        return Literal(None, BooleanType())
    if not isinstance(rex.type, BooleanType):
        position = getattr(part, "position", None)
        raise ValidationException(f"SQL validation failed. {where(position)}WHERE clause must be a condition")
    return rex


def conjuncts_of(condition: Unresolved) -> list[Unresolved]:
    """Return the parts of a condition that ANDs join."""
    if isinstance(condition, Apply) and condition.function == "AND":
        return [part for operand in condition.operands for part in conjuncts_of(operand)]
    return [condition]


def _membership(part: Unresolved) -> tuple[str, Subquery] | None:
    """Return SEMI or ANTI and the subquery where a condition is [NOT] IN or [NOT] EXISTS, None: it is another one."""
    kind = "SEMI"
    while isinstance(part, Apply) and part.function == "NOT":
        kind = "ANTI" if kind == "SEMI" else "SEMI"
        part = part.operands[0]
    if (
        isinstance(part, Subquery)
        and part.kind in ("IN", "EXISTS")
        and not (part.operand and has_subquery(part.operand))
    ):
        return kind, part
    return None


def _compared(subquery: Subquery, inner: Rel, resolver: ExpressionResolver) -> list[Rex]:
    """Return what IN compares with the columns of its subquery; nothing for EXISTS."""
    if subquery.operand is None:
        return []
    operands = _operands(resolver, subquery.operand)
    check_width(len(operands), len(inner.row_type))
    return operands


def _computed_once(node: Rel, operands: list[Rex]) -> tuple[Rel, list[Rex]]:
    """Return a node with a column for each operand that is not deterministic, and the operands over it."""
    grown = extended(node, [operand for operand in operands if not is_deterministic(operand)], "$once")
    columns = iter(refs(grown.row_type)[len(node.row_type) :])
    return grown, [operand if is_deterministic(operand) else next(columns) for operand in operands]


def _operands(resolver: ExpressionResolver, operand: Unresolved) -> list[Rex]:
    if isinstance(operand, Apply) and operand.function == "ROW":
        return [resolver.resolve(part) for part in operand.operands]
    return [resolver.resolve(operand)]
