"""A job during execution: all subtasks, their attempts and their connections."""

from __future__ import annotations

import logging
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from firesteel.graph.job_graph import JobGraph, JobVertex
from firesteel.runtime.executiongraph.edges import edge_groups
from firesteel.runtime.executiongraph.execution import Execution
from firesteel.runtime.executiongraph.execution_errors import (
    ExecutionGraphError,
    ExecutionNotFoundError,
    IllegalTransitionError,
)
from firesteel.runtime.executiongraph.execution_event import ExecutionEvent, JobEvent, because
from firesteel.runtime.executiongraph.execution_graph_dict import edge_to_dict, result_to_dict, vertex_to_dict
from firesteel.runtime.executiongraph.execution_history import ExecutionHistory
from firesteel.runtime.executiongraph.execution_job_vertex import ExecutionJobVertex, ExecutionVertex
from firesteel.runtime.executiongraph.execution_state import (
    CANCEL,
    TERMINAL,
    ExecutionState,
    is_acknowledged,
    state_after_report,
)
from firesteel.runtime.executiongraph.intermediate_result import IntermediateResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.logs import about

__all__ = ["ExecutionGraph"]

logger = logging.getLogger(__name__)


class ExecutionGraph:
    """A job during execution. Flink: `runtime.executiongraph.DefaultExecutionGraph`.

    It owns the states and records every change. The scheduler decides how to react to changes.

    Args:
        job_graph: The job, every parallelism resolved.
        now_ms: The time, in ms since the epoch.
        on_job_status: Called with each change of the job's status.
        former: The graph of the job before it was rescaled, whose status and history this one continues.

    Attributes:
        id: The unique id of this graph, which distinguishes its attempts from those of another leader.
        job_vertices: By vertex id, in topological order.
        results: By data set id.
        status: The job's status.
        status_timestamps: The time at which each status was last entered.
        failure: The reason why the job fails, restarts or failed last.
        restarts: Number of restarts.
        history: Every change so far, oldest first.

    Raises:
        ExecutionGraphError: there is no vertex, or vertices are co-located without slot sharing.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        now_ms: Callable[[], int],
        on_job_status: Callable[[JobEvent], object] = lambda _: None,
        former: ExecutionGraph | None = None,
    ) -> None:
        if not job_graph.vertices:
            raise ExecutionGraphError(
                f"job {job_graph.name!r} ({job_graph.job_id}) has no vertices, so there is nothing to run"
            )
        self.job_graph = job_graph
        self.id = uuid.uuid4().hex
        self.job_id = job_graph.job_id
        self.name = job_graph.name
        self._now_ms = now_ms
        self._on_job_status = on_job_status
        created_ms = now_ms()
        self.status = JobStatus.INITIALIZING
        self.status_timestamps = {JobStatus.INITIALIZING: created_ms}
        self.failure: TaskFailure | None = None
        self.restarts = 0
        self.history = ExecutionHistory()
        self.history.append(JobEvent(self.status, created_ms))
        self.job_vertices: dict[str, ExecutionJobVertex] = {}
        self.results: dict[str, IntermediateResult] = {}
        self._current: dict[str, ExecutionVertex] = {}
        # `is_done` and `is_up` are asked after each report of each subtask; counting anew would make a deployment
        # quadratic.
        self._counts: Counter[ExecutionState] = Counter()
        if former is not None:
            self._continue(former)
        for job_vertex in job_graph.vertices:
            self._attach(job_vertex, created_ms)

    def _continue(self, former: ExecutionGraph) -> None:
        self.status, self.status_timestamps = former.status, dict(former.status_timestamps)
        self.failure, self.restarts, self.history = former.failure, former.restarts, former.history

    def _attach(self, job_vertex: JobVertex, created_ms: int) -> None:
        if job_vertex.co_location_group_index is not None and job_vertex.slot_sharing_group is None:
            raise ExecutionGraphError(
                f"vertex {job_vertex.name!r} is co-located but shares no slots; give it a slot sharing group"
            )
        vertex = ExecutionJobVertex(job_vertex, self.id, created_ms)
        self.job_vertices[vertex.id] = vertex
        self.results.update((result.id, result) for result in vertex.results)
        self._current.update((subtask.current.attempt_id, subtask) for subtask in vertex.vertices)
        self._counts[ExecutionState.CREATED] += vertex.parallelism
        for edge in job_vertex.inputs:
            result = self.results[edge.source.id]
            groups = list(
                edge_groups(result.id, vertex.id, len(result.partitions), vertex.parallelism, edge.distribution_pattern)
            )
            result.connect(edge, groups)
            for group in groups:
                for index in group.consumers.subtasks:
                    vertex.vertices[index].consumed.append(group)

    @property
    def vertices(self) -> Iterator[ExecutionVertex]:
        """All subtasks, in topological and subtask order."""
        return (subtask for vertex in self.job_vertices.values() for subtask in vertex.vertices)

    @property
    def executions(self) -> Iterator[Execution]:
        """The current attempts, in topological and subtask order."""
        return (subtask.current for subtask in self.vertices)

    @property
    def is_done(self) -> bool:
        """Whether every current attempt is in a terminal state."""
        return self.count(*TERMINAL) == len(self._current)

    @property
    def is_up(self) -> bool:
        """Whether every current attempt is RUNNING or has FINISHED."""
        return self.count(ExecutionState.RUNNING, ExecutionState.FINISHED) == len(self._current)

    @property
    def is_finished(self) -> bool:
        """Whether every current attempt has FINISHED."""
        return self._counts[ExecutionState.FINISHED] == len(self._current)

    def count(self, *states: ExecutionState) -> int:
        """Return the number of current attempts in one of `states`."""
        return sum(self._counts[state] for state in states)

    def vertex_of(self, attempt_id: str) -> ExecutionVertex:
        """Return the subtask with a current attempt.

        Raises:
            ExecutionNotFoundError: no current attempt has that id.
        """
        try:
            return self._current[attempt_id]
        except KeyError:
            raise ExecutionNotFoundError(attempt_id) from None

    def has_attempt(self, attempt_id: str) -> bool:
        """Return whether the attempt is the current one of a subtask."""
        return attempt_id in self._current

    def is_over(self, attempt_id: str) -> bool:
        """Return whether a current attempt is in a terminal state."""
        return self._current[attempt_id].current.state.is_terminal

    def transition_job(self, status: JobStatus, cause: TaskFailure | None = None) -> None:
        """Change the job status.

        Raises:
            IllegalTransitionError: the job is in a terminal status.
        """
        if self.status.is_terminal:
            raise IllegalTransitionError(f"job {self.job_id}", self.status, status, "none, it is terminal")
        text = "Job %s (%s) switched to %s%s"
        logger.info(text, self.name, self.job_id, status.name, because(cause), extra=about(self.job_id))
        self.status = status
        self.status_timestamps[status] = self._now_ms()
        if cause is not None:
            self.failure = cause
        event = JobEvent(status, self.status_timestamps[status], cause)
        self.history.append(event)
        self._on_job_status(event)

    def note_failure(self, cause: TaskFailure) -> None:
        """Record another failure without a change of the job status."""
        self.failure = cause
        self.history.append(JobEvent(self.status, self._now_ms(), cause))

    def deploy(self, vertex: ExecutionVertex) -> None:
        """Change the current attempt to DEPLOYING.

        Raises:
            IllegalTransitionError: it is not waiting to be deployed.
            SlotLostError: its slot is gone.
        """
        vertex.current.check_deployable()
        self.transition(vertex, ExecutionState.DEPLOYING)

    def transition(self, vertex: ExecutionVertex, state: ExecutionState, cause: TaskFailure | None = None) -> None:
        """Change the state of the current attempt of `vertex` and record the event."""
        execution = vertex.current
        start, now_ms = execution.state, self._now_ms()
        # Before anything is counted or logged, as it raises for a transition that is not allowed.
        execution.transition_to(state, now_ms)
        if cause is not None:
            execution.failure = cause
        if logger.isEnabledFor(logging.INFO):  # Avoid formatting that is not logged: there may be 10,000 subtasks.
            place = "" if execution.task_manager_id is None else f" at {execution.task_manager_id}"
            text = "%s of job %s%s switched to %s%s"
            extra = about(self.job_id, execution.vertex_id, execution.subtask_index)
            logger.info(text, vertex.name, self.job_id, place, state.name, because(cause), extra=extra)
        self._moved(vertex, start, state)
        self._record(execution, now_ms, cause)

    def update_state(self, attempt_id: str, reported: ExecutionState, failure: TaskFailure | None = None) -> bool:
        """Process a report of a TaskExecutor; on False the TaskExecutor must give up the task.

        Raises:
            ExecutionNotFoundError: the attempt is not current.
        """
        vertex = self.vertex_of(attempt_id)
        current = vertex.current.state
        target = state_after_report(current, reported)
        if target is not current:
            # A task that is being cancelled may report a failure; it is then canceled, and the failure was caused by
            # that.
            self.transition(vertex, target, failure if target is ExecutionState.FAILED else None)
        return is_acknowledged(current, reported)

    def cancel(self, vertex: ExecutionVertex) -> bool:
        """Cancel the current attempt; return whether its TaskExecutor must be notified."""
        state = vertex.current.state
        target = CANCEL.get(state)
        if target is not None:
            self.transition(vertex, target)
        return target is ExecutionState.CANCELING

    def reset(self, vertex: ExecutionVertex) -> Execution:
        """Replace a terminated attempt by the next one.

        Raises:
            IllegalTransitionError: the attempt has not terminated.
        """
        now_ms = self._now_ms()
        old = vertex.current
        new = vertex.reset_for_new_execution(self.id, now_ms)
        # From now on reports of the old attempt are refused, so its TaskExecutor gives it up.
        del self._current[old.attempt_id]
        self._current[new.attempt_id] = vertex
        self._counts[old.state] -= 1
        self._counts[ExecutionState.CREATED] += 1
        self._record(new, now_ms, None)
        return new

    def to_dict(self) -> dict[str, object]:
        """Return the graph as plain data: the job, vertices with their attempts, results, edges between subtasks."""
        edges = [
            edge_to_dict(edge, self.results[edge.source.id], vertex)
            for vertex in self.job_vertices.values()
            for edge in vertex.job_vertex.inputs
        ]
        return {**self.state_to_dict(), "edges": edges}

    def state_counts(self) -> dict[ExecutionState, int]:
        """Return the number of subtasks in each state, without states that have none."""
        return {state: count for state, count in self._counts.items() if count}

    def state_to_dict(self) -> dict[str, Any]:
        """Return the graph as in `to_dict` without the edges, which follow from job graph and parallelism."""
        now_ms = self._now_ms()
        return {
            "job_id": self.job_id,
            "name": self.name,
            "status": self.status.name,
            "timestamps": {status.name: at for status, at in self.status_timestamps.items()},
            "restarts": self.restarts,
            "failure": None if self.failure is None else str(self.failure),
            "vertices": [vertex_to_dict(vertex, now_ms) for vertex in self.job_vertices.values()],
            "results": [result_to_dict(result) for result in self.results.values()],
        }

    def _moved(self, vertex: ExecutionVertex, start: ExecutionState, target: ExecutionState) -> None:
        vertex.job_vertex.moved(start, target)
        self._counts[start] -= 1
        self._counts[target] += 1

    def _record(self, execution: Execution, now_ms: int, cause: TaskFailure | None) -> None:
        self.history.append(
            ExecutionEvent(
                execution.attempt_id,
                execution.state,
                now_ms,
                execution.vertex_id,
                execution.subtask_index,
                execution.attempt_number,
                execution.allocation_id,
                execution.task_manager_id,
                cause,
            )
        )
