"""The jobs to run, over every kind of storage."""

from __future__ import annotations

import asyncio

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.highavailability.errors import StaleLeaderError
from firesteel.runtime.highavailability.high_availability import JobGraphListener
from firesteel.runtime.highavailability.storage import JOBS, REMOVED_JOBS, HaStorage, Names

__all__ = ["SharedJobGraphStore", "StandaloneJobGraphStore"]


class SharedJobGraphStore:
    """The jobs to run, shared by all leaders. Flink: `jobmanager.DefaultExecutionPlanStore` (before: JobGraphStore).

    An instance holds what it puts or recovers. A job that another instance removes is no longer listed, but can be
    read by those that hold it, until the last of them releases it.

    Args:
        storage: Where the entries are; closed with the store.
    """

    def __init__(self, storage: HaStorage) -> None:
        self._storage = storage
        self._listener: JobGraphListener | None = None
        self._is_running = False
        self._held: set[str] = set()
        self._known: set[str] = set()
        self._present: set[str] = set()
        self._checks: set[asyncio.Future[None]] = set()

    def start(self, listener: JobGraphListener | None = None) -> None:
        """Take calls, and tell `listener` what other instances do."""
        self._is_running = True
        if listener is not None:
            self._listener = listener
            self._storage.watch(JOBS, self._compare)

    async def stop(self) -> None:
        """Release everything and take no more calls. Idempotent."""
        if self._is_running:
            self._is_running = False
            self._listener = None
            self._held.clear()
            self._present.clear()
            for check in self._checks:
                check.cancel()
            await self._storage.close()

    async def put(self, job_graph: JobGraph) -> None:
        """Keep a job, or replace it.

        Raises:
            RuntimeError: the store does not run.
            StaleLeaderError: the leader session is over.
        """
        self._check_running("put")
        await self._take(job_graph.job_id)
        await self._storage.write(JOBS, job_graph.job_id, job_graph)
        self._present.add(job_graph.job_id)

    async def job_ids(self) -> Names:
        """All jobs kept, oldest first."""
        self._check_running("job_ids")
        return await self._storage.names(JOBS)

    async def recover(self, job_id: str) -> JobGraph | None:
        """The job, or None if it is not kept.

        Raises:
            CorruptEntryError: it is kept, but can't be read back.
        """
        self._check_running("recover")
        was_held = job_id in self._held
        await self._take(job_id)
        job_graph: JobGraph | None = await self._storage.read(JOBS, job_id)
        if job_graph is not None:
            self._present.add(job_id)
        elif was_held:
            job_graph = await self._storage.read(REMOVED_JOBS, job_id)
        if job_graph is None:
            await self._let_go(job_id)
        return job_graph

    async def remove(self, job_id: str) -> None:
        """Global cleanup: forget the job for all; unknown ids are fine.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        self._check_running("remove")
        await self._let_go(job_id)
        if await self._storage.is_held(job_id):
            await self._storage.move(job_id, JOBS, REMOVED_JOBS)
        else:
            await self._storage.delete(JOBS, job_id)
            await self._storage.delete(REMOVED_JOBS, job_id)

    async def release(self, job_id: str) -> None:
        """Local cleanup: let go of the job, which stays for the next leader unless it was removed."""
        self._check_running("release")
        await self._let_go(job_id)
        if not await self._storage.is_held(job_id):
            try:
                await self._storage.delete(REMOVED_JOBS, job_id)
            except StaleLeaderError:
                return  # What is left of a removed job is for the present leader then.

    async def _take(self, job_id: str) -> None:
        self._known.add(job_id)
        if job_id not in self._held:
            self._held.add(job_id)
            await self._storage.hold(job_id)

    async def _let_go(self, job_id: str) -> None:
        self._present.discard(job_id)
        if job_id in self._held:
            self._held.discard(job_id)
            await self._storage.let_go(job_id)

    def _check_running(self, call: str) -> None:
        if not self._is_running:
            raise RuntimeError(f"{call}() was asked of a JobGraphStore that does not run; start() it first")

    def _compare(self, names: Names) -> None:
        """Tell what others changed since the last look; what this instance did itself is known."""
        added = [job_id for job_id in names if job_id not in self._known]
        self._known = {*names, *self._held}
        for job_id in added:
            if self._listener is not None:
                self._listener.on_added_job_graph(job_id)
        if self._present.difference(names):
            check = asyncio.ensure_future(self._tell_removed())
            self._checks.add(check)
            check.add_done_callback(self._checks.discard)

    async def _tell_removed(self) -> None:
        """Tell what is gone, after a second look: the first may be older than a job put here since."""
        expected = set(self._present)
        gone = expected.difference(await self._storage.names(JOBS)) & self._present
        self._present -= gone
        for job_id in sorted(gone):
            if self._listener is not None:
                self._listener.on_removed_job_graph(job_id)


class StandaloneJobGraphStore:
    """Keeps nothing: without high availability nobody would recover it. Flink: `StandaloneExecutionPlanStore`."""

    def start(self, listener: JobGraphListener | None = None) -> None:
        """Nothing ever changes, so nobody is told."""

    async def stop(self) -> None:
        """Nothing is held."""

    async def put(self, job_graph: JobGraph) -> None:
        """Forget it at once."""

    async def job_ids(self) -> Names:
        """None."""
        return ()

    async def recover(self, job_id: str) -> JobGraph | None:
        """None."""
        return None

    async def remove(self, job_id: str) -> None:
        """Nothing to remove."""

    async def release(self, job_id: str) -> None:
        """Nothing to release."""
