"""The store of jobs to run, over any kind of storage."""

from __future__ import annotations

import asyncio

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.highavailability.high_availability import JobGraphListener
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.storage import JOBS, REMOVED_JOBS, HaStorage, Names

__all__ = ["SharedJobGraphStore", "StandaloneJobGraphStore"]


class SharedJobGraphStore:
    """The jobs to run, shared by all leaders. Flink: `jobmanager.DefaultExecutionPlanStore` (before: JobGraphStore).

    An instance holds what it puts or recovers. A job that another instance removes is no longer listed, but can be
    read by those that hold it, until the last of them releases it.

    Args:
        storage: The storage of the entries; closed with the store.
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
        """Start to serve calls, and notify `listener` of changes by other instances."""
        self._is_running = True
        if listener is not None:
            self._listener = listener
            self._storage.watch(JOBS, self._compare)

    async def stop(self) -> None:
        """Release all jobs and stop serving calls. Idempotent."""
        if self._is_running:
            self._is_running = False
            self._listener = None
            self._held.clear()
            self._present.clear()
            for check in self._checks:
                check.cancel()
            await self._storage.close()

    async def put(self, job_graph: JobGraph) -> None:
        """Store a job, replacing an earlier version.

        Raises:
            RuntimeError: the store is not started.
            StaleLeaderError: the leader session is over.
        """
        self._check_running("put")
        # Held before it is written: another leader that removes the job must find it held.
        await self._take(job_graph.job_id)
        await self._storage.write(JOBS, job_graph.job_id, job_graph)
        self._present.add(job_graph.job_id)

    async def job_ids(self) -> Names:
        """Return the ids of all stored jobs, oldest first."""
        self._check_running("job_ids")
        return await self._storage.names(JOBS)

    async def recover(self, job_id: str) -> JobGraph | None:
        """Return the job, or None if it is not stored.

        Raises:
            CorruptEntryError: the job is stored, but can't be read.
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
        """Remove the job for all instances (global cleanup); unknown ids are ignored.

        Raises:
            StaleLeaderError: the leader session is over.
        """
        self._check_running("remove")
        await self._let_go(job_id)
        # Those that hold the job may still have to read its graph; the last release removes it.
        if await self._storage.is_held(job_id):
            await self._storage.move(job_id, JOBS, REMOVED_JOBS)
        else:
            await self._storage.delete(JOBS, job_id)
            await self._storage.delete(REMOVED_JOBS, job_id)

    async def release(self, job_id: str) -> None:
        """Release the job, which stays stored for the next leader unless it was removed (local cleanup)."""
        self._check_running("release")
        await self._let_go(job_id)
        if not await self._storage.is_held(job_id):
            try:
                await self._storage.delete(REMOVED_JOBS, job_id)
            except StaleLeaderError:
                return  # The current leader then cleans up the removed job.

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
        """Notify the listener of changes by others since the last poll."""
        added = [job_id for job_id in names if job_id not in self._known]
        # With those held: a poll that began before a `put` does not list the job, which the next one would report as
        # new.
        self._known = {*names, *self._held}
        for job_id in added:
            if self._listener is not None:
                self._listener.on_added_job_graph(job_id)
        if self._present.difference(names):
            check = asyncio.ensure_future(self._tell_removed())
            self._checks.add(check)
            check.add_done_callback(self._checks.discard)

    async def _tell_removed(self) -> None:
        """Notify the listener of removed jobs after a second poll, as the first may predate a later put."""
        expected = set(self._present)
        # `_present` may have changed during the read.
        gone = expected.difference(await self._storage.names(JOBS)) & self._present
        self._present -= gone
        for job_id in sorted(gone):
            if self._listener is not None:
                self._listener.on_removed_job_graph(job_id)


class StandaloneJobGraphStore:
    """A store that keeps nothing, without high availability. Flink: `StandaloneExecutionPlanStore`."""

    def start(self, listener: JobGraphListener | None = None) -> None:
        """Do nothing, as there are no changes."""

    async def stop(self) -> None:
        """Do nothing, as nothing is held."""

    async def put(self, job_graph: JobGraph) -> None:
        """Discard the job."""

    async def job_ids(self) -> Names:
        """Return an empty tuple."""
        return ()

    async def recover(self, job_id: str) -> JobGraph | None:
        """Return None."""
        return None

    async def remove(self, job_id: str) -> None:
        """Do nothing, as nothing is stored."""

    async def release(self, job_id: str) -> None:
        """Do nothing, as nothing is held."""
