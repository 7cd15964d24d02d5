"""The bounds between which the parallelism of a job's vertices may be chosen while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph, JobVertex, JobVertexID
from firesteel.graph.job_vertex import ParallelismBounds
from firesteel.graph.slot_numbering import slot_sharing_name

__all__ = [
    "ResourceRequirementsError",
    "checked_requirements",
    "fitting_parallelism",
    "requirements_of",
    "slots_of",
]

DEFAULT = -1
"""Stands for the smallest lower bound, or the largest upper bound, of a vertex."""


class ResourceRequirementsError(FiresteelError):
    """Bounds do not fit the job; the arguments are the mistakes."""

    def __str__(self) -> str:
        return "\n".join(self.args)


def requirements_of(job_graph: JobGraph) -> dict[JobVertexID, ParallelismBounds]:
    """Return the bounds of a job's vertices: those set while it ran, else from 1 to the parallelism of the program."""
    return job_graph.resource_requirements or {
        vertex.id: ParallelismBounds(1, vertex.parallelism) for vertex in job_graph.vertices
    }


def checked_requirements(
    job_graph: JobGraph, requested: Mapping[JobVertexID, ParallelismBounds]
) -> dict[JobVertexID, ParallelismBounds]:
    """Return bounds with their defaults filled in. Flink: `jobgraph.JobResourceRequirements.validate`.

    Args:
        job_graph: The job, with resolved max parallelism.
        requested: The bounds of each vertex; -1 stands for the smallest or largest possible one.

    Raises:
        ResourceRequirementsError: a vertex is unknown or missing, or bounds are not possible.
    """
    vertices = {vertex.id: vertex for vertex in job_graph.vertices}
    known = {
        vertex_id: ParallelismBounds(
            1 if bounds.lower == DEFAULT else bounds.lower,
            vertices[vertex_id].max_parallelism if bounds.upper == DEFAULT else bounds.upper,
        )
        for vertex_id, bounds in requested.items()
        if vertex_id in vertices
    }
    mistakes = [f"Job vertex [{one}] was not found in the JobGraph." for one in requested if one not in vertices]
    for vertex_id, bounds in known.items():
        mistakes += _mistakes(vertex_id, bounds, vertices[vertex_id].max_parallelism)
    mistakes += [
        f"The request is incomplete, missing job vertex [{one}] resource requirements."
        for one in vertices
        if one not in requested
    ]
    if not mistakes:
        mistakes += _unequal(job_graph, known)
    if mistakes:
        raise ResourceRequirementsError(*mistakes)
    return {vertex_id: known[vertex_id] for vertex_id in vertices}


def _mistakes(vertex_id: JobVertexID, bounds: ParallelismBounds, maximum: int) -> Iterator[str]:
    if bounds.lower < 1 or bounds.upper < 1:
        yield (
            f"Both, the requested lower bound [{bounds.lower}] and upper bound [{bounds.upper}] for job vertex "
            f"[{vertex_id}] must be greater than zero."
        )
        return
    if bounds.lower > bounds.upper:
        yield (
            f"The requested lower bound [{bounds.lower}] for job vertex [{vertex_id}] is higher than the upper bound "
            f"[{bounds.upper}]."
        )
    if bounds.upper > maximum:
        yield (
            f"The newly requested parallelism {bounds.upper} for the job vertex {vertex_id} exceeds its maximum "
            f"parallelism {maximum}."
        )


def _unequal(job_graph: JobGraph, bounds: Mapping[JobVertexID, ParallelismBounds]) -> Iterator[str]:
    """Yield the vertices whose bounds differ although subtask i of one feeds subtask i of the other only."""
    for source, target in _forwarded(job_graph):
        of_source, of_target = bounds[source.id], bounds[target.id]
        if of_source != of_target:
            yield (
                f"Job vertices [{source.id}] ({source.name}) and [{target.id}] ({target.name}) are connected by "
                f"FORWARD and need the same bounds; requested are {of_source.lower} to {of_source.upper} and "
                f"{of_target.lower} to {of_target.upper}."
            )


def _forwarded(job_graph: JobGraph) -> Iterator[tuple[JobVertex, JobVertex]]:
    for vertex in job_graph.vertices:
        for edge in vertex.inputs:
            if edge.partitioner.name == "FORWARD":
                yield edge.source.producer, vertex


def slots_of(job_graph: JobGraph, parallelism: Mapping[JobVertexID, int]) -> int:
    """Return the number of slots that a job needs: the sum of the largest parallelism of each slot sharing group."""
    return sum(max(parallelism[vertex] for vertex in group) for group in _groups(job_graph))


def fitting_parallelism(
    job_graph: JobGraph, requirements: Mapping[JobVertexID, ParallelismBounds], slots: int
) -> dict[JobVertexID, int] | None:
    """Return the largest parallelism of each vertex for a number of slots, or None if they are too few.

    The slots are shared evenly among the slot sharing groups; what a group does not need is left to the others. Flink:
    `scheduler.adaptive.allocator.SlotSharingSlotAllocator`.
    """
    groups = _groups(job_graph)
    lowest = [max(requirements[vertex].lower for vertex in group) for group in groups]
    highest = [max(requirements[vertex].upper for vertex in group) for group in groups]
    if sum(lowest) > slots:
        return None
    left = slots - sum(lowest)
    parallelism: dict[JobVertexID, int] = {}
    # Groups that need the fewest first, so that what they leave is there for the others.
    by_range = sorted(range(len(groups)), key=lambda number: highest[number] - lowest[number])
    for done, number in enumerate(by_range):
        more = min(highest[number] - lowest[number], left // (len(groups) - done))
        left -= more
        for vertex in groups[number]:
            parallelism[vertex] = min(requirements[vertex].upper, lowest[number] + more)
    forwarded = [(source.id, target.id) for source, target in _forwarded(job_graph)]
    # Groups may have got different numbers of slots.
    while uneven := [edge for edge in forwarded if parallelism[edge[0]] != parallelism[edge[1]]]:
        for edge in uneven:
            parallelism.update(dict.fromkeys(edge, min(parallelism[vertex] for vertex in edge)))
    return parallelism


def _groups(job_graph: JobGraph) -> list[list[JobVertexID]]:
    groups: dict[str, list[JobVertexID]] = {}
    for vertex in job_graph.vertices:
        groups.setdefault(slot_sharing_name(vertex), []).append(vertex.id)
    return list(groups.values())
