"""Assignment of vertices to slot sharing groups."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.job_vertex import JobVertex, SlotSharingGroup
from firesteel.graph.stream_node import Topology

DEFAULT_GROUP = "default"


def assign_slot_sharing_groups(job_graph: JobGraph, graph: Topology, heads: Mapping[str, int]) -> None:
    """Assign each vertex to its slot sharing group by name.

    In batch jobs each pipelined region of `default` is a group of its own.
    """
    named: dict[str, SlotSharingGroup] = {}
    regions = {} if graph.one_default_group else _regions(job_graph)
    by_region: dict[int, SlotSharingGroup] = {}
    vertices = {vertex.id: vertex for vertex in job_graph.vertices}
    for vertex_id in job_graph.insertion_order:
        vertex = vertices[vertex_id]
        name = graph.nodes[heads[vertex_id]].slot_sharing_group
        if name == DEFAULT_GROUP and regions:
            group = by_region.setdefault(regions[vertex_id], SlotSharingGroup(name))
        else:
            group = named.setdefault(name, SlotSharingGroup(name))
        group.resource_profile = graph.resources.get(name)
        group.vertex_ids.append(vertex_id)
        vertex.slot_sharing_group = group
    position = {vertex.id: i for i, vertex in enumerate(job_graph.vertices)}
    groups = [*by_region.values(), *named.values()]
    for group in groups:
        group.vertex_ids.sort(key=position.__getitem__)
    # Vertices were added in the order of creation, consumers first; the order of groups decides the numbers of slots.
    job_graph.slot_sharing_groups = sorted(groups, key=lambda group: position[group.vertex_ids[0]])


def _regions(job_graph: JobGraph) -> dict[str, int]:
    """Return the number of the pipelined region of each vertex."""
    region: dict[str, int] = {}
    for number, vertex in enumerate(job_graph.vertices):
        pending = [] if vertex.id in region else [vertex]
        while pending:
            current = pending.pop()
            region[current.id] = number
            pending.extend(other for other in _pipelined_neighbours(current) if other.id not in region)
    return region


def _pipelined_neighbours(vertex: JobVertex) -> list[JobVertex]:
    inputs = [edge.source.producer for edge in vertex.inputs if edge.source.result_type.must_be_pipelined_consumed]
    outputs = [
        edge.target
        for data_set in vertex.produced_data_sets
        if data_set.result_type.must_be_pipelined_consumed
        for edge in data_set.consumers
    ]
    return inputs + outputs
