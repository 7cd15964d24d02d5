"""The JobMasters of the jobs with slots at a TaskExecutor."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from firesteel.runtime.highavailability.high_availability import ClientHighAvailabilityServices
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway, TaskManagerRegistrationSuccess
from firesteel.runtime.registration.leader_connection import LeaderConnection
from firesteel.runtime.registration.retrying_registration import RegistrationOptions
from firesteel.runtime.rpc import RpcEndpoint

__all__ = ["JobLeaderListener", "JobLeaderService"]


class JobLeaderListener(Protocol):
    """A listener to the JobMaster of a job. Flink: `runtime.taskexecutor.JobLeaderListener`."""

    def job_master_gained_leadership(
        self, job_id: str, gateway: JobMasterGateway, success: TaskManagerRegistrationSuccess
    ) -> None:
        """Handle the registration of the TaskExecutor at a JobMaster."""

    def job_master_lost_leadership(self, job_id: str, cause: str) -> None:
        """Handle the loss of the registration: the JobMaster no longer leads or is lost."""


class JobLeaderService:
    """A service that keeps a TaskExecutor registered at leading JobMasters.

    Flink: `taskexecutor.DefaultJobLeaderService`.

    Args:
        endpoint: The TaskExecutor.
        ha: Finds the leaders.
        register: Registers at a JobMaster.
        options: Timeouts and delays of the registration.
    """

    def __init__(
        self,
        endpoint: RpcEndpoint,
        ha: ClientHighAvailabilityServices,
        register: Callable[[JobMasterGateway], Awaitable[object]],
        options: RegistrationOptions,
    ) -> None:
        self._endpoint = endpoint
        self._ha = ha
        self._register = register
        self._options = options
        self._jobs: dict[str, LeaderConnection[JobMasterGateway, TaskManagerRegistrationSuccess]] = {}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def add_job(self, job_id: str, listener: JobLeaderListener) -> None:
        """Follow the leader of a job; the listener replaces an earlier one."""
        self.remove_job(job_id, "another listener is registered for the job", tell=False)
        connection = LeaderConnection(
            self._endpoint,
            self._ha.leader_retrieval(job_id),
            JobMasterGateway,
            self._register,
            TaskManagerRegistrationSuccess,
            lambda gateway, success: self._gained(job_id, connection, listener, gateway, success),
            lambda gateway, cause: self._lost(job_id, connection, listener, cause),
            self._options,
        )
        self._jobs[job_id] = connection
        connection.start()

    def remove_job(self, job_id: str, cause: str, tell: bool = True) -> None:
        """Stop following a job; its listener is notified only if `tell`."""
        connection = self._jobs.get(job_id)
        if connection is not None:
            if not tell:
                del self._jobs[job_id]
            connection.close(cause)
            self._jobs.pop(job_id, None)

    def reconnect(self, job_id: str, cause: str) -> None:
        """Register again at the current leader; unknown jobs are ignored."""
        connection = self._jobs.get(job_id)
        if connection is not None:
            connection.reconnect(cause)

    def gateway(self, job_id: str) -> JobMasterGateway | None:
        """Return the JobMaster of a job while registered there."""
        connection = self._jobs.get(job_id)
        return None if connection is None else connection.gateway

    def session_id(self, job_id: str) -> str | None:
        """Return the session of the current leader of a job."""
        connection = self._jobs.get(job_id)
        return None if connection is None else connection.session_id

    def close(self, cause: str) -> None:
        """Stop following all jobs, without notifying listeners."""
        for job_id in list(self._jobs):
            self.remove_job(job_id, cause, tell=False)

    def _gained(
        self,
        job_id: str,
        connection: LeaderConnection[JobMasterGateway, TaskManagerRegistrationSuccess],
        listener: JobLeaderListener,
        gateway: JobMasterGateway,
        success: TaskManagerRegistrationSuccess,
    ) -> None:
        if self._jobs.get(job_id) is connection:
            listener.job_master_gained_leadership(job_id, gateway, success)

    def _lost(
        self,
        job_id: str,
        connection: LeaderConnection[JobMasterGateway, TaskManagerRegistrationSuccess],
        listener: JobLeaderListener,
        cause: str,
    ) -> None:
        if self._jobs.get(job_id) is connection:
            listener.job_master_lost_leadership(job_id, cause)
