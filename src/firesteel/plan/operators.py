"""The view of the StreamGraph: operators, and why adjacent ones are not chained."""

from __future__ import annotations

from collections.abc import Iterator

from firesteel.graph.job_graph import ChainedOperator, JobEdge, JobGraph, JobVertex
from firesteel.graph.stream_graph import StreamGraph
from firesteel.graph.stream_node import StreamNode
from firesteel.plan.diagram import Diagram, Edge, Node, count, operator_node_id, vertex_node_id

__all__ = ["operators_diagram", "parallelism_text"]


def operators_diagram(job_graph: JobGraph, stream_graph: StreamGraph | None) -> Diagram:
    """Return the operators of a job.

    Details that a job graph does not contain are shown if the stream graph is known.
    """
    operators = sorted(_operators(job_graph), key=lambda pair: pair[1].node_id)
    nodes = stream_graph.nodes if stream_graph is not None else {}
    return Diagram(
        job_graph.name,
        f"Stream graph {job_graph.name!r} ({job_graph.job_type}): {count(len(operators), 'operator')}",
        [_node(vertex, operator, nodes.get(operator.node_id)) for vertex, operator in operators],
        [*_chained_edges(job_graph), *(_edge(edge) for edge in _job_edges(job_graph))],
    )


def parallelism_text(parallelism: int) -> str:
    """Return `x4`, or `x auto` if the scheduler decides."""
    return f"x{parallelism}" if parallelism > 0 else "x auto"


def _operators(job_graph: JobGraph) -> Iterator[tuple[JobVertex, ChainedOperator]]:
    return ((vertex, operator) for vertex in job_graph.vertices for operator in vertex.chain)


def _job_edges(job_graph: JobGraph) -> Iterator[JobEdge]:
    return (edge for vertex in job_graph.vertices for edge in vertex.inputs)


def _node(vertex: JobVertex, operator: ChainedOperator, node: StreamNode | None) -> Node:
    is_source = not vertex.inputs and operator is vertex.chain[0]
    is_sink = not operator.chained_outputs and not operator.outputs and not vertex.produced_data_sets
    return Node(
        operator_node_id(operator.node_id),
        f"{operator.name}",
        (f"{operator.node_id}", parallelism_text(vertex.parallelism)),
        "source" if is_source else "sink" if is_sink else "operator",
        tuple(_details(vertex, operator, node)),
        (vertex_node_id(vertex.id),),
    )


def _details(vertex: JobVertex, operator: ChainedOperator, node: StreamNode | None) -> Iterator[str]:
    yield f"operator id {operator.operator_id}"
    if operator.uid is not None:
        yield f"uid {operator.uid!r}"
    if operator.user_location is not None:
        yield f"at {operator.user_location}"
    if vertex.slot_sharing_group is not None:
        yield f"slot sharing group {vertex.slot_sharing_group.name!r}"
    if vertex.max_parallelism > 0:
        yield f"max parallelism {vertex.max_parallelism}"
    if node is not None:
        yield f"chaining strategy {node.chaining_strategy}"
        if node.buffer_timeout >= 0:
            yield f"buffer timeout {node.buffer_timeout} ms"
        if node.operator is not None:
            yield f"operator {type(node.operator).__name__}"


def _chained_edges(job_graph: JobGraph) -> Iterator[Edge]:
    for _, operator in _operators(job_graph):
        for output in operator.chained_outputs:
            label = "FORWARD" if output.output_tag is None else f"FORWARD, side output {output.output_tag!r}"
            yield Edge(
                f"chained-{operator.node_id}-{output.target_node_id}",
                operator_node_id(operator.node_id),
                operator_node_id(output.target_node_id),
                label,
                is_chained=True,
            )


def _edge(edge: JobEdge) -> Edge:
    return Edge(
        f"edge-{edge.source.id}-{edge.target_node_id}-{edge.type_number}-{edge.target.inputs.index(edge)}",
        operator_node_id(edge.source_node_id),
        operator_node_id(edge.target_node_id),
        edge.ship_strategy if edge.output_tag is None else f"{edge.ship_strategy}, side output {edge.output_tag!r}",
        edge.not_chained_because,
        is_blocking=edge.source.result_type.is_blocking_or_blocking_persistent_result_partition,
    )
