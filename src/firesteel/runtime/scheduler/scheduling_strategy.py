"""Scheduling strategies by name, which decide when subtasks are scheduled."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set
from typing import Protocol

from firesteel.common.options.option import InvalidOptionError
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.scheduler.lazy_inputs import InputDependencyConstraint, LazyInputs
from firesteel.runtime.scheduler.topology import Region, SchedulingTopology

__all__ = [
    "SCHEDULING_STRATEGIES",
    "Bulk",
    "EagerSchedulingStrategy",
    "LazyFromSourcesSchedulingStrategy",
    "PipelinedRegionSchedulingStrategy",
    "SchedulingStrategy",
    "scheduling_strategy",
]

Bulk = tuple[ExecutionVertex, ...]
"""Subtasks that are deployed once all of them have slots."""


class SchedulingStrategy(Protocol):
    """A decision when subtasks are scheduled. Pure. Flink: `runtime.scheduler.strategy.SchedulingStrategy`."""

    def start(self) -> list[Bulk]:
        """Return the bulks to schedule first."""
        ...

    def restart(self, vertices: Set[ExecutionVertex]) -> list[Bulk]:
        """Return the bulks to schedule among subtasks that were reset."""
        ...

    def finished(self, vertex: ExecutionVertex, ready: list[Region]) -> list[Bulk]:
        """Return the bulks to schedule after a subtask FINISHED, which made the inputs of `ready` consumable."""
        ...

    def data_produced(self, vertex: ExecutionVertex) -> list[Bulk]:
        """Return the bulks to schedule after a subtask has emitted its first data."""
        ...


class EagerSchedulingStrategy:
    """A strategy that schedules everything at once.

    Flink: `runtime.scheduler.strategy.EagerSchedulingStrategy` (until 1.13).
    """

    def __init__(self, graph: ExecutionGraph, topology: SchedulingTopology) -> None:
        self._graph = graph

    def start(self) -> list[Bulk]:
        """Return all subtasks as one bulk."""
        return [tuple(self._graph.vertices)]

    def restart(self, vertices: Set[ExecutionVertex]) -> list[Bulk]:
        """Return all reset subtasks as one bulk."""
        return [tuple(vertex for vertex in self._graph.vertices if vertex in vertices)]

    def finished(self, vertex: ExecutionVertex, ready: list[Region]) -> list[Bulk]:
        """Return nothing, as everything is scheduled."""
        return []

    def data_produced(self, vertex: ExecutionVertex) -> list[Bulk]:
        """Return nothing, as everything is scheduled."""
        return []


class PipelinedRegionSchedulingStrategy:
    """A strategy that schedules a region once all its inputs from other regions are finished.

    Flink: `runtime.scheduler.strategy.PipelinedRegionSchedulingStrategy`, the default since 1.12.
    """

    def __init__(self, graph: ExecutionGraph, topology: SchedulingTopology) -> None:
        self._topology = topology

    def start(self) -> list[Bulk]:
        """Return the regions without inputs from other regions."""
        return self._bulks(self._topology.regions)

    def restart(self, vertices: Set[ExecutionVertex]) -> list[Bulk]:
        """Return the regions of the reset subtasks that can start at once, in topological order."""
        regions = {self._topology.region_of(vertex) for vertex in vertices}
        return self._bulks(region for region in self._topology.regions if region in regions)

    def finished(self, vertex: ExecutionVertex, ready: list[Region]) -> list[Bulk]:
        """Return the regions that can start now."""
        return self._bulks(ready)

    def data_produced(self, vertex: ExecutionVertex) -> list[Bulk]:
        """Return nothing, as a region starts as a whole."""
        return []

    def _bulks(self, regions: Iterable[Region]) -> list[Bulk]:
        return [region.vertices for region in regions if not region.missing and _is_new(region.vertices)]


class LazyFromSourcesSchedulingStrategy:
    """A strategy that schedules sources first, then each subtask once its inputs are consumable.

    Flink: `runtime.scheduler.strategy.LazyFromSourcesSchedulingStrategy` (until 1.11).

    Args:
        graph: The job.
        topology: Its regions.
        constraint: Whether a subtask waits for one of its inputs or for every one.
    """

    def __init__(
        self,
        graph: ExecutionGraph,
        topology: SchedulingTopology,
        constraint: InputDependencyConstraint = InputDependencyConstraint.ANY,
    ) -> None:
        self._graph = graph
        self._inputs = LazyInputs(graph, constraint)

    def start(self) -> list[Bulk]:
        """Return the sources."""
        return self._bulks(self._graph.vertices)

    def restart(self, vertices: Set[ExecutionVertex]) -> list[Bulk]:
        """Return the subtasks with consumable inputs."""
        for vertex in vertices:
            self._inputs.reset(vertex)
        return self._bulks(vertex for vertex in self._graph.vertices if vertex in vertices)

    def finished(self, vertex: ExecutionVertex, ready: list[Region]) -> list[Bulk]:
        """Return the consumers of results that are now finished."""
        return self._bulks(self._inputs.finished(vertex))

    def data_produced(self, vertex: ExecutionVertex) -> list[Bulk]:
        """Return the consumers of pipelined results that now have data."""
        return self._bulks(self._inputs.data_produced(vertex))

    def _bulks(self, vertices: Iterable[ExecutionVertex]) -> list[Bulk]:
        """Return each subtask as its own bulk, so that it is deployed as soon as it has its slot."""
        return [(vertex,) for vertex in vertices if _is_new((vertex,)) and self._inputs.are_consumable(vertex)]


SCHEDULING_STRATEGIES: dict[str, Callable[[ExecutionGraph, SchedulingTopology], SchedulingStrategy]] = {
    "pipelined-region": PipelinedRegionSchedulingStrategy,
    "eager": EagerSchedulingStrategy,
    "lazy-from-sources": LazyFromSourcesSchedulingStrategy,
}


def scheduling_strategy(name: str, graph: ExecutionGraph, topology: SchedulingTopology) -> SchedulingStrategy:
    """Return the strategy of that name.

    Raises:
        InvalidOptionError: there is no such strategy.
    """
    build = SCHEDULING_STRATEGIES.get(name)
    if build is None:
        raise InvalidOptionError(f"no scheduling strategy {name!r}; there are {', '.join(SCHEDULING_STRATEGIES)}")
    return build(graph, topology)


def _is_new(vertices: Iterable[ExecutionVertex]) -> bool:
    return all(vertex.current.state is ExecutionState.CREATED for vertex in vertices)
