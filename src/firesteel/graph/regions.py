"""Pipelined regions of a job in its data plane.

Regions share no records, so each one runs, fails and restarts alone.
"""

from __future__ import annotations

from firesteel.graph.job_graph import JobGraph

__all__ = ["regions_of"]


def regions_of(job_graph: JobGraph) -> dict[str, int]:
    """Number the connected components of a job, in the order of their first vertices.

    Flink: `runtime.jobgraph.topology.LogicalPipelinedRegion`; there a subtask without exchanges is a region of its own.
    A BATCH job is a single region, and so is a job with co-located vertices.

    Returns:
        Number of the region of each vertex, from 0, by vertex id.

    Example:
        >>> from firesteel.datastream import StreamExecutionEnvironment
        >>> env = StreamExecutionEnvironment.get_execution_environment()
        >>> for numbers in ([1, 2], [3]):
        ...     _ = env.from_collection(numbers).rebalance().print()
        >>> sorted(regions_of(env.get_stream_graph().get_job_graph()).values())
        [0, 0, 1, 1]
    """
    vertices = job_graph.vertices
    if job_graph.job_type == "BATCH" or any(vertex.co_location_group_index is not None for vertex in vertices):
        return {vertex.id: 0 for vertex in vertices}
    members = {vertex.id: [vertex.id] for vertex in vertices}
    for vertex in vertices:
        for edge in vertex.inputs:
            one, other = members[vertex.id], members[edge.source.producer.id]
            if one is not other:
                other.extend(one)
                members.update((member, other) for member in one)
    numbers: dict[int, int] = {}
    return {vertex.id: numbers.setdefault(id(members[vertex.id]), len(numbers)) for vertex in vertices}
