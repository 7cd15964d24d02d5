"""Whether a decision about a subtask still holds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex

__all__ = ["ExecutionVertexVersioner", "VertexVersion"]


@dataclass(frozen=True, slots=True)
class VertexVersion:
    """A subtask as it was when something was decided. Flink: `runtime.scheduler.ExecutionVertexVersion`."""

    vertex: ExecutionVertex
    version: int


class ExecutionVertexVersioner:
    """Counts what is decided about each subtask. Flink: `runtime.scheduler.ExecutionVertexVersioner`."""

    def __init__(self) -> None:
        self._versions: defaultdict[ExecutionVertex, int] = defaultdict(int)

    def record(self, vertices: Iterable[ExecutionVertex]) -> list[VertexVersion]:
        """Something new is decided about them: all that was decided before is void."""
        recorded = []
        for vertex in vertices:
            self._versions[vertex] += 1
            recorded.append(VertexVersion(vertex, self._versions[vertex]))
        return recorded

    def is_modified(self, version: VertexVersion) -> bool:
        """Whether something else was decided since."""
        return self._versions[version.vertex] != version.version
