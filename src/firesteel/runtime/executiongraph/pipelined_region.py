"""Pipelined regions: groups of subtasks that must run at the same time."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex

__all__ = ["PipelinedRegion", "pipelined_regions"]

PipelinedRegion = tuple[ExecutionVertex, ...]
"""Subtasks connected by pipelined results, in topological order. Flink: `SchedulingPipelinedRegion`."""


def pipelined_regions(graph: ExecutionGraph) -> list[PipelinedRegion]:
    """Divide a job into regions, in the order of their first subtasks, in linear time.

    Regions that depend on each other through blocking results are merged, as they could not run one after the other.
    Flink: `runtime.executiongraph.failover.partitionrelease.PipelinedRegionComputeUtil` and
    `SchedulingPipelinedRegionComputeUtil`.
    """
    numbers = _Numbers(graph)
    sets = _DisjointSets(numbers.total)
    blocking: list[EdgeGroup] = []
    for result in graph.results.values():
        if result.must_be_pipelined_consumed:
            for group in result.groups:
                first = numbers.producer(group, group.consumed.partitions.start)
                for member in numbers.members(group):
                    sets.join(first, member)
        else:
            blocking += result.groups
    region_of = [sets.root(number) for number in range(numbers.total)]
    if blocking:
        merged = _merge_cycles(region_of, blocking, numbers)
        region_of = [merged[region] for region in region_of]
    regions: defaultdict[int, list[ExecutionVertex]] = defaultdict(list)
    for number, vertex in enumerate(graph.vertices):
        regions[region_of[number]].append(vertex)
    return [tuple(region) for region in regions.values()]


class _Numbers:
    """The numbering of the subtasks of a graph, from 0."""

    def __init__(self, graph: ExecutionGraph) -> None:
        self._base: dict[str, int] = {}
        self._producer: dict[str, int] = {}
        self.total = 0
        for vertex in graph.job_vertices.values():
            self._base[vertex.id] = self.total
            self._producer.update((result.id, self.total) for result in vertex.results)
            self.total += vertex.parallelism

    def producer(self, group: EdgeGroup, partition: int) -> int:
        return self._producer[group.consumed.data_set_id] + partition

    def producers(self, group: EdgeGroup) -> Iterator[int]:
        base = self._producer[group.consumed.data_set_id]
        return (base + partition for partition in group.consumed.partitions)

    def consumers(self, group: EdgeGroup) -> Iterator[int]:
        base = self._base[group.consumers.vertex_id]
        return (base + subtask for subtask in group.consumers.subtasks)

    def members(self, group: EdgeGroup) -> Iterator[int]:
        yield from self.producers(group)
        yield from self.consumers(group)


class _DisjointSets:
    def __init__(self, size: int) -> None:
        self._parent = list(range(size))

    def root(self, member: int) -> int:
        parent = self._parent
        while parent[member] != member:
            parent[member] = parent[parent[member]]
            member = parent[member]
        return member

    def join(self, one: int, other: int) -> None:
        # The smaller number stays the root, so a region is identified by its first subtask.
        low, high = sorted((self.root(one), self.root(other)))
        self._parent[high] = low


def _merge_cycles(region_of: list[int], blocking: list[EdgeGroup], numbers: _Numbers) -> dict[int, int]:
    """Return a dict from each region to the region that it is merged into, by strongly connected components."""
    successors: defaultdict[int, set[int]] = defaultdict(set)
    for index, group in enumerate(blocking):
        node = numbers.total + index
        for number in numbers.producers(group):
            successors[region_of[number]].add(node)
        successors[node].update(region_of[number] for number in numbers.consumers(group))
    merged: dict[int, int] = {}
    for component in _strongly_connected(sorted(set(region_of)), successors):
        regions = [node for node in component if node < numbers.total]
        merged.update(dict.fromkeys(regions, min(regions, default=-1)))
    return merged


def _strongly_connected(starts: list[int], successors: dict[int, set[int]]) -> Iterator[list[int]]:
    """Yield the strongly connected components with Tarjan's algorithm, without recursion."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    for start in starts:
        if start in index:
            continue
        walk: list[tuple[int, Iterator[int]]] = []

        def enter(node: int, walk: list[tuple[int, Iterator[int]]] = walk) -> None:
            index[node] = low[node] = len(index)
            stack.append(node)
            on_stack.add(node)
            walk.append((node, iter(successors.get(node, ()))))

        enter(start)
        while walk:
            node, ahead = walk[-1]
            following = next(ahead, None)
            if following is None:
                walk.pop()
                if walk:
                    low[walk[-1][0]] = min(low[walk[-1][0]], low[node])
                if low[node] == index[node]:
                    yield _pop_component(node, stack, on_stack)
            elif following not in index:
                enter(following)
            elif following in on_stack:
                low[node] = min(low[node], index[following])


def _pop_component(node: int, stack: list[int], on_stack: set[int]) -> list[int]:
    component = []
    while True:
        member = stack.pop()
        on_stack.discard(member)
        component.append(member)
        if member == node:
            return component
