"""Preferred locations of subtasks: near their state, or near their inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum

from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex, ExecutionVertex
from firesteel.runtime.slotpool.slot import TaskManagerLocation

__all__ = ["LocationPreferenceConstraint", "PreferredLocations"]

MAX_DISTINCT_LOCATIONS = 8
"""An input with more distinct locations of producers is ignored. Flink: `MAX_DISTINCT_LOCATIONS_TO_CONSIDER`."""

Locations = tuple[TaskManagerLocation, ...]
StateLocation = Callable[[ExecutionVertex], TaskManagerLocation | None]


class LocationPreferenceConstraint(Enum):
    """The producers to consider. Flink: `runtime.jobmanager.scheduler.LocationPreferenceConstraint`."""

    ALL = "ALL"
    ANY = "ANY"


class PreferredLocations:
    """The preferred locations of subtasks. Flink: `runtime.scheduler.DefaultPreferredLocationsRetriever`.

    Results per edge group are cached for subtasks with the same inputs, so create a new object for each bulk.

    Args:
        graph: The job.
        location_of_state: Returns the location of a subtask's state, None if it has none or no preference.
        constraint: ALL waits for the locations of all producers, ANY takes those known now.
    """

    def __init__(
        self,
        graph: ExecutionGraph,
        location_of_state: StateLocation = lambda _: None,
        constraint: LocationPreferenceConstraint = LocationPreferenceConstraint.ANY,
    ) -> None:
        self._location_of_state = location_of_state
        self._constraint = constraint
        self._producers: dict[str, ExecutionJobVertex] = {
            result.id: vertex for vertex in graph.job_vertices.values() for result in vertex.results
        }
        self._found: dict[int, Locations | None] = {}

    def of(self, vertex: ExecutionVertex) -> Locations | None:
        """Return the locations (empty: no preference); None if one is unknown and the constraint is ALL."""
        state = self._location_of_state(vertex)
        # State that need not be fetched outweighs input, which comes over the network record by record anyway.
        if state is not None:
            return (state,)
        best: Locations = ()
        for group in vertex.consumed:
            locations = self._of_input(group)
            if locations is None:
                return None
            if locations and (not best or len(locations) < len(best)):
                best = locations
        return best

    def _of_input(self, group: EdgeGroup) -> Locations | None:
        key = id(group)
        if key not in self._found:
            vertices = self._producers[group.consumed.data_set_id].vertices
            self._found[key] = self._distinct(vertices[number] for number in group.consumed.partitions)
        return self._found[key]

    def _distinct(self, producers: Iterable[ExecutionVertex]) -> Locations | None:
        known = [producer.current.location for producer in producers]
        if self._constraint is LocationPreferenceConstraint.ALL and None in known:
            return None
        distinct = tuple(dict.fromkeys(location for location in known if location is not None))
        return distinct if len(distinct) <= MAX_DISTINCT_LOCATIONS else ()
