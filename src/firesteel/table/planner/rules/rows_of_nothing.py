"""Aggregates without groups that have their row even if nothing is aggregated.

An aggregate over a stream has no row before its first input, and one by the values of outer rows has none for a value
without rows. Both get a row for each of them that no function sees.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeGuard

from firesteel.columns.column_types import BooleanType
from firesteel.columns.rex import Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.outer_refs import has_outer_values
from firesteel.table.planner.rel.projections import extended, one_row, with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import refs, row_type
from firesteel.table.planner.rel.time_attributes import without_time_attribute
from firesteel.table.planner.rules.null_safe import call
from firesteel.table.planner.rules.pull_filters import with_keys

_TRUE, _FALSE = Literal(True, BooleanType(False)), Literal(False, BooleanType(False))


def aggregate_with_rows(node: rel.Aggregate, source: Rel, nothing: Rel) -> Rel:
    """Return an aggregate that has a row for each row of another node; the latter's columns are its last ones.

    Args:
        node: The aggregate, without keys.
        source: Its input, with the columns of `nothing` after its own.
        nothing: A node with distinct rows.
    """
    width, count = len(source.row_type), len(nothing.row_type)
    own = [without_time_attribute(kind).nullable() for kind in source.row_type.field_types()[: width - count]]
    kind = row_type([*source.row_type.names, "$row"], [*own, *nothing.row_type.field_types(), BooleanType(False)])
    rows = rel.Project(source, (*refs(source.row_type), _TRUE), kind)
    # The row makes the group; FILTER by `$row` keeps the functions from seeing it, COUNT(*) among them.
    empty = rel.Project(nothing, (*(Literal(None, kind) for kind in own), *refs(nothing.row_type), _FALSE), kind)
    union = rel.Union((rows, empty), kind)
    columns = refs(kind)
    tests: dict[int | None, Rex] = {c.condition: columns[width] for c in node.calls}
    for condition in tests:
        if condition is not None:
            tests[condition] = call("AND", columns[width], columns[condition])
    places = {condition: width + 1 + i for i, condition in enumerate(tests)}
    calls = tuple(replace(c, condition=places[c.condition]) for c in node.calls)
    tested = extended(union, list(tests.values()), "$f")
    return with_keys(replace(node, calls=calls), tested, tuple(range(width - count, width)))


def with_rows(node: Rel) -> Rel:
    """Return a part of a subquery over streams in which aggregates without groups have their row from the start.

    Those that read outer values get it when they are computed per value.
    """
    return _changed(node, {})


def _changed(node: Rel, memo: dict[int, Rel]) -> Rel:
    if id(node) not in memo:
        inputs = [_changed(child, memo) for child in node.inputs]
        is_same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        result = node if is_same else with_inputs(node, inputs)
        if is_total(result) and not has_rows(result.input) and not has_outer_values(result):
            result = aggregate_with_rows(result, result.input, one_row())
        memo[id(node)] = result
    return memo[id(node)]


def is_total(node: Rel) -> TypeGuard[rel.Aggregate]:
    """Return whether a node is an aggregate without groups."""
    return isinstance(node, rel.Aggregate) and not node.keys and not node.flat


def has_rows(node: Rel) -> bool:
    """Return whether a query has rows, whatever its tables have: an aggregate without groups has one, for example."""
    if isinstance(node, rel.Project):
        return has_rows(node.input)
    if isinstance(node, rel.Sort):
        return not node.offset and node.fetch != 0 and has_rows(node.input)
    if isinstance(node, rel.Union):
        return any(map(has_rows, node.inputs))
    if isinstance(node, rel.Values):
        return bool(node.rows)
    return is_total(node)
