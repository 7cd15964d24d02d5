"""Subqueries become joins. Calcite: `SubQueryRemoveRule` and `RelDecorrelator`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from firesteel.columns.column_types import BigIntType, BooleanType, IntType
from firesteel.columns.rex import Call, InputRef, Literal, Rex
from firesteel.common.table_errors import ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import first_columns
from firesteel.table.planner.rel.rex_tools import (
    Deferred,
    conjunction,
    conjuncts,
    refs,
    row_type,
    shift,
    transform,
    walk,
)
from firesteel.table.planner.resolve import subquery_conditions as conditions
from firesteel.table.planner.resolve.decorrelate import bound, decorrelate
from firesteel.table.planner.resolve.joins import make_join
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope, where
from firesteel.table.syntax.unresolved import Apply, Subquery

_IN = "$IN"


class Subqueries:
    """The subqueries in the expressions of a SELECT: joins append columns with what they need of them."""

    def __init__(self, queries: Any, scope: Scope) -> None:
        self._queries = queries
        self._scope = scope
        self._resolver = ExpressionResolver(scope, queries.context.catalogs)
        self._appended: list[tuple[Any, Rex | None]] = []
        self._members: list[_Member] = []

    def add(self, subquery: Subquery, operand: Any) -> Rex:
        """Add a subquery and return its value."""
        node = self._queries.resolve(subquery.query, self._scope)
        if subquery.kind == "EXISTS":
            return conditions.exists(self._resolver, self._append(conditions.counts(node))[0])
        if subquery.kind == "IN":
            return self._add_member(node, operand)
        if len(node.row_type) != 1:
            raise ValidationException(
                f"SQL validation failed. A {subquery.kind.lower()} subquery must return one column, found "
                f"{len(node.row_type)}"
            )
        if subquery.kind == "SCALAR":
            return self._append(node)[0]
        return conditions.compared(self._resolver, subquery.kind, operand, self._append(conditions.bounds(node)))

    def attach(self, node: Any, rexes: list[Any], overs: Any = None) -> tuple[Any, list[Any]]:
        """Return the node with the subqueries' columns, and the expressions that refer to them."""
        places: dict[Any, Rex] = {}
        for number, (subquery, correlated) in enumerate(self._appended):
            single = subquery
            if correlated is None and not _has_one_row(subquery):
                kind = subquery.row_type.fields[0].data_type.nullable()
                call = rel.AggregateCall("SINGLE_VALUE", (0,), kind)
                single = rel.Aggregate(subquery, (), (call,), row_type(subquery.row_type.names, [kind]))
            width = len(node.row_type)
            condition = None if correlated is None else bound(correlated, width)
            node = make_join(node, single, "LEFT", condition, self._queries.context, None)
            for column, field in enumerate(single.row_type.fields):
                places["subquery", number, column] = InputRef(width + column, field.data_type.nullable())
        for member in {part: None for rex in rexes for part in walk(rex) if _is_member(part)}:
            node, places[member] = self._join_member(node, member)

        def place(rex: object) -> Any:
            if isinstance(rex, Deferred):
                return places.get(rex.number)
            return places.get(rex) if _is_member(rex) else None

        if places and overs is not None:
            overs.replace(place)
        return node, [transform(transform(rex, place), place) for rex in rexes] if places else rexes

    def _append(self, node: Any) -> list[Rex]:
        """Add a subquery with at most one row, and return references to its columns."""
        fields = node.row_type.fields
        self._appended.append(decorrelate(node))
        number = len(self._appended) - 1
        return [Deferred(("subquery", number, i), f.data_type.nullable()) for i, f in enumerate(fields)]  # type: ignore[arg-type,misc]

    def _add_member(self, node: Any, operand: Any) -> Rex:
        """Add the subquery of an IN that is not a whole condition of WHERE."""
        width = len(node.row_type)
        operands = operand.operands if width > 1 and isinstance(operand, Call) else (operand,)
        check_width(len(operands), width)
        fields = [*operands, *refs(node.row_type)]
        columns = self._append(conditions.counts(node)) if any(rex.type.is_nullable for rex in fields) else []
        inner, correlated = decorrelate(node)
        self._members.append(_Member(inner, correlated, columns))
        return Call(_IN, (Literal(len(self._members) - 1, IntType(False)), *operands), BooleanType(bool(columns)))

    def _join_member(self, node: Any, call: Call) -> tuple[Any, Rex]:
        """Join the distinct rows of an IN's subquery; return the node and the value of IN."""
        number, *operands = call.operands
        member = self._members[number.value]  # type: ignore[union-attr]
        inner, width, kind = member.node, len(node.row_type), BigIntType(False)
        keys = tuple(range(len(inner.row_type)))
        types = [*inner.row_type.field_types(), kind]
        count = rel.AggregateCall("COUNT", (), kind)
        distinct = rel.Aggregate(inner, keys, (count,), row_type([*inner.row_type.names, "$count"], types))
        columns = refs(inner.row_type)
        equal = [self._resolver.call("=", (o, shift(c, width))) for o, c in zip(operands, columns, strict=False)]
        rest = [] if member.correlated is None else conjuncts(bound(member.correlated, width))
        if not all(isinstance(part, Call) and part.function == "=" for part in rest):
            raise ValidationException(
                "A correlated subquery of IN that is not a whole condition of WHERE is only supported if it is "
                "correlated by equality of columns"
            )
        node = make_join(node, distinct, "LEFT", conjunction([*equal, *rest]), self._queries.context, None)
        found = self._resolver.call("IS NOT NULL", (InputRef(width + len(keys), kind.nullable()),))
        return node, conditions.contained(self._resolver, found, tuple(operands), member.counts)


@dataclass(frozen=True)
class _Member:
    """The subquery of an IN: its distinct rows are joined.

    Attributes:
        counts: The columns of `conditions.counts`; none if nothing can be NULL.
    """

    node: Any
    correlated: Rex | None
    counts: list[Rex]


def _is_member(rex: object) -> bool:
    return isinstance(rex, Call) and rex.function == _IN


def _has_one_row(node: object) -> bool:
    if isinstance(node, rel.Project):
        return _has_one_row(node.input)
    if isinstance(node, rel.Values):
        return len(node.rows) == 1
    return isinstance(node, rel.Aggregate) and not node.keys


def filter_by(node: Any, conditions: list[Any], scope: Scope, queries: Any) -> Any:
    """Return the rows of a node for which all conditions of WHERE are true."""
    subqueries = Subqueries(queries, scope)
    resolver = ExpressionResolver(scope, queries.context.catalogs, subqueries.add)
    rest: list[Any] = []
    for part in conditions:
        kind, subquery = _membership(part)
        if subquery is None:
            rest.append(_condition(resolver.resolve(part), part))
        else:
            node = _semi_join(node, kind, subquery, scope, queries)
    if not rest:
        return node
    width, kind_before = len(node.row_type), node.row_type
    joined, rest = subqueries.attach(node, rest)
    filtered = rel.Filter(joined, conjunction([part for rex in rest for part in conjuncts(rex)]) or _true())
    if len(filtered.row_type) == width:
        return filtered
    return first_columns(filtered, kind_before)


def _true() -> Literal:
    return Literal(True, BooleanType(False))


def _condition(rex: Any, part: Any) -> Any:
    if not isinstance(rex.type, BooleanType):
        position = getattr(part, "position", None)
        raise ValidationException(f"SQL validation failed. {where(position)}WHERE clause must be a condition")
    return rex


def conjuncts_of(condition: object) -> list[Any]:
    """Return the parts of a condition that ANDs join."""
    if isinstance(condition, Apply) and condition.function == "AND":
        return [part for operand in condition.operands for part in conjuncts_of(operand)]
    return [condition]


def _membership(part: object) -> tuple[str, Subquery | None]:
    """Return SEMI or ANTI and the subquery where a condition is [NOT] IN or [NOT] EXISTS."""
    kind = "SEMI"
    while isinstance(part, Apply) and part.function == "NOT":
        kind = "ANTI" if kind == "SEMI" else "SEMI"
        part = part.operands[0]
    if isinstance(part, Subquery) and part.kind in ("IN", "EXISTS"):
        return kind, part
    return kind, None


def _semi_join(node: Any, kind: str, subquery: Subquery, scope: Scope, queries: Any) -> Any:
    inner = queries.resolve(subquery.query, scope)
    inner, correlated = decorrelate(inner)
    width = len(node.row_type)
    parts = [] if correlated is None else conjuncts(bound(correlated, width))
    is_in = subquery.kind == "IN"
    if is_in:
        resolver = ExpressionResolver(scope, queries.context.catalogs)
        operands = _operands(resolver, subquery.operand)
        visible = len(inner.row_type) - (0 if correlated is None else _added(inner))
        check_width(len(operands), visible)
        columns = refs(inner.row_type)
        parts = [resolver.call("=", (o, shift(c, width))) for o, c in zip(operands, columns, strict=False)] + parts
    null_aware = is_in and kind == "ANTI"
    return make_join(node, inner, kind, conjunction(parts), queries.context, None, null_aware)


def check_width(values: int, columns: int) -> None:
    """Check that IN compares as many values as its subquery has columns."""
    if values != columns:
        raise ValidationException(
            f"SQL validation failed. Values passed to IN operator must have compatible types: {values} and {columns} "
            "columns"
        )


def _operands(resolver: ExpressionResolver, operand: object) -> list[Any]:
    if isinstance(operand, Apply) and operand.function == "ROW":
        return [resolver.resolve(part) for part in operand.operands]
    return [resolver.resolve(operand)]


def _added(node: Any) -> int:
    return sum(1 for name in node.row_type.names if name.startswith("$cor"))
