"""Restarts of a job in this process, as they happen."""

from __future__ import annotations

from firesteel.client.progress import progress_reporter
from firesteel.client.progress_reporter import Restart
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure

__all__ = ["RestartListener"]


class RestartListener:
    """Tells the reporter of restarts (a `JobStatusListener`).

    Attributes:
        last: The last restart; None if there was none.
    """

    def __init__(self) -> None:
        self.last: Restart | None = None

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        """Report a restart; without a cause it is a change of the parallelism."""
        if event.status is not JobStatus.RESTARTING or event.cause is None:
            return
        before = self.last
        repeats = before is not None and _is_same_failure(before.cause, event.cause)
        self.last = Restart(
            job_id,
            1 if before is None else before.number + 1,
            event.cause,
            before.repetitions + 1 if repeats and before is not None else 1,
        )
        progress_reporter().restarts(self.last)


def _is_same_failure(one: TaskFailure | None, other: TaskFailure | None) -> bool:
    if one is None or other is None:
        return one is other
    return (one.message, one.in_hand, one.user_location) == (other.message, other.in_hand, other.user_location)
