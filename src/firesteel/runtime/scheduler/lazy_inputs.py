"""Availability of a subtask's inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from enum import Enum

from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.intermediate_result import IntermediateResult

__all__ = ["InputDependencyConstraint", "LazyInputs"]


class InputDependencyConstraint(Enum):
    """Whether one consumable input is enough. Flink: `api.common.InputDependencyConstraint` (until 1.12)."""

    ANY = "ANY"
    ALL = "ALL"


class LazyInputs:
    """The inputs that become consumable as their producers progress.

    A pipelined input is consumable once a producer has emitted data, a blocking one once its whole result is finished.
    Flink: `runtime.scheduler.strategy.InputDependencyConstraintChecker` (until 1.11).
    """

    def __init__(self, graph: ExecutionGraph, constraint: InputDependencyConstraint) -> None:
        self._graph = graph
        self._constraint = constraint
        self._done: dict[str, set[ExecutionVertex]] = {id_: set() for id_ in graph.results}
        self._filled: Counter[int] = Counter()  # group of a pipelined edge -> number of its producers that emitted data

    def are_consumable(self, vertex: ExecutionVertex) -> bool:
        """Return whether the subtask may start; a subtask without inputs always may."""
        if not vertex.consumed:
            return True
        decide = any if self._constraint is InputDependencyConstraint.ANY else all
        return decide(self._is_consumable(group) for group in vertex.consumed)

    def finished(self, vertex: ExecutionVertex) -> Iterator[ExecutionVertex]:
        """Record a FINISHED subtask; yield the consumers of blocking results that are now complete."""
        for result in vertex.job_vertex.results:
            if not result.must_be_pipelined_consumed:
                self._done[result.id].add(vertex)
                if self._is_complete(result):
                    yield from self._consumers(result.groups)

    def data_produced(self, vertex: ExecutionVertex) -> Iterator[ExecutionVertex]:
        """Record that a subtask has emitted data; yield the consumers of its pipelined partitions."""
        for result in vertex.job_vertex.results:
            if result.must_be_pipelined_consumed and vertex not in self._done[result.id]:
                self._done[result.id].add(vertex)
                groups = result.partitions[vertex.subtask_index].groups
                self._filled.update(id(group) for group in groups)
                yield from self._consumers(group for group in groups if self._filled[id(group)] == 1)

    def reset(self, vertex: ExecutionVertex) -> None:
        """Reset a subtask that will produce its results again."""
        for result in vertex.job_vertex.results:
            if vertex in self._done[result.id]:
                self._done[result.id].discard(vertex)
                self._filled.subtract(id(group) for group in result.partitions[vertex.subtask_index].groups)

    def _is_consumable(self, group: EdgeGroup) -> bool:
        result = self._graph.results[group.consumed.data_set_id]
        is_pipelined = result.must_be_pipelined_consumed
        return self._filled[id(group)] > 0 if is_pipelined else self._is_complete(result)

    def _is_complete(self, result: IntermediateResult) -> bool:
        return len(self._done[result.id]) == len(result.partitions)

    def _consumers(self, groups: Iterable[EdgeGroup]) -> Iterator[ExecutionVertex]:
        for group in groups:
            vertices = self._graph.job_vertices[group.consumers.vertex_id].vertices
            yield from (vertices[index] for index in group.consumers.subtasks)
