"""What the control plane needs to know its leaders and to survive their loss."""

from __future__ import annotations

from typing import Protocol

from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_details import JobResult

__all__ = [
    "DISPATCHER",
    "RESOURCE_MANAGER",
    "HighAvailabilityServices",
    "JobGraphStore",
    "JobResultStore",
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


class JobGraphStore(Protocol):
    """The jobs to run, shared by all leaders. Flink: `jobmanager.ExecutionPlanStore` (before: JobGraphStore)."""

    async def put(self, job_graph: JobGraph) -> None:
        """Keep a job, or replace it."""

    async def job_ids(self) -> tuple[str, ...]:
        """All jobs kept, oldest first."""
        ...

    async def recover(self, job_id: str) -> JobGraph | None:
        """The job, or None if it is not kept."""
        ...

    async def remove(self, job_id: str) -> None:
        """Global cleanup: forget the job for all; unknown ids are fine."""

    async def release(self, job_id: str) -> None:
        """Local cleanup: let go of the job, which stays for the next leader."""


class JobResultStore(Protocol):
    """The jobs that are over. Flink: `runtime.highavailability.JobResultStore`.

    An entry is dirty until the job's traces are cleaned up.
    """

    async def create_dirty_result(self, result: JobResult) -> None:
        """Keep a result.

        Raises:
            ValueError: there is one for the job.
        """

    async def mark_result_as_clean(self, job_id: str) -> None:
        """The traces of the job are cleaned up; a second time has no effect.

        Raises:
            KeyError: there is no result for the job.
        """

    async def has_job_result(self, job_id: str) -> bool:
        """Whether the job is over, dirty or clean."""
        ...

    async def dirty_results(self) -> tuple[JobResult, ...]:
        """Results whose jobs still have to be cleaned up."""
        ...


class HighAvailabilityServices(Protocol):
    """Everything a cluster needs to agree on. Flink: `runtime.highavailability.HighAvailabilityServices`."""

    @property
    def job_graph_store(self) -> JobGraphStore:
        """The jobs to run."""
        ...

    @property
    def job_result_store(self) -> JobResultStore:
        """The jobs that are over."""
        ...

    def leader_election(self, component: str) -> LeaderElection:
        """A new contender's side of the election for `component`: DISPATCHER, RESOURCE_MANAGER or a job id."""
        ...

    def leader_retrieval(self, component: str) -> LeaderRetrieval:
        """Tells who leads `component`."""
        ...
