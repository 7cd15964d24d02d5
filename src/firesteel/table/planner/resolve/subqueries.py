"""Subqueries become joins. Calcite: `SubQueryRemoveRule`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeGuard

from firesteel.columns.column_types import BigIntType, BooleanType, IntType
from firesteel.columns.rex import Call, Deferred, InputRef, Literal, OuterRef, Rex
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.joins import make_join
from firesteel.table.planner.rel.outer_refs import is_correlated, with_outer_values
from firesteel.table.planner.rel.projections import extended
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    is_deterministic,
    refs,
    row_type,
    shift,
    transform,
    walk,
)
from firesteel.table.planner.resolve import subquery_conditions as conditions
from firesteel.table.planner.resolve.resolve_expressions import ExpressionResolver
from firesteel.table.planner.resolve.scope import Scope
from firesteel.table.planner.rules import apply as applies
from firesteel.table.planner.rules.rows_of_nothing import with_rows
from firesteel.table.syntax.unresolved import Subquery

if TYPE_CHECKING:
    from firesteel.table.planner.resolve.over_calls import OverCalls
    from firesteel.table.planner.resolve.resolve_queries import QueryResolver

_IN = "$IN"


class Subqueries:
    """The subqueries in the expressions of a SELECT: joins append columns with what they need of them."""

    def __init__(self, queries: QueryResolver, scope: Scope) -> None:
        self._queries = queries
        self._is_streaming = queries.context.is_streaming
        self._scope = scope
        self._resolver = ExpressionResolver(scope, queries.context.catalogs)
        self._appended: list[Rel] = []
        self._members: list[_Member] = []
        self._once: list[Rex] = []

    def add(self, subquery: Subquery, operand: Rex | None) -> Rex:
        """Add a subquery and return its value.

        Raises:
            ValidationException: it has a wrong number of columns, or a form that is not supported.
        """
        if subquery.kind in ("ARRAY", "MAP", "MULTISET"):
            raise TableException(
                "Cannot generate a valid execution plan for the given query: it collects the rows of a subquery by "
                f"{subquery.kind}(...).\n\nThis exception indicates that the query uses an unsupported SQL feature.\n"
                "Please check the documentation for the set of currently supported SQL features."
            )
        node = self._queries.resolve(subquery.query, self._scope)
        if operand is not None:
            operand = self._computed_once(operand)
        if subquery.kind == "EXISTS":
            return conditions.exists(self._resolver, self._append(conditions.counts(node))[0])
        if subquery.kind == "IN":
            assert operand is not None
            return self._add_in(node, operand)
        if len(node.row_type) != 1:
            raise ValidationException(
                f"SQL validation failed. A {subquery.kind.lower()} subquery must return one column, found "
                f"{len(node.row_type)}"
            )
        if subquery.kind == "SCALAR":
            return self._append(applies.single(node))[0]
        assert operand is not None
        return conditions.compared(self._resolver, subquery.kind, operand, self._append(conditions.bounds(node)))

    def attach(
        self,
        node: Rel,
        rexes: list[Rex],
        overs: OverCalls | None = None,
        in_group: Callable[[Rex], Rex | None] | None = None,
    ) -> tuple[Rel, list[Rex]]:
        """Return the node with the subqueries' columns, and the expressions that refer to them.

        Args:
            node: The source of the SELECT, or its groups.
            rexes: The expressions.
            overs: The OVER calls, in which subqueries may occur, too.
            in_group: Returns a part of an expression over the source as one over the groups, or None.
        """
        places: dict[tuple[str | int, ...] | Rex, Rex] = {}

        def place(rex: Rex) -> Rex | None:
            if isinstance(rex, Deferred):
                return places.get(rex.number)
            return places.get(rex) if _is_member(rex) else None

        def placed(rex: Rex) -> Rex:
            return _known(transform(rex if in_group is None else transform(rex, in_group), place))

        grown = extended(node, [placed(operand) for operand in self._once], "$once")
        for number, once in enumerate(refs(grown.row_type)[len(node.row_type) :]):
            places["once", number] = once
        node = source = grown
        for number, subquery in enumerate(self._appended):
            inner = self._over(subquery, placed)
            width = len(node.row_type)
            node = applies.unnest(applies.Apply(node, inner, "LEFT", self._scope.level, source), self._is_streaming)
            for column, field in enumerate(inner.row_type.fields):
                places["subquery", number, column] = InputRef(width + column, field.data_type.nullable())
        for member in {part: None for rex in rexes for part in walk(rex) if _is_member(part)}:
            node, places[member] = self._join_member(node, member, place)
        if places and overs is not None:
            overs.replace(place)
        return node, [transform(transform(rex, place), place) for rex in rexes] if places else rexes

    def _over(self, subquery: Rel, placed: Callable[[Rex], Rex]) -> Rel:
        """Return a subquery whose references to this query are over the node that it is attached to."""
        level = self._scope.level

        def change(ref: OuterRef) -> Rex | None:
            if ref.level != level:
                return None
            value = placed(ref.rex)
            return OuterRef(value, value.type, level)

        return with_outer_values(subquery, change)

    def _computed_once(self, operand: Rex) -> Rex:
        """Return what is compared with a subquery: a column for what would differ if it were computed again."""
        if isinstance(operand, Call) and operand.function == "ROW":
            return replace(operand, operands=tuple(map(self._computed_once, operand.operands)))
        if is_deterministic(operand):
            return operand
        self._once.append(operand)
        return Deferred(("once", len(self._once) - 1), operand.type)

    def _append(self, node: Rel) -> list[Rex]:
        """Add a subquery with at most one row, and return references to its columns."""
        self._appended.append(node)
        number = len(self._appended) - 1
        fields = node.row_type.fields
        return [Deferred(("subquery", number, i), f.data_type.nullable()) for i, f in enumerate(fields)]

    def _add_in(self, node: Rel, operand: Rex) -> Rex:
        """Add the subquery of an IN that is not a whole condition of WHERE."""
        width = len(node.row_type)
        operands = operand.operands if width > 1 and isinstance(operand, Call) else (operand,)
        check_width(len(operands), width)
        is_nullable = any(rex.type.is_nullable for rex in (*operands, *refs(node.row_type)))
        if is_correlated(node, self._scope.level) or (is_nullable and width > 1):
            return self._add_compared(node, operands)
        columns = self._append(conditions.counts(node)) if is_nullable else []
        self._members.append(_Member(node, columns))
        return Call(_IN, (Literal(len(self._members) - 1, IntType(False)), *operands), BooleanType(bool(columns)))

    def _add_compared(self, node: Rel, operands: tuple[Rex, ...]) -> Rex:
        """Add the numbers of rows that equal the operands, and of those that may."""
        level = self._scope.level
        values = [OuterRef(operand, operand.type, level) for operand in operands]
        equal = [self._resolver.call("=", pair) for pair in zip(values, refs(node.row_type), strict=True)]
        is_equal = conjunction(equal)
        assert is_equal is not None
        counted = conditions.equal_rows(self._resolver, node, is_equal)
        return conditions.found(self._resolver, *self._append(counted))

    def _join_member(self, node: Rel, call: Call, place: Callable[[Rex], Rex | None]) -> tuple[Rel, Rex]:
        """Join the distinct rows of an IN's subquery; return the node and the value of IN."""
        number, *values = call.operands
        operands = tuple(_known(transform(value, place)) for value in values)
        assert isinstance(number, Literal)
        member = self._members[number.value]
        inner = with_rows(member.node) if self._is_streaming else member.node
        width, kind = len(node.row_type), BigIntType(False)
        keys = tuple(range(len(inner.row_type)))
        types = [*inner.row_type.field_types(), kind]
        count = rel.AggregateCall("COUNT", (), kind)
        distinct = rel.Aggregate(inner, keys, (count,), row_type([*inner.row_type.names, "$count"], types))
        columns = refs(inner.row_type)
        equal = [self._resolver.call("=", (o, shift(c, width))) for o, c in zip(operands, columns, strict=True)]
        node = make_join(node, distinct, "LEFT", conjunction(equal), self._is_streaming)
        found = self._resolver.call("IS NOT NULL", (InputRef(width + len(keys), kind.nullable()),))
        return node, conditions.contained(self._resolver, found, operands, member.counts)


@dataclass(frozen=True)
class _Member:
    """The subquery of an IN without references to the query around: its distinct rows are joined.

    Attributes:
        counts: The columns of `conditions.counts`; none if nothing can be NULL.
    """

    node: Rel
    counts: list[Rex]


def _known(value: Rex) -> Rex:
    if any(isinstance(part, Deferred) for part in walk(value)):
        raise ValidationException("SQL validation failed. A subquery can't refer to an OVER call around it")
    return value


def _is_member(rex: Rex) -> TypeGuard[Call]:
    return isinstance(rex, Call) and rex.function == _IN


def check_width(values: int, columns: int) -> None:
    """Check that IN compares as many values as its subquery has columns."""
    if values != columns:
        raise ValidationException(
            f"SQL validation failed. Values passed to IN operator must have compatible types: {values} and {columns} "
            "columns"
        )
