"""Contends for the leadership of one job, and runs a JobMaster while it has it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import HighAvailabilityServices
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.rpc import RpcService

__all__ = ["JobManagerRunner", "JobMasterFactory", "JobNotFinishedError"]


class JobNotFinishedError(FiresteelError):
    """The job did not end here: another leader may take it up. Flink: `runtime.client.JobNotFinishedException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was not finished by this JobManager"


class JobMasterFactory(Protocol):
    """Makes the JobMaster of one leader session."""

    def __call__(
        self, session_id: str, job_graph: JobGraph, on_terminated: Callable[[ArchivedExecutionGraph], object]
    ) -> Awaitable[JobMaster]:
        """Make a JobMaster that is not started yet."""
        ...


class JobManagerRunner:
    """Contends for the leadership of one job. Flink: `runtime.jobmaster.JobMasterServiceLeadershipRunner`.

    Args:
        job_graph: The job.
        rpc_service: Connects to the JobMaster.
        ha: The election, and the results of jobs that are over.
        create_job_master: Makes the JobMaster of a session.

    Attributes:
        result: The job when it is over; fails with `JobNotFinishedError` if it does not end here.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        rpc_service: RpcService,
        ha: HighAvailabilityServices,
        create_job_master: JobMasterFactory,
    ) -> None:
        self.job_graph = job_graph
        self.job_id = job_graph.job_id
        self._rpc_service = rpc_service
        self._ha = ha
        self._create_job_master = create_job_master
        self._clock: Clock = rpc_service.clock
        self._start_ms = self._clock.now_ms()
        self._job_master: JobMaster | None = None
        self._is_cancelled = False
        self.result: asyncio.Future[ArchivedExecutionGraph] = asyncio.get_running_loop().create_future()
        self.result.add_done_callback(lambda result: result.cancelled() or result.exception())
        self._runner = LeaderRunner(ha.leader_election(self.job_id), self._create, self._failed)

    async def start(self) -> None:
        """Take part in the election."""
        await self._runner.start()

    async def close(self) -> None:
        """Stop the JobMaster and leave the election. Idempotent."""
        await self._runner.close()
        self._job_master = None
        if not self.result.done():
            self.result.set_exception(JobNotFinishedError(self.job_id))

    async def cancel(self) -> None:
        """Cancel the job, also one that is not taken up yet."""
        gateway = await self.gateway()
        if gateway is None:
            self._is_cancelled = True
        else:
            await gateway.cancel()

    async def gateway(self) -> JobMasterGateway | None:
        """The JobMaster's gateway; None while the job is not taken up."""
        job_master = self._job_master
        if job_master is None or not job_master.is_running:
            return None
        gateway: JobMasterGateway = await self._rpc_service.connect(
            job_master.address, JobMasterGateway, job_master.fencing_token
        )
        return gateway

    def unstarted_job(self) -> ArchivedExecutionGraph:
        """The job as it looks while it is not taken up."""
        status = JobStatus.CANCELLING if self._is_cancelled else JobStatus.INITIALIZING
        return archive_unstarted(self.job_graph, status, self._start_ms, self._clock.now_ms())

    async def _create(self, session_id: str) -> JobMaster:
        if await self._ha.job_result_store.has_job_result(self.job_id):
            raise JobNotFinishedError(self.job_id)
        job_master = await self._create_job_master(session_id, self.job_graph, self._terminated)
        self._job_master = job_master
        if self._is_cancelled:
            job_master.run_async(lambda: job_master.spawn(job_master.cancel(), "cancelling the job"))
        return job_master

    def _terminated(self, job: ArchivedExecutionGraph) -> None:
        if not self.result.done():
            self.result.set_result(job)

    def _failed(self, error: Exception) -> None:
        """The job could not be taken up: it has FAILED, unless it is over already."""
        if self.result.done():
            return
        if isinstance(error, JobNotFinishedError):
            self.result.set_exception(error)
            return
        failure = TaskFailure.of(error)
        self._terminated(
            archive_unstarted(self.job_graph, JobStatus.FAILED, self._start_ms, self._clock.now_ms(), failure)
        )
