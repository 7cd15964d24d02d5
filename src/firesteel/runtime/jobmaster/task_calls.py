"""Calls of a JobMaster to TaskExecutors that deploy and cancel tasks, and free slots."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from firesteel.runtime.executiongraph.execution_errors import ExecutionNotFoundError
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.jobmaster.job_master_gateway import UnknownTaskManagerError
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.task_managers import TaskManagers
from firesteel.runtime.logs import about
from firesteel.runtime.scheduler.actions import CancelTask, Deploy
from firesteel.runtime.slotpool.actions import FreeSlot
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor
from firesteel.runtime.taskexecutor.task_executor_gateway import TaskNotFoundError

__all__ = ["TaskCalls"]

logger = logging.getLogger(__name__)

_TRIES = 3


class TaskCalls:
    """The execution of `Deploy`, `CancelTask` and `FreeSlot`, with the results reported to the Scheduler.

    Args:
        session: The job and its leader session, sent with each task.
        task_managers: The connected TaskExecutors.
        parts: Has the Scheduler, notified of failed and stopped tasks, and the record of acknowledged deployments.
        give_up: Called with an unusable TaskExecutor and the reason.
    """

    def __init__(
        self,
        session: JobSession,
        task_managers: TaskManagers,
        parts: JobParts,
        give_up: Callable[[str, str], None],
    ) -> None:
        self._endpoint = session.endpoint
        self._job_id = session.job_id
        self._session_id = session.session_id
        self._task_managers = task_managers
        self._parts = parts
        self._perform = session.perform
        self._give_up = give_up

    def deploy(self, action: Deploy) -> None:
        """Submit a task to its TaskExecutor."""
        tdd, gateway = action.tdd, self._task_managers.get(action.task_manager_id)
        if gateway is None:
            error = UnknownTaskManagerError(self._job_id, action.task_manager_id)
            self._deployment_failed(tdd, error)
        else:
            submitted = asyncio.ensure_future(gateway.submit_task(tdd, self._session_id))
            self._endpoint.when_failed(submitted, lambda error: self._deployment_failed(tdd, error))
            submitted.add_done_callback(lambda answer: self._deployed(action, answer))

    def _deployed(self, action: Deploy, answer: asyncio.Future[None]) -> None:
        if not answer.cancelled() and answer.exception() is None:
            self._parts.deployments.deployed(action.task_manager_id, action.tdd.execution_attempt_id)

    def _deployment_failed(self, tdd: TaskDeploymentDescriptor, error: Exception) -> None:
        failure = tdd.failure(f"the task could not be deployed: {type(error).__name__}: {error}")
        try:
            actions = self._parts.scheduler.task_deployment_failed(tdd.execution_attempt_id, failure)
        # The attempt was replaced while its submission was failing.
        except ExecutionNotFoundError:
            return
        self._perform(actions)

    def deployments_reported(self, task_manager_id: str, expected: frozenset[str], running: tuple[str, ...]) -> None:
        """Process the attempts reported by a TaskExecutor; missing ones count as failed."""
        discrepancy = self._parts.deployments.reconcile(expected, running)
        for attempt_id in discrepancy.missing:
            failure = TaskFailure(
                f"TaskExecutor {task_manager_id} does not run the task any more, and did not report why"
            )
            self._perform(self._parts.scheduler.task_state_reported(attempt_id, ExecutionState.FAILED, failure)[1])
        self._perform(CancelTask(task_manager_id, attempt_id) for attempt_id in discrepancy.unknown)

    def free_slot(self, action: FreeSlot) -> None:
        """Free a slot at its TaskExecutor."""
        gateway = self._task_managers.get(action.task_manager_id)
        if gateway is not None:
            self._endpoint.spawn(gateway.free_slot(action.allocation_id, action.cause), "freeing a slot")

    def cancel(self, action: CancelTask) -> None:
        """Cancel a task at its TaskExecutor."""
        self._endpoint.spawn(self._try_to_cancel(action), "cancelling a task")

    async def _try_to_cancel(self, action: CancelTask) -> None:
        """Call up to three times; a TaskExecutor that does not answer is given up."""
        for _ in range(_TRIES):
            gateway = self._task_managers.get(action.task_manager_id)
            if gateway is None:
                break
            try:
                await gateway.cancel_task(action.attempt_id)
            except TaskNotFoundError:
                break
            except Exception as error:
                extra = about(self._job_id)
                logger.info("task %s could not be cancelled: %s", action.attempt_id, error, extra=extra)
            else:
                self._perform(self._parts.scheduler.cancellation_acknowledged(action.attempt_id))
                return
        else:
            # The task may still run there and write; only without its TaskExecutor is it certain that it does not.
            self._give_up(action.task_manager_id, f"it did not cancel task {action.attempt_id}")
        self._perform(self._parts.scheduler.task_stopped(action.attempt_id))
