"""Collects what jobs that have ended leave in the memory of a JobManager's process."""

from __future__ import annotations

import asyncio
import gc

from firesteel.runtime.executiongraph.execution_event import JobEvent

__all__ = ["JobGarbage"]

_PAUSE_S = 60.0
"""Least time in seconds between two collections: one takes 0.1 s with 100,000 objects, and stops the process."""


class JobGarbage:
    """Runs a full garbage collection a while after a job has ended (a `JobStatusListener`).

    Objects of a job refer to each other. What has lived for a while is otherwise found by a full collection only, and
    those are rare: see `common.garbage_collection`.
    """

    def __init__(self) -> None:
        self._is_due = False

    def job_status_changed(self, job_id: str, event: JobEvent) -> None:
        """Plan a collection if the job has ended, unless one is planned."""
        if event.status.is_terminal and not self._is_due:
            self._is_due = True
            asyncio.get_running_loop().call_later(_PAUSE_S, self._collect)

    def _collect(self) -> None:
        self._is_due = False
        gc.collect()
