"""Listeners to the status of jobs."""

from __future__ import annotations

from typing import Protocol

from firesteel.runtime.executiongraph.execution_event import JobEvent

__all__ = ["JobStatusListener"]


class JobStatusListener(Protocol):
    """A listener to changes of a job's status. Flink: `runtime.executiongraph.JobStatusListener`."""

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        """Handle a new status of a job; called on the JobManager's loop."""
