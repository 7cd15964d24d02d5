"""Outer joins under filters that drop the rows without a match. Calcite: `RelOptUtil.simplifyJoin`."""

from __future__ import annotations

from dataclasses import replace

from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import filtered
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjuncts
from firesteel.table.planner.rules.null_rejection import needs_one_of

__all__ = ["narrow_outer_join"]

_NARROWED = {
    ("LEFT", False, True): "INNER",
    ("LEFT", True, True): "INNER",
    ("RIGHT", True, False): "INNER",
    ("RIGHT", True, True): "INNER",
    ("FULL", True, False): "LEFT",
    ("FULL", False, True): "RIGHT",
    ("FULL", True, True): "INNER",
}
"""The kind of a join, and whether a filter above needs a value of the left and of the right side -> its new kind."""


def narrow_outer_join(node: Rel, is_streaming: bool) -> Rel:
    """Make an outer join an inner one, or a full join a left or right one, if a filter drops what it adds.

    Then conditions can be moved to both sides, and a join of streams has no rows to take back.
    """
    if not isinstance(node, rel.Filter) or not isinstance(node.input, rel.Join | rel.IntervalJoin | rel.WindowJoin):
        return node
    below = node.input
    join = below if isinstance(below, rel.Join) else below.join
    parts, width = conjuncts(node.condition), len(join.left.row_type)
    left, right = (
        any(needs_one_of(part, columns) for part in parts)
        for columns in (range(width), range(width, len(join.row_type)))
    )
    kind = _NARROWED.get((join.kind, left, right))
    if kind is None:
        return node
    narrowed = replace(join, kind=kind)
    return filtered(narrowed if isinstance(below, rel.Join) else replace(below, join=narrowed), parts)
