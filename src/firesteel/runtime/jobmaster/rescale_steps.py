"""The steps of a change of a job's parallelism, one after the other."""

from __future__ import annotations

import asyncio

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.jobmaster.data_plane import DataPlane
from firesteel.runtime.jobmaster.job_parts import JobParts, JobSession
from firesteel.runtime.jobmaster.job_queries import JobQueries

__all__ = ["RescaleSteps"]


class RescaleSteps:
    """Stops a job and starts it with another graph, in the same leader session.

    Args:
        session: The job and its leader session.
        parts: The Scheduler, and the graph to replace.
        queries: The job's queries, which are held.
        data_plane: Restores the state.
    """

    def __init__(self, session: JobSession, parts: JobParts, queries: JobQueries, data_plane: DataPlane) -> None:
        self._perform = session.perform
        self._parts = parts
        self._queries = queries
        self._data_plane = data_plane
        self._stopping: asyncio.Future[bool] | None = None

    async def hold(self) -> None:
        """Take a checkpoint, after which the job processes nothing until it is stopped.

        Raises:
            Exception: it could not be taken.
        """
        if self._data_plane.has_queries:
            await self._queries.hold()

    async def stop(self) -> bool:
        """Cancel all tasks and wait for their end; return False if the job ends meanwhile."""
        self._stopping = asyncio.get_running_loop().create_future()
        self._perform(self._parts.scheduler.stop_for_rescale())
        # The job was ending already, so no `StoppedForRescale` will come.
        if self._parts.graph.status is not JobStatus.RESTARTING:
            self._stopped(False)
        return await self._stopping

    def stopped(self) -> None:
        """Process that all tasks have ended."""
        self._stopped(True)

    def status_changed(self, status: JobStatus) -> None:
        """Process a change of the job's status, which may end the job before all tasks have ended."""
        if status not in {JobStatus.RESTARTING, JobStatus.RUNNING}:
            self._stopped(False)

    def _stopped(self, may_go_on: bool) -> None:
        if self._stopping is not None and not self._stopping.done():
            self._stopping.set_result(may_go_on)

    async def run(self, job_graph: JobGraph) -> None:
        """Start the job anew with a graph that differs in the parallelism only.

        Raises:
            FiresteelError: the state can't be restored with it.
            OSError: a file can't be read or written.
        """
        serialized = await self._data_plane.restore(job_graph)
        if self._parts.graph.status is JobStatus.RESTARTING:  # Otherwise it was cancelled or given up meanwhile.
            self._parts.continue_with(job_graph, serialized)
            self._perform(self._parts.scheduler.start_scheduling())
