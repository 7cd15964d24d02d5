"""Joins of bounded tables one of which is small.

Flink: `BatchPhysicalHashJoinRule`, `BatchPhysicalNestedLoopJoinRule`.

Why: `docs/decisions/0059-small-inputs-and-partial-groups.md`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rules.cardinality import Estimates

__all__ = ["broadcast_up_to"]

_ALLOWED = {
    "INNER": ("right", "left"),
    "LEFT": ("right",),
    "SEMI": ("right",),
    "ANTI": ("right",),
    "RIGHT": ("left",),
    "FULL": (),
}
"""The inputs that may be broadcast: not those whose rows without a match are emitted, which each subtask would emit."""


def broadcast_up_to(limit: int) -> Callable[[Rel, bool], Rel]:
    """Return the rule that broadcasts the smaller input of a join of bounded tables, if it has at most `limit` bytes.

    It is no rule for streams: each subtask would keep the whole state, and not that of its keys.
    """
    estimates = Estimates()

    def rule(node: Rel, is_streaming: bool) -> Rel:
        if not isinstance(node, rel.Join):
            return node
        inputs = {"left": node.left, "right": node.right}
        sizes = {side: estimates.size_in_bytes(inputs[side]) for side in _ALLOWED[node.kind]}
        smallest = min(sizes, key=sizes.__getitem__, default=None)
        if smallest is None or sizes[smallest] > limit:
            return node
        return replace(node, broadcast=smallest)

    return rule
