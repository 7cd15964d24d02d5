"""Resolution of subqueries in expressions. Calcite: `SqlToRelConverter`, `RexSubQuery`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from firesteel.columns.column_types import BooleanType, DataType, RowType
from firesteel.columns.rex import Call, Rex, SubqueryValue
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table.planner.rel.outer_refs import outer_values
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.syntax.unresolved import Subquery

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver


def subqueries_of(queries: QueryResolver, scope: Scope) -> Callable[[Subquery, Rex | None], Rex]:
    """Return what resolves the subqueries in expressions over a scope, each with the resolved value before it."""
    return partial(_resolved, queries, scope)


def _resolved(queries: QueryResolver, scope: Scope, subquery: Subquery, operand: Rex | None) -> SubqueryValue:
    """Return the value of a subquery.

    Raises:
        TableException: It collects rows.
        ValidationException: It has a wrong number of columns, or columns of types that are not compared.
    """
    if subquery.kind in ("ARRAY", "MAP", "MULTISET"):
        raise TableException(
            "Cannot generate a valid execution plan for the given query: it collects the rows of a subquery by "
            f"{subquery.kind}(...).\n\nThis exception indicates that the query uses an unsupported SQL feature.\n"
            "Please check the documentation for the set of currently supported SQL features."
        )
    node = queries.resolve(subquery.query, scope)
    _check_width(subquery.kind, node)
    compared = () if operand is None else _compared(operand, node)
    _check_types(subquery.kind, compared, node)
    outer = outer_values(node, scope.level)
    kind = _type_of(subquery.kind, compared, node, bool(outer))
    return SubqueryValue(subquery.kind, node, (*compared, *outer), kind, scope.level)


def _check_width(kind: str, node: Rel) -> None:
    if kind not in ("EXISTS", "IN") and len(node.row_type) != 1:
        raise ValidationException(
            f"SQL validation failed. A {kind.lower()} subquery must return one column, found {len(node.row_type)}"
        )


def _compared(operand: Rex, node: Rel) -> tuple[Rex, ...]:
    """Return the values that are compared with the columns of a subquery."""
    is_row = isinstance(node.row_type.fields[0].data_type, RowType) and len(node.row_type) == 1
    values = operand.operands if isinstance(operand, Call) and operand.function == "ROW" and not is_row else (operand,)
    if len(values) != len(node.row_type):
        raise ValidationException(
            f"SQL validation failed. Values passed to IN operator must have compatible types: {len(values)} and "
            f"{len(node.row_type)} columns"
        )
    return values


def _check_types(kind: str, compared: tuple[Rex, ...], node: Rel) -> None:
    if compared:
        operator = "=" if kind == "IN" else kind.split()[0]
        for pair in zip(compared, refs(node.row_type), strict=True):
            ExpressionResolver(Scope(()), None).call(operator, pair)


def _type_of(kind: str, compared: tuple[Rex, ...], node: Rel, is_correlated: bool) -> DataType:
    if kind == "SCALAR":
        return node.row_type.fields[0].data_type.nullable()
    may_be_null = is_correlated or any(rex.type.is_nullable for rex in (*compared, *refs(node.row_type)))
    return BooleanType(kind != "EXISTS" and (kind != "IN" or may_be_null))
