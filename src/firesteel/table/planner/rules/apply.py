"""A subquery beside each row of the query around it, and the rules by which it becomes a join. Calcite: `Correlate`."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TypeGuard

from firesteel.columns.column_types import BooleanType
from firesteel.columns.evaluate import CompiledRex
from firesteel.columns.evaluation_context import EvaluationContext
from firesteel.columns.rex import InputRef, Literal, OuterRef, Rex, UserCall
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.constants import ONE_ROW
from firesteel.table.planner.rel.joins import make_join
from firesteel.table.planner.rel.outer_refs import is_correlated, is_repeatable_plan, outer_values
from firesteel.table.planner.rel.projections import extended
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    fits,
    inline,
    input_refs,
    is_repeatable,
    refs,
    row_type,
    shift,
    transform,
    unique_names,
    walk,
)
from firesteel.table.planner.rules.domain import Domain, cannot_unnest
from firesteel.table.planner.rules.domain_rules import UNNESTED, per_value
from firesteel.table.planner.rules.empty import WITHOUT_ROWS
from firesteel.table.planner.rules.null_safe import call, may_be_true, same_values
from firesteel.table.planner.rules.pull_filters import pull_filters, pull_keys
from firesteel.table.planner.rules.rows_of_nothing import has_rows, is_total, with_rows

_TRUE, _FALSE = Literal(True, BooleanType(False)), Literal(False, BooleanType(False))

_MOST_JOINS = 9
"""Of a NOT IN: two values that may be NULL among columns that may be NULL. More keep all pairs as one condition."""


@dataclass(frozen=True, slots=True)
class Apply:
    """The rows of a query beside those of a subquery, which is computed for each of them.

    It is no node of plans: the rule that finds a subquery (`rules/subqueries.py`) turns it into joins at once.

    Attributes:
        outer: The rows of the query around.
        inner: The subquery, with `OuterRef`s of the outer rows.
        kind: LEFT (the columns of both; NULLs where the subquery has no rows), SEMI or ANTI.
        level: The level of the query around.
        source: The node whose columns, the first ones of `outer`, the subquery refers to.
        operands: Values over the outer rows that SEMI and ANTI compare with the subquery's columns: [NOT] IN.
    """

    outer: Rel
    inner: Rel
    kind: str
    level: int
    source: Rel
    operands: tuple[Rex, ...] = ()


def unnest(apply: Apply, is_streaming: bool) -> Rel:
    """Return the joins that an Apply means; the outer columns come first, then those of the subquery.

    Raises:
        TableException: The subquery refers to the query around it in a way that does not become a join.
    """
    if apply.kind == "LEFT":
        return _beside(apply, is_streaming)
    # An aggregate without groups has its row whatever the outer row is: a join would ask for a match.
    if not apply.operands and has_rows(apply.inner):
        return apply.outer if apply.kind == "SEMI" else rel.Filter(apply.outer, _FALSE)
    apply = _with_rows(apply, is_streaming)
    pulled = pull_filters(apply.inner, apply.level)
    if pulled is None:
        return _over_domain(apply, is_streaming)
    width = len(apply.outer.row_type)
    conditions = [_bound(part, width, apply.level) for part in pulled.conditions]
    return _joined(apply, pulled.node, conditions, is_streaming)


def beside_rows(outer: Rel, inner: Rel, keeps_all: bool, level: int, is_streaming: bool) -> Rel:
    """Return the rows of a query, each with the rows that a correlated one has for it.

    Args:
        outer: The query, of a level.
        inner: The correlated one.
        keeps_all: Whether a row without such rows remains, with NULLs.
        level: The level of the query around.
        is_streaming: Whether the query runs in streaming mode.
    """
    if keeps_all:
        return unnest(Apply(outer, inner, "LEFT", level, outer), is_streaming)
    # A row of NULLs could be one of the query, so a column tells whether there is a row at all.
    marked = extended(inner, [_TRUE], "$row")
    joined = unnest(Apply(outer, marked, "LEFT", level, outer), is_streaming)
    width = len(outer.row_type)
    columns = refs(joined.row_type)
    found = rel.Filter(joined, call("IS TRUE", columns[width + len(inner.row_type)]))
    kinds = [*outer.row_type.field_types(), *inner.row_type.field_types()]
    types = [column.type.with_nullable(kind.is_nullable) for column, kind in zip(columns, kinds, strict=False)]
    names = unique_names([*outer.row_type.names, *inner.row_type.names])
    return rel.Project(found, columns[: len(kinds)], row_type(names, types))


def _beside(apply: Apply, is_streaming: bool) -> Rel:
    is_apart = not is_correlated(apply.inner, apply.level)
    if is_apart and not is_streaming:
        return _joined(apply, apply.inner, [], is_streaming)
    found = _of_groups(apply, is_streaming)  # over a stream, an aggregate of no rows has no row either
    if found is not None:
        return found
    apply = _with_rows(apply, is_streaming)
    return _joined(apply, apply.inner, [], is_streaming) if is_apart else _over_domain(apply, is_streaming)


def _with_rows(apply: Apply, is_streaming: bool) -> Apply:
    inner = apply.inner
    if not is_streaming:
        return apply
    if _is_single_value(inner):  # a value without rows is NULL as it is
        return replace(apply, inner=replace(inner, input=with_rows(inner.input)))
    return replace(apply, inner=with_rows(inner))


def _joined(apply: Apply, inner: Rel, conditions: list[Rex], is_streaming: bool) -> Rel:
    """Join the outer rows with a subquery that does not refer to them."""
    columns = refs(inner.row_type)
    width = len(apply.outer.row_type)
    equal = [call("=", a, shift(b, width)) for a, b in zip(apply.operands, columns, strict=False)]
    null_aware = apply.kind == "ANTI" and bool(equal)
    if null_aware and (conditions or len(equal) > 1) and all(map(is_repeatable, apply.operands)):
        reasons = list(product(*map(_Match.possible, apply.operands, columns)))
        if len(reasons) <= _MOST_JOINS and is_repeatable_plan(inner):
            return _not_in(apply, inner, reasons, conditions, is_streaming)
    # In a null-aware join one NULL on the right decides about all rows on the left, whatever other conditions say.
    if null_aware and (conditions or len(equal) > 1 or not input_refs(apply.operands[0])):
        equal, null_aware = [may_be_true(equal)], False
    parts = conjunction([*equal, *conditions])
    return make_join(apply.outer, inner, apply.kind, parts, is_streaming, null_aware)


class _Match(enum.Enum):
    """Why a value may be that of a column, so that NOT IN is not true."""

    EQUAL = "both are equal"
    NO_COLUMN = "the column is NULL"
    NO_VALUE = "the value is NULL"

    @classmethod
    def possible(cls, value: Rex, column: Rex) -> list[_Match]:
        """Return the reasons that there may be by the types."""
        nulls = {cls.NO_COLUMN: column.type.is_nullable, cls.NO_VALUE: value.type.is_nullable}
        return [cls.EQUAL, *(reason for reason, is_possible in nulls.items() if is_possible)]


def _not_in(
    apply: Apply, inner: Rel, reasons: Sequence[Sequence[_Match]], conditions: list[Rex], is_streaming: bool
) -> Rel:
    """Return the outer rows whose values are not in a row for which conditions hold, nor maybe.

    Each combination of reasons, one per value, is a join of its own. As one condition they are no equation, and a join
    would look at all pairs of rows that the conditions allow.
    """
    joined = apply.outer
    for combination in reasons:
        joined = _without_matches(joined, apply.operands, inner, combination, conditions, is_streaming)
    return joined


def _without_matches(
    outer: Rel, values: Sequence[Rex], inner: Rel, reasons: Sequence[_Match], conditions: list[Rex], is_streaming: bool
) -> Rel:
    width = len(outer.row_type)
    parts: list[Rex] = []
    marked = extended(inner, [_TRUE], "$row")
    for reason, value, column in zip(reasons, values, refs(inner.row_type), strict=False):
        match reason:
            case _Match.EQUAL:
                parts.append(call("=", value, shift(column, width)))
            case _Match.NO_COLUMN:
                parts.append(call("IS NULL", shift(column, width)))
            case _Match.NO_VALUE:  # An equation, so that other rows are not compared at all.
                parts.append(call("=", call("IS NULL", value), shift(refs(marked.row_type)[-1], width)))
    inner = marked if _Match.NO_VALUE in reasons else inner
    return make_join(outer, inner, "ANTI", conjunction([*parts, *conditions]), is_streaming)


def _over_domain(apply: Apply, is_streaming: bool) -> Rel:
    """Compute the subquery for all values that it reads, and join them by these values."""
    values = outer_values(apply.inner, apply.level)
    outside = len(apply.source.row_type)
    source = apply.source if all(fits(value, outside) for value in values) else apply.outer
    domain = Domain(source, values, apply.level, is_streaming, UNNESTED)
    if _is_single_value(apply.inner):  # NULL for values without rows, as the join has it
        inner = per_value(domain, apply.inner, domain.joined(apply.inner.input))
    else:
        inner = domain.joined(apply.inner)
    if is_correlated(inner, apply.level):
        raise cannot_unnest(apply.level)
    width = len(apply.outer.row_type)
    places = domain.places(inner)
    columns = [shift(refs(inner.row_type)[place], width) for place in places]
    return _joined(apply, inner, same_values(values, columns), is_streaming)


def _of_groups(apply: Apply, is_streaming: bool) -> Rel | None:
    """Join an aggregate of the whole subquery grouped by the values that equations compare with the outer rows.

    Outer rows without a group get the values of an aggregate of no rows. None: the subquery is not of this form.
    """
    inner: Rel = apply.inner
    columns: tuple[Rex, ...] = refs(inner.row_type)
    # `SELECT 2 * SUM(v)`: the projection moves above the join, where it is computed for groups that are missing, too.
    while isinstance(inner, rel.Project) and all(map(is_repeatable, inner.expressions)):
        columns = tuple(inline(rex, inner.expressions) for rex in columns)
        inner = inner.input
    if not is_total(inner) or is_correlated(columns, apply.level):
        return None
    if not all(c.function in WITHOUT_ROWS for c in inner.calls):
        return None
    if is_streaming:
        inner = replace(inner, input=with_rows(inner.input))
    pulled = pull_keys(inner, apply.level)
    if pulled is None:
        return None
    empty = [_of_no_rows(rex, inner) for rex in columns]
    own = len(inner.row_type)
    keys = refs(pulled.node.row_type)[own:]
    shown = (*columns, *keys)
    names = [*apply.inner.row_type.names, *(f"$cor{i}" for i in range(len(keys)))]
    grouped = extended(rel.Project(pulled.node, shown, row_type(names, [rex.type for rex in shown])), [_TRUE], "$row")
    width = len(apply.outer.row_type)
    moves = len(columns) - own
    conditions = [
        _bound(transform(part, lambda r: shift(r, moves) if isinstance(r, InputRef) else None), width, apply.level)
        for part in pulled.conditions
    ]
    return _with_empty_groups(_joined(apply, grouped, conditions, is_streaming), empty, width)


def _with_empty_groups(joined: Rel, empty: list[Rex | None], width: int) -> Rel:
    """Return joined groups with other values than NULL where there is no group.

    Args:
        joined: The outer rows with the columns of their groups; the last column tells whether there is a group.
        empty: The value of each column of the groups for no rows; None for NULL.
        width: The number of columns of the outer rows.
    """
    if all(rex is None for rex in empty):
        return joined
    every: list[Rex] = list(refs(joined.row_type))
    has_group = call("IS TRUE", every[-1])
    for place, value in enumerate(empty, width):
        if value is not None:
            every[place] = call("IF", has_group, every[place], value)
    return rel.Project(joined, tuple(every), row_type(joined.row_type.names, [rex.type for rex in every]))


def _of_no_rows(rex: Rex, aggregate: rel.Aggregate) -> Rex | None:
    """Return an expression over an aggregate as it is for no rows, None: it is NULL."""
    values = tuple(
        Literal(
            WITHOUT_ROWS[str(c.function)], c.type if WITHOUT_ROWS[str(c.function)] is not None else c.type.nullable()
        )
        for c in aggregate.calls
    )
    value = inline(rex, values)
    is_known = not any(isinstance(part, UserCall | OuterRef) for part in walk(value))
    if is_known and CompiledRex(value, EvaluationContext())(ONE_ROW)[0].as_py() is None:
        return None
    return value


def _bound(rex: Rex, width: int, level: int) -> Rex:
    """Return a condition over the subquery as one over the outer columns and, after them, the subquery's."""

    def bind(part: Rex) -> Rex | None:
        if isinstance(part, OuterRef):
            return part.rex if part.level == level else None
        return shift(part, width) if isinstance(part, InputRef) else None

    return transform(rex, bind)


def single(node: Rel) -> Rel:
    """Return the only row of a subquery with one column, guarded by SINGLE_VALUE where it may have more."""
    if _has_one_row_at_most(node):
        return node
    kind = node.row_type.fields[0].data_type.nullable()
    value = rel.AggregateCall("SINGLE_VALUE", (0,), kind)
    return rel.Aggregate(node, (), (value,), row_type(node.row_type.names, [kind]))


def _is_single_value(node: Rel) -> TypeGuard[rel.Aggregate]:
    return isinstance(node, rel.Aggregate) and [c.function for c in node.calls] == ["SINGLE_VALUE"]


def _has_one_row_at_most(node: Rel) -> bool:
    if isinstance(node, rel.Project | rel.Filter):
        return _has_one_row_at_most(node.input)
    if isinstance(node, rel.Sort):
        return (node.fetch is not None and node.fetch <= 1) or _has_one_row_at_most(node.input)
    if isinstance(node, rel.Values):
        return len(node.rows) <= 1
    return is_total(node)
