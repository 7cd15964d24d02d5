"""States of a job, and from where it can be moved."""

from __future__ import annotations

from enum import Enum

__all__ = ["CANCELLABLE", "FAILABLE", "JobStatus"]


class JobStatus(Enum):
    """State of a job. Flink: `api.common.JobStatus`."""

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
        """Whether no other control plane may take the job up again; SUSPENDED is only locally terminal."""
        return self in _TERMINAL and self is not JobStatus.SUSPENDED


_J = JobStatus
_TERMINAL = frozenset({_J.FAILED, _J.CANCELED, _J.FINISHED, _J.SUSPENDED})

CANCELLABLE = frozenset({_J.CREATED, _J.RUNNING, _J.FAILING, _J.RESTARTING})
"""From these a cancel leads to CANCELLING, and on to CANCELED once all executions are over."""

FAILABLE = frozenset({_J.INITIALIZING, _J.CREATED, _J.RUNNING})
"""From these a failure leads to FAILING or RESTARTING; in all others the job is giving up already, or is over."""
