"""Conditions in a simpler form. Calcite: `RexSimplify`, `RexUtil.pullFactors`.

Only rows count for which a condition is TRUE, so that FALSE and NULL are the same here. That holds for filters, for
joins, and for the parts of their AND and OR, but not below NOT, CASE or comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from firesteel.columns.rex import Literal, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.constants import folded
from firesteel.table.planner.rel.equi_joins import rejoined
from firesteel.table.planner.rel.projections import filtered
from firesteel.table.planner.rel.rex_tools import conjunction, conjuncts, disjunction, disjuncts, is_deterministic
from firesteel.table.planner.rules.lossless_casts import FALSE
from firesteel.table.planner.rules.null_rejection import without_null_tests
from firesteel.table.planner.rules.null_safe import equations
from firesteel.table.planner.rules.ranges import as_points, merged_ranges
from firesteel.table.planner.rules.true_conditions import contradicts, when_true

__all__ = ["simplified", "simplify_filter", "simplify_join"]


def simplify_filter(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Merge a filter with one below it, and simplify its condition."""
    if not isinstance(node, rel.Filter):
        return node
    below = node.input
    if isinstance(below, rel.Filter):
        return filtered(below.input, [*conjuncts(below.condition), *conjuncts(node.condition)])
    parts = conjuncts(node.condition)
    found = simplified(parts)
    if found == parts:
        return node
    return rel.Filter(below, FALSE) if found is None else filtered(below, found)


def simplify_join(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Simplify the condition of a join.

    IS NOT DISTINCT FROM becomes keys, as do equations that all parts of an OR have.
    """
    # For NOT IN it matters whether a condition is FALSE or NULL.
    if not isinstance(node, rel.Join) or node.condition is None or node.null_aware:
        return node
    parts, width = conjuncts(node.condition), len(node.left.row_type)
    found = simplified([one for part in parts for one in equations(part, width)])
    if found == parts:
        return node
    if found is None:
        return replace(node, condition=FALSE)
    return rejoined(replace(node, condition=conjunction(found)))


def simplified(parts: Sequence[Rex]) -> list[Rex] | None:
    """Return simpler conditions that are all TRUE for the same rows, None: for no row."""
    known = list[Rex]()
    for part in (piece for whole in parts for piece in conjuncts(when_true(folded(whole)))):
        if isinstance(part, Literal):
            if part.value is not True:
                return None
        else:
            known.append(part)
    return _without_choices(_unique(known))


def _without_choices(parts: list[Rex]) -> list[Rex] | None:
    """Simplify conditions, of which those with OR lose the choices that the others exclude."""
    single = _without_contradictions([part for part in parts if len(disjuncts(part)) == 1])
    if single is None:
        return None
    found, left = list[Rex](), set(single)
    for part in parts:
        if len(disjuncts(part)) == 1:
            found += [part] if part in left else []
        elif (choices := _choices(part, single)) is None:
            return None
        else:
            found += choices
    there = set(found)
    found = _unique([*found, *(part for part in single if part not in there)])
    return found if found == parts else simplified(found)


def _without_contradictions(parts: list[Rex]) -> list[Rex] | None:
    if contradicts(parts):
        return None
    ranges = merged_ranges(parts)
    return None if ranges is None else without_null_tests(ranges)


def _choices(part: Rex, others: list[Rex]) -> list[Rex] | None:
    """Return an OR as conditions that must all hold: what is the same in all of its choices, and the rest."""
    possible = [choice for one in disjuncts(part) if (choice := simplified(conjuncts(one))) is not None]
    possible = [choice for choice in possible if _without_contradictions(_plain([*others, *choice])) is not None]
    if not possible:
        return None
    in_all = set(possible[0]).intersection(*possible)
    shared = [one for one in possible[0] if one in in_all and is_deterministic(one)]
    common = set(shared)
    rest = [[one for one in choice if one not in common] for choice in possible]
    if not all(rest):
        return shared
    unique = _unique([one for choice in rest if (one := conjunction(choice)) is not None])
    return [*shared, as_points(unique) or disjunction(unique)]


def _plain(parts: list[Rex]) -> list[Rex]:
    return [part for part in parts if len(disjuncts(part)) == 1]


def _unique(choices: list[Rex]) -> list[Rex]:
    known = set[Rex]()
    found = list[Rex]()
    for one in choices:
        if one not in known or not is_deterministic(one):
            found.append(one)
        known.add(one)
    return found
