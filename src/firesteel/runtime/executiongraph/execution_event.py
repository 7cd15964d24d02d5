"""The history of a job: what entered which state when, and why."""

from __future__ import annotations

from dataclasses import dataclass

from firesteel.runtime.executiongraph.execution_state import ExecutionState
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

__all__ = ["ExecutionEvent", "JobEvent"]


@dataclass(frozen=True, slots=True)
class JobEvent:
    """The job entered a status."""

    status: JobStatus
    timestamp_ms: int
    cause: TaskFailure | None = None


@dataclass(frozen=True, slots=True)
class ExecutionEvent:
    """An attempt entered a state."""

    attempt_id: str
    state: ExecutionState
    timestamp_ms: int
    vertex_id: str
    subtask_index: int
    attempt_number: int
    slot: str | None = None
    task_manager_id: str | None = None
    cause: TaskFailure | None = None
