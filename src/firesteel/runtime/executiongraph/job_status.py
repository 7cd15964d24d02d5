"""The states of a job and their transitions."""

from __future__ import annotations

from enum import Enum

__all__ = ["CANCELLABLE", "FAILABLE", "JobStatus"]


class JobStatus(Enum):
    """The status of a job. Flink: `api.common.JobStatus`."""

    INITIALIZING = "INITIALIZING"
    CREATED = "CREATED"
    RUNNING = "RUNNING"
    FAILING = "FAILING"
    FAILED = "FAILED"
    CANCELLING = "CANCELLING"
    CANCELED = "CANCELED"
    FINISHED = "FINISHED"
    RESTARTING = "RESTARTING"
    SUSPENDED = "SUSPENDED"
    RECONCILING = "RECONCILING"

    @property
    def is_terminal(self) -> bool:
        """Whether this control plane is done with the job."""
        return self in _TERMINAL

    @property
    def is_globally_terminal(self) -> bool:
        """Whether no other control plane may take over the job; SUSPENDED is only locally terminal."""
        return self in _TERMINAL and self is not JobStatus.SUSPENDED


_J = JobStatus
_TERMINAL = frozenset({_J.FAILED, _J.CANCELED, _J.FINISHED, _J.SUSPENDED})

CANCELLABLE = frozenset({_J.CREATED, _J.RUNNING, _J.FAILING, _J.RESTARTING})
"""The statuses from which a cancel leads to CANCELLING, and to CANCELED once all executions have terminated."""

FAILABLE = frozenset({_J.INITIALIZING, _J.CREATED, _J.RUNNING})
"""The statuses from which a failure leads to FAILING or RESTARTING; in all others the job is already ending or has
ended."""
