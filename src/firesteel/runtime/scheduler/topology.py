"""The regions of a job, and the results that they exchange."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence

from firesteel.runtime.executiongraph.edges import EdgeGroup
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex, ExecutionVertex
from firesteel.runtime.executiongraph.pipelined_region import pipelined_regions

__all__ = ["BlockingGroup", "Region", "SchedulingTopology"]


class Region:
    """Subtasks that run together. Flink: `runtime.scheduler.strategy.SchedulingPipelinedRegion`.

    Attributes:
        vertices: In topological order.
        inputs: Results that the region reads from other regions.
        missing: Number of inputs that are not consumable.
    """

    __slots__ = ("inputs", "missing", "vertices")

    def __init__(self, vertices: tuple[ExecutionVertex, ...]) -> None:
        self.vertices = vertices
        self.inputs: list[BlockingGroup] = []
        self.missing = 0


class BlockingGroup:
    """Partitions that regions read once all of them are finished; a complete bipartite part of a blocking edge.

    Attributes:
        producers: One per partition.
        consumers: The regions that read them.
        missing: Number of partitions that are not finished.
        lost: Number of lost partitions.
        is_read_once: Whether a restarted region can't read them again.
    """

    __slots__ = ("consumers", "is_read_once", "lost", "missing", "producers")

    def __init__(self, producers: list[ExecutionVertex], is_read_once: bool) -> None:
        self.producers = producers
        self.is_read_once = is_read_once
        self.consumers: list[Region] = []
        self.missing = len(producers)
        self.lost = 0


class SchedulingTopology:
    """The regions of a job and the availability of their results. Flink: `SchedulingTopology`.

    A partition is available from the time its producer has FINISHED until the producer is restarted; it is lost with
    its TaskExecutor, or if it can't be read any more. The cost of an event depends only on the partitions concerned. A
    job with co-located subtasks is a single region, so that they are restarted together.

    Args:
        graph: The job.
        parts: The groups of subtasks that run together; None for its pipelined regions.

    Attributes:
        regions: In topological order.
    """

    def __init__(self, graph: ExecutionGraph, parts: Iterable[Sequence[ExecutionVertex]] | None = None) -> None:
        self._graph = graph
        regions = [Region(tuple(part)) for part in (self._split(graph) if parts is None else parts)]
        self._region_of = {vertex: region for region in regions for vertex in region.vertices}
        self._groups: dict[int, BlockingGroup] = {}
        self._available: set[ExecutionVertex] = set()
        self._lost: set[ExecutionVertex] = set()
        self._produced_at: dict[str, set[ExecutionVertex]] = {}
        for vertex in graph.job_vertices.values():
            # A single region waits for no other.
            for result in () if len(regions) == 1 else vertex.results:
                if not result.must_be_pipelined_consumed:
                    kind = result.data_set.result_type
                    is_read_once = kind.is_hybrid_result_partition and not kind.is_reconsumable
                    for group in result.groups:
                        self._connect(vertex, group, is_read_once)
        self.regions = list(_in_order(regions, self._outputs))

    def region_of(self, vertex: ExecutionVertex) -> Region:
        """Return the region of a subtask."""
        return self._region_of[vertex]

    def outputs_of(self, vertex: ExecutionVertex) -> Iterator[BlockingGroup]:
        """Yield the results of a subtask that other regions read."""
        for result in vertex.job_vertex.results:
            for group in result.partitions[vertex.subtask_index].groups:
                blocking = self._groups.get(id(group))
                if blocking is not None:
                    yield blocking

    def is_lost(self, vertex: ExecutionVertex) -> bool:
        """Return whether the results of a subtask were lost."""
        return vertex in self._lost

    def producer(self, data_set_id: str, partition: int) -> ExecutionVertex | None:
        """Return the subtask that produces a partition."""
        for vertex in self._graph.job_vertices.values():
            if any(result.id == data_set_id for result in vertex.results):
                return vertex.vertices[partition] if 0 <= partition < vertex.parallelism else None
        return None

    def finished(self, vertex: ExecutionVertex) -> list[Region]:
        """Record a FINISHED subtask; return the regions whose inputs are all consumable now."""
        # A finished subtask may be reported twice, and counts once.
        if vertex in self._available:
            return []
        self._available.add(vertex)
        task_manager_id = vertex.current.task_manager_id
        if task_manager_id is not None:
            self._produced_at.setdefault(task_manager_id, set()).add(vertex)
        ready: list[Region] = []
        for group in self.outputs_of(vertex):
            group.missing -= 1
            for region in group.consumers if not group.missing else ():
                region.missing -= 1
                if not region.missing:
                    ready.append(region)
        return ready

    def produces_anew(self, vertex: ExecutionVertex) -> None:
        """Invalidate the results of a subtask that will be restarted."""
        if vertex in self._lost:
            self._lost.discard(vertex)
            for group in self.outputs_of(vertex):
                group.lost -= 1
        if vertex in self._available:
            self._available.discard(vertex)
            for group in self.outputs_of(vertex):
                group.missing += 1
                # A region counts groups, not partitions: it misses a group as long as that misses any.
                for region in group.consumers if group.missing == 1 else ():
                    region.missing += 1

    def lose(self, vertex: ExecutionVertex) -> None:
        """Mark the results of a subtask as lost."""
        self.produces_anew(vertex)
        self._lost.add(vertex)
        for group in self.outputs_of(vertex):
            group.lost += 1

    def task_manager_lost(self, task_manager_id: str) -> list[Region]:
        """Mark the results on a TaskExecutor as lost; return the regions that read some of them."""
        readers: dict[Region, None] = {}
        for vertex in self._produced_at.pop(task_manager_id, ()):
            # It may have run elsewhere since; `_produced_at` is not told of restarts.
            if vertex.current.task_manager_id == task_manager_id and vertex in self._available:
                self.lose(vertex)
                readers.update((region, None) for group in self.outputs_of(vertex) for region in group.consumers)
        return list(readers)

    def lost_producers(self, region: Region) -> Iterator[ExecutionVertex]:
        """Yield the subtasks that must produce a region's lost inputs again."""
        for group in region.inputs:
            if group.lost:
                yield from (vertex for vertex in group.producers if vertex in self._lost)

    def _split(self, graph: ExecutionGraph) -> Iterable[tuple[ExecutionVertex, ...]]:
        if any(vertex.job_vertex.co_location_group_index is not None for vertex in graph.job_vertices.values()):
            return [tuple(graph.vertices)]
        return pipelined_regions(graph)

    def _connect(self, producer: ExecutionJobVertex, group: EdgeGroup, is_read_once: bool) -> None:
        blocking = BlockingGroup([producer.vertices[number] for number in group.consumed.partitions], is_read_once)
        consumers = self._graph.job_vertices[group.consumers.vertex_id].vertices
        readers = dict.fromkeys(self._region_of[consumers[index]] for index in group.consumers.subtasks)
        own = {self._region_of[vertex] for vertex in blocking.producers}
        blocking.consumers = [region for region in readers if region not in own]
        if blocking.consumers:
            self._groups[id(group)] = blocking
            for region in blocking.consumers:
                region.inputs.append(blocking)
                region.missing += 1

    def _outputs(self, region: Region) -> Iterator[BlockingGroup]:
        return (group for vertex in region.vertices for group in self.outputs_of(vertex))


def _in_order(regions: list[Region], outputs: Callable[[Region], Iterable[BlockingGroup]]) -> Iterator[Region]:
    """Yield the regions in topological order."""
    partitions = {group: len(group.producers) for region in regions for group in region.inputs}
    inputs = {region: len(region.inputs) for region in regions}
    ready = deque(region for region in regions if not region.inputs)
    while ready:
        region = ready.popleft()
        yield region
        for group in outputs(region):
            partitions[group] -= 1
            for consumer in group.consumers if not partitions[group] else ():
                inputs[consumer] -= 1
                if not inputs[consumer]:
                    ready.append(consumer)
