"""The view of the JobGraph: chains of operators, and the data sets between them."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.graph.job_graph import JobEdge, JobGraph, JobVertex
from firesteel.plan.diagram import Diagram, Edge, Node, count, operator_node_id, vertex_node_id
from firesteel.plan.operators import parallelism_text

__all__ = ["short_name", "vertices_diagram"]

_LONGEST_NAME = 100


def vertices_diagram(job_graph: JobGraph) -> Diagram:
    """Return the vertices of a job."""
    groups = [group.name for group in job_graph.slot_sharing_groups]
    return Diagram(
        job_graph.name,
        f"Job graph {job_graph.name!r} ({job_graph.job_type}): {count(len(job_graph.vertices), 'vertex')}, "
        f"slot sharing groups {', '.join(groups)}",
        [_node(vertex) for vertex in job_graph.vertices],
        [_edge(edge, number) for vertex in job_graph.vertices for number, edge in enumerate(vertex.inputs)],
    )


def short_name(vertex: JobVertex) -> str:
    """Return the name of a vertex, truncated for long chains."""
    return vertex.name if len(vertex.name) <= _LONGEST_NAME else vertex.name[: _LONGEST_NAME - 1] + "…"


def _node(vertex: JobVertex) -> Node:
    kind = "source" if vertex.is_input_vertex else "sink" if vertex.is_output_vertex else "operator"
    return Node(
        vertex_node_id(vertex.id),
        short_name(vertex),
        (vertex.id[:8], parallelism_text(vertex.parallelism)),
        kind,
        tuple(_details(vertex)),
        tuple(operator_node_id(operator.node_id) for operator in vertex.chain),
    )


def _details(vertex: JobVertex) -> Iterator[str]:
    yield f"vertex id {vertex.id}"
    if vertex.slot_sharing_group is not None:
        yield f"slot sharing group {vertex.slot_sharing_group.name!r}"
    if vertex.max_parallelism > 0:
        yield f"max parallelism {vertex.max_parallelism}"
    yield from vertex.description.splitlines()


def _edge(edge: JobEdge, number: int) -> Edge:
    return Edge(
        f"input-{edge.target.id}-{number}",
        vertex_node_id(edge.source.producer.id),
        vertex_node_id(edge.target.id),
        f"{edge.ship_strategy}, {edge.source.result_type.name}",
        edge.not_chained_because,
        is_blocking=edge.source.result_type.is_blocking_or_blocking_persistent_result_partition,
    )
