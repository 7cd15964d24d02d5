"""Subqueries in expressions become joins. Calcite: `SubQueryRemoveRule`; Flink: `FlinkSubQueryRemoveRule`.

Why: `docs/decisions/0064-names-before-joins.md`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from firesteel.columns.column_types import BigIntType
from firesteel.columns.rex import Call, InputRef, OuterRef, Rex, SubqueryValue
from firesteel.common.cases import method_case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.joins import make_join, make_temporal_join
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.outer_refs import outer_values, query_of, split_operands, with_outer_values
from firesteel.table.planner.rel.projections import extended, filtered, with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    input_refs,
    is_deterministic,
    refs,
    row_type,
    shift,
    subqueries_in,
    transform,
    with_operands,
)
from firesteel.table.planner.rules import apply as applies
from firesteel.table.planner.rules import subquery_conditions as conditions
from firesteel.table.planner.rules.domain import cannot_unnest
from firesteel.table.planner.rules.null_safe import call
from firesteel.table.planner.rules.pull_filters import picked
from firesteel.table.planner.rules.retype import NONE_LOST, RETYPED, Lost, appended, lost_times, projected, retyped_rex
from firesteel.table.planner.rules.rows_of_nothing import with_rows
from firesteel.table.planner.rules.where_in_joins import where_in_joins


def remove_subqueries(nodes: Sequence[Rel], is_streaming: bool) -> list[Rel]:
    """Return plans with joins in place of subqueries, and the types that these joins leave to the nodes above.

    Raises:
        TableException: A subquery refers to the rows around it in a way that does not become a join.
    """
    removal = _Removal(is_streaming)
    return [removal.removed(node) for node in nodes]


@dataclass(frozen=True, slots=True)
class _Removal:
    """The removal of subqueries from the plans of a job."""

    is_streaming: bool
    _memo: dict[int, tuple[Rel, Rel]] = field(default_factory=dict)

    def removed(self, node: Rel) -> Rel:
        """Return a plan without subqueries."""
        if id(node) not in self._memo:
            self._memo[id(node)] = node, self._over_removed(where_in_joins(node))
        return self._memo[id(node)][1]

    def _over_removed(self, node: Rel) -> Rel:
        inputs = [self.removed(child) for child in node.inputs]
        pairs = zip(inputs, node.inputs, strict=True)
        over = with_inputs(node, inputs) if any(new is not old for new, old in pairs) else node
        return _REMOVED[type(over)](self, over, lost_times(node.inputs, inputs))

    def query(self, value: SubqueryValue) -> Rel:
        """Return the query of a subquery, without those within, over the operands as they are now."""
        query = query_of(value)
        known = dict(zip(outer_values(query, value.level), split_operands(value)[1], strict=True))

        def change(ref: OuterRef) -> Rex | None:
            return OuterRef(known[ref.rex], ref.type, ref.level) if ref.level == value.level else None

        return with_outer_values(self.removed(query), change)

    def project(self, node: rel.Project, lost: Lost) -> Rel:
        """Return a projection whose expressions read columns of joins."""
        beside = _Beside(self, node.input)
        expressions = beside.placed([retyped_rex(rex, lost) for rex in node.expressions])
        return projected(beside.node, node, expressions)

    def filter(self, node: rel.Filter, lost: Lost) -> Rel:
        """Return the filtered rows: [NOT] IN and [NOT] EXISTS are semi and anti joins, after all other conditions."""
        parts = conjuncts(node.condition)
        others = [part for part in parts if subqueries_in([part])]
        if not others:
            return node
        return self._filtered(filtered(node.input, [part for part in parts if not subqueries_in([part])]), others)

    def _filtered(self, source: Rel, parts: list[Rex]) -> Rel:
        """Return the rows for which conditions on subqueries are true."""
        node = source
        for part in parts:
            if (found := _membership(part)) is not None:
                node = self._semi_join(node, source, *found)
        beside = _Beside(self, node)
        placed = beside.placed([part for part in parts if _membership(part) is None])
        return _first_columns(filtered(beside.node, placed), len(source.row_type))

    def _semi_join(self, node: Rel, source: Rel, kind: str, value: SubqueryValue) -> Rel:
        beside = _Beside(self, node)
        compared = tuple(beside.computed_once(operand) for operand in split_operands(value)[0])
        apply = applies.Apply(beside.node, self.query(value), kind, value.level, source, compared)
        return _first_columns(applies.unnest(apply, self.is_streaming), len(node.row_type))

    def join(self, node: rel.Join | rel.TemporalJoin, lost: Lost) -> Rel:
        """Return a join with its keys and types, and without subqueries in its condition.

        Those of an inner join are conditions of the joined rows. The result of an outer join has lost which rows had a
        match, so its inputs get columns for them.
        """
        join = node if isinstance(node, rel.Join) else node.join
        if join.keeps_times is not None:  # of a compiled plan
            return node
        parts = [] if join.condition is None else conjuncts(join.condition)
        if not subqueries_in(parts):
            return self._typed(node, join.left, join.right, join.condition)
        if join.kind == "INNER":
            plain = conjunction([part for part in parts if not subqueries_in([part])])
            joined = self._typed(node, join.left, join.right, plain)
            return self._filtered(joined, [part for part in parts if subqueries_in([part])])
        left, right, parts = self._sides(join, parts)
        joined = self._typed(node, left, right, conjunction(parts))
        width, start = len(join.left.row_type), len(left.row_type)
        return picked(joined, [*range(width), *range(start, start + len(join.right.row_type))])

    def _typed(self, node: rel.Join | rel.TemporalJoin, left: Rel, right: Rel, condition: Rex | None) -> Rel:
        if isinstance(node, rel.Join):
            return make_join(left, right, node.kind, condition, self.is_streaming, state_ttl=node.state_ttl)
        return make_temporal_join(left, right, node.join.kind, condition, node.left_time, node.join.state_ttl)

    def _sides(self, join: rel.Join, parts: list[Rex]) -> tuple[Rel, Rel, list[Rex]]:
        """Return the inputs of a join with columns for subqueries, and the condition over them."""
        width = len(join.left.row_type)
        on_left: list[Rex] = []
        on_right: list[Rex] = []
        for value in dict.fromkeys(subqueries_in(parts)):
            read = input_refs(value)
            # Its value would differ for each pair of rows, and neither input has a row for a pair.
            if any(index < width for index in read) and any(index >= width for index in read):
                raise cannot_unnest(value.level)
            (on_right if any(index >= width for index in read) else on_left).append(value)
        left = self._extended(join.left, on_left)
        right = self._extended(join.right, [shift(value, -width) for value in on_right])
        start = width + len(on_left)
        places: dict[Rex, int] = {value: width + i for i, value in enumerate(on_left)}
        places |= {value: start + len(join.right.row_type) + i for i, value in enumerate(on_right)}

        def move(rex: Rex) -> Rex | None:
            if isinstance(rex, SubqueryValue):
                return InputRef(places[rex], rex.type)
            is_moved = isinstance(rex, InputRef) and rex.index >= width
            return shift(rex, len(on_left)) if is_moved else None

        return left, right, [transform(part, move) for part in parts]

    def _extended(self, node: Rel, values: list[Rex]) -> Rel:
        made = extended(node, values, "$on")
        return self.project(made, NONE_LOST) if isinstance(made, rel.Project) and values else node

    def correlate(self, node: rel.Correlate, lost: Lost) -> Rel:
        """Return the join of each row with those of LATERAL."""
        value = node.operands[0]
        if not isinstance(value, SubqueryValue):
            return appended(node, lost)
        inner, width = self.query(value), len(node.input.row_type)
        if node.condition is not None:
            inner = rel.Filter(inner, _of_right(node.condition, width, value.level))
        joined = applies.beside_rows(node.input, inner, node.outer, value.level, self.is_streaming)
        return _first_columns(joined, len(node.row_type))


class _Beside:
    """A node to which joins append columns for the values of subqueries in expressions over it."""

    def __init__(self, removal: _Removal, node: Rel) -> None:
        self.node = node
        self._source = node
        self._removal = removal
        self._places: dict[Rex, Rex] = {}

    def placed(self, rexes: Sequence[Rex]) -> list[Rex]:
        """Return expressions over the node as it is then."""
        placed = [transform(rex, self._place) for rex in rexes]
        lost = lost_times([self._source], [self.node])
        return [retyped_rex(rex, lost) for rex in placed]

    def _place(self, rex: Rex) -> Rex | None:
        if not isinstance(rex, SubqueryValue):
            return None
        if rex not in self._places:
            self._places[rex] = self._value(with_operands(rex, tuple(self.placed(rex.operands))))
        return self._places[rex]

    def _value(self, value: Rex) -> Rex:
        assert isinstance(value, SubqueryValue)
        inner = self._removal.query(value)
        operands = [self.computed_once(operand) for operand in split_operands(value)[0]]
        match value.kind:
            case "EXISTS":
                return conditions.exists(self._append(conditions.counts(inner), value)[0])
            case "SCALAR":
                return self._append(applies.single(inner), value)[0]
            case "IN":
                return self._contained(value, inner, operands)
        return conditions.compared(value.kind, operands[0], self._append(conditions.bounds(inner), value))

    def computed_once(self, operand: Rex) -> Rex:
        """Return what is compared with a subquery: a column for what would differ if it were computed again."""
        if isinstance(operand, Call) and operand.function == "ROW":
            return with_operands(operand, tuple(map(self.computed_once, operand.operands)))
        if is_deterministic(operand):
            return operand
        grown = extended(self.node, [operand], "$once")
        self._source = grown if self._source is self.node else self._source
        self.node = grown
        return refs(grown.row_type)[-1]

    def _append(self, inner: Rel, value: SubqueryValue) -> list[Rex]:
        """Join a subquery with at most one row, and return its columns."""
        width, count = len(self.node.row_type), len(inner.row_type)
        apply = applies.Apply(self.node, inner, "LEFT", value.level, self._source)
        self.node = applies.unnest(apply, self._removal.is_streaming)
        return list(refs(self.node.row_type)[width : width + count])

    def _contained(self, value: SubqueryValue, inner: Rel, operands: list[Rex]) -> Rex:
        """Return the value of an IN that is not a whole condition of WHERE."""
        may_be_null = any(rex.type.is_nullable for rex in (*operands, *refs(inner.row_type)))
        if split_operands(value)[1] or (may_be_null and len(operands) > 1):
            pairs = zip(operands, refs(inner.row_type), strict=True)
            equal = conjunction([call("=", OuterRef(o, o.type, value.level), column) for o, column in pairs])
            assert equal is not None
            return conditions.found(*self._append(conditions.equal_rows(inner, equal), value))
        columns = self._append(conditions.counts(inner), value) if may_be_null else []
        return conditions.contained(self._join_distinct(inner, operands), tuple(operands), columns)

    def _join_distinct(self, inner: Rel, operands: list[Rex]) -> Rex:
        """Join the distinct rows of a subquery, and return whether there is one that equals the operands."""
        inner = with_rows(inner) if self._removal.is_streaming else inner
        width, kind, keys = len(self.node.row_type), BigIntType(False), tuple(range(len(inner.row_type)))
        columns = row_type([*inner.row_type.names, "$count"], [*inner.row_type.field_types(), kind])
        distinct = rel.Aggregate(inner, keys, (rel.AggregateCall("COUNT", (), kind),), columns)
        equal = [call("=", o, shift(c, width)) for o, c in zip(operands, refs(inner.row_type), strict=True)]
        self.node = make_join(self.node, distinct, "LEFT", conjunction(equal), self._removal.is_streaming)
        return call("IS NOT NULL", InputRef(width + len(keys), kind.nullable()))


def _membership(part: Rex) -> tuple[str, SubqueryValue] | None:
    """Return SEMI or ANTI and the subquery where a condition is [NOT] IN or [NOT] EXISTS, None: it is another one."""
    kind = "SEMI"
    while isinstance(part, Call) and part.function == "NOT":
        kind = "ANTI" if kind == "SEMI" else "SEMI"
        part = part.operands[0]
    if isinstance(part, SubqueryValue) and part.kind in ("IN", "EXISTS") and not subqueries_in(part.operands):
        return kind, part
    return None


def _first_columns(node: Rel, count: int) -> Rel:
    return picked(node, list(range(count)))


def _of_right(condition: Rex, width: int, level: int) -> Rex:
    """Return a condition of a join over the columns of its right side; those of the left side are of a query around."""

    def change(rex: Rex) -> Rex | None:
        if not isinstance(rex, InputRef):
            return None
        return OuterRef(rex, rex.type, level) if rex.index < width else InputRef(rex.index - width, rex.type)

    return transform(condition, change)


def _retyped(retype: Callable[[object, Lost], Rel]) -> Callable[[_Removal, object, Lost], Rel]:
    return lambda _, node, lost: retype(node, lost)


_REMOVED: dict[type, Callable[[_Removal, object, Lost], Rel]] = for_each_node(
    "what it is over inputs with other types, without the subqueries in its expressions",
    [
        *((kind, _retyped(retype)) for kind, retype in RETYPED),
        method_case(rel.Project, _Removal.project),
        method_case(rel.Filter, _Removal.filter),
        method_case(rel.Join, _Removal.join),
        method_case(rel.TemporalJoin, _Removal.join),
        method_case(rel.Correlate, _Removal.correlate),
    ],
)
"""The rewritten node; (removal, node over its new inputs, its columns that are no time attributes any more)."""
