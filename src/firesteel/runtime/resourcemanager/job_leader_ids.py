"""The leading JobMaster of each job."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from firesteel.runtime.clock import Clock, Timer, with_timeout
from firesteel.runtime.highavailability.high_availability import LeaderRetrieval

__all__ = ["JobLeaderIds"]


class JobLeaderIds:
    """The leader sessions of jobs that have, or had, a JobMaster here. Flink: `resourcemanager.JobLeaderIdService`.

    Args:
        retrieval: Returns the leader retrieval of a job.
        clock: The clock.
        patience_s: Maximum time in seconds to wait for a leader.
        job_timeout_s: Time in seconds without leader after which a job is removed. Flink:
        `resourcemanager.job.timeout`.
        on_lost: Called with a job and the session that lost its leadership.
        on_timeout: Called with a job that is removed.
    """

    def __init__(
        self,
        retrieval: Callable[[str], LeaderRetrieval],
        clock: Clock,
        patience_s: float,
        job_timeout_s: float,
        on_lost: Callable[[str, str], object],
        on_timeout: Callable[[str], object],
    ) -> None:
        self.retrieval = retrieval
        self.clock = clock
        self._patience_s = patience_s
        self.job_timeout_s = job_timeout_s
        self.on_lost = on_lost
        self.on_timeout = on_timeout
        self._jobs: dict[str, _Job] = {}

    async def leader_id(self, job_id: str) -> str:
        """Return the leader session of a job, waiting if there is none; the job is monitored from now on.

        Raises:
            TimeoutError: there was no leader in time.
        """
        job = self._jobs.get(job_id)
        if job is None:
            job = self._jobs[job_id] = _Job(self, job_id)
            job.start()
        return await with_timeout(self.clock, self._patience_s, asyncio.shield(job.leader))

    def remove(self, job_id: str) -> None:
        """Stop monitoring a job."""
        job = self._jobs.pop(job_id, None)
        if job is not None:
            job.stop()

    def clear(self) -> None:
        """Stop monitoring all jobs."""
        for job_id in list(self._jobs):
            self.remove(job_id)


class _Job:
    """A listener to the leader of one job."""

    def __init__(self, ids: JobLeaderIds, job_id: str) -> None:
        self._ids = ids
        self._job_id = job_id
        self._retrieval = ids.retrieval(job_id)
        self._session_id: str | None = None
        self._timer: Timer | None = None
        self.leader: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def start(self) -> None:
        self._wait()
        self._retrieval.start(self)

    def stop(self) -> None:
        self._retrieval.stop()
        self._stop_waiting()
        self.leader.cancel()

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        former, self._session_id = self._session_id, session_id
        if self.leader.done():
            self.leader = asyncio.get_running_loop().create_future()
        self._stop_waiting()
        if session_id is None:
            self._wait()
        else:
            self.leader.set_result(session_id)
        if former is not None and former != session_id:
            self._ids.on_lost(self._job_id, former)

    def _wait(self) -> None:
        self._timer = self._ids.clock.call_later(self._ids.job_timeout_s, self._timed_out)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _timed_out(self) -> None:
        self._ids.remove(self._job_id)
        self._ids.on_timeout(self._job_id)
