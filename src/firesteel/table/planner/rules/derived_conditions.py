"""What an OR over several inputs says about each of them. Flink: `JoinDependentConditionDerivationRule`.

`(a.x = 1 AND b.y = 2) OR (a.x = 3 AND b.y = 4)` can't be moved below the join of `a` and `b`, but `a.x IN (1, 3)` and
`b.y IN (2, 4)` follow from it, and can. They are added to the condition here; other rules move them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from firesteel.columns.rex import Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import filtered
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    disjunction,
    disjuncts,
    input_refs,
    is_repeatable,
)
from firesteel.table.planner.rules.simplify import simplified

__all__ = ["derive_conditions"]

_FROM_BOTH_SIDES = ("INNER", "SEMI")
"""Kinds of joins of which a condition on either input may be moved to it."""


def derive_conditions(node: Rel, is_streaming: bool) -> Rel:
    """Add to the condition of a filter or join what it says about single inputs."""
    match node:
        case rel.Filter():
            parts = conjuncts(node.condition)
            found = _derived(parts, _inputs(node.input))
            return filtered(node.input, [*parts, *found]) if found else node
        # NOT IN looks at all rows of its right side: one with NULL there decides about rows that have another value.
        case rel.Join() if node.kind in _FROM_BOTH_SIDES and node.condition is not None and not node.null_aware:
            parts = conjuncts(node.condition)
            found = _derived(parts, [*_inputs(node.left), *_inputs(node.right, len(node.left.row_type))])
            return replace(node, condition=conjunction([*parts, *found])) if found else node
    return node


def _inputs(node: Rel, start: int = 0) -> Iterator[set[int]]:
    """Yield the columns of each input of a tree of joins to which a condition may be moved."""
    # Below a full join, a condition would make rows of NULLs of the matches that it drops.
    if not isinstance(node, rel.Join) or node.kind == "FULL":
        yield set(range(start, start + len(node.row_type)))
        return
    if node.kind != "RIGHT":
        yield from _inputs(node.left, start)
    if node.kind in ("INNER", "RIGHT"):
        yield from _inputs(node.right, start + len(node.left.row_type))


def _derived(parts: Sequence[Rex], inputs: Iterable[set[int]]) -> list[Rex]:
    found = dict.fromkeys(one for columns in inputs for part in parts for one in _about(part, columns))
    return [one for one in found if one not in parts]


def _about(part: Rex, columns: set[int]) -> list[Rex]:
    """Return what an OR says about some columns alone."""
    choices = disjuncts(part)
    # What is derived is computed beside the whole condition, and must agree with it.
    if len(choices) == 1 or not is_repeatable(part) or input_refs(part) <= columns:
        return []
    own = [conjunction([one for one in conjuncts(choice) if _reads_only(one, columns)]) for choice in choices]
    known = [one for one in own if one is not None]
    return (simplified([disjunction(known)]) or []) if len(known) == len(choices) else []


def _reads_only(rex: Rex, columns: set[int]) -> bool:
    used = input_refs(rex)
    return bool(used) and used <= columns
