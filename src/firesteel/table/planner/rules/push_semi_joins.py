"""Semi and anti joins moved below the inner joins whose rows they filter. Flink: `FlinkSemiAntiJoinJoinTransposeRule`.

Flink compares costs; here the rows decide: those of the input that has all the columns that the semi join reads must
not be more than those of the inner join. In streaming mode semi joins stay, as savepoints rely on the operators of
their plans.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import input_refs, remap
from firesteel.table.planner.rules.cardinality import Estimates

__all__ = ["push_semi_joins"]


def push_semi_joins() -> Callable[[Rel, bool], Rel]:
    """Return the rule that moves semi and anti joins of bounded tables below inner joins."""
    estimates = Estimates()

    def rule(node: Rel, is_streaming: bool) -> Rel:
        if is_streaming or not isinstance(node, rel.Join) or node.kind not in ("SEMI", "ANTI"):
            return node
        return _pushed(node, estimates) or node

    return rule


def _pushed(semi: rel.Join, estimates: Estimates) -> rel.Join | rel.Project | None:
    """Return a plan with the semi join below an inner join, None: it stays."""
    match semi.left:
        case rel.Project() as project:
            return _below_project(semi, project, estimates)
        case rel.Join() as join if join.kind == "INNER":
            return _below_join(semi, join, estimates)
    return None


def _below_project(semi: rel.Join, project: rel.Project, estimates: Estimates) -> rel.Project | None:
    columns = {at: rex.index for at, rex in enumerate(project.expressions) if isinstance(rex, InputRef)}
    if not _columns_read(semi) <= columns.keys():
        return None
    pushed = _pushed(_over(semi, project.input, columns), estimates)
    return None if pushed is None else replace(project, input=pushed, row_type=semi.row_type)


def _below_join(semi: rel.Join, join: rel.Join, estimates: Estimates) -> rel.Join | None:
    width, read = len(join.left.row_type), _columns_read(semi)
    if not read or min(read) < width <= max(read):
        return None
    is_left = max(read) < width
    child = join.left if is_left else join.right
    if estimates.row_count(child) > estimates.row_count(join):
        return None
    below = _over(semi, child, {column: column if is_left else column - width for column in read})
    pushed = _pushed(below, estimates) or below
    if is_left:
        return replace(join, left=pushed, row_type=semi.row_type)
    return replace(join, right=pushed, row_type=semi.row_type)


def _columns_read(semi: rel.Join) -> set[int]:
    """Return the columns of the left input that decide whether a row stays."""
    condition = set() if semi.condition is None else input_refs(semi.condition)
    return {*semi.left_keys, *(column for column in condition if column < len(semi.left.row_type))}


def _over(semi: rel.Join, left: Rel, columns: dict[int, int]) -> rel.Join:
    """Return the semi join with another left input, given where the columns that it reads are in there."""
    before, now = len(semi.left.row_type), len(left.row_type)
    condition = semi.condition
    if condition is not None:
        condition = remap(condition, lambda at: columns[at] if at < before else at - before + now)
    keys = tuple(columns[key] for key in semi.left_keys)
    return replace(semi, left=left, left_keys=keys, condition=condition, row_type=left.row_type)
