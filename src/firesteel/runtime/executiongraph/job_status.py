"""States of a job, and the tables that move it."""

from __future__ import annotations

from enum import Enum

__all__ = ["JOB_CANCEL", "JOB_FAIL", "JobStatus"]


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

JOB_CANCEL: dict[JobStatus, JobStatus] = {
    _J.CREATED: _J.CANCELLING,
    _J.RUNNING: _J.CANCELLING,
    _J.FAILING: _J.CANCELLING,
    _J.RESTARTING: _J.CANCELED,
}
"""State -> state after a cancel, before its executions have ended; missing: stays."""

JOB_FAIL: dict[JobStatus, JobStatus] = {
    _J.INITIALIZING: _J.FAILING,
    _J.CREATED: _J.FAILING,
    _J.RUNNING: _J.FAILING,
    _J.RESTARTING: _J.FAILING,
}
"""State -> state after a failure that no restart follows; missing: stays."""
