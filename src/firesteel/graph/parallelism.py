"""Resolution of the parallelism and max parallelism of vertices."""

from __future__ import annotations

from firesteel.common.keys.key_groups import default_max_parallelism
from firesteel.errors import InvalidProgramError
from firesteel.graph.job_graph import JobGraph, JobVertex

__all__ = ["max_parallelism_of", "resolve_parallelism", "set_max_parallelism", "set_parallelism"]


def resolve_parallelism(job_graph: JobGraph, default_parallelism: int) -> None:
    """Set the parallelism and max parallelism of the vertices of a job that restores no state.

    Raises:
        InvalidProgramError: a vertex has more subtasks than key groups.
    """
    set_parallelism(job_graph, default_parallelism)
    set_max_parallelism(job_graph)


def set_parallelism(job_graph: JobGraph, default_parallelism: int) -> None:
    """Set the parallelism of vertices that leave it to the scheduler.

    A dynamic (BATCH) vertex gets `default_parallelism`, or its max parallelism if that is smaller; others get 1.
    """
    for vertex in job_graph.vertices:
        if vertex.parallelism < 1:
            wanted = default_parallelism if job_graph.dynamic else 1
            vertex.parallelism = min(wanted, vertex.max_parallelism) if vertex.max_parallelism > 0 else wanted


def set_max_parallelism(job_graph: JobGraph) -> None:
    """Set the max parallelism of vertices that have none from a setting or from their state.

    A job that was rescaled while it ran keeps the number of key groups, and has the parallelism that was asked for.

    Raises:
        InvalidProgramError: a vertex has more subtasks than key groups.
    """
    for vertex in job_graph.vertices:
        vertex.max_parallelism = max_parallelism_of(vertex)
        bounds = job_graph.resource_requirements.get(vertex.id)
        if bounds is not None:
            vertex.parallelism = bounds.upper
        _check(vertex)


def max_parallelism_of(vertex: JobVertex) -> int:
    """Return the number of key groups of a vertex."""
    return vertex.max_parallelism if vertex.max_parallelism > 0 else default_max_parallelism(vertex.parallelism)


def _check(vertex: JobVertex) -> None:
    if vertex.parallelism > vertex.max_parallelism:
        raise InvalidProgramError(
            f"vertex {vertex.name!r} has parallelism {vertex.parallelism}, which is more than its max parallelism "
            f"{vertex.max_parallelism}; lower the one or raise the other"
        )
