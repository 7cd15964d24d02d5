"""Which columns of a node have the same value in each row, as joins compare them. Calcite: `RelMdPredicates`."""

from __future__ import annotations

from firesteel.columns.column_types import ArrayType, DataType, DoubleType, FloatType, MapType, RowType
from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel

__all__ = ["equal_columns", "equal_keys", "may_have_zeros"]


def may_have_zeros(kind: DataType) -> bool:
    """Return whether equal values of a type may differ: 0.0 and -0.0, which equal each other."""
    return isinstance(kind, DoubleType | FloatType | ArrayType | MapType | RowType)


def equal_keys(join: rel.Join) -> list[tuple[int, int]]:
    """Return the pairs of keys of a join whose values are the same where its rows match."""
    left, right = (side.row_type.field_types() for side in join.inputs)
    return [
        (key, twin)
        for key, twin in zip(join.left_keys, join.right_keys, strict=True)
        if left[key].same_as(right[twin]) and not may_have_zeros(left[key])
    ]


def equal_columns(node: rel.Rel, column: int) -> set[int]:
    """Return the columns that have the value of a column in each row, the column itself among them."""
    match node:
        case rel.Filter():
            return equal_columns(node.input, column)
        case rel.Project():
            rex = node.expressions[column]
            same = equal_columns(node.input, rex.index) if isinstance(rex, InputRef) else set()
            chosen = enumerate(node.expressions)
            return {column} | {place for place, one in chosen if isinstance(one, InputRef) and one.index in same}
        case rel.Join(kind="INNER"):
            return _of_join(node, column)
        case rel.Join(kind="LEFT" | "SEMI" | "ANTI") if column < len(node.left.row_type):
            return equal_columns(node.left, column)
    return {column}


def _of_join(join: rel.Join, column: int) -> set[int]:
    width = len(join.left.row_type)
    twins = [(key, width + twin) for key, twin in equal_keys(join)]
    found, waiting = set[int](), {column}
    while waiting:
        one = waiting.pop()
        side, start = (join.left, 0) if one < width else (join.right, width)
        same = {start + place for place in equal_columns(side, one - start)}
        others = {other for pair in twins if not same.isdisjoint(pair) for other in pair}
        found |= same
        waiting |= others - found
    return found
