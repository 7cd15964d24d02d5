"""Slot sharing that places a consumer in the slot of a producer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from firesteel.graph.job_graph import SlotSharingGroup
from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex, ExecutionVertex

__all__ = ["ExecutionSlotSharingGroup", "local_input_preferred"]


@dataclass(slots=True, eq=False)
class ExecutionSlotSharingGroup:
    """Subtasks that share one slot, at most one of each vertex. Flink: `scheduler.ExecutionSlotSharingGroup`.

    Attributes:
        group: Their slot sharing group; None for a vertex that shares no slots.
    """

    group: SlotSharingGroup | None
    subtasks: list[ExecutionVertex] = field(default_factory=list)


def local_input_preferred(graph: ExecutionGraph) -> list[ExecutionSlotSharingGroup]:
    """Return the slots that a job needs, in the order in which they were first needed.

    Vertices are processed from the sources on. A subtask joins a slot of its co-location constraint, else of one of its
    producers, else any slot of its slot sharing group without a subtask of its vertex, else a new one. Flink:
    `scheduler.LocalInputPreferredSlotSharingStrategy`.
    """
    return _Builder(graph).build()


class _Builder:
    def __init__(self, graph: ExecutionGraph) -> None:
        self._graph = graph
        self._slots: list[ExecutionSlotSharingGroup] = []
        self._slot_of: dict[ExecutionVertex, ExecutionSlotSharingGroup] = {}
        self._co_located: dict[tuple[int, int], ExecutionSlotSharingGroup] = {}

    def build(self) -> list[ExecutionSlotSharingGroup]:
        for vertex in self._graph.job_vertices.values():
            self._place(vertex)
        return self._slots

    def _place(self, vertex: ExecutionJobVertex) -> None:
        group = vertex.job_vertex.slot_sharing_group
        taken: set[int] = set()
        producers: dict[int, Iterator[ExecutionSlotSharingGroup]] = {}
        remaining = []
        for subtask in vertex.vertices:
            slot = self._co_located_slot(subtask) or self._producers_slot(subtask, taken, producers)
            if slot is None:
                remaining.append(subtask)
            else:
                self._add(subtask, slot, taken)
        # After all subtasks with a preferred slot: the others must not take it away from them.
        free = (slot for slot in list(self._slots) if slot.group is group is not None and id(slot) not in taken)
        for subtask in remaining:
            self._add(subtask, next(free, None) or self._new_slot(group), taken)

    def _co_located_slot(self, subtask: ExecutionVertex) -> ExecutionSlotSharingGroup | None:
        constraint = subtask.job_vertex.job_vertex.co_location_group_index
        return None if constraint is None else self._co_located.get((constraint, subtask.subtask_index))

    def _producers_slot(
        self, subtask: ExecutionVertex, taken: set[int], producers: dict[int, Iterator[ExecutionSlotSharingGroup]]
    ) -> ExecutionSlotSharingGroup | None:
        """Return the first free slot of a producer; consumers of the same partitions share an iterator."""
        for number, edge in enumerate(subtask.consumed):
            # A shared iterator: for an all-to-all edge each consumer would otherwise pass all slots that are taken
            # already.
            candidates = producers.setdefault(id(edge), self._slots_of_producers(subtask, number, edge))
            for slot in candidates:
                if id(slot) not in taken:
                    return slot
        return None

    def _slots_of_producers(
        self, subtask: ExecutionVertex, number: int, edge: EdgeGroup
    ) -> Iterator[ExecutionSlotSharingGroup]:
        job_vertex = subtask.job_vertex.job_vertex
        producer = self._graph.job_vertices[job_vertex.inputs[number].source.producer.id]
        if producer.job_vertex.slot_sharing_group is job_vertex.slot_sharing_group is not None:
            for partition in edge.consumed.partitions:
                yield self._slot_of[producer.vertices[partition]]

    def _new_slot(self, group: SlotSharingGroup | None) -> ExecutionSlotSharingGroup:
        slot = ExecutionSlotSharingGroup(group)
        self._slots.append(slot)
        return slot

    def _add(self, subtask: ExecutionVertex, slot: ExecutionSlotSharingGroup, taken: set[int]) -> None:
        slot.subtasks.append(subtask)
        taken.add(id(slot))
        self._slot_of[subtask] = slot
        constraint = subtask.job_vertex.job_vertex.co_location_group_index
        if constraint is not None:
            self._co_located.setdefault((constraint, subtask.subtask_index), slot)
