"""Vertices and edges as flat tables, because pickling must not recurse along the graph, whose paths may be long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from firesteel.graph.job_vertex import IntermediateDataSet, JobEdge, JobVertex


@dataclass(frozen=True, slots=True)
class VertexTables:
    """Vertices without edges, data sets by index of their producer, and edges by index of data set and target.

    `consumers` contains the ordered indexes of the edges of each data set.
    """

    vertices: tuple[JobVertex, ...]
    data_sets: tuple[tuple[Any, ...], ...]
    edges: tuple[tuple[Any, ...], ...]
    consumers: tuple[tuple[int, ...], ...]


def flatten(vertices: Sequence[JobVertex]) -> VertexTables:
    """Return the tables of vertices."""
    data_sets = [data_set for vertex in vertices for data_set in vertex.produced_data_sets]
    edges = [edge for vertex in vertices for edge in vertex.inputs]
    vertex_index = {id(vertex): i for i, vertex in enumerate(vertices)}
    data_set_index = {id(data_set): i for i, data_set in enumerate(data_sets)}
    edge_index = {id(edge): i for i, edge in enumerate(edges)}
    return VertexTables(
        tuple(replace(vertex, inputs=[], produced_data_sets=[]) for vertex in vertices),
        tuple((vertex_index[id(d.producer)], d.id, d.result_type, d.distribution_pattern) for d in data_sets),
        tuple(
            (
                data_set_index[id(edge.source)],
                vertex_index[id(edge.target)],
                edge.type_number,
                edge.partitioner,
                edge.distribution_pattern,
                edge.ship_strategy,
                edge.source_node_id,
                edge.target_node_id,
                edge.output_tag,
                edge.not_chained_because,
            )
            for edge in edges
        ),
        tuple(tuple(edge_index[id(edge)] for edge in data_set.consumers) for data_set in data_sets),
    )


def rebuild(tables: VertexTables) -> list[JobVertex]:
    """Return the connected vertices of tables."""
    vertices = list(tables.vertices)
    data_sets = []
    for producer, data_set_id, result_type, pattern in tables.data_sets:
        data_set = IntermediateDataSet(data_set_id, vertices[producer], result_type, pattern)
        vertices[producer].produced_data_sets.append(data_set)
        data_sets.append(data_set)
    edges = []
    for source, target, *fields in tables.edges:
        edge = JobEdge(data_sets[source], vertices[target], *fields)
        vertices[target].inputs.append(edge)
        edges.append(edge)
    for data_set, consumers in zip(data_sets, tables.consumers, strict=True):
        data_set.consumers = [edges[index] for index in consumers]
    return vertices
