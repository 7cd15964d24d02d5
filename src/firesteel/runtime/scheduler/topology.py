"""The regions of a job, and what lies between them."""

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
        inputs: What the region reads from others.
        missing: How many of its inputs are not consumable.
    """

    __slots__ = ("inputs", "missing", "vertices")

    def __init__(self, vertices: tuple[ExecutionVertex, ...]) -> None:
        self.vertices = vertices
        self.inputs: list[BlockingGroup] = []
        self.missing = 0


class BlockingGroup:
    """Partitions that regions read once all of them are finished; a complete bipartite piece of a blocking edge.

    Attributes:
        producers: One per partition.
        consumers: The regions that read them.
        missing: How many partitions are not finished.
        lost: How many partitions were there and are gone.
        is_read_once: Whether a region that starts anew can't read them again.
    """

    __slots__ = ("consumers", "is_read_once", "lost", "missing", "producers")

    def __init__(self, producers: list[ExecutionVertex], is_read_once: bool) -> None:
        self.producers = producers
        self.is_read_once = is_read_once
        self.consumers: list[Region] = []
        self.missing = len(producers)
        self.lost = 0


class SchedulingTopology:
    """The regions of a job and the availability of what they exchange. Flink: `SchedulingTopology`.

    A partition is available from when its producer has FINISHED until that is started again; it is lost if its
    TaskExecutor is, or if it can't be read any more. Each event costs what depends on it, not more. In a job with
    co-located subtasks all are one region, so that these are restarted together.

    Args:
        graph: The job.
        parts: What runs together; None: its pipelined regions.

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
            for result in () if len(regions) == 1 else vertex.results:
                if not result.must_be_pipelined_consumed:
                    kind = result.data_set.result_type
                    is_read_once = kind.is_hybrid_result_partition and not kind.is_reconsumable
                    for group in result.groups:
                        self._connect(vertex, group, is_read_once)
        self.regions = list(_in_order(regions, self._outputs))

    def region_of(self, vertex: ExecutionVertex) -> Region:
        """The region of a subtask."""
        return self._region_of[vertex]

    def outputs_of(self, vertex: ExecutionVertex) -> Iterator[BlockingGroup]:
        """What others read of a subtask."""
        for result in vertex.job_vertex.results:
            for group in result.partitions[vertex.subtask_index].groups:
                blocking = self._groups.get(id(group))
                if blocking is not None:
                    yield blocking

    def is_lost(self, vertex: ExecutionVertex) -> bool:
        """Whether what a subtask produced was there and is gone."""
        return vertex in self._lost

    def producer(self, data_set_id: str, partition: int) -> ExecutionVertex | None:
        """The subtask that produces a partition."""
        for vertex in self._graph.job_vertices.values():
            if any(result.id == data_set_id for result in vertex.results):
                return vertex.vertices[partition] if 0 <= partition < vertex.parallelism else None
        return None

    def finished(self, vertex: ExecutionVertex) -> list[Region]:
        """A subtask has FINISHED: the regions whose inputs are all consumable by that."""
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
        """A subtask is to be started again; what it produced is void."""
        if vertex in self._lost:
            self._lost.discard(vertex)
            for group in self.outputs_of(vertex):
                group.lost -= 1
        if vertex in self._available:
            self._available.discard(vertex)
            for group in self.outputs_of(vertex):
                group.missing += 1
                for region in group.consumers if group.missing == 1 else ():
                    region.missing += 1

    def lose(self, vertex: ExecutionVertex) -> None:
        """What a subtask produced is gone."""
        self.produces_anew(vertex)
        self._lost.add(vertex)
        for group in self.outputs_of(vertex):
            group.lost += 1

    def task_manager_lost(self, task_manager_id: str) -> list[Region]:
        """A TaskExecutor is gone with what was produced there: the regions that read some of that."""
        readers: dict[Region, None] = {}
        for vertex in self._produced_at.pop(task_manager_id, ()):
            if vertex.current.task_manager_id == task_manager_id and vertex in self._available:
                self.lose(vertex)
                readers.update((region, None) for group in self.outputs_of(vertex) for region in group.consumers)
        return list(readers)

    def lost_producers(self, region: Region) -> Iterator[ExecutionVertex]:
        """The subtasks that have to produce again what a region reads."""
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
    """The regions so that each comes after those it reads from."""
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
