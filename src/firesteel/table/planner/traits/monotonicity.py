"""Whether the updates of a query only move its rows up in an order (Flink: `FlinkRelMdModifiedMonotonicity`)."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.columns.kernels.rank import RankStrategy
from firesteel.columns.rex import InputRef
from firesteel.table.planner.rel import rel
from firesteel.table.planner.rel.node_parts import Collation
from firesteel.table.planner.traits.row_kinds import INSERT_ONLY, kinds_of

__all__ = ["rank_strategy"]

_RISING = frozenset({"COUNT", "MAX"})
_FALLING = frozenset({"MIN"})


def rank_strategy(
    node: rel.Rel, partition: Sequence[int], order: Sequence[Collation], is_streaming: bool
) -> RankStrategy:
    """Return how a Top-N over the rows of a node goes about updates. Flink: `RankProcessStrategy`."""
    if kinds_of(node, is_streaming) == INSERT_ONLY:
        return RankStrategy.APPEND_FAST
    return RankStrategy.UPDATE_FAST if _only_moves_up(node, partition, order) else RankStrategy.RETRACT


def _only_moves_up(node: rel.Rel, partition: Sequence[int], order: Sequence[Collation]) -> bool:
    """Return whether no row of a node goes, and each update has a better place in its partition, or the same.

    An aggregation of inserted rows does so by its keys, and by results that rise or fall. A filter above it could let a
    row go.
    """
    columns = [*partition, *(by.index for by in order)]
    while isinstance(node, rel.Project):
        expressions = [node.expressions[column] for column in columns]
        if not all(isinstance(found, InputRef) for found in expressions):
            return False
        columns, node = [found.index for found in expressions if isinstance(found, InputRef)], node.input
    if not isinstance(node, rel.Aggregate) or node.flat or kinds_of(node.input, True) != INSERT_ONLY:
        return False
    keys, places = len(node.keys), columns[len(partition) :]
    return all(column < keys for column in columns[: len(partition)]) and all(
        column < keys or _improves(node, column, by) for column, by in zip(places, order, strict=True)
    )


def _improves(node: rel.Aggregate, column: int, by: Collation) -> bool:
    call, kind = node.calls[column - len(node.keys)], node.row_type.fields[column].data_type
    functions = _RISING if by.descending else _FALLING
    # A result that is NULL at first gets a value later, which must not be a worse place.
    return call.function in functions and not (kind.is_nullable and by.nulls_first)
