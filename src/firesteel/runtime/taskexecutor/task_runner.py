"""What runs tasks in the slots of a TaskExecutor. Implemented beside the data plane; simulated in tests."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.taskexecutor.task_deployment_descriptor import TaskDeploymentDescriptor

__all__ = ["TaskRunner", "TaskRunnerFactory", "TaskStateListener"]


class TaskStateListener(Protocol):
    """Hears how tasks go. Implemented by the TaskExecutor; called on its loop only."""

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
    """Runs tasks in slots. A slot's process that dies alone is started again without any state change."""

    async def open_slot(self, allocation_id: str, slot_index: int) -> str:
        """Start what a slot needs and return its data address, opaque to the control plane (may be empty)."""
        ...

    async def deploy(self, tdd: TaskDeploymentDescriptor) -> None:
        """Hand a task over; its states come through the listener. An error raised here fails the task."""

    async def cancel(self, execution_attempt_id: str) -> None:
        """Stop a task; CANCELED is reported through the listener, once, also if the task is unknown here."""

    async def close_slot(self, allocation_id: str) -> None:
        """Stop what the slot started, its tasks included; idempotent."""

    async def close(self) -> None:
        """Stop everything."""


class TaskRunnerFactory(Protocol):
    """Makes the runner of one TaskExecutor: a class or function that takes the listener."""

    def __call__(self, listener: TaskStateListener) -> TaskRunner:
        """Return a runner that reports to `listener`."""
        ...
