"""The view of the ExecutionGraph: subtasks and their inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from firesteel.graph.job_graph import DistributionPattern, JobEdge
from firesteel.plan.diagram import Cluster, Diagram, Edge, Node, count, shown, subtask_node_id, vertex_node_id
from firesteel.plan.vertices import short_name
from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex
from firesteel.runtime.executiongraph.pipelined_region import PipelinedRegion, pipelined_regions

__all__ = ["subtasks_diagram", "subtasks_text"]

MOST_SUBTASKS = 12
"""Maximum number of subtasks of a vertex that are drawn individually."""
MOST_LINES = 8
"""Maximum number of groups of an edge that are listed individually."""


def _summary(graph: ExecutionGraph, regions: Sequence[PipelinedRegion]) -> str:
    subtasks = sum(vertex.parallelism for vertex in graph.job_vertices.values())
    return (
        f"Execution graph {graph.name!r}: {count(len(graph.job_vertices), 'vertex')}, {count(subtasks, 'subtask')}, "
        f"{count(len(regions), 'pipelined region')}"
    )


# --- as a drawing ------------------------------------------------------------------------------------------------


def subtasks_diagram(graph: ExecutionGraph) -> Diagram:
    """Return the subtasks of a job; of wide vertices only the first ones, and one box for the others."""
    regions = pipelined_regions(graph)
    region_of = {subtask.name: number for number, region in enumerate(regions) for subtask in region}
    diagram = Diagram(graph.name, _summary(graph, regions))
    for vertex in graph.job_vertices.values():
        title = f"{short_name(vertex.job_vertex)}  (x{vertex.parallelism})"
        diagram.clusters.append(Cluster(_cluster_id(vertex), title, (vertex_node_id(vertex.id),)))
        diagram.nodes += _nodes(vertex, region_of)
    for vertex in graph.job_vertices.values():
        for number, edge in enumerate(vertex.job_vertex.inputs):
            result = graph.results[edge.source.id]
            _draw_edge(diagram, edge, number, result.groups_of(edge))
    return diagram


def _cluster_id(vertex: ExecutionJobVertex) -> str:
    return f"subtasks-{vertex.id}"


def _nodes(vertex: ExecutionJobVertex, region_of: dict[str, int]) -> Iterator[Node]:
    for subtask in vertex.vertices[:MOST_SUBTASKS]:
        inputs = [f"reads {_partitions(group)} of input {number}" for number, group in enumerate(subtask.consumed)]
        yield Node(
            subtask_node_id(vertex.id, subtask.subtask_index),
            f"{subtask.subtask_index + 1}/{vertex.parallelism}",
            (),
            "subtask",
            (subtask.name, f"pipelined region {region_of[subtask.name] + 1}", *inputs),
            (vertex_node_id(vertex.id),),
            _cluster_id(vertex),
        )
    if vertex.parallelism > MOST_SUBTASKS:
        others = f"… {vertex.parallelism - MOST_SUBTASKS:,} more"
        yield Node(_more_id(vertex.id), others, (), "more", (), (vertex_node_id(vertex.id),), _cluster_id(vertex))


def _more_id(vertex_id: str) -> str:
    return f"subtask-{vertex_id}-more"


def _partitions(group: EdgeGroup) -> str:
    partitions = group.consumed.partitions
    return f"partition {partitions[0]}" if len(partitions) == 1 else f"partitions {shown(partitions)}"


def _draw_edge(diagram: Diagram, edge: JobEdge, number: int, groups: Sequence[EdgeGroup]) -> None:
    """Add an arrow for each drawn pair; all-to-all arrows meet in one point."""
    name = f"{edge.source.id}-{edge.target.id}-{number}"
    blocking = edge.source.result_type.is_blocking_or_blocking_persistent_result_partition
    drawn: dict[tuple[str, str], None] = {}
    for index, group in enumerate(groups):
        producers = _ends(edge.source.producer.id, group.consumed.partitions)
        consumers = _ends(edge.target.id, group.consumers.subtasks)
        if len(producers) > 1 and len(consumers) > 1:
            point = f"group-{name}-{index}"
            diagram.nodes.append(Node(point, "", (), "group", (f"{edge.ship_strategy}: all read all",)))
            drawn.update(dict.fromkeys([*((one, point) for one in producers), *((point, one) for one in consumers)]))
        else:
            drawn.update(dict.fromkeys((one, other) for one in producers for other in consumers))
    for index, (source, target) in enumerate(drawn):
        diagram.edges.append(
            Edge(f"read-{name}-{index}", source, target, "", edge.not_chained_because, is_blocking=blocking)
        )


def _ends(vertex_id: str, numbers: range) -> list[str]:
    """Return the ids of the boxes of subtasks."""
    ids = [subtask_node_id(vertex_id, number) for number in numbers if number < MOST_SUBTASKS]
    return ids if numbers.stop <= MOST_SUBTASKS else [*ids, _more_id(vertex_id)]


# --- as text -----------------------------------------------------------------------------------------------------


def subtasks_text(graph: ExecutionGraph) -> str:
    """Return the vertices with their subtasks, and their inputs in groups."""
    regions = pipelined_regions(graph)
    lines = [_summary(graph, regions)]
    for vertex in graph.job_vertices.values():
        last = vertex.parallelism - 1
        numbers = "subtask 0" if last == 0 else f"subtasks 0-{last}"
        lines.append(f"\n{vertex.id[:8]}  {vertex.name}: {numbers}, max parallelism {vertex.max_parallelism}")
        for edge in vertex.job_vertex.inputs:
            lines += _edge_lines(edge, graph.results[edge.source.id].groups_of(edge))
    lines.append("")
    lines += [f"Pipelined region {number}: {_members(region)}" for number, region in enumerate(regions[:MOST_LINES], 1)]
    if len(regions) > MOST_LINES:
        lines.append(f"... and {count(len(regions) - MOST_LINES, 'region')} more")
    return "\n".join(lines)


def _edge_lines(edge: JobEdge, groups: Sequence[EdgeGroup]) -> Iterator[str]:
    producer = edge.source.producer
    head = f"  reads {producer.name} ({edge.ship_strategy}, {edge.source.result_type.name})"
    if edge.distribution_pattern is DistributionPattern.ALL_TO_ALL:
        yield f"{head}: every subtask all {count(producer.parallelism, 'partition')}"
        return
    yield f"{head}:"
    for group in groups[:MOST_LINES]:
        consumers = group.consumers.subtasks
        who = f"subtask {consumers[0]} reads" if len(consumers) == 1 else f"subtasks {shown(consumers)} read"
        yield f"    {who} {_partitions(group)}"
    if len(groups) > MOST_LINES:
        yield f"    ... and so on, {len(groups):,} groups in all"


def _members(region: PipelinedRegion) -> str:
    numbers: dict[str, list[int]] = {}
    for subtask in region:
        numbers.setdefault(subtask.job_vertex.name, []).append(subtask.subtask_index)
    return ", ".join(f"{name} [{shown(subtasks)}]" for name, subtasks in numbers.items())
