"""The data sets that a vertex produces, partitioned by its parallelism."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.graph.job_graph import IntermediateDataSet, JobEdge
from firesteel.runtime.executiongraph.edges import EdgeGroup

__all__ = ["IntermediateResult", "IntermediateResultPartition"]


class IntermediateResultPartition:
    """The partition of a data set from one subtask. Flink: `runtime.executiongraph.IntermediateResultPartition`.

    Attributes:
        data_set_id: The data set.
        number: The partition's number, which is its producer's subtask index.
        groups: The edge groups that the partition belongs to, one per consuming edge.
    """

    __slots__ = ("data_set_id", "groups", "number")

    def __init__(self, data_set_id: str, number: int) -> None:
        self.data_set_id = data_set_id
        self.number = number
        self.groups: list[EdgeGroup] = []


class IntermediateResult:
    """A data set during execution. Flink: `runtime.executiongraph.IntermediateResult`.

    Attributes:
        data_set: The data set of the JobGraph.
        partitions: One per subtask of the producer.
        groups: The edge groups of all consuming edges.
    """

    def __init__(self, data_set: IntermediateDataSet, parallelism: int) -> None:
        self.data_set = data_set
        self.id = data_set.id
        self.partitions = [IntermediateResultPartition(data_set.id, number) for number in range(parallelism)]
        self.groups: list[EdgeGroup] = []
        self._by_edge: dict[JobEdge, Sequence[EdgeGroup]] = {}

    @property
    def must_be_pipelined_consumed(self) -> bool:
        """Whether producers and consumers must run at the same time."""
        return self.data_set.result_type.must_be_pipelined_consumed

    def groups_of(self, edge: JobEdge) -> Sequence[EdgeGroup]:
        """Return the edge groups of one consuming edge."""
        return self._by_edge[edge]

    def connect(self, edge: JobEdge, groups: Sequence[EdgeGroup]) -> None:
        """Add a consuming edge with its groups."""
        self._by_edge[edge] = groups
        self.groups.extend(groups)
        for group in groups:
            for number in group.consumed.partitions:
                self.partitions[number].groups.append(group)
