"""Errors of the execution graph."""

from __future__ import annotations

from enum import Enum

from firesteel.errors import FiresteelError

__all__ = ["ExecutionGraphError", "ExecutionNotFoundError", "IllegalTransitionError", "SlotLostError"]


class ExecutionGraphError(FiresteelError, ValueError):
    """A JobGraph from which no ExecutionGraph can be built. Flink: `runtime.JobException`."""


class ExecutionNotFoundError(FiresteelError):
    """A report for an attempt that is not current; the reporter must give up the task.

    Flink: `ExecutionGraphException: The execution attempt ... was not found`.
    """

    def __str__(self) -> str:
        (attempt_id,) = self.args
        return f"execution attempt {attempt_id} is not a current attempt of this job"


class SlotLostError(FiresteelError):
    """The slot of an attempt to deploy is lost. Flink: `JobException: Target slot ... is no longer alive`."""

    def __str__(self) -> str:
        attempt_id, allocation_id = self.args
        return f"execution {attempt_id} can't be deployed: its target slot {allocation_id} is no longer alive"


class IllegalTransitionError(FiresteelError):
    """A state transition that is not allowed."""

    def __init__(self, what: str, start: Enum, target: Enum, allowed: str) -> None:
        super().__init__(what, start, target, allowed)

    def __str__(self) -> str:
        what, start, target, allowed = self.args
        return f"{what} can't go from {start.name} to {target.name}; allowed from {start.name}: {allowed}"
