"""The parallelism of vertices after a change by a factor."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.autoscaler.autoscaler_settings import AutoscalerSettings

__all__ = ["aligned", "chosen_parallelism"]


def chosen_parallelism(
    job_graph: JobGraph,
    vertices: Iterable[str],
    current: Mapping[str, int],
    maximum: Mapping[str, int],
    factor: float,
    settings: AutoscalerSettings,
) -> dict[str, int]:
    """Return the parallelism of the vertices that change by a factor. Flink: `JobVertexScaler.scale`.

    Args:
        job_graph: The job.
        vertices: The vertices to change.
        current: The parallelism of all vertices.
        maximum: The number of key groups of each.
        factor: By which factor to change, within the bounds of the settings.
        settings: The settings.
    """
    factor = min(max(factor, 1 - settings.down_factor), 1 + settings.up_factor)
    wanted = set(vertices) - settings.excluded
    keyed = {v.id for v in job_graph.vertices if any(edge.partitioner.name == "HASH" for edge in v.inputs)}
    chosen: dict[str, int] = {}
    for group in _together(job_graph):
        members = group & wanted
        # FORWARD connects them, so they have the same parallelism; none changes if one must not.
        if not members or members != group:
            continue
        before = max(current[vertex] for vertex in group)
        groups = min(maximum[vertex] for vertex in group)
        lowest, highest = min(before, settings.least), min(groups, max(before, settings.most))
        # A product may be a little above a whole number: 0.07 * 100 is 7.000000000000001.
        number = min(max(math.ceil(factor * before - 1e-9), lowest), highest)
        if group & keyed:
            number = max(aligned(number, groups, highest, settings.divides_evenly), lowest)
        chosen |= {vertex: number for vertex in group if number != current[vertex]}
    return chosen


def aligned(number: int, groups: int, highest: int, divides_evenly: bool) -> int:
    """Return a parallelism near `number` that spreads key groups evenly. Flink: `KeyGroupOrPartitionsAdjustMode`.

    Args:
        number: The wanted parallelism.
        groups: The number of key groups.
        highest: The greatest parallelism allowed.
        divides_evenly: Whether the groups must divide without rest; otherwise it is enough that the fullest subtask has
            fewer of them.

    Example:
        >>> aligned(3, 128, 200, divides_evenly=True), aligned(3, 128, 3, divides_evenly=True)
        (4, 2)
        >>> aligned(70, 128, 100, divides_evenly=True), aligned(50, 128, 200, divides_evenly=False)
        (64, 64)
    """
    for above in range(number, min(groups, highest) + 1):
        if groups % above == 0 or (not divides_evenly and groups // above < groups // number):
            return above
    for below in range(number, 0, -1):
        if groups // below > groups // number:
            return below + (groups % below != 0)
    return number


def _together(job_graph: JobGraph) -> list[set[str]]:
    """Return the vertices in groups that need the same parallelism, as FORWARD edges connect them."""
    groups = [{vertex.id} for vertex in job_graph.vertices]
    for vertex in job_graph.vertices:
        for edge in vertex.inputs:
            if edge.partitioner.name == "FORWARD":
                ends = {vertex.id, edge.source.producer.id}
                met = [group for group in groups if group & ends]
                groups = [group for group in groups if group not in met] + [set[str]().union(*met)]
    return groups
