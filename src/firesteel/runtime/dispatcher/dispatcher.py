"""The Dispatcher accepts jobs and runs each in its own JobMaster."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeVar

from firesteel.common.files.durability import is_disk_full
from firesteel.common.options.pipeline_options import DEFAULT_PARALLELISM
from firesteel.common.trust import pickling
from firesteel.graph.artifacts import pack_artifacts
from firesteel.graph.job_graph import JobGraph, ParallelismBounds
from firesteel.runtime.autoscaler.autoscalers import Autoscalers
from firesteel.runtime.autoscaler.job_scaler import ScalingDecision
from firesteel.runtime.dispatcher.cluster_resources import ClusterResources
from firesteel.runtime.dispatcher.dispatcher_gateway import (
    ClusterOverview,
    DuplicateJobSubmissionError,
    JobInitializingError,
    JobNotFoundError,
    JobSubmissionError,
)
from firesteel.runtime.dispatcher.execution_graph_store import ExecutionGraphStore
from firesteel.runtime.dispatcher.job_cleanup import JobCleanup
from firesteel.runtime.dispatcher.job_submission import check_job_graph
from firesteel.runtime.dispatcher.turns import Turns
from firesteel.runtime.executiongraph.job_details import ArchivedExecutionGraph, JobDetails, JobResult
from firesteel.runtime.executiongraph.job_status import JobStatus
from firesteel.runtime.highavailability.high_availability import HaStores, HighAvailabilityServices
from firesteel.runtime.highavailability.high_availability_errors import (
    CorruptEntryError,
    HighAvailabilityError,
    StaleLeaderError,
)
from firesteel.runtime.jobmaster.data_plane import AfterSavepoint, DataPlane
from firesteel.runtime.jobmaster.job_manager_runner import JobManagerRunner, JobNotFinishedError
from firesteel.runtime.jobmaster.job_master import JobMaster
from firesteel.runtime.jobmaster.job_master_gateway import JobMasterGateway
from firesteel.runtime.jobmaster.job_preparation import restored, with_cluster_defaults
from firesteel.runtime.jobmaster.job_status_listener import JobStatusListener
from firesteel.runtime.logs import about
from firesteel.runtime.rpc import EndpointStoppedError, FencedRpcEndpoint, RpcError, RpcService
from firesteel.runtime.thread_pools import ARCHIVE, SUBMISSIONS

__all__ = ["Dispatcher"]

logger = logging.getLogger(__name__)

T = TypeVar("T")
Archivist = Callable[[ArchivedExecutionGraph], None]
"""Writes an ended job to the directory of the history server. Blocks."""

_OVERVIEW_AT_ONCE = 32
"""Maximum number of JobMasters queried concurrently, so that one overview of a thousand jobs does not starve other
requests."""


class Dispatcher(FencedRpcEndpoint):
    """The endpoint that accepts jobs and runs each in its own JobMaster. Flink: `runtime.dispatcher.Dispatcher`.

    Args:
        rpc_service: The RPC service of the endpoint.
        session_id: The leader session, used as fencing token.
        ha: The elections.
        stores: The stores shared by leaders, seen from that session; stopped with the Dispatcher.
        data_plane: Moves the records of jobs.
        configuration: The cluster's configuration.
        recovered_jobs: Jobs of a former leader, which are run first.
        dirty_results: Results of ended jobs that still have to be cleaned up.
        on_fatal_error: Called with errors after which the process should exit.
        listeners: Notified of each change of a job's status.
        archivist: Writes an ended job to where the history server finds it; called in a thread.

    Raises:
        ValueError: a job is both recovered and ended.
    """

    def __init__(
        self,
        rpc_service: RpcService,
        session_id: str,
        ha: HighAvailabilityServices,
        stores: HaStores,
        data_plane: DataPlane,
        configuration: Mapping[str, str] | None = None,
        recovered_jobs: Sequence[JobGraph] = (),
        dirty_results: Sequence[JobResult] = (),
        on_fatal_error: Callable[[BaseException], object] = lambda _: None,
        listeners: Sequence[JobStatusListener] = (),
        archivist: Archivist | None = None,
    ) -> None:
        super().__init__(rpc_service, f"dispatcher-{session_id}", session_id)
        self._archivist = archivist
        overlap = {job.job_id for job in recovered_jobs} & {result.job_id for result in dirty_results}
        if overlap:
            raise ValueError(f"jobs {sorted(overlap)} are both to be recovered and terminated; only one can be true")
        self._ha = ha
        self._stores = stores
        self._data_plane = data_plane
        self._configuration = dict(configuration or {})
        self._recovered_jobs = recovered_jobs
        self._dirty_results = dirty_results
        self._on_fatal_error = on_fatal_error
        self._listeners = listeners
        self._runners: dict[str, JobManagerRunner] = {}
        self._autoscalers = Autoscalers(self, self, self._configuration, listeners)
        self._outstanding: set[str] = set()
        self._is_stopping = False
        self._terminations: dict[str, asyncio.Future[object]] = {}
        self._archive = ExecutionGraphStore(self.clock, self._configuration)
        self._cleanup = JobCleanup(stores, self.clock, self._configuration)
        self._resources = ClusterResources(rpc_service, ha)
        self._submissions, self._creations = Turns(), Turns()

    async def on_start(self) -> None:
        """Clean up ended jobs of a former leader, then run the recovered ones."""
        self._resources.start()
        for result in self._dirty_results:
            self.spawn(self._cleanup.after_the_end(result.job_id, partial(self._forget, result)), "cleaning up")
        for job_graph in self._recovered_jobs:
            try:
                await self._run(job_graph)
            except ValueError as error:  # Continue with the other jobs.
                logger.error("job %s can't be run: %s", job_graph.job_id, error, extra=about(job_graph.job_id))
        # Only now, or it would be told of the recovered jobs as if another Dispatcher had added them.
        self._stores.job_graphs.start(self)

    async def on_stop(self) -> None:
        """Stop all jobs, which stay stored for the next leader."""
        self._is_stopping = True
        self._resources.stop()
        self._archive.close()
        # Also stop jobs that are about to end: a runner still in its job's election would keep the next leader here
        # from leading it.
        closing: list[Awaitable[object]] = [
            *(runner.close() for runner in self._runners.values()),
            *self._terminations.values(),
        ]
        await asyncio.gather(*closing, return_exceptions=True)
        await self._stores.job_graphs.stop()

    # Changes of the store by other leaders

    def on_added_job_graph(self, job_id: str) -> None:
        """Run a job that another Dispatcher has added to the store."""
        self.validate_runs_in_main_thread()
        if not self._is_stopping:
            self.spawn(self._take_up(job_id), f"recovering job {job_id}")

    def on_removed_job_graph(self, job_id: str) -> None:
        """Give up a job that another Dispatcher has removed from the store."""
        self.validate_runs_in_main_thread()
        runner = self._runners.get(job_id)
        if runner is not None:
            self.spawn(runner.close(), f"releasing job {job_id}")

    # Calls of clients

    async def submit_job(self, job_graph: JobGraph) -> None:
        """Submit a job; returns once it is started, not when it has ended."""
        await self._submit(job_graph, self._persist_and_run)

    async def _submit(self, job_graph: JobGraph, run: Callable[[JobGraph], Awaitable[None]]) -> None:
        job_id = job_graph.job_id
        await self._check_duplicate(job_id)
        check_job_graph(job_graph, self._configuration)
        # A job that is being submitted is not running yet, and the same one could be submitted again meanwhile.
        self._outstanding.add(job_id)
        try:
            if job_id in self._terminations:
                await asyncio.wait([self._terminations[job_id]])
            await self._submissions.wait()
            if self._is_stopping:
                raise EndpointStoppedError(self.address, "submit_job")
            await run(job_graph)
        finally:
            self._outstanding.discard(job_id)

    async def cancel_job(self, job_id: str) -> None:
        """Request the cancellation of a job; returns before the job is cancelled."""
        runner = self._runners.get(job_id)
        if runner is None:
            raise JobNotFoundError(job_id)
        await runner.cancel()

    async def update_resource_requirements(self, job_id: str, requirements: Mapping[str, ParallelismBounds]) -> None:
        """Set the bounds of the parallelism of each vertex, by its id; they outlive failures of the JobManager."""
        job_master = await self._job_master(job_id)
        checked = await job_master.check_resource_requirements(requirements)
        stored = await self._stores.job_graphs.recover(job_id)
        if stored is not None:
            stored.resource_requirements = checked
            await self._stores.job_graphs.put(stored)
        if job_id not in self._runners:
            await self._cleanup.globally(job_id)  # It ended meanwhile, and must not be recovered from what was stored.
            raise JobNotFoundError(job_id)
        self._runners[job_id].job_graph.resource_requirements = checked
        await job_master.update_resource_requirements(checked)

    async def request_resource_requirements(self, job_id: str) -> Mapping[str, ParallelismBounds]:
        """Return the bounds of the parallelism of each vertex."""
        return await (await self._job_master(job_id)).request_resource_requirements()

    async def request_scaling_decisions(self, job_id: str) -> tuple[ScalingDecision, ...] | None:
        """Return the last decisions of a job's autoscaler, newest first; None if it has none."""
        await self.request_job_status(job_id)
        return self._autoscalers.decisions(job_id)

    async def trigger_savepoint(self, job_id: str, target_directory: str | None = None) -> str:
        """Take a savepoint of a running job and return its path."""
        return await self._savepoint(job_id, target_directory, AfterSavepoint.GO_ON)

    async def stop_with_savepoint(self, job_id: str, target_directory: str | None = None, drain: bool = False) -> str:
        """Stop the job with a savepoint and return the path of the savepoint."""
        after = AfterSavepoint.DRAIN if drain else AfterSavepoint.STOP
        return await self._savepoint(job_id, target_directory, after)

    async def cancel_with_savepoint(self, job_id: str, target_directory: str | None = None) -> str:
        """Cancel the job with a savepoint and return the path of the savepoint."""
        return await self._savepoint(job_id, target_directory, AfterSavepoint.HOLD)

    async def _savepoint(self, job_id: str, target_directory: str | None, after: AfterSavepoint) -> str:
        return await (await self._job_master(job_id)).trigger_savepoint(target_directory, after)

    async def trigger_checkpoint(self, job_id: str, full: bool = False) -> int:
        """Take a checkpoint of a running job and return its id."""
        return await (await self._job_master(job_id)).trigger_checkpoint(full)

    async def _job_master(self, job_id: str) -> JobMasterGateway:
        """Return the JobMaster of a running job.

        Raises:
            JobNotFoundError: no such job runs.
            JobInitializingError: it is not started yet.
        """
        runner = self._runners.get(job_id)
        if runner is None or runner.result.done():
            raise JobNotFoundError(job_id)
        gateway = await runner.gateway()
        if gateway is None:
            raise JobInitializingError(job_id)
        return gateway

    async def deliver_coordination_request(self, job_id: str, operator_uid: str, request: bytes) -> bytes:
        """Return the response of an operator to its client; the job may have ended."""
        await self.request_job_status(job_id)
        return await self._data_plane.deliver_coordination_request(operator_uid, request)

    async def request_printed(self, job_id: str, offset: int) -> tuple[int, str]:
        """Return text that a job has printed to standard output; the job may have ended."""
        await self.request_job_status(job_id)
        return self._data_plane.printed_after(job_id, offset)

    async def request_job_status(self, job_id: str) -> JobStatus:
        """Return the current status of a job."""
        return await self._ask(job_id, lambda master: master.request_job_status(), lambda job: job.details.status)

    async def request_job_details(self, job_id: str) -> JobDetails:
        """Return the details of a job, running or ended."""
        return await self._ask(job_id, lambda master: master.request_job_details(), lambda job: job.details)

    async def request_job(self, job_id: str) -> ArchivedExecutionGraph:
        """Return the execution graph of a job: subtasks, attempts, history."""
        job = await self._ask(job_id, lambda master: master.request_job(), lambda job: job)
        runner = self._runners.get(job_id)
        return job if runner is None or runner.result.done() else runner.with_troubles(job)

    async def request_job_graph(self, job_id: str) -> bytes:
        """Return the pickled graph of a job that has not ended, with the files that it ships."""
        runner = self._runners.get(job_id)
        if runner is None:
            raise JobNotFoundError(job_id)
        stored = await self._stores.job_graphs.recover(job_id)
        return await SUBMISSIONS.run(_portable, stored or runner.job_graph.copy())

    async def request_job_result(self, job_id: str) -> JobResult:
        """Wait for the end of a job and return its result."""
        runner = self._runners.get(job_id)
        if runner is not None:
            # The future is shared: a client that hangs up must not cancel it for all others.
            return (await asyncio.shield(runner.result)).result
        return (await self._job_without_master(job_id)).result

    async def list_jobs(self) -> tuple[str, ...]:
        """Return the ids of all jobs, running or ended."""
        return tuple(dict.fromkeys((*self._runners, *self._archive.job_ids())))

    async def request_overview(self) -> ClusterOverview:
        """Return the cluster's resources and jobs; jobs whose JobMaster does not answer are left out."""
        at_once = asyncio.Semaphore(_OVERVIEW_AT_ONCE)

        async def overview(job_id: str) -> JobDetails:
            async with at_once:
                return await self._ask(job_id, lambda m: m.request_job_overview(), lambda job: job.details.overview())

        over = {job_id: job for job_id in self._archive.job_ids() if (job := self._archive.overview(job_id))}
        running = (job_id for job_id in self._runners if job_id not in over)
        answers = [*await asyncio.gather(*map(overview, running), return_exceptions=True), *over.values()]
        jobs = tuple(job for job in answers if isinstance(job, JobDetails))
        return ClusterOverview.of(jobs, await self._resources.overview())

    # Submission

    async def _check_duplicate(self, job_id: str) -> None:
        if job_id in self._runners or job_id in self._outstanding:
            raise DuplicateJobSubmissionError(job_id, is_globally_terminated=False)
        try:
            is_over = await self._stores.job_results.has_job_result(job_id)
        except Exception as error:
            raise JobSubmissionError(f"could not determine whether job {job_id} has already run: {error}") from error
        if is_over or self._archive.overview(job_id) is not None:
            raise DuplicateJobSubmissionError(job_id, is_globally_terminated=True)
        if job_id in self._runners or job_id in self._outstanding:
            raise DuplicateJobSubmissionError(job_id, is_globally_terminated=False)

    async def _persist_and_run(self, job_graph: JobGraph) -> None:
        try:
            # Before the job is stored: whoever recovers it takes a missing mark for a job that has ended.
            await self._data_plane.submitted(job_graph)
            await self._stores.job_graphs.put(job_graph)
            await self._run(job_graph)
        except Exception as error:
            runner = self._runners.pop(job_graph.job_id, None)
            if runner is not None:
                await self._terminate(runner)
            if isinstance(error, StaleLeaderError):
                raise  # The next leader runs the job if it has been stored, so nothing of it may be removed.
            hint = "; nothing was stored: free disk space, then submit the job again" if is_disk_full(error) else ""
            failure = JobSubmissionError(f"failed to submit job {job_graph.job_id}: {error}{hint}")
            try:
                await self._cleanup.globally(job_graph.job_id)
            except Exception as cleanup_error:
                failure.add_note(f"its stored data could not be removed either: {cleanup_error}")
            raise failure from error

    async def _run(self, job_graph: JobGraph) -> None:
        runner = JobManagerRunner(
            job_graph,
            self.rpc_service,
            self._ha,
            self._create_job_master,
            self._failed,
            self._data_plane.job_terminated,
        )
        self._runners[job_graph.job_id] = runner
        await runner.start()
        self.spawn(self._follow(runner), f"following job {job_graph.job_id}")
        self._autoscalers.begin(job_graph)

    async def _create_job_master(
        self, session_id: str, job_graph: JobGraph, on_terminated: Callable[[ArchivedExecutionGraph], object]
    ) -> JobMaster:
        await self._creations.wait()
        parallelism = await self._default_parallelism(job_graph)
        serialized = await restored(job_graph, self._configuration, parallelism, self._data_plane)
        return JobMaster(
            self.rpc_service,
            session_id,
            job_graph,
            self._ha,
            self._data_plane,
            self._configuration,
            on_terminated,
            self._listeners,
            serialized,
        )

    async def _default_parallelism(self, job_graph: JobGraph) -> int:
        configured = DEFAULT_PARALLELISM.of({**self._configuration, **job_graph.configuration})
        if configured is not None:
            return configured
        return max(1, (await self._resources.overview()).slots_total) if job_graph.dynamic else 1

    # End of a job

    async def _follow(self, runner: JobManagerRunner) -> None:
        await asyncio.wait([runner.result])
        self._autoscalers.ended(runner.job_id)
        # The submission failed and has removed it, or the job runs again under its id.
        if self._runners.get(runner.job_id) is not runner:
            return
        error = runner.result.exception()
        if error is None:
            await self._over(runner, runner.result.result())
        elif isinstance(error, JobNotFinishedError):
            await self._not_finished(runner)
        else:
            self._failed(error)

    async def _over(self, runner: JobManagerRunner, job: ArchivedExecutionGraph) -> None:
        try:
            # The runner may have gone on without it, as when it had lost the leadership while it wrote.
            if not await self._stores.job_results.has_job_result(runner.job_id):
                await self._stores.job_results.create_dirty_result(job.result)
        except StaleLeaderError as error:
            extra = about(runner.job_id)
            logger.info("the next leader completes the termination of job %s: %s", runner.job_id, error, extra=extra)
            return
        except Exception as error:
            self._failed(error)
            return
        await self._archive.put(job)
        await self._write_to_history(job)
        del self._runners[runner.job_id]
        await self._terminate(runner)
        await self._cleanup.after_the_end(runner.job_id, runner.forget)

    async def _write_to_history(self, job: ArchivedExecutionGraph) -> None:
        if self._archivist is None:
            return
        try:
            await ARCHIVE.run(self._archivist, job)
        except Exception as error:  # The job has ended in any case.
            extra = about(job.details.job_id)
            logger.warning("job %s could not be archived: %s", job.details.job_id, error, extra=extra)

    async def _forget(self, result: JobResult) -> None:
        """Remove the files of a former leader's job, if its JobGraph is still stored."""
        try:
            job_graph = await self._stores.job_graphs.recover(result.job_id)
        except CorruptEntryError as error:
            logger.warning("the data of job %s is not removed: %s", result.job_id, error, extra=about(result.job_id))
            return
        if job_graph is not None:
            with_cluster_defaults(job_graph, self._configuration)
            await self._data_plane.job_terminated(job_graph, result.status)

    async def _not_finished(self, runner: JobManagerRunner) -> None:
        del self._runners[runner.job_id]
        await self._terminate(runner)
        await self._cleanup.locally(runner.job_id)

    async def _take_up(self, job_id: str) -> None:
        try:
            job_graph = await self._stores.job_graphs.recover(job_id)
            if job_graph is not None:
                await self._submit(job_graph, self._run)  # Stored: a full disk must not lose it.
        except DuplicateJobSubmissionError as error:
            logger.debug(
                "job %s, added by another Dispatcher, is known already: %s", job_id, error, extra=about(job_id)
            )
        except (CorruptEntryError, JobSubmissionError) as error:  # The other jobs continue.
            logger.error("job %s could not be recovered: %s", job_id, error, extra=about(job_id))
        except Exception as error:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        """End the process, unless it no longer leads and only the services of the leader can't be reached."""
        if self._is_stopping and isinstance(error, (HighAvailabilityError, EndpointStoppedError)):
            logger.info("the next leader takes over: %s", error)
        else:
            self._on_fatal_error(error)

    async def _terminate(self, runner: JobManagerRunner) -> None:
        closing = self.spawn(runner.close(), f"closing job {runner.job_id}")
        self._terminations[runner.job_id] = closing
        await asyncio.wait([closing])
        self._terminations.pop(runner.job_id, None)

    # Looking things up

    async def _ask(
        self,
        job_id: str,
        ask: Callable[[JobMasterGateway], Awaitable[T]],
        answer_of: Callable[[ArchivedExecutionGraph], T],
    ) -> T:
        """Return the JobMaster's answer or, if there is none, the answer from the archived job."""
        runner = self._runners.get(job_id)
        try:
            gateway = None if runner is None or runner.result.done() else await runner.gateway()
            if gateway is None:
                return answer_of(await self._job_without_master(job_id))
            return await ask(gateway)
        except RpcError:
            job = await self._archive.get(job_id)
            if job is None:
                raise
            return answer_of(job)

    async def _job_without_master(self, job_id: str) -> ArchivedExecutionGraph:
        runner = self._runners.get(job_id)
        if runner is not None:
            is_over = runner.result.done() and runner.result.exception() is None
            return runner.result.result() if is_over else runner.unstarted_job()
        job = await self._archive.get(job_id)
        if job is None:
            raise JobNotFoundError(job_id)
        return job


def _portable(job_graph: JobGraph) -> bytes:
    """Return a graph pickled, with the files that are in its job's directory by now."""
    job_graph.artifacts |= pack_artifacts(job_graph)
    pickled: bytes = pickling.dumps(job_graph)
    return pickled
