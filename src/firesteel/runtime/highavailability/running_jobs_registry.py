"""What has become of each job, as leaders before Flink 1.15 told one another."""

from __future__ import annotations

from enum import Enum

from firesteel.runtime.highavailability.storage import RUNNING_JOBS, HaStorage

__all__ = ["JobSchedulingStatus", "RunningJobsRegistry"]


class JobSchedulingStatus(Enum):
    """What has become of a job. Flink: `RunningJobsRegistry.JobSchedulingStatus`."""

    PENDING = "PENDING"
    """Nobody has taken it up."""
    RUNNING = "RUNNING"
    """A leader has taken it up, and perhaps died since."""
    DONE = "DONE"
    """It is over."""


class RunningJobsRegistry:
    """What has become of each job. Flink: `highavailability.RunningJobsRegistry` (until 1.14).

    Args:
        storage: Where the entries are.
    """

    def __init__(self, storage: HaStorage) -> None:
        self._storage = storage

    async def set_job_running(self, job_id: str) -> None:
        """A leader takes the job up.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.write(RUNNING_JOBS, job_id, JobSchedulingStatus.RUNNING.value)

    async def set_job_finished(self, job_id: str) -> None:
        """The job is over, however it ended.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.write(RUNNING_JOBS, job_id, JobSchedulingStatus.DONE.value)

    async def get_job_scheduling_status(self, job_id: str) -> JobSchedulingStatus:
        """What has become of the job; PENDING if nobody has heard of it."""
        return JobSchedulingStatus(await self._storage.read(RUNNING_JOBS, job_id) or "PENDING")

    async def clear_job(self, job_id: str) -> None:
        """Forget the job.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        await self._storage.delete(RUNNING_JOBS, job_id)
