"""Versions of decisions about subtasks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex

__all__ = ["ExecutionVertexVersioner", "VertexVersion"]


@dataclass(frozen=True, slots=True)
class VertexVersion:
    """The version of a subtask at the time of a decision. Flink: `runtime.scheduler.ExecutionVertexVersion`."""

    vertex: ExecutionVertex
    version: int


class ExecutionVertexVersioner:
    """The number of decisions about each subtask. Flink: `runtime.scheduler.ExecutionVertexVersioner`."""

    def __init__(self) -> None:
        self._versions: defaultdict[ExecutionVertex, int] = defaultdict(int)

    def record(self, vertices: Iterable[ExecutionVertex]) -> list[VertexVersion]:
        """Record a new decision about subtasks, which invalidates all earlier ones."""
        recorded = []
        for vertex in vertices:
            self._versions[vertex] += 1
            recorded.append(VertexVersion(vertex, self._versions[vertex]))
        return recorded

    def is_modified(self, version: VertexVersion) -> bool:
        """Return whether there is a newer decision."""
        return self._versions[version.vertex] != version.version
