"""The jobs that are over, over every kind of storage."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.highavailability.errors import CorruptEntryError
from firesteel.runtime.highavailability.storage import CLEAN_RESULTS, DIRTY_RESULTS, HaStorage, Names
from firesteel.runtime.logs import about

__all__ = ["JobResultStore"]

logger = logging.getLogger(__name__)


class JobResultStore:
    """The jobs that are over. Flink: `runtime.highavailability.JobResultStore` (1.15 and later).

    An entry is dirty until the job's traces are cleaned up.

    Args:
        storage: Where the entries are.
        delete_on_commit: Whether a clean entry leaves no trace. Flink: `job-result-store.delete-on-commit`.
    """

    def __init__(self, storage: HaStorage, delete_on_commit: bool) -> None:
        self._storage = storage
        self._delete_on_commit = delete_on_commit

    async def create_dirty_result(self, result: JobResult) -> None:
        """Keep a result.

        Raises:
            ValueError: there is one for the job.
            StaleLeaderError: the leader session is over.
        """
        if await self.has_job_result(result.job_id):
            raise ValueError(f"job {result.job_id} has a result already; a job ends once")
        await self._storage.write(DIRTY_RESULTS, result.job_id, result)

    async def mark_result_as_clean(self, job_id: str) -> None:
        """The traces of the job are cleaned up; a second time has no effect.

        Raises:
            KeyError: there is no result for the job.
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
        """Whether the job is over, dirty or clean."""
        for folder in (DIRTY_RESULTS, CLEAN_RESULTS):
            if await self._read(folder, job_id) is not None:
                return True
        return False

    async def dirty_results(self) -> tuple[JobResult, ...]:
        """Return the results whose jobs still have to be cleaned up; damaged ones are left as they are."""
        names = await self._storage.names(DIRTY_RESULTS)
        found = await asyncio.gather(*map(self._dirty_result, names))
        return tuple(result for result in found if result is not None)

    async def dirty_job_ids(self) -> Names:
        """Return the jobs of dirty results, also of those that can't be read: these jobs are over."""
        return await self._storage.names(DIRTY_RESULTS)

    async def _dirty_result(self, job_id: str) -> JobResult | None:
        try:
            result: JobResult | None = await self._read(DIRTY_RESULTS, job_id)
        except CorruptEntryError as error:
            logger.error("the end of job %s can't be cleaned up: %s", job_id, error, extra=about(job_id))
            return None
        return result

    async def _read(self, folder: str, job_id: str) -> Any | None:
        return await self._storage.read(folder, job_id)
