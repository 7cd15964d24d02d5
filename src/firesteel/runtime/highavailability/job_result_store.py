"""The store of results of ended jobs, over any kind of storage."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.highavailability.high_availability_errors import CorruptEntryError
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, HaStorage, Names
from firesteel.runtime.logs import about

__all__ = ["JobResultStore"]

logger = logging.getLogger(__name__)


class JobResultStore:
    """The results of ended jobs. Flink: `runtime.highavailability.JobResultStore` (1.15 and later).

    An entry is dirty until the job is cleaned up.

    Args:
        storage: The storage of the entries.
        delete_on_commit: Whether clean entries are deleted. Flink: `job-result-store.delete-on-commit`.
    """

    def __init__(self, storage: HaStorage, delete_on_commit: bool) -> None:
        self._storage = storage
        self._delete_on_commit = delete_on_commit

    async def create_dirty_result(self, result: JobResult) -> None:
        """Store a result as dirty.

        Raises:
            ValueError: the job already has a result.
            StaleLeaderError: the leader session is over.
        """
        if await self.has_job_result(result.job_id):
            raise ValueError(f"job {result.job_id} already has a result; a job ends only once")
        await self._storage.write(DIRTY_RESULTS, result.job_id, result)

    async def mark_result_as_clean(self, job_id: str) -> None:
        """Mark the result of a cleaned-up job as clean. Idempotent.

        Raises:
            KeyError: the job has no result.
            StaleLeaderError: the leader session is over.
        """
        if await self._read(CLEAN_RESULTS, job_id) is not None:
            return
        if await self._read(DIRTY_RESULTS, job_id) is None:
            raise KeyError(f"job {job_id} has no result that could be marked as clean")
        if self._delete_on_commit:
            await self._storage.delete(DIRTY_RESULTS, job_id)
        else:
            await self._storage.move(job_id, DIRTY_RESULTS, CLEAN_RESULTS)

    async def has_job_result(self, job_id: str) -> bool:
        """Return whether the job has a result, dirty or clean."""
        for folder in (DIRTY_RESULTS, CLEAN_RESULTS):
            if await self._read(folder, job_id) is not None:
                return True
        return False

    async def dirty_results(self) -> tuple[JobResult, ...]:
        """Return the results of jobs that still have to be cleaned up, without damaged ones."""
        names = await self._storage.names(DIRTY_RESULTS)
        found = await asyncio.gather(*map(self._dirty_result, names))
        return tuple(result for result in found if result is not None)

    async def dirty_job_ids(self) -> Names:
        """Return the ids of jobs with dirty results, including unreadable ones: these jobs have ended."""
        return await self._storage.names(DIRTY_RESULTS)

    async def _dirty_result(self, job_id: str) -> JobResult | None:
        try:
            result: JobResult | None = await self._read(DIRTY_RESULTS, job_id)
        except CorruptEntryError as error:
            logger.error("job %s can't be cleaned up: %s", job_id, error, extra=about(job_id))
            return None
        return result

    async def _read(self, folder: str, job_id: str) -> Any | None:
        return await self._storage.read(folder, job_id)
