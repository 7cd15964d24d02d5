"""The nodes of a correlated subquery, computed per value of its domain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firesteel.columns.column_types import BooleanType
from firesteel.columns.rex import Literal
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    inline,
    is_deterministic,
    is_repeatable,
    refs,
    remap,
    row_type,
    unique_names,
)
from firesteel.table.planner.rules.domain import Domain, Rules, cannot_unnest
from firesteel.table.planner.rules.domain_joins import join_per_value
from firesteel.table.planner.rules.pull_filters import picked, with_keys
from firesteel.table.planner.rules.rows_of_nothing import aggregate_with_rows

_MAX_RANK = 2**31 - 1


def _filtered(node: Any, conditions: list[Any]) -> Any:
    return rel.Filter(node, conjunction(conditions)) if conditions else node


def _filter(domain: Domain, node: rel.Filter, conditions: list[Any]) -> Any:
    own = [domain.bound(part, len(node.row_type)) for part in conjuncts(node.condition)]
    return domain.joined(node.input, [*conditions, *own])


def _project(domain: Domain, node: rel.Project, conditions: list[Any]) -> Any:
    width = len(node.input.row_type)
    expressions = (*(domain.bound(rex, width) for rex in node.expressions), *domain.columns(width))
    moves = all(map(is_repeatable, expressions))
    below = [inline(part, expressions) for part in conditions] if moves else []
    project = rel.Project(domain.joined(node.input, below), expressions, domain.kind(node))
    return project if moves else _filtered(project, conditions)


def _aggregate(domain: Domain, node: rel.Aggregate, conditions: list[Any]) -> Any:
    if node.flat:
        raise cannot_unnest(domain.level)
    source = domain.joined(node.input)
    grouped = per_value(domain, node, source) if node.keys else aggregate_with_rows(node, source, domain.node)
    return _filtered(grouped, conditions)


def per_value(domain: Domain, node: Any, source: Any) -> Any:
    """Return an aggregate over the joined input, per value of the domain that has rows."""
    return with_keys(node, source, domain.places(source))


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
    below = [part for part in conditions if is_deterministic(part)]
    left, right = domain.joined(node.left, below), domain.joined(node.right, below)
    result = replace(node, left=left, right=right, row_type=domain.kind(node))
    return _filtered(result, [part for part in conditions if not is_deterministic(part)])


UNNESTED: Rules = {
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
    rel.Join: join_per_value,
}
"""The nodes that can be computed per value of the domain; below others, references to outer rows are refused."""
