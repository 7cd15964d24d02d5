"""Contends for the leadership of one job, and runs a JobMaster while it has it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Protocol

from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import Clock
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import HaStores, HighAvailabilityServices
from firesteel.runtime.highavailability.leader_runner import LeaderRunner
from firesteel.runtime.highavailability.running_jobs_registry import JobSchedulingStatus
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.logs import about
from firesteel.runtime.rpc import RpcService

__all__ = [
    "JobAlreadyDoneError",
    "JobManagerRunner",
    "JobMasterFactory",
    "JobNotFinishedError",
    "LeadershipOperationError",
]

logger = logging.getLogger(__name__)


class JobNotFinishedError(FiresteelError):
    """The job did not end here: another leader may take it up. Flink: `runtime.client.JobNotFinishedException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was not finished by this JobManager"


class JobAlreadyDoneError(FiresteelError):
    """The job is over already, by another leader. Flink: `runtime.jobmaster.JobAlreadyDoneException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was ended by another leader already; its result is in the JobResultStore"


class LeadershipOperationError(FiresteelError):
    """What a new leader has to do first failed, so that this process can't lead."""

    def __str__(self) -> str:
        job_id, cause = self.args
        return f"could not take up job {job_id}: {cause}"


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
        ha: The election, and what leaders know of the job.
        create_job_master: Makes the JobMaster of a session.
        on_fatal_error: Called with errors after which the process should end.

    Attributes:
        result: The job when it is over; fails with `JobNotFinishedError` if it does not end here, and with
            `LeadershipOperationError` if this process can't lead.

    Raises:
        ValueError: the job has no vertices.
    """

    def __init__(
        self,
        job_graph: JobGraph,
        rpc_service: RpcService,
        ha: HighAvailabilityServices,
        create_job_master: JobMasterFactory,
        on_fatal_error: Callable[[BaseException], object] = lambda _: None,
    ) -> None:
        if not job_graph.vertices:
            raise ValueError(f"job {job_graph.name!r} ({job_graph.job_id}) has no vertices, so there is nothing to run")
        self.job_graph = job_graph
        self.job_id = job_graph.job_id
        self._rpc_service = rpc_service
        self._ha = ha
        self._create_job_master = create_job_master
        self._on_fatal_error = on_fatal_error
        self._clock: Clock = rpc_service.clock
        self._start_ms = self._clock.now_ms()
        self._stores: HaStores | None = None
        self._job_master: JobMaster | None = None
        self._is_cancelled = False
        self._ending: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self.result: asyncio.Future[ArchivedExecutionGraph] = asyncio.get_running_loop().create_future()
        self.result.add_done_callback(lambda result: result.cancelled() or result.exception())
        self._runner = LeaderRunner(ha.leader_election(self.job_id), self._create, self._failed, self._revoked)

    async def start(self) -> None:
        """Take part in the election."""
        await self._runner.start()

    def close(self) -> asyncio.Future[None]:
        """Stop the JobMaster and leave the election; the same future each time it is asked for."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        return self._closing

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

    async def _close(self) -> None:
        await self._runner.close()
        self._job_master = None
        if self._ending is not None:
            await asyncio.wait([self._ending])
        if not self.result.done():
            self.result.set_exception(JobNotFinishedError(self.job_id))

    async def _create(self, session_id: str) -> JobMaster:
        stores = self._ha.stores(session_id)
        if await stores.job_results.has_job_result(self.job_id):
            raise JobAlreadyDoneError(self.job_id)
        if await stores.running_jobs.get_job_scheduling_status(self.job_id) is JobSchedulingStatus.DONE:
            raise JobNotFinishedError(self.job_id)
        try:
            await stores.running_jobs.set_job_running(self.job_id)
        except Exception as error:
            raise LeadershipOperationError(self.job_id, error) from error
        job_master = await self._create_job_master(session_id, self.job_graph, self._terminated)
        self._stores, self._job_master = stores, job_master
        if self._is_cancelled:
            job_master.run_async(lambda: job_master.spawn(job_master.cancel(), "cancelling the job"))
        return job_master

    def _revoked(self) -> None:
        """The next leader knows nothing of a cancellation that this one had not begun."""
        self._job_master = None
        self._is_cancelled = False

    def _terminated(self, job: ArchivedExecutionGraph) -> None:
        if self._ending is None and not self.result.done():
            self._ending = asyncio.ensure_future(self._end(job))

    async def _end(self, job: ArchivedExecutionGraph) -> None:
        """Let all leaders know that the job is over before anybody hears how it ended."""
        try:
            if self._stores is not None:
                await self._stores.job_results.create_dirty_result(job.result)
                await self._stores.running_jobs.set_job_finished(self.job_id)
        except Exception as error:
            text = "that job %s is over could not be written down: %s"
            logger.warning(text, self.job_id, error, extra=about(self.job_id))
        if not self.result.done():
            self.result.set_result(job)

    def _failed(self, error: Exception) -> None:
        """The job could not be taken up: it has FAILED, unless that is for others to say."""
        if self._ending is not None or self.result.done():
            return
        if isinstance(error, MemoryError):
            self._on_fatal_error(error)
        elif isinstance(error, JobNotFinishedError | LeadershipOperationError):
            self.result.set_exception(error)
        else:
            failure = TaskFailure.of(error)
            self._terminated(
                archive_unstarted(self.job_graph, JobStatus.FAILED, self._start_ms, self._clock.now_ms(), failure)
            )
