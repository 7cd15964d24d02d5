"""The queries of a job, one per pipelined region, if its records flow through queries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from firesteel.graph.regions import regions_of
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.scheduler.actions import CancelTask

__all__ = ["Queries", "RegionQuery"]


@dataclass(slots=True, eq=False)
class RegionQuery:
    """The query of one region.

    Attributes:
        region: Number of the region.
        vertices: Its subtasks.
        run: The run of the job in which the region was last started.
        up: Number of its subtasks that have been RUNNING in that run.
        is_alive: Whether records may flow.
        is_stopping: Whether it is being stopped.
        to_cancel: Tasks to cancel after it has stopped, as tasks that still get records must not be torn down.
    """

    region: int
    vertices: list[ExecutionVertex] = field(default_factory=list)
    run: int = 0
    up: int = 0
    is_alive: bool = False
    is_stopping: bool = False
    to_cancel: list[CancelTask] = field(default_factory=list)

    @property
    def is_ready(self) -> bool:
        """Whether all subtasks are ready and the query is not running yet."""
        # Counted, so that a report of a subtask costs the same however many the region has.
        return not self.is_alive and self.up == len(self.vertices)

    def is_at(self, run: int) -> bool:
        """Return whether the query runs in the given run and is not being stopped."""
        return self.is_alive and not self.is_stopping and run == self.run

    def starts(self) -> None:
        """Mark the query as running."""
        self.is_alive = True
        self.up = 0

    def is_over(self) -> None:
        """Mark the query as stopped."""
        self.is_alive = self.is_stopping = False

    def begins_anew(self, run: int) -> None:
        """Reset the query for a restart of its subtasks."""
        self.run, self.up = run, 0


class Queries:
    """The queries of a job by region; empty if tasks move their records themselves.

    Args:
        graph: The job.
        has_queries: Whether it has queries.
        run: The run of the job in which they start.
    """

    def __init__(self, graph: ExecutionGraph, has_queries: bool, run: int = 0) -> None:
        self._region_of = regions_of(graph.job_graph) if has_queries else {}
        self.all = [RegionQuery(region, run=run) for region in sorted(set(self._region_of.values()))]
        for vertex in graph.vertices if has_queries else ():
            self.all[self._region_of[vertex.job_vertex.id]].vertices.append(vertex)

    def of(self, vertex: ExecutionVertex) -> RegionQuery | None:
        """Return the query of a subtask, or None."""
        return self.all[self._region_of[vertex.job_vertex.id]] if self.all else None

    def of_all(self, vertices: Iterable[ExecutionVertex]) -> list[RegionQuery]:
        """Return the distinct queries of some subtasks."""
        regions = {self._region_of[vertex.job_vertex.id] for vertex in vertices} if self.all else set()
        return [self.all[region] for region in sorted(regions)]

    @property
    def is_any_alive(self) -> bool:
        """Whether any query may be running."""
        return any(query.is_alive for query in self.all)
