"""The assignment of vertices to stages and slots, and of edges to gates; driver and slots compute it identically.

The stages of a job are numbered region by region. In its region, stage k runs the vertices for which the largest number
of exchanges on a path from a source is k. In BATCH mode a vertex runs as late as its readers allow. Otherwise its
output would pass through the exchanges of all stages in between. Slot `base(v) + i` carries subtask i. A gate is the
number of an edge in the job.

Why: `docs/decisions/0062-batch-jobs-read-late-and-in-parts.md`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from firesteel.graph.job_graph import JobEdge, JobGraph, JobVertex
from firesteel.graph.regions import regions_of
from firesteel.graph.slot_numbering import SlotSharing


@dataclass(frozen=True)
class StageEdge:
    """One edge of the job graph; `gate` is its number."""

    gate: int
    edge: JobEdge
    is_exchange: bool

    @property
    def source(self) -> JobVertex:
        """The producing vertex."""
        return self.edge.source.producer

    @property
    def target(self) -> JobVertex:
        """The consuming vertex."""
        return self.edge.target

    def consumers_of(self, subtask: int) -> Sequence[int]:
        """Return the consuming subtasks connected to a producing one."""
        up, down = self.source.parallelism, self.target.parallelism
        name = self.edge.partitioner.name
        if name == "FORWARD":
            return (subtask,)
        if name == "RESCALE":
            return [c for c in range(down) if subtask in _producers(c, up, down)]
        return range(down)

    def producers_of(self, subtask: int) -> Sequence[int]:
        """Return the producing subtasks connected to a consuming one."""
        up = self.source.parallelism
        name = self.edge.partitioner.name
        if name == "FORWARD":
            return (subtask,)
        if name == "RESCALE":
            return _producers(subtask, up, self.target.parallelism)
        return range(up)


def _producers(consumer: int, up: int, down: int) -> Sequence[int]:
    """Return the partitions that a POINTWISE consumer reads (Flink: `VertexInputInfoComputationUtils`)."""
    if up >= down:
        return range(consumer * up // down, (consumer + 1) * up // down)
    return (consumer * up // down,)


class StagePlan:
    """The stages, slots and gates of a job graph with resolved parallelism."""

    def __init__(self, job_graph: JobGraph) -> None:
        self.job_graph = job_graph
        self._sharing = SlotSharing.of(job_graph)
        self.slots = self._sharing.slots
        self.edges: list[StageEdge] = []
        self.region_of = regions_of(job_graph)
        depth_of = self._number_edges()
        if job_graph.job_type == "BATCH":
            depth_of = self._delayed(depth_of)
        self.stages: list[range] = []
        """The stages of each region."""
        for region in range(1 + max(self.region_of.values(), default=0)):
            first = self.stages[-1].stop if self.stages else 0
            depth = max((depth_of[vertex] for vertex in depth_of if self.region_of[vertex] == region), default=0)
            self.stages.append(range(first, first + depth + 1))
        self.level_of = {vertex: self.stages[self.region_of[vertex]].start + depth_of[vertex] for vertex in depth_of}

    def _number_edges(self) -> dict[str, int]:
        """Number the edges, and return the largest number of exchanges before each vertex."""
        depth_of: dict[str, int] = {}
        for vertex in self.job_graph.vertices:
            depth = 0
            for edge in vertex.inputs:
                stage_edge = StageEdge(len(self.edges), edge, self._is_exchange(edge))
                self.edges.append(stage_edge)
                depth = max(depth, depth_of[edge.source.producer.id] + stage_edge.is_exchange)
            depth_of[vertex.id] = depth
        return depth_of

    def _delayed(self, depth_of: dict[str, int]) -> dict[str, int]:
        """Return the last stage in which each vertex may run without delaying its readers."""
        delayed: dict[str, int] = {}
        for edge in reversed(self.edges):  # from the readers back, whose own stages are known by then
            source, target = edge.source.id, edge.target.id
            latest = delayed.get(target, depth_of[target]) - edge.is_exchange
            delayed[source] = min(latest, delayed.get(source, latest))
        return depth_of | delayed

    def _is_exchange(self, edge: JobEdge) -> bool:
        """Return whether an edge needs an exchange; not if each subtask sends to the one beside it in its slot.

        In BATCH mode RESCALE edges are such ones, too: Flink's graphs have them between vertices that are not chained.
        In STREAMING mode they are not, as the versions of running jobs are numbered by stage.
        """
        source, target = edge.source.producer, edge.target
        side_by_side = ("FORWARD", "RESCALE") if self.job_graph.job_type == "BATCH" else ("FORWARD",)
        is_forward = edge.partitioner.name in side_by_side and source.parallelism == target.parallelism
        return not (is_forward and self.base_of(source) == self.base_of(target))

    @property
    def levels(self) -> int:
        """The number of stages."""
        return self.stages[-1].stop

    def slots_of(self, region: int) -> list[int]:
        """Return the slots in which a region has subtasks."""
        vertices = [vertex for vertex in self.job_graph.vertices if self.region_of[vertex.id] == region]
        return sorted({self.base_of(vertex) + subtask for vertex in vertices for subtask in range(vertex.parallelism)})

    @cached_property
    def places(self) -> dict[str, tuple[int, int, int]]:
        """Vertex id -> its stage, the slot of its subtask 0, and its parallelism: where its state is."""
        return {
            vertex.id: (self.level_of[vertex.id], self.base_of(vertex), vertex.parallelism)
            for vertex in self.job_graph.vertices
        }

    def base_of(self, vertex: JobVertex) -> int:
        """Return the slot of subtask 0."""
        return self._sharing.base[vertex.id]

    def slot_of(self, vertex_id: str, subtask: int) -> int:
        """Return the slot of a subtask."""
        return self._sharing.base[vertex_id] + subtask

    def vertices_at(self, level: int) -> list[JobVertex]:
        """Return the vertices of one stage, producers before consumers."""
        return [vertex for vertex in self.job_graph.vertices if self.level_of[vertex.id] == level]

    def inputs_of(self, vertex: JobVertex) -> list[StageEdge]:
        """Return the edges into a vertex, in order."""
        return [edge for edge in self.edges if edge.target is vertex]

    def outputs_of(self, vertex: JobVertex, data_set_id: str) -> list[StageEdge]:
        """Return the edges that read one data set of a vertex."""
        return [edge for edge in self.edges if edge.source is vertex and edge.edge.source.id == data_set_id]

    @cached_property
    def level_of_gate(self) -> list[int]:
        """The stage in which each gate is read."""
        return [self.level_of[edge.target.id] for edge in self.edges]
