"""High availability inside one process: everything is in memory."""

from __future__ import annotations

import asyncio
import uuid
from collections import defaultdict
from collections.abc import Callable

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_details import JobResult
from firesteel.runtime.highavailability.high_availability import LeaderContender, LeaderListener

__all__ = [
    "EmbeddedHaServices",
    "EmbeddedJobGraphStore",
    "EmbeddedJobResultStore",
    "EmbeddedLeaderElection",
    "EmbeddedLeaderRetrieval",
]

Leader = tuple[str | None, str | None]
"""Address, session id."""


class _Component:
    """One election: its contenders, the first of which leads, and who wants to know."""

    def __init__(self) -> None:
        self.contenders: list[EmbeddedLeaderElection] = []
        self.leader: EmbeddedLeaderElection | None = None
        self.session_id: str | None = None
        self.published: Leader = (None, None)
        self.retrievals: list[EmbeddedLeaderRetrieval] = []

    def elect(self) -> None:
        if self.leader is None and self.contenders:
            self.leader = self.contenders[0]
            self.session_id = uuid.uuid4().hex
            self.leader.tell_grant(self.session_id)

    def depose(self) -> None:
        if self.leader is not None:
            self.leader.tell_revoke()
            self.leader = self.session_id = None
            self.publish((None, None))

    def publish(self, leader: Leader) -> None:
        self.published = leader
        for retrieval in self.retrievals:
            retrieval.tell()


class EmbeddedLeaderElection:
    """One contender's side; the first contender leads until it leaves. Flink: `EmbeddedLeaderService`."""

    def __init__(self, component: _Component) -> None:
        self._component = component
        self._contender: LeaderContender | None = None

    async def start(self, contender: LeaderContender) -> None:
        """Take part; the grant comes soon, not in the caller's stack."""
        self._contender = contender
        self._component.contenders.append(self)
        self._component.elect()

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored unless that session is the present one."""
        if self.has_leadership(session_id):
            self._component.publish((address, session_id))

    def has_leadership(self, session_id: str) -> bool:
        """Whether that session is the present one."""
        return self._component.leader is self and self._component.session_id == session_id

    async def close(self) -> None:
        """Leave; the next contender leads."""
        self._contender = None
        if self in self._component.contenders:
            self._component.contenders.remove(self)
        if self._component.leader is self:
            self._component.depose()
            self._component.elect()

    def tell_grant(self, session_id: str) -> None:
        """Tell the contender that it leads."""
        self._soon(lambda contender: contender.grant_leadership(session_id))

    def tell_revoke(self) -> None:
        """Tell the contender that it leads no longer."""
        self._soon(lambda contender: contender.revoke_leadership())

    def _soon(self, tell: Callable[[LeaderContender], None]) -> None:
        asyncio.get_running_loop().call_soon(lambda: tell(self._contender) if self._contender is not None else None)


class EmbeddedLeaderRetrieval:
    """Tells one listener who leads."""

    def __init__(self, component: _Component) -> None:
        self._component = component
        self._listener: LeaderListener | None = None
        self._told: Leader = (None, None)

    def start(self, listener: LeaderListener) -> None:
        """Tell the present leader, soon, and every later one."""
        self._listener = listener
        self._component.retrievals.append(self)
        self.tell()

    def stop(self) -> None:
        """Tell nothing any more."""
        self._listener = None
        if self in self._component.retrievals:
            self._component.retrievals.remove(self)

    def tell(self) -> None:
        """Tell the leader published last, if that is news by then."""
        asyncio.get_running_loop().call_soon(self._tell_now)

    def _tell_now(self) -> None:
        if self._listener is not None and self._told != self._component.published:
            self._told = self._component.published
            self._listener.notify_leader(*self._told)


class EmbeddedJobGraphStore:
    """Keeps jobs in memory, for the leaders of this process."""

    def __init__(self) -> None:
        self._jobs: dict[str, JobGraph] = {}

    async def put(self, job_graph: JobGraph) -> None:
        """Keep a job, or replace it."""
        self._jobs[job_graph.job_id] = job_graph

    async def job_ids(self) -> tuple[str, ...]:
        """All jobs kept, oldest first."""
        return tuple(self._jobs)

    async def recover(self, job_id: str) -> JobGraph | None:
        """The job, or None if it is not kept."""
        return self._jobs.get(job_id)

    async def remove(self, job_id: str) -> None:
        """Forget the job; unknown ids are fine."""
        self._jobs.pop(job_id, None)

    async def release(self, job_id: str) -> None:
        """Keep the job for the next leader."""


class EmbeddedJobResultStore:
    """Keeps results in memory. Flink: `highavailability.nonha.embedded.EmbeddedJobResultStore`."""

    def __init__(self) -> None:
        self._dirty: dict[str, JobResult] = {}
        self._clean: dict[str, JobResult] = {}

    async def create_dirty_result(self, result: JobResult) -> None:
        """Keep a result.

        Raises:
            ValueError: there is one for the job.
        """
        if await self.has_job_result(result.job_id):
            raise ValueError(f"job {result.job_id} has a result already; a job ends once")
        self._dirty[result.job_id] = result

    async def mark_result_as_clean(self, job_id: str) -> None:
        """The traces of the job are cleaned up; a second time has no effect.

        Raises:
            KeyError: there is no result for the job.
        """
        if job_id not in self._clean:
            self._clean[job_id] = self._dirty.pop(job_id)

    async def has_job_result(self, job_id: str) -> bool:
        """Whether the job is over, dirty or clean."""
        return job_id in self._dirty or job_id in self._clean

    async def dirty_results(self) -> tuple[JobResult, ...]:
        """Results whose jobs still have to be cleaned up."""
        return tuple(self._dirty.values())


class EmbeddedHaServices:
    """High availability for the components of one process. Flink: `EmbeddedHaServicesWithLeadershipControl`."""

    def __init__(self) -> None:
        self.job_graph_store = EmbeddedJobGraphStore()
        self.job_result_store = EmbeddedJobResultStore()
        self._components: defaultdict[str, _Component] = defaultdict(_Component)

    def leader_election(self, component: str) -> EmbeddedLeaderElection:
        """A new contender's side of the election for `component`."""
        return EmbeddedLeaderElection(self._components[component])

    def leader_retrieval(self, component: str) -> EmbeddedLeaderRetrieval:
        """Tells who leads `component`."""
        return EmbeddedLeaderRetrieval(self._components[component])

    def revoke_leadership(self, component: str) -> None:
        """Depose the leader of `component`, and elect nobody for now."""
        self._components[component].depose()

    def grant_leadership(self, component: str) -> None:
        """Elect the first contender, under a new session id, if nobody leads."""
        self._components[component].elect()
