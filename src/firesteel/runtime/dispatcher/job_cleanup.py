"""Cleanup of ended jobs."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping

from firesteel.common.options.ha_options import CLEANUP_ATTEMPTS, CLEANUP_INITIAL_BACKOFF, CLEANUP_MAX_BACKOFF
from firesteel.runtime.clock import Clock, sleep
from firesteel.runtime.highavailability.high_availability import HaStores
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.logs import about

__all__ = ["JobCleanup"]

logger = logging.getLogger(__name__)


class JobCleanup:
    """The cleanup of jobs, with retries. Flink: `dispatcher.cleanup.DispatcherResourceCleanerFactory`.

    Args:
        stores: The stores to clean up.
        clock: The clock for retries.
        configuration: Has `cleanup-strategy.exponential-delay.initial-backoff`, `.max-backoff` and `.attempts`.
    """

    def __init__(self, stores: HaStores, clock: Clock, configuration: Mapping[str, str]) -> None:
        self._stores = stores
        self._clock = clock
        self._initial_backoff_s = CLEANUP_INITIAL_BACKOFF.of(configuration)
        self._max_backoff_s = CLEANUP_MAX_BACKOFF.of(configuration)
        self._attempts = CLEANUP_ATTEMPTS.of(configuration)

    async def globally(self, job_id: str) -> None:
        """Remove a job from the stores that leaders share.

        Raises:
            StaleLeaderError: this leader session is over.
        """
        await self._stores.job_graphs.remove(job_id)
        await self._stores.running_jobs.clear_job(job_id)

    async def locally(self, job_id: str) -> None:
        """Release a job that another leader may take over."""
        await self._stores.job_graphs.release(job_id)

    async def after_the_end(self, job_id: str, forget: Callable[[], Awaitable[None]]) -> None:
        """Clean up an ended job, then mark its result clean; a failure never re-runs the job.

        Args:
            job_id: The job.
            forget: Removes the job's files in the data plane; called again after a failure.
        """
        backoff_s, attempt, extra = self._initial_backoff_s, 0, about(job_id)
        while True:
            attempt += 1
            try:
                await forget()
                await self.globally(job_id)
                # Last: until then the next leader repeats all of it.
                await self._stores.job_results.mark_result_as_clean(job_id)
                return
            except StaleLeaderError as error:
                logger.info("the next leader removes the stored data of job %s: %s", job_id, error, extra=extra)
                return
            except Exception as error:
                text = "attempt %d to remove the stored data of job %s failed: %s"
                logger.warning(text, attempt, job_id, error, extra=extra)
                if attempt > self._attempts:
                    return
            await sleep(self._clock, backoff_s)
            backoff_s = min(2 * backoff_s, self._max_backoff_s)
