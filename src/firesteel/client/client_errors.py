"""Errors of jobs that did not finish.

JobExecutionError
  +- JobFailedError
  +- JobCanceledError
"""

from __future__ import annotations

from firesteel.errors import JobExecutionError
from firesteel.runtime.failure import TaskFailure


class JobFailedError(JobExecutionError):
    """The job failed; the text begins with the user's operator and line (Flink: `JobExecutionException`).

    Attributes:
        failure: The cause; `failure.user_traceback` and `failure.details` contain more.
    """

    def __init__(self, job_id: str, failure: TaskFailure | None) -> None:
        super().__init__(job_id, failure)
        self.job_id = job_id
        self.failure = failure

    def __str__(self) -> str:
        return f"Job {self.job_id} failed: {self.failure or 'no cause was reported'}"


class JobCanceledError(JobExecutionError):
    """The job was cancelled (Flink: `JobCancellationException`)."""

    def __init__(self, job_id: str) -> None:
        super().__init__(job_id)
        self.job_id = job_id

    def __str__(self) -> str:
        return f"Job {self.job_id} was cancelled"
