"""Whether the updates of a query only move its rows up in an order (Flink: `FlinkRelMdModifiedMonotonicity`)."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns.kernels.ranks.rank import RankStrategy
from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.node_parts import Collation
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of

__all__ = ["only_rises", "rank_strategy"]

_RISING = frozenset({"COUNT", "MAX"})
_FALLING = frozenset({"MIN"})
_DIRECTIONS = {"MAX": _RISING, "MIN": _FALLING}


def rank_strategy(
    node: rel.Rel, partition: Sequence[int], order: Sequence[Collation], is_streaming: bool
) -> RankStrategy:
    """Return how a Top-N over the rows of a node goes about updates. Flink: `RankProcessStrategy`."""
    if kinds_of(node, is_streaming) == INSERT_ONLY:
        return RankStrategy.APPEND_FAST
    return RankStrategy.UPDATE_FAST if _only_moves_up(node, partition, order) else RankStrategy.RETRACT


def only_rises(node: rel.Aggregate) -> bool:
    """Return whether no retraction changes a result: MAX of what only rises, MIN of what only falls, as in Flink."""
    ends = [(call.arguments[0], call.function) for call in node.calls if _is_extreme(call)]
    if len(ends) < len(node.calls) or node.flat:
        return False
    return _is_monotonic(node.input, node.keys, [(column, _DIRECTIONS[str(end)], True) for column, end in ends])


def _is_extreme(call: rel.AggregateCall) -> bool:
    return call.function in _DIRECTIONS and call.condition is None and not call.distinct


def _only_moves_up(node: rel.Rel, partition: Sequence[int], order: Sequence[Collation]) -> bool:
    """Return whether no row of a node goes, and each update has a better place in its partition, or the same."""
    # A result that is NULL at first gets a value later, which must not be a worse place.
    places = [(by.index, _RISING if by.descending else _FALLING, not by.nulls_first) for by in order]
    return _is_monotonic(node, partition, places)


def _is_monotonic(node: rel.Rel, keys: Sequence[int], values: Sequence[tuple[int, frozenset[str], bool]]) -> bool:
    """Return whether no row of a node goes, its keys stay, and its values are keys or results of some functions.

    An aggregation of inserted rows has such results. A filter above it could let a row go.

    Args:
        node: The node.
        keys: Columns that must be keys of groups.
        values: Other columns, the functions that they may be results of, and whether they may be NULL at first.
    """
    columns = [*keys, *(column for column, _, _ in values)]
    while isinstance(node, rel.Project):
        expressions = [node.expressions[column] for column in columns]
        if not all(isinstance(found, InputRef) for found in expressions):
            return False
        columns, node = [found.index for found in expressions if isinstance(found, InputRef)], node.input
    if not isinstance(node, rel.Aggregate) or node.flat or kinds_of(node.input, True) != INSERT_ONLY:
        return False
    width, types = len(node.keys), node.row_type.field_types()
    results = zip(columns[len(keys) :], values, strict=True)
    return all(column < width for column in columns[: len(keys)]) and all(
        column < width
        or (node.calls[column - width].function in functions and (may_be_null or not types[column].is_nullable))
        for column, (_, functions, may_be_null) in results
    )
