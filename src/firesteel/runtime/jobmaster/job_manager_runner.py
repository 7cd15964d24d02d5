"""The contender for the leadership of one job, which runs a JobMaster while it leads."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from firesteel.common.files.durability import is_disk_full
from firesteel.errors import FiresteelError
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.clock import Clock, sleep
from firesteel.runtime.executiongraph.execution_event import JobEvent
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, archive_unstarted
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.failure import TaskFailure
from firesteel.runtime.highavailability.high_availability import HaStores, HighAvailabilityServices
from firesteel.runtime.highavailability.high_availability_errors import HighAvailabilityError
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

_FIRST_DELAY_S, _LONGEST_DELAY_S = 1.0, 60.0
_SHOWN_TROUBLES = 16


class JobNotFinishedError(FiresteelError):
    """The job did not end here and may be taken over by another leader.

    Flink: `runtime.client.JobNotFinishedException`.
    """

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was not finished by this JobManager"


class JobAlreadyDoneError(FiresteelError):
    """Another leader has already ended the job. Flink: `runtime.jobmaster.JobAlreadyDoneException`."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was already ended by another leader; its result is in the JobResultStore"


class JobCancelledError(FiresteelError):
    """The job was cancelled before it was started."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was cancelled before it was initialized"


class LeadershipLostError(FiresteelError):
    """Another leader was elected before the job was started; a later election may be won."""

    def __str__(self) -> str:
        (job_id,) = self.args
        return f"job {job_id} was not initialized before the leadership was lost"


class LeadershipOperationError(FiresteelError):
    """A required operation of a new leader failed, so this process can't lead."""

    def __str__(self) -> str:
        job_id, cause = self.args
        return f"could not initialize job {job_id}: {cause}"


class JobMasterFactory(Protocol):
    """A factory of the JobMaster of a leader session."""

    def __call__(
        self, session_id: str, job_graph: JobGraph, on_terminated: Callable[[ArchivedExecutionGraph], object]
    ) -> Awaitable[JobMaster]:
        """Create a JobMaster that is not started yet."""
        ...


class JobManagerRunner:
    """A contender for the leadership of one job. Flink: `runtime.jobmaster.JobMasterServiceLeadershipRunner`.

    Args:
        job_graph: The job.
        rpc_service: Connects to the JobMaster.
        ha: The election, and the stores shared by leaders.
        create_job_master: Creates the JobMaster of a session.
        on_fatal_error: Called with errors after which the process should exit.
        forget: Removes the data of a job that reached this status; called again after an error.

    Attributes:
        result: The job after its end; fails with `JobNotFinishedError` if it does not end here, and with
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
        forget: Callable[[JobGraph, JobStatus], Awaitable[None]] | None = None,
    ) -> None:
        if not job_graph.vertices:
            raise ValueError(f"job {job_graph.name!r} ({job_graph.job_id}) has no vertices, so there is nothing to run")
        self.job_graph = job_graph
        self.job_id = job_graph.job_id
        self._rpc_service = rpc_service
        self._ha = ha
        self._create_job_master = create_job_master
        self._on_fatal_error = on_fatal_error
        self._forget = forget
        self._to_forget: JobStatus | None = None
        self._clock: Clock = rpc_service.clock
        self._start_ms = self._clock.now_ms()
        self._stores: HaStores | None = None
        self._job_master: JobMaster | None = None
        self._is_cancelled = False
        self._ending: asyncio.Future[None] | None = None
        self._closing: asyncio.Future[None] | None = None
        self._close_requested = asyncio.Event()
        self._wake = asyncio.Event()
        self._troubles: deque[JobEvent] = deque(maxlen=_SHOWN_TROUBLES)
        self.result: asyncio.Future[ArchivedExecutionGraph] = asyncio.get_running_loop().create_future()
        # Reads the exception, since asyncio reports one that nobody has read as lost, and close() may be all that is
        # awaited.
        self.result.add_done_callback(lambda result: result.cancelled() or result.exception())
        self._election = ha.leader_election(self.job_id)
        self._runner = LeaderRunner(self._election, self._create, self._failed, self._revoked)

    async def start(self) -> None:
        """Join the election."""
        await self._runner.start()

    def close(self) -> asyncio.Future[None]:
        """Stop the JobMaster and leave the election; repeated calls return the same future."""
        self._close_requested.set()
        self._wake.set()
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())
        return self._closing

    async def cancel(self) -> None:
        """Cancel the job, even if it is not started yet."""
        gateway = await self.gateway()
        if gateway is None:
            self._is_cancelled = True
            self._wake.set()
        else:
            await gateway.cancel()

    async def gateway(self) -> JobMasterGateway | None:
        """Return the JobMaster's gateway, None while the job is not started."""
        job_master = self._job_master
        if job_master is None or not job_master.is_running:
            return None
        gateway: JobMasterGateway = await self._rpc_service.connect(
            job_master.address, JobMasterGateway, job_master.fencing_token
        )
        return gateway

    def unstarted_job(self) -> ArchivedExecutionGraph:
        """Return a view of the job before it is started."""
        status = JobStatus.CANCELLING if self._is_cancelled else JobStatus.INITIALIZING
        return archive_unstarted(self.job_graph, status, self._start_ms, self._clock.now_ms())

    async def _close(self) -> None:
        await self._runner.close()
        self._job_master = None
        if self._ending is not None:
            await asyncio.wait([self._ending])
        if not self.result.done():
            self.result.set_exception(JobNotFinishedError(self.job_id))

    def with_troubles(self, job: ArchivedExecutionGraph) -> ArchivedExecutionGraph:
        """Return the job with the errors that prevent its start or end in its history."""
        if not self._troubles:
            return job
        history = job.history.copy()
        for event in self._troubles:
            history.append(event)
        return replace(job, history=history)

    def _in_trouble(self, status: JobStatus, text: str, error: Exception) -> None:
        """Log an error that will be retried, and show it once among the job's exceptions."""
        logger.warning("%s; it is retried: %s", text, error, extra=about(self.job_id))
        failure = TaskFailure(f"{type(error).__name__}: {text}; it is retried until it succeeds: {error}")
        if not self._troubles or self._troubles[-1].cause != failure:
            self._troubles.append(JobEvent(status, self._clock.now_ms(), failure))

    async def _create(self, session_id: str) -> JobMaster:
        """Start the job; retry with growing delays while a disk is full.

        Raises:
            JobNotFinishedError: the runner was closed.
            LeadershipLostError: the runner has lost the leadership.
            JobCancelledError: the job was cancelled meanwhile.
        """
        self._stores = stores = self._ha.stores(session_id)
        delay_s = _FIRST_DELAY_S
        while True:
            try:
                return await self._take_up(session_id, stores)
            except (OSError, FiresteelError) as error:
                if not is_disk_full(error):
                    raise
                self._in_trouble(JobStatus.INITIALIZING, f"job {self.job_id} could not be initialized", error)
            await self._pause(delay_s)
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
            # The pause ends early where the job is cancelled, the runner closed or the leadership lost, so it is asked
            # why.
            self._check_still_wanted(session_id)

    def _check_still_wanted(self, session_id: str) -> None:
        if self._close_requested.is_set():
            raise JobNotFinishedError(self.job_id)
        if not self._election.has_leadership(session_id):
            raise LeadershipLostError(self.job_id)
        if self._is_cancelled:
            raise JobCancelledError(self.job_id)

    async def _take_up(self, session_id: str, stores: HaStores) -> JobMaster:
        # Both stores are asked: the result is written first, and a leader may have died before it noted the end here.
        if await stores.job_results.has_job_result(self.job_id):
            raise JobAlreadyDoneError(self.job_id)
        if await stores.running_jobs.get_job_scheduling_status(self.job_id) is JobSchedulingStatus.DONE:
            raise JobNotFinishedError(self.job_id)
        try:
            await stores.running_jobs.set_job_running(self.job_id)
        except Exception as error:
            raise LeadershipOperationError(self.job_id, error) from error
        job_master = await self._create_job_master(session_id, self.job_graph, self._ended)
        self._job_master = job_master
        if self._is_cancelled:
            # The user cancelled while the JobMaster was being created, when there was nobody yet to tell.
            job_master.run_async(lambda: job_master.spawn(job_master.cancel(), "cancelling the job"))
        return job_master

    def _revoked(self) -> None:
        """Discard a cancellation that has not begun, as the next leader does not know of it."""
        self._job_master = None
        self._is_cancelled = False
        self._wake.set()

    async def forget(self) -> None:
        """Remove the data of an ended job, once.

        Raises:
            OSError: something could not be removed; call again.
        """
        if self._forget is not None and self._to_forget is not None:
            await self._forget(self.job_graph, self._to_forget)
            self._to_forget = None

    def _ended(self, job: ArchivedExecutionGraph) -> None:
        """Handle the end of a job that ran; only such a job has data to remove."""
        if self._ending is None and not self.result.done():
            self._to_forget = job.details.status
        self._terminated(job)

    def _terminated(self, job: ArchivedExecutionGraph) -> None:
        if self._ending is None and not self.result.done():
            self._ending = asyncio.ensure_future(self._end(job))

    async def _end(self, job: ArchivedExecutionGraph) -> None:
        """Store the result of the job before its end is reported.

        Without its result the next leader would run the job again, so the write is retried until it succeeds. The other
        steps are repeated in the cleanup of the job.
        """
        try:
            if self._stores is not None:
                if not await self._write_result(self._stores, job):
                    return  # The runner is closing: the job is left to the next leader.
                await self._stores.running_jobs.set_job_finished(self.job_id)
            # After the result: without its checkpoints a job that is taken over would begin anew.
            await self.forget()
        except Exception as error:
            text = "the end of job %s could not be recorded everywhere: %s"
            logger.warning(text, self.job_id, error, extra=about(self.job_id))
        if not self.result.done():
            self.result.set_result(self.with_troubles(job))

    async def _write_result(self, stores: HaStores, job: ArchivedExecutionGraph) -> bool:
        """Write the job's result; retry with growing delays while the disk or ZooKeeper fails.

        Returns:
            Whether it was written; False if the runner was closed before.

        Raises:
            StaleLeaderError: another leader ends the job.
            CorruptEntryError: a result exists, but can't be read.
        """
        delay_s = _FIRST_DELAY_S
        while not await self._try_to_write(stores, job):
            if self._close_requested.is_set():
                return False
            await self._pause(delay_s)
            delay_s = min(2 * delay_s, _LONGEST_DELAY_S)
        return True

    async def _try_to_write(self, stores: HaStores, job: ArchivedExecutionGraph) -> bool:
        try:
            # A write whose answer was lost has succeeded, and is tried again.
            if not await stores.job_results.has_job_result(self.job_id):
                await stores.job_results.create_dirty_result(job.result)
        except (OSError, HighAvailabilityError) as error:
            status = job.details.status
            self._in_trouble(status, f"the result of job {self.job_id} ({status.name}) could not be written", error)
            return False
        return True

    async def _pause(self, delay_s: float) -> None:
        """Wait before a retry, until the runner is closed, the job cancelled or the leadership lost."""
        waiting = asyncio.ensure_future(sleep(self._clock, delay_s))
        woken = asyncio.ensure_future(self._wake.wait())
        await asyncio.wait((waiting, woken), return_when=asyncio.FIRST_COMPLETED)
        # A wake-up ends one wait; its cause stays set elsewhere, and the caller asks for it.
        self._wake.clear()
        for future in (waiting, woken):
            future.cancel()

    def _failed(self, error: Exception) -> None:
        """Fail a job that could not be started, unless it was cancelled or the leadership was lost."""
        if self._ending is not None or self.result.done() or isinstance(error, LeadershipLostError):
            return
        # It says nothing about the job: another process may well start it.
        if isinstance(error, MemoryError):
            self._on_fatal_error(error)
        elif isinstance(error, JobNotFinishedError | LeadershipOperationError):
            self.result.set_exception(error)
        elif isinstance(error, JobCancelledError):
            self._terminated(
                archive_unstarted(self.job_graph, JobStatus.CANCELED, self._start_ms, self._clock.now_ms())
            )
        else:
            failure = TaskFailure.of(error)
            self._terminated(
                archive_unstarted(self.job_graph, JobStatus.FAILED, self._start_ms, self._clock.now_ms(), failure)
            )
