"""The joins of a correlated subquery, computed per value of its domain."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.columns.rex import Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.joins import make_join
from firesteel.table.planner.rel.outer_refs import is_correlated
from firesteel.table.planner.rel.projections import filtered
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    fits,
    input_refs,
    is_deterministic,
    refs,
    remap,
    row_type,
    shift,
)
from firesteel.table.planner.rules.domain import Domain, cannot_unnest
from firesteel.table.planner.rules.null_safe import call, may_be_true, same_values
from firesteel.table.planner.rules.pull_filters import picked


def join_per_value(domain: Domain, node: rel.Join, conditions: list[Rex]) -> Rel:
    """Return a join per value: the domain is joined with the inputs that read it, or whose rows need no match.

    Raises:
        TableException: The join is one of times or windows, which the domain has not.
    """
    if node.keeps_times:
        raise cannot_unnest(domain.level)
    level, kind = domain.level, node.kind
    on_left = kind in ("LEFT", "FULL", "SEMI", "ANTI") or is_correlated(node.left, level)
    on_right = kind in ("RIGHT", "FULL") or is_correlated(node.right, level)
    both = len(node.left.row_type) + len(node.right.row_type)
    parts = [domain.bound(part, both) for part in _conditions(node, level)]
    if kind == "INNER":
        parts, conditions = [*parts, *conditions], []
        if not on_left and not on_right:
            return _in_condition(domain, node, parts, both)
    sides = _Sides(domain, node, on_left, on_right)
    below: list[Rex] = []
    if kind == "INNER" and on_left:
        below, parts = sides.on_left_alone(parts, both)
    elif kind in ("LEFT", "SEMI", "ANTI"):
        below, conditions = sides.on_left_alone(conditions, len(node.row_type))
    result = sides.joined(below, parts)
    return filtered(result, conditions)


def _in_condition(domain: Domain, node: rel.Join, parts: list[Rex], both: int) -> Rel:
    """Join the domain with an inner join of which only conditions read it."""
    plain, rest = [p for p in parts if fits(p, both)], [p for p in parts if not fits(p, both)]
    joined = make_join(node.left, node.right, "INNER", conjunction(plain), domain.is_streaming)
    return make_join(joined, domain.node, "INNER", conjunction(rest), domain.is_streaming)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The inputs of a join, and whether they get the columns of the domain."""

    domain: Domain
    node: rel.Join
    on_left: bool
    on_right: bool

    def on_left_alone(self, parts: list[Rex], start: int) -> tuple[list[Rex], list[Rex]]:
        """Return the conditions that read only the left input and the domain, over these, and the other conditions.

        Args:
            parts: The conditions.
            start: The first column of the domain in them.
        """
        width = len(self.node.left.row_type)
        alone = [
            is_deterministic(part) and all(index < width or index >= start for index in input_refs(part))
            for part in parts
        ]
        below = [part for part, is_alone in zip(parts, alone, strict=True) if is_alone]
        rest = [part for part, is_alone in zip(parts, alone, strict=True) if not is_alone]
        return [remap(part, lambda i: i if i < width else i - start + width) for part in below], rest

    def joined(self, below: list[Rex], parts: list[Rex]) -> Rel:
        """Return the join, and after its columns those of the domain.

        Args:
            below: Conditions over the left input and the domain.
            parts: Conditions over both inputs and the domain.
        """
        domain, node = self.domain, self.node
        left = domain.joined(node.left, below) if self.on_left else node.left
        right = domain.joined(node.right) if self.on_right else node.right
        width, start = len(node.left.row_type), len(left.row_type)
        both, shown = width + len(node.right.row_type), start + len(node.right.row_type)
        first = width if self.on_left and node.kind != "RIGHT" else shown

        def move(index: int) -> int:
            if index >= both:
                return index - both + first
            return index if index < width else index - width + start

        parts = [remap(part, move) for part in parts]
        if self.on_left and self.on_right:
            parts += same_values(domain.columns(width), domain.columns(shown))
        null_aware = node.null_aware and not self.on_right
        condition = conjunction(parts)
        result = make_join(left, right, node.kind, condition, domain.is_streaming, null_aware, node.state_ttl)
        if node.kind == "FULL":
            return self._of_either(result, start)
        own = range(len(node.row_type))
        return picked(result, [*map(move, own), *range(first, first + len(domain.values))])

    def _of_either(self, joined: Rel, start: int) -> Rel:
        """Return the columns of a full join, and the domain's columns of the side that has them."""
        domain, node, columns = self.domain, self.node, refs(joined.row_type)
        width, shown = len(node.left.row_type), start + len(node.right.row_type)
        own = (*columns[:width], *columns[start:shown])
        pairs = [(columns[width + i], columns[shown + i]) for i in range(len(domain.values))]
        every = (*own, *(call("COALESCE", *pair) for pair in pairs))
        return rel.Project(joined, every, row_type(domain.kind(node).names, [rex.type for rex in every]))


def _conditions(node: rel.Join, level: int) -> list[Rex]:
    """Return the conditions of a join over the columns of both inputs."""
    width = len(node.left.row_type)
    left, right = refs(node.left.row_type), refs(node.right.row_type)
    keys = [call("=", left[a], shift(right[b], width)) for a, b in zip(node.left_keys, node.right_keys, strict=True)]
    # A null-aware join asks whether any row of the right side has NULL; only rows of the same outer values count here.
    if node.null_aware and is_correlated(node.right, level):
        keys = [may_be_true(keys)]
    return [*keys, *([] if node.condition is None else conjuncts(node.condition))]
