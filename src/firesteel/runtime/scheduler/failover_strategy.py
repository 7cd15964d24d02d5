"""Failover strategies by name, which select the subtasks to restart after a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.topology import BlockingGroup, Region, SchedulingTopology

__all__ = [
    "FAILOVER_STRATEGIES",
    "FailoverStrategy",
    "RestartAllFailoverStrategy",
    "RestartPipelinedRegionFailoverStrategy",
    "failover_strategy",
]


class FailoverStrategy(Protocol):
    """A selector of subtasks to restart. Pure. Flink: `runtime.executiongraph.failover.FailoverStrategy`."""

    def tasks_needing_restart(self, vertices: Iterable[ExecutionVertex], cause: TaskFailure) -> set[ExecutionVertex]:
        """Return the subtasks to restart after `vertices` failed; no vertices: after a failure of the whole job."""
        ...


class RestartAllFailoverStrategy:
    """A strategy that restarts all subtasks. Flink: `runtime.executiongraph.failover.RestartAllFailoverStrategy`."""

    def __init__(self, graph: ExecutionGraph, topology: SchedulingTopology) -> None:
        self._graph = graph

    def tasks_needing_restart(self, vertices: Iterable[ExecutionVertex], cause: TaskFailure) -> set[ExecutionVertex]:
        """Return all subtasks."""
        return set(self._graph.vertices)


class RestartPipelinedRegionFailoverStrategy:
    """A strategy that restarts failed regions, their consumers, and producers of lost results.

    Subtasks that were not scheduled yet are not restarted.
    Flink: `runtime.executiongraph.failover.RestartPipelinedRegionFailoverStrategy`.
    """

    def __init__(self, graph: ExecutionGraph, topology: SchedulingTopology) -> None:
        self._graph = graph
        self._topology = topology

    def tasks_needing_restart(self, vertices: Iterable[ExecutionVertex], cause: TaskFailure) -> set[ExecutionVertex]:
        """Return the subtasks of all regions to restart."""
        failed = set(vertices)
        if not failed:
            return set(self._graph.vertices)
        if cause.lost_partition is not None:
            producer = self._topology.producer(*cause.lost_partition)
            if producer is not None:
                self._topology.lose(producer)
        regions = self._regions({self._topology.region_of(vertex) for vertex in failed})
        return {
            vertex
            for region in regions
            for vertex in region.vertices
            if vertex.current.state is not ExecutionState.CREATED
        }

    def _regions(self, start: set[Region]) -> set[Region]:
        found, to_visit, looked_at = set(start), list(start), set[BlockingGroup]()
        read: set[BlockingGroup] = set()
        while to_visit:
            region = to_visit.pop()
            near: set[Region] = set()
            for group in region.inputs:
                # Results that can be read once are gone after a failed attempt to read them, even if nobody reports
                # them lost.
                if (group.lost or group.is_read_once) and group not in looked_at:
                    looked_at.add(group)
                    near.update(
                        self._topology.region_of(vertex)
                        for vertex in group.producers
                        if group.is_read_once or self._topology.is_lost(vertex)
                    )
            for vertex in region.vertices:
                for group in self._topology.outputs_of(vertex):
                    # Consumers, too: a region that runs again may produce other data than what they have read a part
                    # of.
                    if group not in read:
                        read.add(group)
                        near.update(group.consumers)
            to_visit += near - found
            found |= near
        return found


FAILOVER_STRATEGIES: dict[str, Callable[[ExecutionGraph, SchedulingTopology], FailoverStrategy]] = {
    "region": RestartPipelinedRegionFailoverStrategy,
    "full": RestartAllFailoverStrategy,
}


def failover_strategy(name: str, graph: ExecutionGraph, topology: SchedulingTopology) -> FailoverStrategy:
    """Return the strategy with a name (`jobmanager.execution.failover-strategy`).

    Raises:
        InvalidOptionError: there is no such strategy.
    """
    build = FAILOVER_STRATEGIES.get(name)
    if build is None:
        raise InvalidOptionError(
            f"option 'jobmanager.execution.failover-strategy': no strategy {name!r}; "
            f"there are {', '.join(FAILOVER_STRATEGIES)}"
        )
    return build(graph, topology)
