"""What the control plane needs to know its leaders and to survive their loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.highavailability.job_result_store import JobResultStore
from firesteel.runtime.highavailability.running_jobs_registry import RunningJobsRegistry

__all__ = [
    "DISPATCHER",
    "RESOURCE_MANAGER",
    "ClientHighAvailabilityServices",
    "HaStores",
    "HighAvailabilityServices",
    "JobGraphListener",
    "JobGraphStore",
    "LeaderContender",
    "LeaderElection",
    "LeaderListener",
    "LeaderRetrieval",
]

DISPATCHER = "dispatcher"
RESOURCE_MANAGER = "resource_manager"


class LeaderContender(Protocol):
    """Takes part in an election. Flink: `runtime.leaderelection.LeaderContender`."""

    def grant_leadership(self, session_id: str) -> None:
        """It leads from now on, under a session id that was never used before."""

    def revoke_leadership(self) -> None:
        """It leads no longer."""


class LeaderElection(Protocol):
    """One contender's side of an election. Flink: `runtime.leaderelection.LeaderElection`."""

    async def start(self, contender: LeaderContender) -> None:
        """Take part."""

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored unless that session is the present one."""

    def has_leadership(self, session_id: str) -> bool:
        """Whether that session is the present one."""
        ...

    async def close(self) -> None:
        """Take part no longer; nothing is called afterwards."""


class LeaderListener(Protocol):
    """Hears who leads. Flink: `runtime.leaderretrieval.LeaderRetrievalListener`."""

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """The leader changed; None, None if there is none. Never called twice with the same."""


class LeaderRetrieval(Protocol):
    """Tells who leads. Flink: `runtime.leaderretrieval.LeaderRetrievalService`."""

    def start(self, listener: LeaderListener) -> None:
        """Tell the present leader, soon, and every later one."""

    def stop(self) -> None:
        """Tell nothing any more."""


class JobGraphListener(Protocol):
    """Hears what others do to the jobs. Flink: `jobmanager.ExecutionPlanStore.ExecutionPlanListener`."""

    def on_added_job_graph(self, job_id: str) -> None:
        """Another instance put a job that was not there."""

    def on_removed_job_graph(self, job_id: str) -> None:
        """Another instance removed a job that this one put or recovered: release it."""


class JobGraphStore(Protocol):
    """The jobs to run, shared by all leaders. Flink: `jobmanager.ExecutionPlanStore` (before 2.0: JobGraphStore)."""

    def start(self, listener: JobGraphListener | None = None) -> None:
        """Take calls, and tell `listener` what other instances do."""

    async def stop(self) -> None:
        """Release everything and take no more calls. Idempotent."""

    async def put(self, job_graph: JobGraph) -> None:
        """Keep a job, or replace it.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def job_ids(self) -> tuple[str, ...]:
        """All jobs kept, oldest first."""
        ...

    async def recover(self, job_id: str) -> JobGraph | None:
        """The job, or None if it is not kept.

        Raises:
            CorruptEntryError: it is kept, but can't be read back.
        """
        ...

    async def remove(self, job_id: str) -> None:
        """Global cleanup: forget the job for all; unknown ids are fine.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def release(self, job_id: str) -> None:
        """Local cleanup: let go of the job, which stays for the next leader."""


@dataclass(frozen=True, slots=True)
class HaStores:
    """What the leaders share, seen from one leader session.

    Attributes:
        job_graphs: The jobs to run; to be started before use.
        job_results: The jobs that are over.
        running_jobs: What has become of each job.
    """

    job_graphs: JobGraphStore
    job_results: JobResultStore
    running_jobs: RunningJobsRegistry


class ClientHighAvailabilityServices(Protocol):
    """What those need who never lead. Flink: `runtime.highavailability.ClientHighAvailabilityServices`."""

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Tells who leads `component`."""
        ...

    async def close(self) -> None:
        """Leave the elections and close the connections."""


class HighAvailabilityServices(ClientHighAvailabilityServices, Protocol):
    """Everything a cluster needs to agree on. Flink: `runtime.highavailability.HighAvailabilityServices`."""

    def stores(self, session_id: str | None) -> HaStores:
        """A new view of the stores for a leader session; what it writes is refused when that session is over.

        With None a view for tools: nobody can tell it that it is out of date.
        """
        ...

    def leader_election(self, component: str) -> LeaderElection:
        """A new contender's side of the election for `component`: DISPATCHER, RESOURCE_MANAGER or a job id."""
        ...
