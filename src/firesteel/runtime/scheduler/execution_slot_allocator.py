"""Creation of slot requests for subtasks."""

from __future__ import annotations

from collections.abc import Iterable

from firesteel.graph.slot_numbering import SlotSharing, slot_sharing_name
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.scheduler.preferred_locations import PreferredLocations
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.scheduler.slot_sharing_strategy import slot_numbering
from firesteel.runtime.slotpool.resource_profile import ResourceProfile
from firesteel.runtime.slotpool.slot import SlotProfile, TaskManagerLocation
from firesteel.runtime.slotpool.slot_provider import LogicalSlotRequest

__all__ = ["ExecutionSlotAllocator"]


class ExecutionSlotAllocator:
    """A factory of subtasks' slot requests. Pure. Flink: `runtime.scheduler.SlotSharingExecutionSlotAllocator`.

    Requests have the id of the attempt. If the slot sharing strategy decides who shares a slot, the requests of a slot
    combine the preferences of all its subtasks.

    Args:
        graph: The job.
        options: Scheduling options.

    Attributes:
        numbering: The numbers of the job's slots; None if slot sharing is decided later.
    """

    def __init__(self, graph: ExecutionGraph, options: SchedulerOptions) -> None:
        self._graph = graph
        self._options = options
        self._is_batch = graph.job_graph.job_type == "BATCH"
        self.numbering = slot_numbering(graph, options.slot_sharing_strategy)
        numbers: dict[int | str, str] = {}
        self._groups: dict[str, tuple[str, ResourceProfile]] = {}
        for vertex in graph.job_vertices.values():
            group = vertex.job_vertex.slot_sharing_group
            # Otherwise by identity: in BATCH mode several groups, one per pipelined region, share the name `default`.
            is_named = isinstance(self.numbering, SlotSharing)
            key = slot_sharing_name(vertex.job_vertex) if is_named else id(vertex if group is None else group)
            number = numbers.setdefault(key, f"group-{len(numbers)}")
            declared = None if group is None else group.resource_profile
            self._groups[vertex.id] = number, ResourceProfile.of_group(declared)

    def requests(self, vertices: Iterable[ExecutionVertex]) -> tuple[LogicalSlotRequest, ...]:
        """Return the slot requests of a bulk's current attempts."""
        vertices = list(vertices)
        preferred = PreferredLocations(self._graph, _location_before)
        # Of the whole job: others must not take the slots to which subtasks with local state will return.
        reserved = self._allocations_before(self._graph.vertices)
        profiles: dict[object, SlotProfile] = {}
        for key, sharing in self._by_slot(vertices).items():
            places = [place for vertex in sharing for place in preferred.of(vertex) or ()]
            resources = self._groups[sharing[0].job_vertex.id][1]
            profiles[key] = SlotProfile(resources, tuple(places), self._allocations_before(sharing), reserved)
        return tuple(self._request(vertex, profiles[self._key(vertex)]) for vertex in vertices)

    def _request(self, vertex: ExecutionVertex, profile: SlotProfile) -> LogicalSlotRequest:
        job_vertex = vertex.job_vertex
        index = job_vertex.job_vertex.co_location_group_index
        co_location = None if index is None else (str(index), vertex.subtask_index)
        shared_slot = None if self.numbering is None else str(self._key(vertex))
        return LogicalSlotRequest(
            vertex.current.attempt_id,
            self._groups[job_vertex.id][0],
            job_vertex.id,
            profile,
            shared_slot=shared_slot,
            # Subtasks that share a slot are already co-located.
            co_location=(str(co_location), vertex.subtask_index)
            if shared_slot is None and co_location is not None
            else None,
            is_batch=self._is_batch,
        )

    def _key(self, vertex: ExecutionVertex) -> object:
        if self.numbering is None:
            return vertex
        return self.numbering.slot_of(vertex.job_vertex.id, vertex.subtask_index)

    def _by_slot(self, vertices: Iterable[ExecutionVertex]) -> dict[object, list[ExecutionVertex]]:
        sharing: dict[object, list[ExecutionVertex]] = {}
        for vertex in vertices:
            sharing.setdefault(self._key(vertex), []).append(vertex)
        return sharing

    def _allocations_before(self, vertices: Iterable[ExecutionVertex]) -> frozenset[str]:
        if not self._options.keeps_allocations:
            return frozenset()
        before = (vertex.prior[-1].allocation_id for vertex in vertices if vertex.prior)
        return frozenset(allocation_id for allocation_id in before if allocation_id is not None)


def _location_before(vertex: ExecutionVertex) -> TaskManagerLocation | None:
    """Return the location of the subtask's previous attempt, where its local state is, or None."""
    return vertex.prior[-1].location if vertex.prior else None
