"""The course of one job: slots, deployment, failures, restarts, end."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from firesteel.errors import FiresteelError
from firesteel.graph.slot_numbering import SlotSharing
from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.execution_graph import ExecutionGraph
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import CANCELLABLE, FAILABLE, JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.scheduler.actions import (
    CancelTask,
    Deploy,
    JobTerminated,
    ReleaseSlots,
    RequestSlots,
    SchedulerAction,
    ScheduleRestart,
    StartQuery,
    StopQuery,
)
from firesteel.runtime.scheduler.deployment import TaskDeploymentDescriptorFactory
from firesteel.runtime.scheduler.restart_strategy import RestartStrategy
from firesteel.runtime.slotpool.slot import AllocatedSlot

__all__ = ["IllegalSchedulingError", "Scheduler"]

Actions = list[SchedulerAction]

_ENDS = {
    JobStatus.CANCELLING: JobStatus.CANCELED,
    JobStatus.FAILING: JobStatus.FAILED,
}
"""What a job that is giving up becomes once all its executions are over."""


class IllegalSchedulingError(FiresteelError):
    """The job can't be scheduled as it is now."""


class Scheduler:
    """Decides the course of one job. Pure: events in, actions out. Flink: `runtime.scheduler.DefaultScheduler`.

    All slots of the job are wanted at once and nothing is deployed before all are there. A failure restarts the whole
    job, as its records flow through one query. A *run* is one such schedule; what belongs to a former run is dropped.

    Args:
        graph: The job; its states are changed here only.
        strategy: Whether a failure is followed by a restart.
        clock: The time.
    """

    def __init__(self, graph: ExecutionGraph, strategy: RestartStrategy, clock: Clock) -> None:
        self.graph = graph
        self.sharing = SlotSharing.of(graph.job_graph)
        self.run = 0
        self._strategy = strategy
        self._clock = clock
        self._descriptors = TaskDeploymentDescriptorFactory(graph, self.sharing)
        self._tenants: defaultdict[int, list[ExecutionVertex]] = defaultdict(list)
        for vertex in graph.vertices:
            self._tenants[self.sharing.slot_of(vertex.job_vertex.id, vertex.subtask_index)].append(vertex)
        self._requests: dict[str, int] = {}  # request id -> slot number, of this run
        self._slots: dict[int, AllocatedSlot] = {}
        self._has_query = False
        self._is_stopping_query = False
        self._to_cancel: list[CancelTask] = []
        self._restart_is_due = False
        graph.transition_job(JobStatus.CREATED)

    def start_scheduling(self) -> Actions:
        """Schedule the job for the first time.

        Raises:
            IllegalSchedulingError: it was scheduled before.
        """
        if self.graph.status is not JobStatus.CREATED:
            raise IllegalSchedulingError(
                f"job {self.graph.job_id} can be scheduled in status CREATED only; it is {self.graph.status.name}"
            )
        self.graph.transition_job(JobStatus.RUNNING)
        return self._schedule()

    def slot_allocated(self, request_id: str, slot: AllocatedSlot) -> Actions:
        """A requested slot is there; with the last one everything is deployed."""
        number = self._requests.get(request_id)
        if number is None:
            return [ReleaseSlots((request_id,), "the slot is no longer needed")]
        self._slots[number] = slot
        return self._deploy() if len(self._slots) == self.sharing.slots else []

    def slot_failed(self, request_id: str, cause: TaskFailure) -> Actions:
        """A slot will not come, or is lost: the executions in it fail."""
        number = self._requests.pop(request_id, None)
        if number is None:
            return []
        self._slots.pop(number, None)
        self._fail_executions(self._tenants[number], cause)
        return self._failed(cause)

    def task_deployment_failed(self, attempt_id: str, cause: TaskFailure) -> Actions:
        """A task could not be handed to its TaskExecutor, as far as is known; it is cancelled there to be sure."""
        vertex = self.graph.vertex_of(attempt_id)
        task_manager_id = vertex.current.task_manager_id
        if task_manager_id is not None:
            self._to_cancel.append(CancelTask(task_manager_id, attempt_id))
        return self.task_state_reported(attempt_id, ExecutionState.FAILED, cause)[1]

    def task_state_reported(
        self, attempt_id: str, state: ExecutionState, failure: TaskFailure | None = None
    ) -> tuple[bool, Actions]:
        """A TaskExecutor says how a task is: whether that was in place, and what follows.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        vertex = self.graph.vertex_of(attempt_id)
        before = vertex.current.state
        acknowledged = self.graph.update_state(attempt_id, state, failure)
        after = vertex.current.state
        if after is before:
            return acknowledged, []
        if after is ExecutionState.FAILED:
            return acknowledged, self._failed(failure or _failure_of(vertex, "the task failed without saying why"))
        if after is ExecutionState.CANCELED and before is not ExecutionState.CANCELING:
            return acknowledged, self._failed(_failure_of(vertex, "the task was cancelled though nobody asked for it"))
        return acknowledged, self._progressed()

    def subtask_finished(self, vertex_id: str, subtask_index: int) -> Actions:
        """The query is through with one subtask."""
        vertex = self.graph.job_vertices[vertex_id].vertices[subtask_index]
        self._finish(vertex)
        return self._progressed()

    def query_finished(self, run: int) -> Actions:
        """All input is processed: what still runs is FINISHED."""
        if run != self.run or not self._has_query or self._is_stopping_query:
            return []
        self._has_query = False
        for vertex in self.graph.vertices:
            self._finish(vertex)
        return self._progressed()

    def query_failed(self, run: int, failure: TaskFailure) -> Actions:
        """The query ended by a failure; the subtask it names fails, the others are cancelled."""
        if run != self.run or not self._has_query or self._is_stopping_query:
            return []
        named = self._named_by(failure)
        if named is not None:
            self._to_cancel += self._fail_executions([named], failure)
        return self._failed(failure)

    def query_stopped(self, run: int) -> Actions:
        """Nothing of the query runs any more."""
        if run != self.run or not self._is_stopping_query:
            return []
        self._has_query = self._is_stopping_query = False
        return self._progressed()

    def restart_due(self, run: int) -> Actions:
        """The delay before a restart is over."""
        if run != self.run or self.graph.status is not JobStatus.RESTARTING:
            return []
        self._restart_is_due = True
        return self._progressed()

    def cancel(self) -> Actions:
        """Cancel the job; no effect where it is over or being cancelled."""
        if self.graph.status not in CANCELLABLE:
            return []
        self.graph.transition_job(JobStatus.CANCELLING)
        return self._cancel_executions()

    def suspend(self, cause: TaskFailure) -> Actions:
        """Give the job up here, so that another leader may take it up."""
        if self.graph.status.is_terminal:
            return []
        for vertex in self.graph.vertices:
            if not vertex.current.state.is_terminal:
                self.graph.transition(vertex, ExecutionState.CANCELED)
        self.graph.transition_job(JobStatus.SUSPENDED, cause)
        return [JobTerminated()]

    def _schedule(self) -> Actions:
        for vertex in self.graph.vertices:
            self.graph.transition(vertex, ExecutionState.SCHEDULED)
        self._requests = {f"{self.graph.job_id}/run-{self.run}/slot-{i}": i for i in range(self.sharing.slots)}
        return [RequestSlots(tuple(self._requests))]

    def _deploy(self) -> Actions:
        actions: Actions = []
        for number in range(self.sharing.slots):
            slot = self._slots[number]
            for vertex in self._tenants[number]:
                vertex.current.assign(slot.allocation_id, slot.task_manager_id, slot.address)
        for vertex in self.graph.vertices:
            self.graph.transition(vertex, ExecutionState.DEPLOYING)
            task_manager_id = vertex.current.task_manager_id
            assert task_manager_id is not None
            actions.append(Deploy(task_manager_id, self._descriptors.descriptor(vertex)))
        return actions

    def _progressed(self) -> Actions:
        """What follows once all executions run, or are over."""
        status = self.graph.status
        if status is JobStatus.RUNNING:
            return self._progressed_in_running()
        if self._has_query:
            return []
        actions: Actions = list(self._to_cancel)
        self._to_cancel = []
        if not self.graph.is_done:
            return actions
        if status in _ENDS:
            return [*actions, *self._end(_ENDS[status])]
        if status is JobStatus.RESTARTING and self._restart_is_due:
            return [*actions, *self._restart()]
        return actions

    def _progressed_in_running(self) -> Actions:
        if self.graph.is_finished:
            stop: Actions = [StopQuery(self.run)] if self._has_query else []
            return [*stop, *self._end(JobStatus.FINISHED)]
        up = self.graph.count(ExecutionState.RUNNING, ExecutionState.FINISHED)
        if up == self.graph.count(*ExecutionState) and not self._has_query:
            self._has_query = True
            return [StartQuery(self.run)]
        return []

    def _end(self, status: JobStatus) -> Actions:
        self.graph.transition_job(status)
        return [*self._release_slots(f"the job is {status.name}"), JobTerminated()]

    def _failed(self, failure: TaskFailure) -> Actions:
        """React to a failure; its execution is over already."""
        if self.graph.status not in FAILABLE:
            return self._progressed()  # The job is giving up this run already.
        self._strategy.notify_failure(self._clock.monotonic_s())
        if not self._strategy.can_restart():
            details = f"{failure.details}\nRecovery is suppressed by {self._strategy}".lstrip()
            self.graph.transition_job(JobStatus.FAILING, replace(failure, details=details))
            return self._cancel_executions()
        self.graph.transition_job(JobStatus.RESTARTING, failure)
        self._restart_is_due = False
        return [ScheduleRestart(self.run, self._strategy.backoff_s()), *self._cancel_executions()]

    def _cancel_executions(self) -> Actions:
        """Stop the query, then the tasks: tasks that still get records must not be torn down."""
        for vertex in self.graph.vertices:
            execution = vertex.current
            if self.graph.cancel(vertex):
                assert execution.task_manager_id is not None
                self._to_cancel.append(CancelTask(execution.task_manager_id, execution.attempt_id))
        stop: Actions = []
        if self._has_query and not self._is_stopping_query:
            self._is_stopping_query = True
            stop = [StopQuery(self.run)]
        return [*stop, *self._progressed()]

    def _restart(self) -> Actions:
        release = self._release_slots("the job restarts")
        self.run += 1
        self.graph.restarts += 1
        for vertex in self.graph.vertices:
            self.graph.reset(vertex)
        self.graph.transition_job(JobStatus.RUNNING)
        return [*release, *self._schedule()]

    def _release_slots(self, cause: str) -> Actions:
        requests, self._requests, self._slots = tuple(self._requests), {}, {}
        return [ReleaseSlots(requests, cause)] if requests else []

    def _finish(self, vertex: ExecutionVertex) -> None:
        if vertex.current.state in {ExecutionState.DEPLOYING, ExecutionState.INITIALIZING, ExecutionState.RUNNING}:
            self.graph.transition(vertex, ExecutionState.FINISHED)

    def _fail_executions(self, vertices: Iterable[ExecutionVertex], cause: TaskFailure) -> list[CancelTask]:
        """Fail what is not over; what was being cancelled is CANCELED. Returns how to stop what was deployed."""
        stop: list[CancelTask] = []
        for vertex in vertices:
            execution = vertex.current
            if execution.state.is_terminal:
                continue
            if execution.task_manager_id is not None:
                stop.append(CancelTask(execution.task_manager_id, execution.attempt_id))
            self.graph.update_state(execution.attempt_id, ExecutionState.FAILED, cause)
        return stop

    def _named_by(self, failure: TaskFailure) -> ExecutionVertex | None:
        vertex = self.graph.job_vertices.get(failure.vertex_id or "")
        index = failure.subtask_index
        if vertex is None or index is None or not 0 <= index < vertex.parallelism:
            return None
        return vertex.vertices[index]


def _failure_of(vertex: ExecutionVertex, message: str) -> TaskFailure:
    return TaskFailure(
        message,
        vertex_id=vertex.job_vertex.id,
        vertex_name=vertex.job_vertex.name,
        subtask_index=vertex.subtask_index,
        parallelism=vertex.job_vertex.parallelism,
    )
