"""Bulks of subtasks that wait for their slots together."""

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
    """The job or a subtask can't be scheduled in its current state."""


@dataclass(slots=True, eq=False)
class WaitingBulk:
    """Subtasks that are deployed once all of them have slots.

    Attributes:
        versions: The versions of the subtasks at the time of scheduling.
        missing: Number of subtasks without a slot.
    """

    versions: list[VertexVersion]
    missing: int


class Bulks:
    """The subtasks that wait for or have a slot.

    Pure. Flink: `runtime.scheduler.DefaultExecutionDeployer`, its waiting handles.

    Args:
        graph: The job.
        allocator: Creates the slot requests.
        versioner: Detects newer decisions about a subtask.
    """

    def __init__(
        self, graph: ExecutionGraph, allocator: ExecutionSlotAllocator, versioner: ExecutionVertexVersioner
    ) -> None:
        self._graph = graph
        self._allocator = allocator
        self._versioner = versioner
        self._requests: dict[str, tuple[WaitingBulk, VertexVersion]] = {}  # by attempt

    def schedule(self, vertices: Sequence[ExecutionVertex]) -> RequestSlots:
        """Change subtasks to SCHEDULED and request their slots.

        Raises:
            IllegalSchedulingError: a subtask is already scheduled.
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
        """Assign a slot to an attempt and return its bulk; None if the attempt is outdated or has a slot."""
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
        """Return the subtasks of a bulk without newer decisions."""
        return (version.vertex for version in bulk.versions if not self._versioner.is_modified(version))

    def lost(self, request_ids: Sequence[str], cause: TaskFailure) -> tuple[list[ExecutionVertex], TaskFailure]:
        """Process failed or lost slots; return their subtasks and the cause, with the slots of a waiting bulk."""
        hit: list[ExecutionVertex] = []
        for request_id in request_ids:
            bulk, version = self._requests.pop(request_id, (None, None))
            # Once per bulk, or the text would name the slots again for each of its subtasks.
            if bulk is not None and bulk.missing and not hit:
                wanted, obtained = len(bulk.versions), len(bulk.versions) - bulk.missing
                text = f"{cause.message} (tasks that need slots: {wanted}, that obtained one: {obtained})"
                cause = replace(cause, message=text)
            # A slot of a former attempt says nothing about the present one.
            if version is not None and version.vertex.current.attempt_id == request_id:
                version.vertex.current.slot_lost()
                hit.append(version.vertex)
        return hit, cause

    def release(self, vertex: ExecutionVertex) -> bool:
        """Release the slot or request of the current attempt; return False if it has none."""
        vertex.current.slot_lost()
        return self._requests.pop(vertex.current.attempt_id, None) is not None

    def release_of(self, vertices: Collection[ExecutionVertex]) -> list[str]:
        """Release the slots of some subtasks; return the attempts that had or waited for one."""
        attempt_ids = [attempt for attempt, (_, version) in self._requests.items() if version.vertex in vertices]
        for attempt_id in attempt_ids:
            del self._requests[attempt_id]
        return attempt_ids

    def release_all(self) -> list[str]:
        """Release all slots; return the attempts that had or waited for one."""
        attempt_ids = list(self._requests)
        self._requests.clear()
        return attempt_ids
