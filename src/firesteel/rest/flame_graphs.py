"""Flame graphs of vertices, sampled when somebody asks (Flink: `runtime.webmonitor.threadinfo`)."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from firesteel.common.json_types import Json
from firesteel.common.options.rest_options import (
    FLAMEGRAPH_CLEANUP,
    FLAMEGRAPH_DELAY,
    FLAMEGRAPH_DEPTH,
    FLAMEGRAPH_REFRESH,
    FLAMEGRAPH_SAMPLES,
)
from firesteel.common.stack_frames import Frame
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph
from firesteel.runtime.resourcemanager.resource_manager_gateway import (
    ResourceManagerGateway,
    UnknownTaskExecutorError,
)
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks, joined

__all__ = ["FlameGraphs", "VertexStacks", "flame_graph", "sample_job"]

logger = logging.getLogger(__name__)

_PIECE_S = 2.0
"""Duration of one call to a TaskExecutor, which has to be well below the timeout of calls."""


@dataclass(frozen=True, slots=True)
class VertexStacks:
    """The samples of a vertex. Flink: `VertexThreadInfoStats`.

    Attributes:
        ended_ms: Time at which the last sample was taken (ms since the epoch).
        subtasks: The samples of its subtasks.
    """

    ended_ms: int
    subtasks: tuple[SubtaskStacks, ...]


async def sample_job(
    resource_manager: ResourceManagerGateway, job: ArchivedExecutionGraph, request: StackRequest
) -> list[SubtaskStacks]:
    """Sample the stacks of a job, or of one vertex, on all TaskExecutors that run it, at the same time."""
    places = {
        subtask["task_manager"]
        for vertex in job.graph.get("vertices", ())
        if request.vertex_id in (None, vertex["id"])
        for subtask in vertex["subtasks"]
        if subtask["task_manager"] is not None
    }
    found = await asyncio.gather(*(_sample_at(resource_manager, place, request) for place in sorted(places)))
    return joined(one for part in found for one in part)


async def _sample_at(
    resource_manager: ResourceManagerGateway, resource_id: str, request: StackRequest
) -> tuple[SubtaskStacks, ...]:
    try:
        return await resource_manager.request_task_manager_stacks(resource_id, request)
    except UnknownTaskExecutorError:  # It is lost, and the job is about to restart.
        return ()


class FlameGraphs:
    """The last flame graphs (Flink: `VertexThreadInfoTracker`), with the options `rest.flamegraph.*`.

    Args:
        resource_manager: Returns the gateway of the leading ResourceManager.
        configuration: The configuration of the cluster.
        now_ms: Returns the time in ms since the epoch.
        now_s: Returns a time in seconds that only grows.
    """

    def __init__(
        self,
        resource_manager: Callable[[], Awaitable[ResourceManagerGateway]],
        configuration: Mapping[str, str],
        now_ms: Callable[[], int],
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resource_manager = resource_manager
        self._samples = FLAMEGRAPH_SAMPLES.of(configuration)
        self._delay_s = FLAMEGRAPH_DELAY.of(configuration)
        self._depth = FLAMEGRAPH_DEPTH.of(configuration)
        self._refresh_s = FLAMEGRAPH_REFRESH.of(configuration)
        self._cleanup_s = FLAMEGRAPH_CLEANUP.of(configuration)
        self._now_ms, self._now_s = now_ms, now_s
        self._entries: dict[tuple[str, str], _Entry] = {}

    def of(self, job: ArchivedExecutionGraph, vertex_id: str) -> VertexStacks | None:
        """Return the samples of a vertex, None if there are none yet; begin to sample if there are none or old ones."""
        now_s = self._now_s()
        for key in [key for key, one in self._entries.items() if one.is_unused(now_s, self._cleanup_s)]:
            del self._entries[key]
        entry = self._entries.setdefault((job.details.job_id, vertex_id), _Entry())
        entry.asked_s = now_s
        if entry.sampling is None and (entry.stacks is None or now_s - entry.taken_s >= self._refresh_s):
            entry.sampling = asyncio.create_task(self._sample(entry, job, vertex_id))
        return entry.stacks

    async def stop(self) -> None:
        """End what is being sampled."""
        tasks = [entry.sampling for entry in self._entries.values() if entry.sampling is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _sample(self, entry: _Entry, job: ArchivedExecutionGraph, vertex_id: str) -> None:
        try:
            parts: list[SubtaskStacks] = []
            left, most = self._samples, max(1, int(_PIECE_S / max(self._delay_s, 1e-3)))
            while left > 0:
                request = StackRequest(job.details.job_id, vertex_id, min(left, most), self._delay_s, self._depth)
                parts += await sample_job(await self._resource_manager(), job, request)
                left -= request.samples
            if parts:
                entry.stacks = VertexStacks(self._now_ms(), tuple(joined(parts)))
        except Exception as error:  # A leader is elected, or does not answer: the next request tries again.
            logger.warning("no flame graph of vertex %s of job %s: %s", vertex_id, job.details.job_id, error)
        finally:
            # Also after a failure, or each request of a page would begin to sample again.
            entry.taken_s, entry.sampling = self._now_s(), None


@dataclass(slots=True)
class _Entry:
    stacks: VertexStacks | None = None
    taken_s: float = 0.0
    asked_s: float = 0.0
    sampling: asyncio.Task[None] | None = None

    def is_unused(self, now_s: float, cleanup_s: float) -> bool:
        return self.sampling is None and now_s - self.asked_s >= cleanup_s


def flame_graph(stacks: Iterable[SubtaskStacks], wanted: Sequence[bool]) -> Json:
    """Return the samples as a tree of calls, with the number of samples in each (Flink: `VertexFlameGraph.Node`).

    Args:
        stacks: The samples.
        wanted: Which samples count: those on a processor (True), those off it (False), or both.

    Example:
        >>> frames = (("job.parse", "job.py", 3), ("json.loads", "json.py", 9))
        >>> one = SubtaskStacks("v", "Map", 0, (frames,), ((0, True), (0, False)))
        >>> flame_graph([one], [True])["children"][0]["name"], flame_graph([one], [True, False])["value"]
        ('job.parse:3', 2)
    """
    root = _Node("root")
    for one in stacks:
        for stack, is_on_cpu in one.samples:
            if is_on_cpu in wanted:
                _add(root, one.stacks[stack])
    return root.to_json()


def _add(root: _Node, stack: Sequence[Frame]) -> None:
    node = root
    node.value += 1
    for function, _, line in stack:
        name = f"{function}:{line}" if line else function
        node = node.children.setdefault(name, _Node(name))
        node.value += 1


@dataclass(slots=True)
class _Node:
    name: str
    value: int = 0
    children: dict[str, _Node] = field(default_factory=dict)

    def to_json(self) -> Json:
        return {"name": self.name, "value": self.value, "children": [one.to_json() for one in self.children.values()]}
