"""Joins by columns that must be equal: the keys of a condition, and the columns of the result."""

from __future__ import annotations

from dataclasses import dataclass, replace

from firesteel.columns.column_types import BooleanType, RowType
from firesteel.columns.rex import Call, InputRef, Rex
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.projections import extended, of_sides
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    input_refs,
    is_deterministic,
    remap,
    row_type,
    unique_names,
)


@dataclass(slots=True)
class Sides:
    """A join being made: both inputs, with columns added for keys that are expressions, and their times to live."""

    left: Rel
    right: Rel
    left_keys: list[int]
    right_keys: list[int]
    rest: list[Rex]
    state_ttl: tuple[str | None, str | None] = (None, None)


def joined_type(left: RowType, right: RowType, kind: str) -> RowType:
    """Return the columns of a join."""
    if kind in ("SEMI", "ANTI"):
        return left
    left_types = [t.nullable() if kind in ("RIGHT", "FULL") else t for t in left.field_types()]
    right_types = [t.nullable() if kind in ("LEFT", "FULL") else t for t in right.field_types()]
    return row_type(unique_names([*left.names, *right.names]), [*left_types, *right_types])


def split_keys(left: Rel, right: Rel, parts: list[Rex]) -> Sides:
    """Return both inputs with columns for the equality keys, and the remaining condition over the new columns."""
    width = len(left.row_type)
    left_more: list[Rex] = []
    right_more: list[Rex] = []
    left_keys: list[int] = []
    right_keys: list[int] = []
    rest: list[Rex] = []
    for part in parts:
        pair = _equal_sides(part, width)
        if pair is None:
            rest.append(part)
            continue
        left_keys.append(_column(pair[0], width, left_more))
        right_keys.append(_column(pair[1], len(right.row_type), right_more))
    new_left, new_right = extended(left, left_more, "$k"), extended(right, right_more, "$k")
    shift_by = len(new_left.row_type) - width
    moved = [remap(part, lambda i: i if i < width else i + shift_by) for part in rest]
    return Sides(new_left, new_right, left_keys, right_keys, moved)


def _column(rex: Rex, width: int, more: list[Rex]) -> int:
    if isinstance(rex, InputRef):
        return rex.index
    if rex not in more:
        more.append(rex)
    return width + more.index(rex)


def _equal_sides(part: object, width: int) -> tuple[Rex, Rex] | None:
    """Return both sides of an equality of the two inputs, each over its own columns."""
    # A key is computed once per row, a condition once per pair of rows: with `a.x = b.y + RAND()` that is not the same.
    if not (isinstance(part, Call) and part.function == "=" and len(part.operands) == 2 and is_deterministic(part)):
        return None
    for a, b in (part.operands, part.operands[::-1]):
        on_left, on_right = input_refs(a), input_refs(b)
        if on_left and on_right and all(i < width for i in on_left) and all(i >= width for i in on_right):
            return a, remap(b, lambda i: i - width)
    return None


def join_parts(sides: Sides, kind: str, null_aware: bool) -> rel.Join:
    """Return the plain join of both sides."""
    types = joined_type(sides.left.row_type, sides.right.row_type, kind)
    return rel.Join(
        sides.left,
        sides.right,
        kind,
        tuple(sides.left_keys),
        tuple(sides.right_keys),
        conjunction(sides.rest),
        types,
        null_aware,
        sides.state_ttl,
    )


def condition_parts(join: rel.Join) -> list[Rex]:
    """Return the whole condition of a join, over the columns of both inputs, as parts that must all hold."""
    width, types = len(join.left.row_type), [*join.left.row_type.field_types(), *join.right.row_type.field_types()]
    pairs = [(left, width + right) for left, right in zip(join.left_keys, join.right_keys, strict=True)]
    equations: list[Rex] = [
        Call(
            "=",
            (InputRef(a, types[a]), InputRef(b, types[b])),
            BooleanType(types[a].is_nullable or types[b].is_nullable),
        )
        for a, b in pairs
    ]
    return equations + ([] if join.condition is None else conjuncts(join.condition))


def inner_join(left: rel.Rel, right: rel.Rel, parts: list[Rex], kind: RowType) -> rel.Rel:
    """Return the plain inner join of two inputs on all parts of a condition, with columns named as given."""
    return _equi_join(split_keys(left, right, parts), len(left.row_type), "INNER", kind)


def rejoined(join: rel.Join) -> rel.Rel:
    """Return a join whose keys are all equations of its condition."""
    parts = condition_parts(join)
    if len(join.left_keys) == sum(_equal_sides(part, len(join.left.row_type)) is not None for part in parts):
        return join
    sides = split_keys(join.left, join.right, parts)
    sides.state_ttl = join.state_ttl
    return _equi_join(sides, len(join.left.row_type), join.kind, join.row_type)


def _equi_join(sides: Sides, width: int, kind: str, columns: RowType) -> rel.Rel:
    """Return a join without the columns that its keys have added: `width` are those of the left input."""
    node = join_parts(sides, kind, False)
    if len(node.row_type) == len(columns):
        return replace(node, row_type=columns)
    return of_sides(node, width, len(sides.left.row_type), columns)
