"""Reports of task states from a TaskExecutor to JobMasters."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Iterable

from firesteel.runtime.executiongraph.execution_errors import ExecutionNotFoundError
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway, TaskExecutionState
from firesteel.runtime.rpc import RpcEndpoint, RpcTimeoutError

__all__ = ["TaskReports"]


class TaskReports:
    """Pending reports of task states, batched per iteration of the event loop and repeated until acknowledged.

    Args:
        endpoint: The TaskExecutor.
        job_master: Returns the JobMaster of a job while the TaskExecutor is registered there.
        give_up: Called with an attempt whose report its JobMaster did not expect.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        job_master: Callable[[str], JobMasterGateway | None],
        give_up: Callable[[str], object],
    ) -> None:
        self._endpoint = endpoint
        self._job_master = job_master
        self._give_up = give_up
        self._gathered: dict[str, list[TaskExecutionState]] = {}  # By job.
        self._latest: dict[str, TaskExecutionState] = {}  # By attempt, until it is acknowledged.

    def report(self, job_id: str, state: TaskExecutionState) -> None:
        """Report a state to a job's JobMaster, together with others of this iteration of the event loop."""
        self._latest[state.execution_attempt_id] = state
        gathered = self._gathered.setdefault(job_id, [])
        if not gathered:
            self._endpoint.run_async(lambda: self.flush(job_id))
        gathered.append(state)

    def flush(self, job_id: str) -> None:
        """Send the pending reports of a job."""
        states, job_master = tuple(self._gathered.pop(job_id, ())), self._job_master(job_id)
        if job_master is None or not states:
            self._forget(states)
            return
        call: Awaitable[object]
        if len(states) == 1:
            call = job_master.update_task_execution_state(states[0])
        else:
            call = job_master.update_task_execution_states(states)
        answered = functools.partial(self._answered, job_id, states)
        # A callback and not a task: there are several reports for each task.
        self._endpoint.spawn(call, "reporting states").add_done_callback(answered)

    def _answered(self, job_id: str, states: tuple[TaskExecutionState, ...], answer: asyncio.Future[object]) -> None:
        if answer.cancelled() or not self._endpoint.is_running:
            return
        error = answer.exception()
        if isinstance(error, RpcTimeoutError):
            self._repeat(job_id, states)
            return
        self._forget(states)
        if error is None:
            result = answer.result()
            acknowledged = result if isinstance(result, tuple) else (result,)
        else:
            # Other errors are of a JobMaster that is gone or changes; its successor asks for the tasks that run.
            acknowledged = (not isinstance(error, ExecutionNotFoundError),) * len(states)
        for state, is_acknowledged in zip(states, acknowledged, strict=True):
            if not is_acknowledged:
                self._give_up(state.execution_attempt_id)

    def _repeat(self, job_id: str, states: Iterable[TaskExecutionState]) -> None:
        """Repeat reports that may be lost; only the latest state of each task counts."""
        for state in states:
            if self._latest.get(state.execution_attempt_id) is state:
                self.report(job_id, state)

    def _forget(self, states: Iterable[TaskExecutionState]) -> None:
        for state in states:
            if self._latest.get(state.execution_attempt_id) is state:
                del self._latest[state.execution_attempt_id]
