"""States of a job (module as `pyflink.common.job_status`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["JobStatus"]


class JobStatus(Enum):
    """The status of a job as clients see it; an INITIALIZING job is CREATED, because PyFlink has no name for it.

    Example:
        >>> JobStatus["RUNNING"], JobStatus["INITIALIZING"]
        (<JobStatus.RUNNING: 1>, <JobStatus.CREATED: 0>)
    """

    CREATED = 0
    INITIALIZING = 0
    RUNNING = 1
    FAILING = 2
    FAILED = 3
    CANCELLING = 4
    CANCELED = 5
    FINISHED = 6
    RESTARTING = 7
    SUSPENDED = 8
    RECONCILING = 9

    def is_globally_terminal_state(self) -> bool:
        """Return whether the job has ended and will not be recovered."""
        return self in (JobStatus.FAILED, JobStatus.CANCELED, JobStatus.FINISHED)

    def is_terminal_state(self) -> bool:
        """Return whether the job has ended for this JobManager."""
        return self.is_globally_terminal_state() or self is JobStatus.SUSPENDED
