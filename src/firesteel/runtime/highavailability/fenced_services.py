"""High availability on fenced entries and an election, both polled."""

from __future__ import annotations

from firesteel.runtime.highavailability.fenced_storage import FencedEntries, FencedStorage, Holds
from firesteel.runtime.highavailability.high_availability import HaStores, LeaderElection, LeaderRetrieval
from firesteel.runtime.highavailability.job_graph_store import SharedJobGraphStore
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.polled_election import Leadership, PolledLeaderElectionDriver
from firesteel.runtime.highavailability.polling import LeaderPoller, PolledLeaderRetrieval
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry
from firesteel.runtime.highavailability.shared_election import SharedLeaderElection

__all__ = ["FencedHaServices"]


class FencedHaServices:
    """High availability for processes that each have their own object.

    Args:
        leadership: What the processes contend for.
        entries: The entries that only the leader changes.
        holds: Where views mark the jobs that they use.
        delete_on_commit: Whether results are deleted once their jobs are cleaned up.
        interval_s: Polling interval for changes by other processes in seconds.
    """

    def __init__(
        self, leadership: Leadership, entries: FencedEntries, holds: Holds, delete_on_commit: bool, interval_s: float
    ) -> None:
        self._entries = entries
        self._holds = holds
        self._delete_on_commit = delete_on_commit
        self._interval_s = interval_s
        self._election = SharedLeaderElection(PolledLeaderElectionDriver(leadership, interval_s))
        self._poller = LeaderPoller(interval_s, leadership.leaders)

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores for a leader session."""
        storage = FencedStorage(self._entries, self._holds, session_id, self._interval_s)
        return HaStores(
            SharedJobGraphStore(storage), JobResultStore(storage, self._delete_on_commit), RunningJobsRegistry(storage)
        )

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new contender's handle to the election of `component`."""
        return self._election.component(component)

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        return PolledLeaderRetrieval(self._poller, component)

    async def close(self) -> None:
        """Leave the election and stop polling."""
        await self._election.close()
        await self._poller.close()
