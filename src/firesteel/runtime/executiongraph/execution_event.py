"""Events in the history of a job: state transitions with time and cause."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

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

    def __str__(self) -> str:
        return f"{_time(self.timestamp_ms)} job {self.status.name}{because(self.cause)}"


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

    def __str__(self) -> str:
        place = "" if self.task_manager_id is None else f" in slot {self.slot} of {self.task_manager_id}"
        task = f"subtask {self.subtask_index + 1} of {self.vertex_id}, attempt {self.attempt_number}"
        return f"{_time(self.timestamp_ms)} {task} {self.state.name}{place}{because(self.cause)}"


def _time(timestamp_ms: int) -> str:
    return datetime.fromtimestamp(timestamp_ms / 1000, UTC).strftime("%H:%M:%S.%f")[:-3]


def because(cause: TaskFailure | None) -> str:
    """Return the suffix of a log line that states the cause."""
    return "" if cause is None else f": {cause.message}"
