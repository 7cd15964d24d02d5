"""Filters moved towards the sources. Calcite: `FilterJoinRule`, `FilterAggregateTransposeRule` and similar ones.

A filter passes a node whose rows it could as well have left out before. It never passes a watermark, which rows that it
leaves out may raise, nor a limit. Only parts that are deterministic move, as they may then be computed for other rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from firesteel.columns.column_types import DoubleType, FloatType
from firesteel.columns.rex import Call, InputRef, Rex
from firesteel.common.cases import case
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.equi_joins import condition_parts, inner_join
from firesteel.table.planner.rel.node_tables import for_each_node
from firesteel.table.planner.rel.projections import filtered, with_inputs
from firesteel.table.planner.rel.rel import Rel
from firesteel.table.planner.rel.rex_tools import (
    conjunction,
    conjuncts,
    inline,
    input_refs,
    is_deterministic,
    is_repeatable,
    remap,
    walk,
)
from firesteel.table.planner.rules.equal_columns import equal_columns, equal_keys, may_have_zeros

__all__ = ["copy_key_conditions", "filter_partitions", "push_filter", "push_join_condition"]

_Parts = list[Rex]
"""The conditions of a filter, all of which must hold."""


def push_filter(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Move the parts of a filter below its input, as far as they read nothing that the input computes."""
    if not isinstance(node, rel.Filter):
        return node
    parts = conjuncts(node.condition)
    # A condition without columns stays: FALSE below a COUNT(*) would give a row with 0 instead of none.
    movable = [part for part in parts if is_deterministic(part) and input_refs(part)]
    below, rest = BELOW[type(node.input)](node.input, movable)
    if below is node.input:
        return node
    return filtered(below, [*(part for part in parts if part not in movable), *rest])


def push_join_condition(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Move the parts of a join's condition that read one side to that side, if rows that fail them have no match."""
    if not isinstance(node, rel.Join | rel.IntervalJoin | rel.WindowJoin):
        return node
    join = node if isinstance(node, rel.Join) else node.join
    parts = [] if join.condition is None else conjuncts(join.condition)
    to_left, to_right = join.kind in ("INNER", "RIGHT", "SEMI"), join.kind in ("INNER", "LEFT", "SEMI", "ANTI")
    left, right, rest = _by_side(join, parts, to_left, to_right)
    if not left and not right:
        return node
    slim = replace(join, condition=conjunction(rest))
    return _with_join(node, _filter_sides(slim, left, right))


_Joins = rel.Join | rel.IntervalJoin | rel.WindowJoin


def _by_side(join: rel.Join, parts: _Parts, to_left: bool, to_right: bool) -> tuple[_Parts, _Parts, _Parts]:
    """Return the conditions on the left input, those on the right one, over its columns, and the others."""
    width = len(join.left.row_type)
    left, right, rest = [], [], []
    for part in parts:
        used = input_refs(part) if is_deterministic(part) else set()
        if used and max(used) < width and to_left:
            left.append(part)
        elif used and min(used) >= width and to_right:
            right.append(remap(part, lambda index: index - width))
        else:
            rest.append(part)
    return left, right, rest


def _filter_sides(join: rel.Join, left: _Parts, right: _Parts) -> rel.Join:
    """Filter the inputs of a join; a condition on a key holds for the equal key of the other side, too."""
    more_left, more_right = _copied(join, left, right)
    return replace(
        join, left=filtered(join.left, [*left, *more_left]), right=filtered(join.right, [*right, *more_right])
    )


def copy_key_conditions(node: rel.Rel, is_streaming: bool) -> rel.Rel:
    """Filter an input of a join by what a filter of the other input says about keys, which are equal."""
    if not isinstance(node, rel.Join | rel.IntervalJoin | rel.WindowJoin):
        return node
    join = node if isinstance(node, rel.Join) else node.join
    more_left, more_right = _copied(join, _filters(join.left), _filters(join.right))
    if not more_left and not more_right:
        return node
    return _with_join(node, replace(join, left=filtered(join.left, more_left), right=filtered(join.right, more_right)))


def _filters(node: rel.Rel) -> _Parts:
    """Return the conditions that hold for all rows of a node: of filters, also below joins and chosen columns."""
    match node:
        case rel.Filter():
            return [*conjuncts(node.condition), *_filters(node.input)]
        case rel.Project():
            chosen = ((place, rex) for place, rex in enumerate(node.expressions) if isinstance(rex, InputRef))
            places = {same: place for place, rex in chosen for same in equal_columns(node.input, rex.index)}
            parts = (part for part in _filters(node.input) if input_refs(part) <= places.keys())
            return [remap(part, places.__getitem__) for part in parts]
        case rel.Join(kind="INNER"):
            width = len(node.left.row_type)
            right = [remap(part, lambda index: index + width) for part in _filters(node.right)]
            own = [] if node.condition is None else conjuncts(node.condition)
            return [*own, *_filters(node.left), *right]
        case rel.Join(kind="LEFT" | "SEMI" | "ANTI"):
            return _filters(node.left)
    return []


def _copied(join: rel.Join, left: _Parts, right: _Parts) -> tuple[_Parts, _Parts]:
    """Return what conditions on the right input say about the left one and the other way round, if it is new."""
    keys, to_left = equal_keys(join), join.kind in ("INNER", "RIGHT", "SEMI")
    # NOT IN looks at all rows of the right side: one with NULL decides about every left row.
    to_right = join.kind in ("INNER", "LEFT", "SEMI", "ANTI") and not join.null_aware
    more_left = _for_other_side(right, join.right, [(twin, key) for key, twin in keys]) if to_left else []
    more_right = _for_other_side(left, join.left, keys) if to_right else []
    return _new(more_left, left, join.left), _new(more_right, right, join.right)


def _new(parts: _Parts, others: _Parts, side: rel.Rel) -> _Parts:
    known = [*others, *_filters(side)]
    return [part for part in parts if part not in known]


def _for_other_side(parts: _Parts, side: rel.Rel, keys: Iterable[tuple[int, int]]) -> _Parts:
    """Return conditions that read columns equal to keys of a side alone, for the keys of the other side."""
    same = {column: twin for key, twin in keys for column in equal_columns(side, key)}
    return [remap(part, same.__getitem__) for part in parts if is_repeatable(part) and input_refs(part) <= same.keys()]


def _with_join(node: _Joins, join: rel.Join) -> rel.Rel:
    return join if isinstance(node, rel.Join) else replace(node, join=join)


# --- what is below a filter -----------------------------------------------------------------------------------------

_Below = tuple[rel.Rel, _Parts]
"""The node with what has been moved below it, and what has not."""


def _stays(node: rel.Rel, parts: _Parts) -> _Below:
    return node, parts


def _below(node: rel.Rel, parts: _Parts, columns: Iterable[tuple[int, int]]) -> _Below:
    """Move the parts that read these columns alone: pairs of a column of the node and the same of its input."""
    places = dict(columns)
    moved = [part for part in parts if input_refs(part) <= places.keys()]
    if not moved:
        return node, parts
    inputs = [filtered(child, [remap(part, places.__getitem__) for part in moved]) for child in node.inputs]
    return with_inputs(node, inputs), [part for part in parts if part not in moved]


def _below_keys(node: rel.Rel, parts: _Parts, columns: Iterable[tuple[int, int]]) -> _Below:
    """Move parts that read keys: a group has one value of its key, though its rows may have 0.0 and -0.0."""
    movable = [part for part in parts if _takes_zeros_as_one(part)]
    below, rest = _below(node, movable, columns)
    return below, [part for part in parts if part in rest or part not in movable]


_COMPARISONS = frozenset({"=", "<>", "<", "<=", ">", ">=", "IS NULL", "IS NOT NULL"})


def _takes_zeros_as_one(rex: Rex) -> bool:
    if not isinstance(rex, Call):
        return not any(may_have_zeros(part.type) for part in walk(rex) if isinstance(part, InputRef))
    compares = rex.function in _COMPARISONS
    return all((compares and _is_float(part)) or _takes_zeros_as_one(part) for part in rex.operands)


def _is_float(rex: Rex) -> bool:
    return isinstance(rex, InputRef) and isinstance(rex.type, DoubleType | FloatType)


def _below_all_columns(node: Rel, parts: _Parts) -> _Below:
    return _below(node, parts, ((i, i) for i in range(len(node.inputs[0].row_type))))


def _below_set_operation(node: rel.SetOperation, parts: _Parts) -> _Below:
    return _below_keys(node, parts, ((i, i) for i in range(len(node.row_type))))


def _below_sort(node: rel.Sort, parts: _Parts) -> _Below:
    return (node, parts) if node.fetch is not None or node.offset else _below_all_columns(node, parts)


def _below_aggregate(node: rel.Aggregate, parts: _Parts) -> _Below:
    return _below_keys(node, parts, enumerate(node.keys))


def _below_window_aggregate(node: rel.WindowAggregate, parts: _Parts) -> _Below:
    """Filter by other keys than those of the window, which no rows below have that are aggregated by slices."""
    windows = node.window_columns or ()
    return _below_keys(node, parts, ((place, key) for place, key in enumerate(node.keys) if key not in windows))


def _below_window_table(node: rel.WindowTableFunction, parts: _Parts) -> _Below:
    if node.window.kind == "SESSION":  # A session is made of all rows of its partition.
        return _below_keys(node, parts, ((column, column) for column in node.window.partition))
    return _below_all_columns(node, parts)


def _below_over(node: rel.Over, parts: _Parts) -> _Below:
    # Whole partitions of every window have to be left out.
    shared = set.intersection(*(set(group.partition) for group in node.groups))
    return _below_keys(node, parts, ((column, column) for column in shared))


def filter_partitions(node: Rel, is_streaming: bool) -> rel.Rel:
    """Move the parts of a filter that choose partitions below OVER and the projection of its results.

    The others stay: of one on a row number, `top_n` makes a Top-N.
    """
    project = node.input if isinstance(node, rel.Filter) else None
    if (
        not isinstance(node, rel.Filter)
        or not isinstance(project, rel.Project)
        or not isinstance(project.input, rel.Over)
    ):
        return node
    inlined = {part: inline(part, project.expressions) for part in conjuncts(node.condition)}
    places = {part: moved for part, moved in inlined.items() if is_deterministic(moved)}
    below, rest = _below_over(project.input, list(places.values()))
    if len(rest) == len(places):
        return node
    stay = [part for part in conjuncts(node.condition) if part not in places or places[part] in rest]
    return filtered(replace(project, input=below), stay)


def _below_rank(node: rel.Rank, parts: _Parts) -> _Below:
    return _below_keys(node, parts, ((column, column) for column in node.partition))


def _below_join(node: rel.Join, parts: _Parts) -> _Below:
    below, rest = _below_sides(node, parts)
    # A join made anew would lose its hint STATE_TTL.
    if not rest or node.kind != "INNER" or node.null_aware or node.state_ttl != (None, None):
        return below, rest
    assert isinstance(below, rel.Join)
    return inner_join(below.left, below.right, [*condition_parts(below), *rest], below.row_type), []


def _below_sides(node: _Joins, parts: _Parts) -> _Below:
    join = node if isinstance(node, rel.Join) else node.join
    to_left, to_right = join.kind in ("INNER", "LEFT", "SEMI", "ANTI"), join.kind in ("INNER", "RIGHT")
    left, right, rest = _by_side(join, parts, to_left, to_right)
    return (_with_join(node, _filter_sides(join, left, right)), rest) if left or right else (node, parts)


def _below_left(node: rel.TemporalJoin | rel.LookupJoin, parts: _Parts) -> _Below:
    """Filter the left rows; a version of the right side that is left out would give way to the one before it."""
    left = node.inputs[0]
    moved = [part for part in parts if max(input_refs(part)) < len(left.row_type)]
    if not moved:
        return node, parts
    inputs = [filtered(left, moved), *node.inputs[1:]]
    return with_inputs(node, inputs), [part for part in parts if part not in moved]


BELOW: dict[type, Callable[[object, _Parts], _Below]] = for_each_node(
    "which filters pass it",
    [
        case(rel.TableScan, _stays),
        case(rel.StreamScan, _stays),
        case(rel.Values, _stays),
        case(rel.AssignWatermark, _stays),
        case(rel.Project, _stays),  # `filter_below_project`
        case(rel.Filter, _stays),
        case(rel.Aggregate, _below_aggregate),
        case(rel.WindowTableFunction, _below_window_table),
        case(rel.WindowAggregate, _below_window_aggregate),
        case(rel.Join, _below_join),
        case(rel.IntervalJoin, _below_sides),
        case(rel.TemporalJoin, _below_left),
        case(rel.LookupJoin, _below_left),
        case(rel.WindowJoin, _below_sides),
        case(rel.Correlate, _below_all_columns),
        case(rel.Union, _below_all_columns),
        case(rel.SetOperation, _below_set_operation),
        case(rel.Sort, _below_sort),
        case(rel.Over, _below_over),
        case(rel.Rank, _below_rank),
        # Its columns are NULL in the rows of other grouping sets.
        case(rel.Expand, _stays),
        # A row that does not pass may be part of the match of others.
        case(rel.Match, _stays),
    ],
)
"""What passes below each node."""
