"""The interface of task runners, which run tasks in slots; implemented by the data plane and simulated in tests."""

from __future__ import annotations

from typing import Protocol

from firesteel.common.stack_frames import ThreadText
from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.taskexecutor.stack_samples import StackRequest, SubtaskStacks
from firesteel.runtime.taskexecutor.state_lookups import StateAnswer, StateRequest
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor

__all__ = ["TaskRunner", "TaskRunnerFactory", "TaskStateListener"]


class TaskStateListener(Protocol):
    """A listener to tasks. Implemented by the TaskExecutor; called on its loop only."""

    def task_state_changed(
        self, execution_attempt_id: str, state: ExecutionState, failure: TaskFailure | None = None
    ) -> None:
        """Report RUNNING once the task is ready for records, then one of FINISHED, CANCELED, FAILED.

        The TaskExecutor itself reports INITIALIZING before it calls `TaskRunner.deploy`. In a job whose records
        are moved by a DataPlane a task usually reports RUNNING, FAILED or CANCELED only: it finishes with the query.
        """

    def task_progress(self, execution_attempt_id: str, records_in: int, records_out: int) -> None:
        """Report the records that the attempt has read and emitted since it started."""


class TaskRunner(Protocol):
    """The interface that runs tasks in slots. A slot process that dies is restarted without a state change."""

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        """Start the resources of a slot and return its data address, which is opaque and may be empty."""
        ...

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        """Deploy a task; its states are reported to the listener. An error raised here fails the task."""

    async def cancel(self, execution_attempt_id: str) -> None:
        """Stop a task; CANCELED is reported to the listener once, even if the task is unknown here."""

    async def close_slot(self, allocation_id: str) -> None:
        """Stop everything that the slot started, including its tasks. Idempotent."""

    async def close(self) -> None:
        """Stop everything."""

    async def sample_stacks(self, request: StackRequest) -> tuple[SubtaskStacks, ...]:
        """Sample the stacks of a job's subtasks here; those without samples are left out."""
        ...

    async def look_up_state(self, request: StateRequest) -> tuple[StateAnswer, ...]:
        """Look up keys in the state of a job's subtasks here; a slot that does not answer in time is left out."""
        ...

    async def dump_threads(self) -> tuple[ThreadText, ...]:
        """Return the threads of all processes that it has started."""
        ...


class TaskRunnerFactory(Protocol):
    """A factory of a TaskExecutor's runner: a class or function of the listener."""

    def __call__(self, listener: TaskStateListener) -> TaskRunner:
        """Return a runner that reports to `listener`."""
        ...
