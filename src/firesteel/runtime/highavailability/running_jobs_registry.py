"""The scheduling status of each job, as shared by leaders before Flink 1.15."""

from __future__ import annotations

from enum import Enum

from firesteel.runtime.highavailability.storage import RUNNING_JOBS, HaStorage

__all__ = ["JobSchedulingStatus", "RunningJobsRegistry"]


class JobSchedulingStatus(Enum):
    """The scheduling status of a job. Flink: `RunningJobsRegistry.JobSchedulingStatus`."""

    PENDING = "PENDING"
    """No leader has started it."""
    RUNNING = "RUNNING"
    """A leader has started it; the leader may have died since."""
    DONE = "DONE"
    """It has ended."""


class RunningJobsRegistry:
    """The scheduling status of each job. Flink: `highavailability.RunningJobsRegistry` (until 1.14).

    Args:
        storage: The storage of the entries.
    """

    def __init__(self, storage: HaStorage) -> None:
        self._storage = storage

    async def set_job_running(self, job_id: str) -> None:
        """Mark a job as started by a leader.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.write(RUNNING_JOBS, job_id, JobSchedulingStatus.RUNNING.value)

    async def set_job_finished(self, job_id: str) -> None:
        """Mark a job as ended, however it ended.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.write(RUNNING_JOBS, job_id, JobSchedulingStatus.DONE.value)

    async def get_job_scheduling_status(self, job_id: str) -> JobSchedulingStatus:
        """Return the status of a job, PENDING if it is unknown."""
        return JobSchedulingStatus(await self._storage.read(RUNNING_JOBS, job_id) or "PENDING")

    async def clear_job(self, job_id: str) -> None:
        """Remove the entry of a job.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.delete(RUNNING_JOBS, job_id)
