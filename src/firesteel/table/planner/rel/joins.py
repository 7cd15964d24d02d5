"""Joins made of two inputs and a condition: its keys, what else it says, and the types of the result."""

from __future__ import annotations

from dataclasses import replace

from firesteel.columns.rex import Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.changelog import is_rowtime, is_time
from firesteel.table.planner.rel.equi_joins import Sides, join_parts, joined_type, split_keys
from firesteel.table.planner.rel.join_times import keeps_times
from firesteel.table.planner.rel.projections import of_sides
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjuncts, refs, row_type
from firesteel.table.planner.rel.time_attributes import materialized


def make_join(
    left: Rel,
    right: Rel,
    kind: str,
    condition: Rex | None,
    is_streaming: bool,
    null_aware: bool = False,
    state_ttl: tuple[str | None, str | None] = (None, None),
) -> Rel:
    """Return a join, which has time attributes only if its condition bounds the rows by time or window.

    Args:
        left: The left input.
        right: The right input.
        kind: INNER, LEFT, RIGHT, FULL, SEMI or ANTI.
        condition: The condition over the columns of both inputs.
        is_streaming: Whether there are time attributes.
        null_aware: Whether the join implements NOT IN.
        state_ttl: The times to live of the state of both inputs, from the hint STATE_TTL.
    """
    sides = _sides(left, right, condition, state_ttl)
    join = join_parts(sides, kind, null_aware)
    if is_streaming and keeps_times(join):
        join = replace(join, keeps_times=True)
    elif is_streaming:
        # Rows of a regular join come when the later one of both does, out of the order that watermarks promise.
        sides.left, sides.right = without_times(sides.left), without_times(sides.right)
        join = join_parts(sides, kind, null_aware)
    return _without_keys(join, kind, sides, left, right)


def make_temporal_join(
    left: Rel, right: Rel, kind: str, condition: Rex | None, time: int, state_ttl: tuple[str | None, str | None]
) -> Rel:
    """Return a join FOR SYSTEM_TIME AS OF a time attribute of the left input.

    Args:
        left: The left input.
        right: The versioned or looked up table.
        kind: INNER or LEFT.
        condition: The condition over the columns of both inputs.
        time: The index of the time attribute.
        state_ttl: The times to live of the state of both inputs, from the hint STATE_TTL.
    """
    sides = _sides(left, right, condition, state_ttl)
    versions = (index for index, type_ in enumerate(sides.right.row_type.field_types()) if is_rowtime(type_))
    node = rel.TemporalJoin(join_parts(sides, kind, False), time, next(versions, None))
    return _without_keys(node, kind, sides, left, right)


def _sides(left: Rel, right: Rel, condition: Rex | None, state_ttl: tuple[str | None, str | None]) -> Sides:
    sides = split_keys(left, right, [] if condition is None else conjuncts(condition))
    sides.state_ttl = state_ttl
    return sides


def _without_keys(node: Rel, kind: str, sides: Sides, left: Rel, right: Rel) -> Rel:
    """Return a join without the columns that its inputs have got for keys that are expressions."""
    names = joined_type(left.row_type, right.row_type, kind).names
    types = node.row_type.field_types()
    if len(types) == len(names):
        return node
    width, start = len(left.row_type), len(sides.left.row_type)
    kept = [*types[:width], *types[start : start + len(names) - width]]
    return of_sides(node, width, start, row_type(names, kept))


def without_times(node: Rel) -> Rel:
    """Return the node without time attributes: a regular join has none."""
    if not any(map(is_time, node.row_type.field_types())):
        return node
    return rel.Project(node, refs(node.row_type), materialized(node.row_type))
