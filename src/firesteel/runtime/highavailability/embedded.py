"""High availability inside one process: elections and stores in memory."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Callable, Iterable

from firesteel.runtime.highavailability.high_availability import (
    HaStores,
    LeaderContender,
    LeaderElection,
    LeaderListener,
    LeaderRetrieval,
)
from firesteel.runtime.highavailability.job_graph_store import SharedJobGraphStore, StandaloneJobGraphStore
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.memory_storage import MemoryEntries, MemoryStorage
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.runtime.highavailability.shared_election import ElectionListener, Published, SharedLeaderElection

__all__ = [
    "PROCESS",
    "EmbeddedHaServices",
    "EmbeddedLeaderElection",
    "EmbeddedLeaderRetrieval",
    "EmbeddedProcessHaServices",
]

PROCESS = "process"
"""The election in which whole processes contend."""


class _Component:
    """One election: its contenders, of which the first leads, and its retrievals."""

    def __init__(self, live_sessions: set[str]) -> None:
        self.live_sessions = live_sessions
        self.contenders: list[EmbeddedLeaderElection] = []
        self.leader: EmbeddedLeaderElection | None = None
        self.session_id: str | None = None
        self.published: Published = (None, None)
        self.retrievals: list[EmbeddedLeaderRetrieval] = []

    def elect(self) -> None:
        if self.leader is None and self.contenders:
            self.leader = self.contenders[0]
            self.session_id = uuid.uuid4().hex
            self.live_sessions.add(self.session_id)
            self.leader.tell_grant(self.session_id)

    def depose(self) -> None:
        if self.leader is not None:
            self.live_sessions.discard(self.session_id or "")
            self.leader.tell_revoke()
            self.leader = self.session_id = None
            self.publish((None, None))

    def publish(self, leader: Published) -> None:
        self.published = leader
        for retrieval in self.retrievals:
            retrieval.tell()


class _Components:
    """The elections by component; unused ones are removed."""

    def __init__(self, live_sessions: set[str]) -> None:
        self._live_sessions = live_sessions
        self._components: dict[str, _Component] = {}

    def __getitem__(self, name: str) -> _Component:
        return self._components.setdefault(name, _Component(self._live_sessions))

    def all(self) -> Iterable[_Component]:
        return tuple(self._components.values())

    def tidy(self, name: str) -> None:
        component = self[name]
        if not component.contenders and not component.retrievals and component.published == (None, None):
            del self._components[name]


class EmbeddedLeaderElection:
    """A contender's handle; the first contender leads until it leaves. Flink: `EmbeddedLeaderService`."""

    def __init__(self, components: _Components, name: str) -> None:
        self._components = components
        self._name = name
        self._contender: LeaderContender | None = None

    @property
    def _component(self) -> _Component:
        return self._components[self._name]

    async def start(self, contender: LeaderContender) -> None:
        """Join the election; leadership is granted asynchronously, never in the caller's stack."""
        self.join(contender)

    def join(self, contender: LeaderContender) -> None:
        """Join the election without awaiting anything."""
        self._contender = contender
        self._component.contenders.append(self)
        self._component.elect()

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored if the session is not the current one."""
        if self.has_leadership(session_id):
            self._component.publish((address, session_id))

    def has_leadership(self, session_id: str) -> bool:
        """Return whether the session is the current one."""
        return self._component.leader is self and self._component.session_id == session_id

    async def close(self) -> None:
        """Leave the election; the next contender leads."""
        self._contender = None
        if self in self._component.contenders:
            self._component.contenders.remove(self)
        if self._component.leader is self:
            self._component.depose()
            self._component.elect()
        self._components.tidy(self._name)

    def tell_grant(self, session_id: str) -> None:
        """Grant leadership to the contender."""
        self._soon(lambda contender: contender.grant_leadership(session_id))

    def tell_revoke(self) -> None:
        """Revoke the contender's leadership."""
        self._soon(lambda contender: contender.revoke_leadership())

    def _soon(self, tell: Callable[[LeaderContender], None]) -> None:
        # A contender may have left before it is told, and must not lead then; so it is looked up late.
        asyncio.get_running_loop().call_soon(lambda: tell(self._contender) if self._contender is not None else None)


class EmbeddedLeaderRetrieval:
    """A leader retrieval for one listener."""

    def __init__(self, components: _Components, name: str) -> None:
        self._components = components
        self._name = name
        self._listener: LeaderListener | None = None
        self._told: Published = (None, None)

    @property
    def _component(self) -> _Component:
        return self._components[self._name]

    def start(self, listener: LeaderListener) -> None:
        """Notify the listener of the current leader, asynchronously, and of every later one."""
        self._listener = listener
        self._component.retrievals.append(self)
        self.tell()

    def stop(self) -> None:
        """Stop notifying the listener."""
        self._listener = None
        if self in self._component.retrievals:
            self._component.retrievals.remove(self)
        self._components.tidy(self._name)

    def tell(self) -> None:
        """Notify the listener of the last published leader, asynchronously, if it has changed."""
        asyncio.get_running_loop().call_soon(self._tell_now)

    def _tell_now(self) -> None:
        # Several changes before this callback are told as one: what counts is who leads now.
        if self._listener is not None and self._told != self._component.published:
            self._told = self._component.published
            self._listener.notify_leader(*self._told)


class EmbeddedLeaderElectionDriver:
    """A driver with which a whole process contends in one embedded election."""

    def __init__(self, components: _Components) -> None:
        self._components = components
        self._listener: ElectionListener | None = None
        self._election: EmbeddedLeaderElection | None = None
        self._session_id: str | None = None

    def start(self, listener: ElectionListener) -> None:
        """Join the election."""
        self._listener = listener
        self._election = EmbeddedLeaderElection(self._components, PROCESS)
        self._election.join(self)

    def grant_leadership(self, session_id: str) -> None:
        """Begin to lead with the process."""
        if self._listener is not None:
            self._session_id = session_id
            self._listener.granted(session_id)

    def revoke_leadership(self) -> None:
        """Stop leading with the process."""
        self._clear()
        if self._listener is not None:
            self._listener.revoked()

    def publish(self, component: str, session_id: str, address: str | None) -> None:
        """Publish the leader of a component."""
        if self._election is not None and self._election.has_leadership(session_id):
            self._components[component].publish((None, None) if address is None else (address, session_id))

    async def close(self) -> None:
        """Leave the election; the next process leads."""
        self._clear()
        self._listener = None
        if self._election is not None:
            await self._election.close()

    def _clear(self) -> None:
        for component in self._components.all():
            if self._session_id is not None and component.published[1] == self._session_id:
                component.publish((None, None))
        self._session_id = None


class EmbeddedHaServices:
    """High availability for the components of one process. Flink: `EmbeddedHaServicesWithLeadershipControl`.

    Each component has its own election, whose leader tests can depose.

    Args:
        keeps_jobs: Whether jobs are stored for the next leader; False for `high-availability.type: NONE`.
        delete_on_commit: Whether results are deleted once their jobs are cleaned up.

    Attributes:
        job_graph_store: A running view of the jobs without a leader session.
        job_result_store: A view of the results without a leader session.
    """

    def __init__(self, keeps_jobs: bool = True, delete_on_commit: bool = False) -> None:
        self._keeps_jobs = keeps_jobs
        self._delete_on_commit = delete_on_commit
        self._entries = MemoryEntries()
        self._live_sessions: set[str] = set()
        self.components = _Components(self._live_sessions)
        tools = self.stores(None)
        self.job_graph_store, self.job_result_store = tools.job_graphs, tools.job_results
        self.job_graph_store.start()

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores for a leader session."""

        def storage() -> MemoryStorage:
            return MemoryStorage(self._entries, session_id, self._live_sessions)

        return HaStores(
            SharedJobGraphStore(storage()) if self._keeps_jobs else StandaloneJobGraphStore(),
            JobResultStore(storage(), self._delete_on_commit),
            RunningJobsRegistry(storage()),
        )

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new contender's handle to the election of `component`."""
        return EmbeddedLeaderElection(self.components, component)

    def leader_retrieval(self, component: str) -> EmbeddedLeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return EmbeddedLeaderRetrieval(self.components, component)

    def for_process(self) -> EmbeddedProcessHaServices:
        """Return the services as seen by one of several processes, with one election for all its components."""
        return EmbeddedProcessHaServices(self)

    def revoke_leadership(self, component: str) -> None:
        """Depose the leader of `component` without electing another."""
        self.components[component].depose()

    def grant_leadership(self, component: str) -> None:
        """Elect the first contender, under a new session id, if there is no leader."""
        self.components[component].elect()

    async def close(self) -> None:
        """Do nothing, as no resource is open."""


class EmbeddedProcessHaServices:
    """High availability in memory, as one of several simulated processes sees it.

    Args:
        shared: The services that the processes share; `revoke_leadership(PROCESS)` deposes the leading process.
    """

    def __init__(self, shared: EmbeddedHaServices) -> None:
        self._shared = shared
        self._election = SharedLeaderElection(EmbeddedLeaderElectionDriver(shared.components))

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores for a leader session."""
        return self._shared.stores(session_id)

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new contender's handle to the election of `component`."""
        return self._election.component(component)

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return self._shared.leader_retrieval(component)

    async def close(self) -> None:
        """Leave the election."""
        await self._election.close()
