"""The JobMasters of the jobs that have slots at a TaskExecutor."""

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
    """Hears of the JobMaster of a job. Flink: `runtime.taskexecutor.JobLeaderListener`."""

    def job_master_gained_leadership(
        self, job_id: str, gateway: JobMasterGateway, success: TaskManagerRegistrationSuccess
    ) -> None:
        """The TaskExecutor is registered at a JobMaster."""

    def job_master_lost_leadership(self, job_id: str, cause: str) -> None:
        """It is not any more: the JobMaster does not lead, is gone, or another one leads."""


class JobLeaderService:
    """Keeps a TaskExecutor registered at the JobMasters that lead. Flink: `taskexecutor.DefaultJobLeaderService`.

    Args:
        endpoint: The TaskExecutor.
        ha: Tells who leads.
        register: Registers at a JobMaster.
        options: How patiently to register.
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
        self._jobs: dict[str, LeaderConnection[TaskManagerRegistrationSuccess]] = {}

    def __contains__(self, job_id: str) -> bool:
        return job_id in self._jobs

    def add_job(self, job_id: str, listener: JobLeaderListener) -> None:
        """Follow the leader of a job; a listener that was there before hears no more."""
        self.remove_job(job_id, "another listener follows the job", tell=False)
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
        """Follow a job no more; unless `tell`, its listener does not hear of that either."""
        connection = self._jobs.get(job_id)
        if connection is not None:
            if not tell:
                del self._jobs[job_id]
            connection.close(cause)
            self._jobs.pop(job_id, None)

    def reconnect(self, job_id: str, cause: str) -> None:
        """Register again at the present leader; unknown jobs are ignored."""
        connection = self._jobs.get(job_id)
        if connection is not None:
            connection.reconnect(cause)

    def gateway(self, job_id: str) -> JobMasterGateway | None:
        """The JobMaster of a job while registered there."""
        connection = self._jobs.get(job_id)
        return None if connection is None else connection.gateway

    def session_id(self, job_id: str) -> str | None:
        """The session of the present leader of a job."""
        connection = self._jobs.get(job_id)
        return None if connection is None else connection.session_id

    def close(self, cause: str) -> None:
        """Follow no job any more; nobody hears of it."""
        for job_id in list(self._jobs):
            self.remove_job(job_id, cause, tell=False)

    def _gained(
        self,
        job_id: str,
        connection: LeaderConnection[TaskManagerRegistrationSuccess],
        listener: JobLeaderListener,
        gateway: JobMasterGateway,
        success: TaskManagerRegistrationSuccess,
    ) -> None:
        if self._jobs.get(job_id) is connection:
            listener.job_master_gained_leadership(job_id, gateway, success)

    def _lost(
        self,
        job_id: str,
        connection: LeaderConnection[TaskManagerRegistrationSuccess],
        listener: JobLeaderListener,
        cause: str,
    ) -> None:
        if self._jobs.get(job_id) is connection:
            listener.job_master_lost_leadership(job_id, cause)
