"""Who wants to know how a job goes."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.executiongraph.execution_event import JobEvent

__all__ = ["JobStatusListener"]


class JobStatusListener(Protocol):
    """Hears of each change of a job's status. Flink: `runtime.executiongraph.JobStatusListener`."""

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        """The job entered a status; called on the JobManager's loop."""
