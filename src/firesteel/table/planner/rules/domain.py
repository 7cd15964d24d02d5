"""A correlated subquery computed for all outer values at once. Neumann and Kemper, Unnesting Arbitrary Queries, 2015.

The domain is the distinct outer values that a subquery reads. It is joined below the nodes that read them, and each
node above is computed per value of the domain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from firesteel.columns.column_types import BooleanType
from firesteel.columns.rex import InputRef, Literal
from firesteel.common.table_errors import TableException
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.outer_refs import is_correlated
from firesteel.table.planner.rel.projections import distinct, extended
from firesteel.table.planner.rel.rex_tools import (
    OuterRef,
    conjunction,
    conjuncts,
    fits,
    inline,
    input_refs,
    is_deterministic,
    refs,
    remap,
    row_type,
    shift,
    transform,
    unique_names,
)
from firesteel.table.planner.resolve.joins import make_join
from firesteel.table.planner.resolve.time_attributes import without_time_attribute
from firesteel.table.planner.rules.null_safe import call, may_be_true, same_values
from firesteel.table.planner.rules.pull_filters import picked, with_keys

_MAX_RANK = 2**31 - 1


class Domain:
    """The distinct values of outer rows that a subquery reads.

    Args:
        outer: The node of the outer rows.
        values: The expressions over it.
        level: The level of the outer query.
        context: The shared context of resolution.
    """

    def __init__(self, outer: Any, values: Sequence[Any], level: int, context: Any) -> None:
        self.values = tuple(values)
        self.level = level
        self.context = context
        kinds = [without_time_attribute(value.type) for value in values]
        names = [f"$cor{i}" for i in range(len(values))]
        self.node = distinct(rel.Project(outer, self.values, row_type(names, kinds)))
        self._memo: dict[int, tuple[Any, Any]] = {}

    def joined(self, node: Any, conditions: Sequence[Any] = ()) -> Any:
        """Return a node for each value of the domain: its own columns, then those of the domain.

        Args:
            node: The node, a part of the subquery.
            conditions: Conditions over these columns; rows for which one is not true are left out.

        Raises:
            TableException: The node can't be computed per value.
        """
        if not is_correlated(node, self.level):
            return make_join(node, self.node, "INNER", conjunction(list(conditions)), self.context, None)
        rule = UNNESTED.get(type(node))
        if rule is None:
            raise cannot_unnest(self.level)
        if conditions:
            return rule(self, node, list(conditions))
        if id(node) not in self._memo:
            self._memo[id(node)] = (node, rule(self, node, []))
        return self._memo[id(node)][1]

    def bound(self, rex: Any, start: int) -> Any:
        """Return an expression that reads the domain's columns, which begin at an index."""

        def bind(part: Any) -> Any:
            if isinstance(part, OuterRef) and part.level == self.level:
                return self.columns(start)[self.values.index(part.rex)]
            return None

        return transform(rex, bind)

    def columns(self, start: int) -> tuple[InputRef, ...]:
        """Return the references to the domain's columns, which begin at an index."""
        return tuple(shift(ref, start) for ref in refs(self.node.row_type))

    def places(self, node: Any) -> tuple[int, ...]:
        """Return the indexes of the domain's columns in a node that `joined` returned."""
        width = len(node.row_type)
        return tuple(range(width - len(self.values), width))

    def kind(self, node: Any) -> Any:
        """Return the columns of a node, then those of the domain."""
        row, own = self.node.row_type, node.row_type
        return row_type(unique_names([*own.names, *row.names]), [*own.field_types(), *row.field_types()])

    def in_streaming(self) -> bool:
        """Return whether the plan runs in streaming mode."""
        return bool(self.context.is_streaming)


def cannot_unnest(level: int) -> TableException:
    """Return Flink's error for a correlated subquery that does not become a join."""
    return TableException(f"unexpected correlate variable $cor{level} in the plan")


def _filtered(node: Any, conditions: list[Any]) -> Any:
    return rel.Filter(node, conjunction(conditions)) if conditions else node


def _filter(domain: Domain, node: rel.Filter, conditions: list[Any]) -> Any:
    own = [domain.bound(part, len(node.row_type)) for part in conjuncts(node.condition)]
    return domain.joined(node.input, [*conditions, *own])


def _project(domain: Domain, node: rel.Project, conditions: list[Any]) -> Any:
    width = len(node.input.row_type)
    expressions = (*(domain.bound(rex, width) for rex in node.expressions), *domain.columns(width))
    moves = all(map(is_deterministic, expressions))
    below = [inline(part, expressions) for part in conditions] if moves else []
    project = rel.Project(domain.joined(node.input, below), expressions, domain.kind(node))
    return project if moves else _filtered(project, conditions)


def _aggregate(domain: Domain, node: rel.Aggregate, conditions: list[Any]) -> Any:
    if node.flat:
        raise cannot_unnest(domain.level)
    source = domain.joined(node.input)
    return _filtered(per_value(domain, node, source) if node.keys else _whole(domain, node, source), conditions)


def per_value(domain: Domain, node: Any, source: Any) -> Any:
    """Return an aggregate over the joined input, per value of the domain that has rows."""
    return with_keys(node, source, domain.places(source))


def _whole(domain: Domain, node: rel.Aggregate, source: Any) -> Any:
    """Return an aggregate without keys per value: a value without rows gets one that no function sees."""
    width, count = len(source.row_type), len(domain.values)
    yes = Literal(True, BooleanType(False))
    marked = extended(source, [yes], "$row")
    same = same_values(domain.columns(0), [shift(refs(source.row_type)[i], count) for i in domain.places(source)])
    padded = make_join(domain.node, marked, "LEFT", conjunction(same), domain.context, None)
    rows = picked(padded, [*range(count, count + width + 1), *range(count)])
    columns = refs(rows.row_type)
    is_row = call("IS TRUE", columns[width])
    tests: dict[int | None, Any] = {
        condition: is_row if condition is None else call("AND", is_row, columns[condition])
        for condition in {c.condition: None for c in node.calls}
    }
    places = {condition: len(columns) + i for i, condition in enumerate(tests)}
    calls = tuple(replace(c, condition=places[c.condition]) for c in node.calls)
    tested = extended(rows, list(tests.values()), "$f")
    return with_keys(replace(node, calls=calls), tested, tuple(range(width + 1, width + 1 + count)))


def _window_aggregate(domain: Domain, node: rel.WindowAggregate, conditions: list[Any]) -> Any:
    if domain.in_streaming():  # the time attribute is lost in the join
        raise cannot_unnest(domain.level)
    return _filtered(per_value(domain, node, domain.joined(node.input)), conditions)


def _window_table(domain: Domain, node: rel.WindowTableFunction, conditions: list[Any]) -> Any:
    if domain.in_streaming():
        raise cannot_unnest(domain.level)
    source = domain.joined(node.input)
    window = node.window
    if window.kind == "SESSION":
        window = replace(window, partition=(*window.partition, *domain.places(source)))
    return _filtered(_between(domain, node, source, replace(node, input=source, window=window)), conditions)


def _between(domain: Domain, node: Any, source: Any, made: Any) -> Any:
    """Return a node that appends columns to those of its input, the domain's after all others.

    Args:
        domain: The domain.
        node: The node as it was.
        source: The joined input.
        made: The node over the joined input, with the row type as it was.
    """
    width, count, own = len(node.input.row_type), len(domain.values), len(node.row_type)
    kinds, names = node.row_type.field_types(), node.row_type.names
    added = source.row_type
    new = row_type(
        unique_names([*names[:width], *added.names[width:], *names[width:]]),
        [*added.field_types(), *kinds[width:]],
    )
    order = [*range(width), *range(width + count, own + count), *range(width, width + count)]
    return picked(replace(made, row_type=new), order)


def _expand(domain: Domain, node: rel.Expand, conditions: list[Any]) -> Any:
    source = domain.joined(node.input)
    width = len(node.input.row_type)
    nullable = node.row_type.field_types()[:width]
    made = _between(domain, node, source, replace(node, input=source))
    kinds = [*nullable, *made.row_type.field_types()[width:]]
    return _filtered(rel.Project(made, refs(made.row_type), row_type(made.row_type.names, kinds)), conditions)


def _over(domain: Domain, node: rel.Over, conditions: list[Any]) -> Any:
    source = domain.joined(node.input)
    groups = tuple(replace(g, partition=(*g.partition, *domain.places(source))) for g in node.groups)
    return _filtered(_between(domain, node, source, replace(node, input=source, groups=groups)), conditions)


def _correlate(domain: Domain, node: rel.Correlate, conditions: list[Any]) -> Any:
    """Call a table function, or UNNEST, with values of the domain."""
    width, count = len(node.input.row_type), len(domain.values)
    source = domain.joined(node.input)
    condition = node.condition
    if condition is not None:
        condition = remap(condition, lambda i: i if i < width else i + count)
        condition = domain.bound(condition, width)
    operands = tuple(domain.bound(rex, width) for rex in node.operands)
    made = replace(node, input=source, operands=operands, condition=condition)
    return _filtered(_between(domain, node, source, made), conditions)


def _sort(domain: Domain, node: rel.Sort, conditions: list[Any]) -> Any:
    """Without a limit the order has no meaning; a limit is a Top-N per value."""
    if node.fetch is None and not node.offset:
        return domain.joined(node.input, conditions)
    source = domain.joined(node.input)
    if node.fetch == 0:
        return rel.Filter(source, Literal(False, BooleanType(False)))
    end = _MAX_RANK if node.fetch is None else node.offset + node.fetch
    places = domain.places(source)
    rank = rel.Rank(source, "ROW_NUMBER", places, node.collations, node.offset + 1, end, False, source.row_type)
    return _filtered(rank, conditions)


def _rank(domain: Domain, node: rel.Rank, conditions: list[Any]) -> Any:
    source = domain.joined(node.input)
    rank = replace(node, input=source, partition=(*node.partition, *domain.places(source)))
    return _filtered(_between(domain, node, source, rank), conditions)


def _union(domain: Domain, node: rel.Union, conditions: list[Any]) -> Any:
    return rel.Union(tuple(domain.joined(child, conditions) for child in node.inputs), domain.kind(node))


def _set_operation(domain: Domain, node: rel.SetOperation, conditions: list[Any]) -> Any:
    left, right = domain.joined(node.left, conditions), domain.joined(node.right, conditions)
    return replace(node, left=left, right=right, row_type=domain.kind(node))


def _join(domain: Domain, node: rel.Join, conditions: list[Any]) -> Any:
    """Join the domain with the inputs that read it, and with those whose rows stay without a match."""
    width, own, count = len(node.left.row_type), len(node.row_type), len(domain.values)
    both = width + len(node.right.row_type)
    on_left = node.kind in ("LEFT", "FULL", "SEMI", "ANTI") or is_correlated(node.left, domain.level)
    on_right = node.kind in ("RIGHT", "FULL") or is_correlated(node.right, domain.level)
    parts = [domain.bound(part, both) for part in _join_conditions(node, domain.level)]
    inner = node.kind == "INNER"
    if inner and not on_left and not on_right:  # only its condition reads the domain
        plain = make_join(
            node.left, node.right, "INNER", conjunction([p for p in parts if fits(p, both)]), domain.context, None
        )
        rest = [part for part in parts if not fits(part, both)]
        return make_join(plain, domain.node, "INNER", conjunction([*rest, *conditions]), domain.context, None)
    below: list[Any] = []
    if node.kind in ("LEFT", "SEMI", "ANTI"):
        below = [part for part in conditions if _reads_left(part, width, own)]
        conditions = [part for part in conditions if not _reads_left(part, width, own)]
        below = [remap(part, lambda i: i if i < width else i - own + width) for part in below]
    elif inner:
        parts, conditions = [*parts, *conditions], []
        if on_left:
            below = [
                remap(p, lambda i: i if i < width else i - both + width) for p in parts if _reads_left(p, width, both)
            ]
            parts = [part for part in parts if not _reads_left(part, width, both)]
    left = domain.joined(node.left, below) if on_left else node.left
    right = domain.joined(node.right) if on_right else node.right
    start, shown = len(left.row_type), len(left.row_type) + len(node.right.row_type)
    first = width if on_left and node.kind != "RIGHT" else shown

    def move(index: int) -> int:
        if index >= both:
            return index - both + first
        return index if index < width else index - width + start

    parts = [remap(part, move) for part in parts]
    if on_left and on_right:
        columns = domain.columns(0)
        parts += same_values([shift(c, width) for c in columns], [shift(c, shown) for c in columns])
    null_aware = node.null_aware and not on_right
    joined = make_join(left, right, node.kind, conjunction(parts), domain.context, None, null_aware, node.state_ttl)
    if node.kind == "FULL":
        return _filtered(_of_either(domain, node, joined, width, start), conditions)
    order = [move(i) for i in range(own)] + list(range(first, first + count))
    return _filtered(picked(joined, order), conditions)


def _of_either(domain: Domain, node: Any, joined: Any, width: int, start: int) -> Any:
    """Return the columns of a full join, and the domain's columns of the side that has them."""
    columns, count = refs(joined.row_type), len(domain.values)
    shown = start + len(node.right.row_type)
    own = (*columns[:width], *columns[start:shown])
    values = [call("COALESCE", columns[width + i], columns[shown + i]) for i in range(count)]
    return rel.Project(joined, (*own, *values), row_type(domain.kind(node).names, [c.type for c in (*own, *values)]))


def _reads_left(part: Any, width: int, start: int) -> bool:
    """Return whether a condition reads only the left input and the domain, whose columns begin at an index."""
    return all(index < width or index >= start for index in input_refs(part))


def _join_conditions(node: rel.Join, level: int) -> list[Any]:
    """Return the conditions of a join over the columns of both inputs."""
    width = len(node.left.row_type)
    left, right = refs(node.left.row_type), refs(node.right.row_type)
    keys = [call("=", left[a], shift(right[b], width)) for a, b in zip(node.left_keys, node.right_keys, strict=True)]
    if node.null_aware and is_correlated(node.right, level):
        keys = [may_be_true(keys)]
    return [*keys, *([] if node.condition is None else conjuncts(node.condition))]


UNNESTED: dict[type, Callable[[Domain, Any, list[Any]], Any]] = {
    rel.Filter: _filter,
    rel.Project: _project,
    rel.Aggregate: _aggregate,
    rel.WindowAggregate: _window_aggregate,
    rel.WindowTableFunction: _window_table,
    rel.Expand: _expand,
    rel.Over: _over,
    rel.Correlate: _correlate,
    rel.Sort: _sort,
    rel.Rank: _rank,
    rel.Union: _union,
    rel.SetOperation: _set_operation,
    rel.Join: _join,
}
"""The nodes that can be computed per value of the domain; below others, references to outer rows are refused."""
