"""A job whose slots and tasks are played by the test."""

from __future__ import annotations

from collections.abc import Sequence

from firesteel.graph.job_graph import JobGraph
from firesteel.graph.parallelism import resolve_parallelism
from firesteel.runtime.clock import ManualClock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.actions import (
    CancelTask,
    Deploy,
    ReleaseSlots,
    RequestSlots,
    SchedulerAction,
    ScheduleRestart,
)
from firesteel.runtime.scheduler.restart_strategy import FixedDelayRestartStrategy, RestartStrategy
from firesteel.runtime.scheduler.scheduler import Scheduler
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.slotpool.slot import AllocatedSlot, Locality
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot
from tests.runtime.helpers import an_id

BAD = TaskFailure("ValueError: bad")


class PlayedJob:
    """Records the requests of the scheduler; `serve` gives slots, `run` and `report` play tasks. Names: `a#0`."""

    def __init__(
        self, job: JobGraph, options: SchedulerOptions | None = None, strategy: RestartStrategy | None = None
    ) -> None:
        resolve_parallelism(job, 1)
        clock = ManualClock()
        self.graph = ExecutionGraph(job, clock.now_ms)
        strategy = strategy or FixedDelayRestartStrategy(100, 0)
        self.scheduler = Scheduler(self.graph, strategy, clock, options or SchedulerOptions())
        self.bulks: list[list[str]] = []
        self.deployed: list[str] = []
        self.cancelled: list[str] = []
        self.released: list[str] = []
        self.restarts: list[int] = []
        self.waiting: list[str] = []

    def start(self) -> PlayedJob:
        self.follow(self.scheduler.start_scheduling())
        return self

    def vertex(self, name: str) -> ExecutionVertex:
        vertex, index = name.split("#")
        return self.graph.job_vertices[an_id(vertex)].vertices[int(index)]

    def name_of(self, attempt_id: str) -> str:
        vertex_id, index, _ = attempt_id.split("_")[1:]
        return f"{self.graph.job_vertices[vertex_id].name}#{index}"

    def follow(self, actions: Sequence[SchedulerAction]) -> None:
        for action in actions:
            if isinstance(action, RequestSlots):
                ids = [request.request_id for request in action.requests]
                self.waiting += ids
                self.bulks.append([self.name_of(request_id) for request_id in ids])
            elif isinstance(action, ReleaseSlots):
                self.released += [self.name_of(request_id) for request_id in action.request_ids]
            elif isinstance(action, Deploy):
                self.deployed.append(self.name_of(action.tdd.execution_attempt_id))
            elif isinstance(action, CancelTask):
                self.cancelled.append(self.name_of(action.attempt_id))
            elif isinstance(action, ScheduleRestart):
                self.restarts.append(action.restart_id)

    def serve(self, *names: str, task_manager: str = "tm") -> None:
        """Give slots to those that wait for one: to all, or to those named."""
        for request_id in [r for r in self.waiting if not names or self.name_of(r) in names]:
            self.waiting.remove(request_id)
            slot = AllocatedSlot(f"slot-of-{request_id}", task_manager, 0, "")
            self.follow(self.scheduler.slots_allocated([LogicalSlot(request_id, slot, Locality.UNKNOWN)]))

    def report(self, state: ExecutionState, *names: str, failure: TaskFailure | None = None) -> None:
        for name in names:
            attempt_id = self.vertex(name).current.attempt_id
            self.follow(self.scheduler.task_state_reported(attempt_id, state, failure)[1])

    def run(self, *names: str) -> None:
        """Serve the slots and let tasks run: all that are deployed, or those named."""
        self.serve(*names)
        for name in names or [self.name_of(e.attempt_id) for e in self.graph.executions]:
            if self.vertex(name).current.state is ExecutionState.DEPLOYING:
                self.report(ExecutionState.INITIALIZING, name)
                self.report(ExecutionState.RUNNING, name)

    def finish(self, *names: str) -> None:
        self.report(ExecutionState.FINISHED, *names)

    def fail(self, name: str, failure: TaskFailure = BAD) -> None:
        self.report(ExecutionState.FAILED, name, failure=failure)

    def end_cancelled(self) -> None:
        """Report all cancelling tasks as cancelled."""
        cancelling = [e.attempt_id for e in self.graph.executions if e.state is ExecutionState.CANCELING]
        self.report(ExecutionState.CANCELED, *map(self.name_of, cancelling))

    def restart(self) -> None:
        """End the delay of the last restart, and report all cancelling tasks as cancelled."""
        self.end_cancelled()
        self.follow(self.scheduler.restart_due(self.restarts[-1]))

    def states(self) -> dict[str, str]:
        return {self.name_of(execution.attempt_id): execution.state.name for execution in self.graph.executions}

    def attempts(self) -> dict[str, int]:
        return {self.name_of(execution.attempt_id): execution.attempt_number for execution in self.graph.executions}
