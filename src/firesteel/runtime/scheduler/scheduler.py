"""The scheduler of one job: slots, deployment, failures, restarts, termination."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from firesteel.errors import FiresteelError
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
    SchedulerAction,
    ScheduleRestart,
    StartQuery,
    StoppedForRescale,
    StopQuery,
)
from firesteel.runtime.scheduler.bulks import Bulks, IllegalSchedulingError, WaitingBulk
from firesteel.runtime.scheduler.deployment import TaskDeploymentDescriptorFactory
from firesteel.runtime.scheduler.execution_slot_allocator import ExecutionSlotAllocator
from firesteel.runtime.scheduler.execution_vertex_versioner import ExecutionVertexVersioner
from firesteel.runtime.scheduler.failover_strategy import failover_strategy
from firesteel.runtime.scheduler.pending_restarts import PendingRestarts
from firesteel.runtime.scheduler.queries import Queries
from firesteel.runtime.scheduler.restart_strategy import RestartStrategy
from firesteel.runtime.scheduler.scheduler_settings import SchedulerOptions
from firesteel.runtime.scheduler.scheduling_strategy import scheduling_strategy
from firesteel.runtime.scheduler.slot_sharing_strategy import SlotNumbering
from firesteel.runtime.scheduler.topology import Region, SchedulingTopology
from firesteel.runtime.slotpool.slot_sharing_manager import LogicalSlot

__all__ = ["IllegalSchedulingError", "Scheduler"]

Actions = list[SchedulerAction]

_ENDS = {
    JobStatus.CANCELLING: JobStatus.CANCELED,
    JobStatus.FAILING: JobStatus.FAILED,
}
"""The terminal status of an ending job once all its executions have terminated."""

_UP = frozenset({ExecutionState.DEPLOYING, ExecutionState.INITIALIZING, ExecutionState.RUNNING})
_DEPLOYED = _UP | {ExecutionState.CANCELING}


class Scheduler:
    """The scheduler of one job. Pure: events in, actions out. Flink: `runtime.scheduler.DefaultScheduler`.

    Strategies decide when subtasks are scheduled and which are restarted. Slots are requested per bulk, and a bulk is
    deployed when all its slots are available. A newer decision about a subtask invalidates older ones. A *run* is the
    time between two restarts; events of former runs are dropped.

    Args:
        graph: The job; only the Scheduler changes its states.
        restart_strategy: Decides whether a failure is followed by a restart.
        clock: The clock.
        options: Options of scheduling and restarts.
        serialized_job_graph: The job serialized for tasks; None to serialize it here.
        first_run: The number of the first run; more than 0 if the job ran with another graph before.

    Attributes:
        run: Number of the run: of restarts, and of changes of the graph; the version of the whole graph.
        numbering: The numbers of the job's slots; None if they are not numbered.

    Raises:
        InvalidOptionError: there is no such strategy.
    """

    def __init__(
        self,
        graph: ExecutionGraph,
        restart_strategy: RestartStrategy,
        clock: Clock,
        options: SchedulerOptions,
        serialized_job_graph: bytes | None = None,
        first_run: int = 0,
    ) -> None:
        self.graph = graph
        self.run = first_run
        self._restart_strategy = restart_strategy
        self._clock = clock
        self._options = options
        self._allocator = ExecutionSlotAllocator(graph, options)
        self._queries = Queries(graph, options.has_queries, first_run)
        parts = [query.vertices for query in self._queries.all]
        self._topology = SchedulingTopology(graph, parts if options.has_queries else None)
        self._strategy = scheduling_strategy(options.scheduling_strategy, graph, self._topology)
        self._failover = failover_strategy(options.failover_strategy, graph, self._topology)
        self._descriptors = TaskDeploymentDescriptorFactory(
            graph, options.cluster, self._allocator.numbering, serialized_job_graph
        )
        self._versioner = ExecutionVertexVersioner()
        self._bulks = Bulks(graph, self._allocator, self._versioner)
        self._order = {vertex: number for number, vertex in enumerate(graph.vertices)}
        self._restarts = PendingRestarts()
        self._to_cancel: list[CancelTask] = []
        # Attempts that have terminated here but may still run on their TaskExecutor.
        self._unconfirmed: set[str] = set()
        self._to_release: list[str] = []
        self._out: Actions = []
        self._is_stopping_for_rescale = self._has_told_stopped = False
        if graph.status is JobStatus.INITIALIZING:
            graph.transition_job(JobStatus.CREATED)

    @property
    def numbering(self) -> SlotNumbering | None:
        """The numbers of the job's slots; None if they are not numbered."""
        return self._allocator.numbering

    # Slots

    def start_scheduling(self) -> Actions:
        """Schedule the job for the first time, or for the first time with a graph that has replaced another.

        Raises:
            IllegalSchedulingError: it was scheduled before.
        """
        if self.graph.status not in {JobStatus.CREATED, JobStatus.RESTARTING}:
            raise IllegalSchedulingError(
                f"job {self.graph.job_id} can be scheduled in status CREATED only; it is {self.graph.status.name}"
            )
        self.graph.transition_job(JobStatus.RUNNING)
        self.schedule(self._strategy.start())
        return self._progressed()

    def slots_allocated(self, slots: Sequence[LogicalSlot]) -> Actions:
        """Process allocated slots; the last one of a bulk triggers its deployment."""
        for logical in slots:
            bulk = self._bulks.assign(logical)
            if bulk is None:
                # It came for an attempt that was cancelled meanwhile, and would stay allocated for nobody.
                self._to_release.append(logical.request_id)
            elif not bulk.missing:
                self._deploy(bulk)
        return self._progressed()

    def slots_failed(self, request_ids: Sequence[str], cause: TaskFailure) -> Actions:
        """Process slots that failed or are lost: the executions that share them fail."""
        hit, cause = self._bulks.lost(request_ids, cause)
        self._fail_executions(hit, cause)
        failed = [vertex for vertex in hit if vertex.current.failure is cause]
        # The query loses a slot whatever the state of the subtask in it, even one that has finished.
        if hit and self._options.has_queries:
            failed = hit
        if failed:
            self._failed(failed, cause)
        return self._progressed()

    def task_manager_lost(self, task_manager_id: str) -> Actions:
        """Process a lost TaskExecutor; its results that are still needed must be produced again."""
        readers = self._topology.task_manager_lost(task_manager_id)
        self._produce_again(r for r in readers if r.vertices[0].current.state is ExecutionState.CREATED)
        return self._progressed()

    # Tasks

    def task_deployment_failed(self, attempt_id: str, cause: TaskFailure) -> Actions:
        """Fail a task whose deployment seems to have failed; it is cancelled on the TaskExecutor to be sure."""
        vertex = self.graph.vertex_of(attempt_id)
        if not vertex.current.state.is_terminal:
            self._stop_to_be_sure(vertex)
        return self.task_state_reported(attempt_id, ExecutionState.FAILED, cause)[1]

    def task_stopped(self, attempt_id: str) -> Actions:
        """Process that a cancelled task no longer runs, or that its TaskExecutor is lost."""
        self._unconfirmed.discard(attempt_id)
        if self.graph.has_attempt(attempt_id) and not self.graph.is_over(attempt_id):
            return self.task_state_reported(attempt_id, ExecutionState.CANCELED)[1]
        return self._progressed()

    def cancellation_acknowledged(self, attempt_id: str) -> Actions:
        """Process that a TaskExecutor stops a task; a terminated one needs no further report."""
        self._unconfirmed.discard(attempt_id)
        return self._progressed()

    def task_state_reported(
        self, attempt_id: str, state: ExecutionState, failure: TaskFailure | None = None
    ) -> tuple[bool, Actions]:
        """Process a task state; return whether the report was expected, and the actions.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        vertex = self.graph.vertex_of(attempt_id)
        before = vertex.current.state
        acknowledged = self.graph.update_state(attempt_id, state, failure)
        after = vertex.current.state
        if after is before:
            return acknowledged, []
        query = self._queries.of(vertex)
        if query is not None and after is ExecutionState.RUNNING:
            query.up += 1
        if after.is_terminal:
            self._over(vertex)
        if after is ExecutionState.FAILED:
            self._failed([vertex], failure or _failure_of(vertex, "the task failed without a reported cause"))
        # The TaskExecutor cancelled it by itself; ignored, the job would wait for this subtask for ever.
        elif after is ExecutionState.CANCELED and before is not ExecutionState.CANCELING:
            self._failed([vertex], _failure_of(vertex, "the task was cancelled without a request"))
        return acknowledged, self._progressed()

    def data_produced(self, attempt_id: str) -> Actions:
        """Process that a task has emitted its first data.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        self.schedule(self._strategy.data_produced(self.graph.vertex_of(attempt_id)))
        return self._progressed()

    # The queries

    def is_at(self, region: int, run: int) -> bool:
        """Return whether the query of a region runs in the given run."""
        return self._queries.all[region].is_at(run)

    def subtask_finished(self, vertex_id: str, subtask_index: int) -> Actions:
        """Process that the query has finished one subtask."""
        self._finish(self.graph.job_vertices[vertex_id].vertices[subtask_index])
        return self._progressed()

    def query_finished(self, region: int, run: int) -> Actions:
        """Process that all input of a region is processed: its running subtasks become FINISHED."""
        query = self._queries.all[region]
        if not query.is_at(run):
            return []
        query.is_over()
        for vertex in query.vertices:
            self._finish(vertex)
        if not self.graph.is_finished:
            self._end_tasks(query.vertices)
        return self._progressed()

    def _end_tasks(self, vertices: list[ExecutionVertex]) -> None:
        """End the tasks of a finished region while others continue, and release their slots."""
        for vertex in vertices:
            self._cancel_later(vertex)
            self._unconfirmed.add(vertex.current.attempt_id)
        self._to_release += self._bulks.release_of(vertices)

    def query_failed(self, region: int, run: int, failure: TaskFailure) -> Actions:
        """Process a failed query: the named subtask fails, the others of its region are cancelled."""
        query = self._queries.all[region]
        if not query.is_at(run):
            return []
        named = self._named_by(failure)
        if named is not None:
            self._fail_executions([named], failure)
        self._failed(query.vertices if named is None else [named], failure)
        return self._progressed()

    def query_stopped(self, region: int, run: int) -> Actions:
        """Process that a query has stopped."""
        query = self._queries.all[region]
        if run != query.run or not query.is_stopping:
            return []
        query.is_over()
        return self._progressed()

    # The job

    def restart_due(self, restart_id: int) -> Actions:
        """Process that the delay before a restart has passed."""
        self._restarts.due(restart_id)
        return self._progressed()

    def stop_for_rescale(self) -> Actions:
        """Cancel all tasks without a failure, so that another graph of the job can run; `StoppedForRescale` follows.

        No effect if the job is ending or has ended.
        """
        if self.graph.status not in {JobStatus.RUNNING, JobStatus.RESTARTING}:
            return []
        self._is_stopping_for_rescale = True
        self._restarts.clear()
        if self.graph.status is JobStatus.RUNNING:
            self.graph.transition_job(JobStatus.RESTARTING)
        self._cancel_executions(self.graph.vertices)
        return self._progressed()

    def cancel(self) -> Actions:
        """Cancel the job; no effect if it has ended or is being cancelled."""
        if self.graph.status not in CANCELLABLE:
            return []
        self._is_stopping_for_rescale = False
        self.graph.transition_job(JobStatus.CANCELLING)
        self._restarts.clear()
        self._cancel_executions(self.graph.vertices)
        return self._progressed()

    def suspend(self, cause: TaskFailure) -> Actions:
        """Suspend the job here, so that another leader may take it over."""
        if self.graph.status.is_terminal:
            return []
        for vertex in self.graph.vertices:
            if not vertex.current.state.is_terminal:
                self.graph.transition(vertex, ExecutionState.CANCELED)
        self.graph.transition_job(JobStatus.SUSPENDED, cause)
        return [JobTerminated()]

    def schedule(self, bulks: Iterable[Sequence[ExecutionVertex]]) -> None:
        """Request the slots of bulks.

        Raises:
            IllegalSchedulingError: a subtask is scheduled already.
        """
        for vertices in bulks:
            self._emit(self._bulks.schedule(vertices))

    def _deploy(self, bulk: WaitingBulk) -> None:
        for vertex in self._bulks.still_valid(bulk):
            try:
                self.graph.deploy(vertex)
                descriptor = self._descriptors.descriptor(vertex)
            except FiresteelError as error:
                cause = _failure_of(vertex, f"the task could not be deployed: {error}")
                self._fail_executions([vertex], cause)
                self._failed([vertex], cause)
                continue
            assert vertex.current.task_manager_id is not None
            self._emit(Deploy(vertex.current.task_manager_id, descriptor))

    def _over(self, vertex: ExecutionVertex) -> None:
        """Process the end of an attempt: release its slot unless the query needs it, and start waiting restarts."""
        # A query keeps all slots of its region until it ends: its later batches still run there.
        if not self._options.has_queries and self._bulks.release(vertex):
            self._to_release.append(vertex.current.attempt_id)
        self._restarts.over(vertex)
        if vertex.current.state is ExecutionState.FINISHED:
            ready = self._topology.finished(vertex)
            if self.graph.status in {JobStatus.RUNNING, JobStatus.RESTARTING}:
                self.schedule(self._strategy.finished(vertex, ready))

    def _progressed(self) -> Actions:
        """Advance the job if all executions run or have terminated; return all pending actions."""
        self._out += self._to_cancel
        self._to_cancel = []
        for query in self._queries.all:
            if not query.is_alive:
                self._out += query.to_cancel
                query.to_cancel = []
        while (vertices := self._restarts.pop_ready(self._may_restart)) is not None:
            self._restart(vertices)
        status = self.graph.status
        if self._is_stopping_for_rescale:
            self._check_stopped_for_rescale()
        elif status in {JobStatus.RUNNING, JobStatus.RESTARTING}:
            self._progressed_in_running()
        elif status in _ENDS and self.graph.is_done and not self._queries.is_any_alive:
            self._end(_ENDS[status])
        self._flush_releases("no task needs the slot any more")
        out, self._out = self._out, []
        return out

    def _check_stopped_for_rescale(self) -> None:
        is_over = self.graph.is_done and not self._queries.is_any_alive and not self._unconfirmed
        if is_over and not self._has_told_stopped:
            self._has_told_stopped = True
            self._release_all("the job continues with another parallelism")
            self._emit(StoppedForRescale())

    def _may_restart(self, vertices: Iterable[ExecutionVertex]) -> bool:
        """Return whether no former attempt, or query that feeds it, may still run."""
        if any(query.is_alive for query in self._queries.of_all(vertices)):
            return False
        return not any(vertex.current.attempt_id in self._unconfirmed for vertex in vertices)

    def _progressed_in_running(self) -> None:
        if self.graph.is_finished and self.graph.status is JobStatus.RUNNING:
            for query in self._queries.all:
                if query.is_alive:
                    self._emit(StopQuery(query.region, query.run))
            self._end(JobStatus.FINISHED)
            return
        for query in self._queries.all:
            # One stands for all: with queries a region restarts as a whole.
            if query.is_ready and not self._restarts.is_waiting(query.vertices[0]):
                query.starts()
                self._emit(StartQuery(query.region, query.run))

    def _end(self, status: JobStatus) -> None:
        self.graph.transition_job(status)
        self._release_all(f"the job is {status.name}")
        self._emit(JobTerminated())

    def _failed(self, vertices: Sequence[ExecutionVertex], failure: TaskFailure) -> None:
        """React to a failure of subtasks, or of the whole job; their executions have already terminated."""
        status = self.graph.status
        if self._is_stopping_for_rescale or (status not in FAILABLE and status is not JobStatus.RESTARTING):
            return
        # A region with a query that is being restarted is already abandoning this run, so further failures have no
        # effect.
        if self._options.has_queries and vertices and all(map(self._restarts.is_waiting, vertices)):
            return
        # Before it is asked: a strategy counts the failure that it decides about.
        self._restart_strategy.notify_failure(self._clock.monotonic_s())
        if not failure.is_recoverable:
            return self._fail_job(failure, "Recovery is suppressed because the failure is not recoverable")
        if not self._restart_strategy.can_restart():
            return self._fail_job(failure, f"Recovery is suppressed by {self._restart_strategy}")
        # Sets have no order of their own, and cancellations and slots should come in the same order each time.
        tasks = sorted(self._failover.tasks_needing_restart(vertices, failure), key=self._order.__getitem__)
        if status is JobStatus.RESTARTING:
            self.graph.note_failure(failure)
        else:
            self.graph.transition_job(JobStatus.RESTARTING, failure)
        self._emit(ScheduleRestart(self._restarts.add(tasks), self._restart_strategy.backoff_s()))
        for vertex in tasks:
            self._topology.produces_anew(vertex)
        return self._cancel_executions(tasks)

    def _fail_job(self, failure: TaskFailure, why: str) -> None:
        story = self.graph.history.story(failure.vertex_id, failure.subtask_index)
        details = f"{failure.details}\n{why}\nWhat happened before:\n{story}".lstrip()
        self.graph.transition_job(JobStatus.FAILING, replace(failure, details=details))
        self._restarts.clear()
        self._cancel_executions(self.graph.vertices)

    def _cancel_executions(self, vertices: Iterable[ExecutionVertex]) -> None:
        """Stop the queries, then the tasks, as tasks that still get records must not be torn down."""
        vertices = list(vertices)
        # Also for those that have ended: slots that were requested for them must not deploy them any more.
        for version in self._versioner.record(vertices):
            vertex, execution = version.vertex, version.vertex.current
            if execution.state.is_terminal:
                continue
            if self.graph.cancel(vertex):
                self._cancel_later(vertex)
            elif execution.state.is_terminal:
                self._over(vertex)
        for query in self._queries.of_all(vertices):
            if query.is_alive and not query.is_stopping:
                query.is_stopping = True
                self._emit(StopQuery(query.region, query.run))

    def _cancel_later(self, vertex: ExecutionVertex) -> None:
        """Cancel a task once no query feeds it."""
        execution, query = vertex.current, self._queries.of(vertex)
        assert execution.task_manager_id is not None
        to_cancel = self._to_cancel if query is None else query.to_cancel
        to_cancel.append(CancelTask(execution.task_manager_id, execution.attempt_id))

    def _restart(self, vertices: set[ExecutionVertex]) -> None:
        # Here and not when the attempts ended, so that no other job gets the slots while the restart waits for its
        # delay.
        if self._options.has_queries:
            self._to_release += self._bulks.release_of(vertices)
            self._flush_releases("the job restarts")
        self.run += 1
        for query in self._queries.of_all(vertices):
            query.begins_anew(self.run)
        self.graph.restarts += 1
        for vertex in sorted(vertices, key=self._order.__getitem__):
            self.graph.reset(vertex)
        # Regions restart one by one, and the job is RUNNING when the last of them does.
        if not self._restarts.is_any_waiting:
            self.graph.transition_job(JobStatus.RUNNING)
        self.schedule(self._strategy.restart(vertices))
        self._produce_again({self._topology.region_of(vertex) for vertex in vertices})

    def _produce_again(self, readers: Iterable[Region]) -> None:
        """Restart the producers of lost results that regions wait for, as nothing else would detect the loss."""
        lost = {vertex for region in readers for vertex in self._topology.lost_producers(region)}
        if lost:
            producers = sorted(lost, key=self._order.__getitem__)
            self._failed(producers, _failure_of(producers[0], "its result was lost with its TaskExecutor"))

    def _release_all(self, cause: str) -> None:
        self._to_release += self._bulks.release_all()
        self._flush_releases(cause)

    def _flush_releases(self, cause: str) -> None:
        if self._to_release:
            released, self._to_release = tuple(self._to_release), []
            self._out.append(ReleaseSlots(released, cause))

    def _emit(self, action: SchedulerAction) -> None:
        """Emit an action, after releasing slots, so that they are available for new requests."""
        self._flush_releases("no task needs the slot any more")
        self._out.append(action)

    def _finish(self, vertex: ExecutionVertex) -> None:
        if vertex.current.state in _UP:
            self.graph.transition(vertex, ExecutionState.FINISHED)
            self._over(vertex)

    def _fail_executions(self, vertices: Iterable[ExecutionVertex], cause: TaskFailure) -> None:
        """Fail active executions; those being cancelled become CANCELED. Deployed ones are stopped."""
        for vertex in vertices:
            if not vertex.current.state.is_terminal:
                self._stop_to_be_sure(vertex)
                self.graph.update_state(vertex.current.attempt_id, ExecutionState.FAILED, cause)
                self._over(vertex)

    def _stop_to_be_sure(self, vertex: ExecutionVertex) -> None:
        """Cancel an attempt that failed without a report of its TaskExecutor, where it may still run."""
        execution = vertex.current
        if execution.task_manager_id is not None and execution.state in _DEPLOYED:
            self._cancel_later(vertex)
            self._unconfirmed.add(execution.attempt_id)

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
