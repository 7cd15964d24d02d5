"""Edges between subtasks, kept as groups so that u x p edges need only u + p references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from firesteel.graph.job_graph import DistributionPattern

__all__ = ["ConsumedPartitionGroup", "ConsumerVertexGroup", "EdgeGroup", "edge_groups"]


@dataclass(frozen=True, slots=True)
class ConsumedPartitionGroup:
    """Partitions of one result that the same subtasks consume. Flink: `scheduler.strategy.ConsumedPartitionGroup`.

    Attributes:
        data_set_id: The result.
        partitions: Partition numbers; always consecutive.
        consumers: Number of subtasks that consume the group.
    """

    data_set_id: str
    partitions: range
    consumers: int


@dataclass(frozen=True, slots=True)
class ConsumerVertexGroup:
    """Subtasks that consume the same partitions. Flink: `scheduler.strategy.ConsumerVertexGroup`.

    Attributes:
        vertex_id: Their JobVertex.
        subtasks: Subtask indices; always consecutive.
    """

    vertex_id: str
    subtasks: range


@dataclass(frozen=True, slots=True)
class EdgeGroup:
    """A complete bipartite part of an edge: all `consumers` read all `consumed` partitions."""

    consumed: ConsumedPartitionGroup
    consumers: ConsumerVertexGroup
    pattern: DistributionPattern

    def consumed_subpartition(self, subtask_index: int) -> int:
        """Return the subpartition that a consumer reads of each partition in the group."""
        if self.pattern is DistributionPattern.ALL_TO_ALL:
            return subtask_index
        return subtask_index % len(self.consumers.subtasks)


def edge_groups(
    data_set_id: str, vertex_id: str, partitions: int, subtasks: int, pattern: DistributionPattern
) -> Iterator[EdgeGroup]:
    """Split the edge from a result with `partitions` partitions to a vertex with `subtasks` subtasks.

    Flink: `runtime.executiongraph.EdgeManagerBuildUtil`.
    """
    pieces = _all_to_all if pattern is DistributionPattern.ALL_TO_ALL else _pointwise
    for consumed, consumers in pieces(partitions, subtasks):
        yield EdgeGroup(
            ConsumedPartitionGroup(data_set_id, consumed, len(consumers)),
            ConsumerVertexGroup(vertex_id, consumers),
            pattern,
        )


def _all_to_all(partitions: int, subtasks: int) -> Iterator[tuple[range, range]]:
    yield range(partitions), range(subtasks)


def _pointwise(partitions: int, subtasks: int) -> Iterator[tuple[range, range]]:
    if partitions >= subtasks:
        for i in range(subtasks):
            yield range(i * partitions // subtasks, (i + 1) * partitions // subtasks), range(i, i + 1)
    else:
        for partition in range(partitions):
            # The subtasks i with i * partitions // subtasks == partition.
            start, stop = -(-partition * subtasks // partitions), -(-(partition + 1) * subtasks // partitions)
            yield range(partition, partition + 1), range(start, stop)
