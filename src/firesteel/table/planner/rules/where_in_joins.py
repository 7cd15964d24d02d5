"""Conditions of WHERE that inner joins check. Calcite: `FilterJoinRule`.

`FROM a, b WHERE a.k = b.k` is a join on `k`. Left in WHERE it would be a cross product with a filter, and none of times
or windows, so this comes before joins get their types.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firesteel.columns.rex import OuterRef, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import filtered, with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts, fits, is_deterministic, subqueries_in, walk


def where_in_joins(node: Rel) -> Rel:
    """Return a filter of joins without the conditions that its inner joins check then; other nodes as they are."""
    if not isinstance(node, rel.Filter):
        return node
    parts = conjuncts(node.condition)
    source, left = _checked(node.input, [part for part in parts if _may_move(part)])
    if source is node.input:
        return node
    return filtered(source, [part for part in parts if part in left or not _may_move(part)])


def _may_move(part: Rex) -> bool:
    # Correlated parts stay filters, as `pull_filters` looks for them there.
    is_own = not any(isinstance(one, OuterRef) for one in walk(part))
    return is_own and is_deterministic(part) and not subqueries_in([part])


def _checked(node: Rel, parts: Sequence[Rex]) -> tuple[Rel, Sequence[Rex]]:
    """Return a node whose lowest inner joins check conditions over its columns, and the conditions that none checks."""
    if not parts:
        return node, parts
    if isinstance(node, rel.Filter):
        source, parts = _checked(node.input, parts)
        return (node if source is node.input else replace(node, input=source)), parts
    if not _keeps_left(node):
        return node, parts
    first, *others = node.inputs
    width = len(first.row_type)
    below, left = _checked(first, [part for part in parts if fits(part, width)])
    parts = [part for part in parts if not fits(part, width) or part in left]
    made = node if below is first else with_inputs(node, [below, *others])
    if not isinstance(made, rel.Join) or made.kind != "INNER" or made.keeps_times is not None or not parts:
        return made, parts
    own = [] if made.condition is None else conjuncts(made.condition)
    return replace(made, condition=conjunction([*own, *parts])), []


def _keeps_left(node: Rel) -> bool:
    """Return whether a condition over the columns of the first input means the same for its rows."""
    if isinstance(node, rel.Join | rel.TemporalJoin):
        join = node if isinstance(node, rel.Join) else node.join
        return join.kind in ("INNER", "LEFT")
    return isinstance(node, rel.Correlate)
