"""Resolution of the parallelism and max parallelism of vertices."""

from __future__ import annotations

from firesteel.common.keys.key_groups import default_max_parallelism
from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.runtime.executiongraph.execution_errors import ExecutionGraphError

__all__ = ["resolve_parallelism"]


def resolve_parallelism(job_graph: JobGraph, default_parallelism: int) -> None:
    """Set the parallelism and max parallelism of vertices that leave them to the scheduler.

    A dynamic (BATCH) vertex gets `default_parallelism`, or its max parallelism if that is smaller; others get 1. A job
    that was rescaled while it ran keeps the number of key groups, and has the parallelism that was asked for.

    Raises:
        ExecutionGraphError: a vertex has more subtasks than key groups.
    """
    for vertex in job_graph.vertices:
        if vertex.parallelism < 1:
            wanted = default_parallelism if job_graph.dynamic else 1
            vertex.parallelism = min(wanted, vertex.max_parallelism) if vertex.max_parallelism > 0 else wanted
        if vertex.max_parallelism < 1:
            vertex.max_parallelism = default_max_parallelism(vertex.parallelism)
        bounds = job_graph.resource_requirements.get(vertex.id)
        if bounds is not None:
            vertex.parallelism = bounds.upper
        _check(vertex)


def _check(vertex: JobVertex) -> None:
    if vertex.parallelism > vertex.max_parallelism:
        raise ExecutionGraphError(
            f"vertex {vertex.name!r} has parallelism {vertex.parallelism}, which is more than its max parallelism "
            f"{vertex.max_parallelism}; lower the one or raise the other"
        )
