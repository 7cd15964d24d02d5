"""Subtasks that wait for their slots together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from firesteel.errors import FiresteelError
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.actions import RequestSlots
from firesteel.runtime.scheduler.execution_slot_allocator import ExecutionSlotAllocator
from firesteel.runtime.scheduler.execution_vertex_versioner import ExecutionVertexVersioner, VertexVersion
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot

__all__ = ["Bulks", "IllegalSchedulingError", "WaitingBulk"]


class IllegalSchedulingError(FiresteelError):
    """The job, or a subtask, can't be scheduled as it is now."""


@dataclass(slots=True, eq=False)
class WaitingBulk:
    """Subtasks that are deployed once all of them have slots.

    Attributes:
        versions: The subtasks as they were when they were scheduled.
        missing: How many have no slot.
    """

    versions: list[VertexVersion]
    missing: int


class Bulks:
    """Who waits for a slot or has one. Pure. Flink: `runtime.scheduler.DefaultExecutionDeployer`, its waiting handles.

    Args:
        graph: The job.
        allocator: Writes the slot requests.
        versioner: Tells whether something else was decided about a subtask since.
    """

    def __init__(
        self, graph: ExecutionGraph, allocator: ExecutionSlotAllocator, versioner: ExecutionVertexVersioner
    ) -> None:
        self._graph = graph
        self._allocator = allocator
        self._versioner = versioner
        self._requests: dict[str, tuple[WaitingBulk, VertexVersion]] = {}  # by attempt

    def schedule(self, vertices: Sequence[ExecutionVertex]) -> RequestSlots:
        """Bring subtasks into SCHEDULED and ask for their slots.

        Raises:
            IllegalSchedulingError: a subtask is scheduled already.
        """
        versions = self._versioner.record(vertices)
        bulk = WaitingBulk(versions, len(versions))
        for version in versions:
            execution = version.vertex.current
            if execution.state is not ExecutionState.CREATED:
                raise IllegalSchedulingError(
                    f"{version.vertex.name} can be scheduled in CREATED only; it is {execution.state.name}"
                )
            self._graph.transition(version.vertex, ExecutionState.SCHEDULED)
            self._requests[execution.attempt_id] = bulk, version
        return RequestSlots(self._allocator.requests(vertices))

    def assign(self, logical: LogicalSlot) -> WaitingBulk | None:
        """Give an attempt its slot: its bulk; None if something else was decided about it, or it has one already."""
        bulk, version = self._requests.get(logical.request_id, (None, None))
        slot = logical.slot
        if bulk is not None and version is not None and not self._versioner.is_modified(version):
            current = version.vertex.current
            if current.assign(slot.allocation_id, slot.task_manager_id, slot.address, slot.host):
                bulk.missing -= 1
                return bulk
        self._requests.pop(logical.request_id, None)
        return None

    def still_valid(self, bulk: WaitingBulk) -> Iterable[ExecutionVertex]:
        """The subtasks of a bulk about which nothing else was decided."""
        return (version.vertex for version in bulk.versions if not self._versioner.is_modified(version))

    def lost(self, request_ids: Sequence[str], cause: TaskFailure) -> tuple[list[ExecutionVertex], TaskFailure]:
        """Slots will not come, or are gone: whose they were, and why; with the number of slots if a bulk waits."""
        hit: list[ExecutionVertex] = []
        for request_id in request_ids:
            bulk, version = self._requests.pop(request_id, (None, None))
            if bulk is not None and bulk.missing and not hit:
                wanted, obtained = len(bulk.versions), len(bulk.versions) - bulk.missing
                text = f"{cause.message} (tasks that need slots: {wanted}, that obtained one: {obtained})"
                cause = replace(cause, message=text)
            if version is not None and version.vertex.current.attempt_id == request_id:
                version.vertex.current.slot_lost()
                hit.append(version.vertex)
        return hit, cause

    def release(self, vertex: ExecutionVertex) -> bool:
        """The current attempt needs its slot, or its request, no longer; False if it has none."""
        vertex.current.slot_lost()
        return self._requests.pop(vertex.current.attempt_id, None) is not None

    def release_of(self, vertices: Collection[ExecutionVertex]) -> list[str]:
        """Some subtasks need their slots no longer; those of their attempts that had one, or waited for one."""
        attempt_ids = [attempt for attempt, (_, version) in self._requests.items() if version.vertex in vertices]
        for attempt_id in attempt_ids:
            del self._requests[attempt_id]
        return attempt_ids

    def release_all(self) -> list[str]:
        """Nobody needs a slot any more; the attempts that had one, or waited for one."""
        attempt_ids = list(self._requests)
        self._requests.clear()
        return attempt_ids
