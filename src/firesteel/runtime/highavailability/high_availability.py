"""Interfaces of the control plane for leader election and recovery."""

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
    """A contender in an election. Flink: `runtime.leaderelection.LeaderContender`."""

    def grant_leadership(self, session_id: str) -> None:
        """Begin to lead, under a session id that was never used before."""

    def revoke_leadership(self) -> None:
        """Stop leading."""


class LeaderElection(Protocol):
    """A contender's handle to an election. Flink: `runtime.leaderelection.LeaderElection`."""

    async def start(self, contender: LeaderContender) -> None:
        """Join the election."""

    def confirm_leadership(self, session_id: str, address: str) -> None:
        """Publish the leader's address; ignored if the session is not the current one."""

    def has_leadership(self, session_id: str) -> bool:
        """Return whether the session is the current one."""
        ...

    async def close(self) -> None:
        """Leave the election; the contender is not called any more."""


class LeaderListener(Protocol):
    """A listener to changes of the leader. Flink: `runtime.leaderretrieval.LeaderRetrievalListener`."""

    def notify_leader(self, address: str | None, session_id: str | None) -> None:
        """Handle a new leader, None and None if there is none; never called twice with the same values."""


class LeaderRetrieval(Protocol):
    """A service that finds the leader. Flink: `runtime.leaderretrieval.LeaderRetrievalService`."""

    def start(self, listener: LeaderListener) -> None:
        """Notify the listener of the current leader, asynchronously, and of every later one."""

    def stop(self) -> None:
        """Stop notifying the listener."""


class JobGraphListener(Protocol):
    """A listener to changes by other instances. Flink: `jobmanager.ExecutionPlanStore.ExecutionPlanListener`."""

    def on_added_job_graph(self, job_id: str) -> None:
        """Handle that another instance added a job."""

    def on_removed_job_graph(self, job_id: str) -> None:
        """Handle that another instance removed a job that this one put or recovered; it must be released."""


class JobGraphStore(Protocol):
    """The jobs to run, shared by all leaders. Flink: `jobmanager.ExecutionPlanStore` (before 2.0: JobGraphStore)."""

    def start(self, listener: JobGraphListener | None = None) -> None:
        """Start to serve calls, and notify `listener` of changes by other instances."""

    async def stop(self) -> None:
        """Release all jobs and stop serving calls. Idempotent."""

    async def put(self, job_graph: JobGraph) -> None:
        """Store a job, replacing an earlier version.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def job_ids(self) -> tuple[str, ...]:
        """Return the ids of all stored jobs, oldest first."""
        ...

    async def recover(self, job_id: str) -> JobGraph | None:
        """Return the job, or None if it is not stored.

        Raises:
            CorruptEntryError: the job is stored, but can't be read.
        """
        ...

    async def remove(self, job_id: str) -> None:
        """Remove the job for all instances (global cleanup); unknown ids are ignored.

        Raises:
            StaleLeaderError: the leader session is over.
        """

    async def release(self, job_id: str) -> None:
        """Release the job, which stays stored for the next leader (local cleanup)."""


@dataclass(frozen=True, slots=True)
class HaStores:
    """The stores that leaders share, seen from one leader session.

    Attributes:
        job_graphs: The jobs to run; must be started before use.
        job_results: The results of ended jobs.
        running_jobs: The scheduling status of each job.
    """

    job_graphs: JobGraphStore
    job_results: JobResultStore
    running_jobs: RunningJobsRegistry


class ClientHighAvailabilityServices(Protocol):
    """The services for processes that never lead. Flink: `runtime.highavailability.ClientHighAvailabilityServices`."""

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Return a retrieval of the leader of `component`."""
        ...

    async def close(self) -> None:
        """Leave the elections and close the connections."""


class HighAvailabilityServices(ClientHighAvailabilityServices, Protocol):
    """The services of a cluster's leaders. Flink: `runtime.highavailability.HighAvailabilityServices`."""

    def stores(self, session_id: str | None) -> HaStores:
        """Return a new view of the stores; its writes are rejected when the leader session is over.

        With None, return an unfenced view for tools.
        """
        ...

    def leader_election(self, component: str) -> LeaderElection:
        """Return a new handle to the election of `component`: DISPATCHER, RESOURCE_MANAGER or a job id."""
        ...
