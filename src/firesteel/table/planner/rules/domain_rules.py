"""The nodes of a correlated subquery, computed per value of its domain."""

from __future__ import annotations

from dataclasses import replace

from firesteel.columns.column_types import BooleanType
from firesteel.columns.rex import Literal, Rex
from firesteel.common.cases import method_case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import filtered
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
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
_Widening = rel.WindowTableFunction | rel.Expand | rel.Over | rel.Correlate | rel.Rank
"""Nodes that append columns to those of their input."""


def _filter(domain: Domain, node: rel.Filter, conditions: list[Rex]) -> Rel:
    own = [domain.bound(part, len(node.row_type)) for part in conjuncts(node.condition)]
    return domain.joined(node.input, [*conditions, *own])


def _project(domain: Domain, node: rel.Project, conditions: list[Rex]) -> Rel:
    width = len(node.input.row_type)
    expressions = (*(domain.bound(rex, width) for rex in node.expressions), *domain.columns(width))
    # A condition that moves below computes the expressions it reads once more.
    moves = all(map(is_repeatable, expressions))
    below = [inline(part, expressions) for part in conditions] if moves else []
    project = rel.Project(domain.joined(node.input, below), expressions, domain.kind(node))
    return project if moves else filtered(project, conditions)


def _aggregate(domain: Domain, node: rel.Aggregate, conditions: list[Rex]) -> Rel:
    if node.flat:
        raise cannot_unnest(domain.level)
    source = domain.joined(node.input)
    grouped = per_value(domain, node, source) if node.keys else aggregate_with_rows(node, source, domain.node)
    return filtered(grouped, conditions)


def per_value(domain: Domain, node: rel.Grouped, source: Rel) -> Rel:
    """Return an aggregate over the joined input, per value of the domain that has rows."""
    return with_keys(node, source, domain.places(source))


def _window_aggregate(domain: Domain, node: rel.WindowAggregate, conditions: list[Rex]) -> Rel:
    if domain.is_streaming:  # the time attribute is lost in the join
        raise cannot_unnest(domain.level)
    if node.window is None:  # the window columns are keys, and rows of a join belong to no window
        return _aggregate(domain, rel.Aggregate(node.input, node.keys, node.calls, node.row_type), conditions)
    return filtered(per_value(domain, node, domain.joined(node.input)), conditions)


def _window_table(domain: Domain, node: rel.WindowTableFunction, conditions: list[Rex]) -> Rel:
    if domain.is_streaming:
        raise cannot_unnest(domain.level)
    source = domain.joined(node.input)
    window = node.window
    if window.kind == "SESSION":
        # A session is made of the rows that one outer row sees, not of those of all.
        window = replace(window, partition=(*window.partition, *domain.places(source)))
    return filtered(_between(domain, node, source, replace(node, input=source, window=window)), conditions)


def _between(domain: Domain, node: _Widening, source: Rel, made: _Widening) -> Rel:
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


def _expand(domain: Domain, node: rel.Expand, conditions: list[Rex]) -> Rel:
    source = domain.joined(node.input)
    width = len(node.input.row_type)
    nullable = node.row_type.field_types()[:width]
    made = _between(domain, node, source, replace(node, input=source))
    kinds = [*nullable, *made.row_type.field_types()[width:]]
    return filtered(rel.Project(made, refs(made.row_type), row_type(made.row_type.names, kinds)), conditions)


def _over(domain: Domain, node: rel.Over, conditions: list[Rex]) -> Rel:
    source = domain.joined(node.input)
    groups = tuple(replace(g, partition=(*g.partition, *domain.places(source))) for g in node.groups)
    return filtered(_between(domain, node, source, replace(node, input=source, groups=groups)), conditions)


def _correlate(domain: Domain, node: rel.Correlate, conditions: list[Rex]) -> Rel:
    """Call a table function, or UNNEST, with values of the domain."""
    width, count = len(node.input.row_type), len(domain.values)
    source = domain.joined(node.input)
    condition = node.condition
    if condition is not None:
        condition = remap(condition, lambda i: i if i < width else i + count)
        condition = domain.bound(condition, width)
    operands = tuple(domain.bound(rex, width) for rex in node.operands)
    made = replace(node, input=source, operands=operands, condition=condition)
    return filtered(_between(domain, node, source, made), conditions)


def _sort(domain: Domain, node: rel.Sort, conditions: list[Rex]) -> Rel:
    """Without a limit the order has no meaning; a limit is a Top-N per value."""
    if node.fetch is None and not node.offset:
        return domain.joined(node.input, conditions)
    source = domain.joined(node.input)
    # Its range of ranks would be empty, which no kernel takes.
    if node.fetch == 0:
        return rel.Filter(source, Literal(False, BooleanType(False)))
    end = _MAX_RANK if node.fetch is None else node.offset + node.fetch
    places = domain.places(source)
    rank = rel.Rank(source, "ROW_NUMBER", places, node.collations, node.offset + 1, end, False, source.row_type)
    return filtered(rank, conditions)


def _rank(domain: Domain, node: rel.Rank, conditions: list[Rex]) -> Rel:
    source = domain.joined(node.input)
    rank = replace(node, input=source, partition=(*node.partition, *domain.places(source)))
    return filtered(_between(domain, node, source, rank), conditions)


def _union(domain: Domain, node: rel.Union, conditions: list[Rex]) -> Rel:
    return rel.Union(tuple(domain.joined(child, conditions) for child in node.inputs), domain.kind(node))


def _set_operation(domain: Domain, node: rel.SetOperation, conditions: list[Rex]) -> Rel:
    # Below, both inputs are filtered apart: drawn twice, a condition could drop a row from one of them alone.
    below = [part for part in conditions if is_deterministic(part)]
    left, right = domain.joined(node.left, below), domain.joined(node.right, below)
    result = replace(node, left=left, right=right, row_type=domain.kind(node))
    return filtered(result, [part for part in conditions if not is_deterministic(part)])


UNNESTED: Rules = dict(
    [
        method_case(rel.Filter, _filter),
        method_case(rel.Project, _project),
        method_case(rel.Aggregate, _aggregate),
        method_case(rel.WindowAggregate, _window_aggregate),
        method_case(rel.WindowTableFunction, _window_table),
        method_case(rel.Expand, _expand),
        method_case(rel.Over, _over),
        method_case(rel.Correlate, _correlate),
        method_case(rel.Sort, _sort),
        method_case(rel.Rank, _rank),
        method_case(rel.Union, _union),
        method_case(rel.SetOperation, _set_operation),
        method_case(rel.Join, join_per_value),
    ]
)
"""The nodes that can be computed per value of the domain; below others, references to outer rows are refused."""
