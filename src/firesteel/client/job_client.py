"""The handle to a job that runs in this process."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from firesteel.client.collected import elements_of
from firesteel.client.errors import JobCanceledError, JobFailedError
from firesteel.client.progress import progress_reporter
from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.entrypoint.mini_cluster import MiniCluster
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError
from firesteel.runtime.executiongraph.job_details import JobResult

_POLL_S = 0.2


class EmbeddedJobClient(JobClient):
    """Asks after the job of a MiniCluster and ends the cluster with the job.

    Args:
        job_graph: The job; submitted by the constructor.
        serves_rest: Whether its cluster has a REST API.
    """

    def __init__(self, job_graph: JobGraph, serves_rest: bool = False) -> None:
        self._job_id = job_graph.job_id
        self._cluster = MiniCluster(job_graph, serves_rest)
        try:
            address = self._cluster.start()
            if address is not None:
                progress_reporter().serves(address)
        except BaseException:
            self._cluster.close()
            raise
        self._result: Future[JobResult] = self._cluster.ask(
            lambda dispatcher: dispatcher.request_job_result(self._job_id)
        )

    def get_job_id(self) -> JobID:
        """Id of the job."""
        return JobID(self._job_id)

    def get_job_status(self) -> CompletableFuture:
        """Future `JobStatus`."""
        if self._result.done():
            return CompletableFuture(self._result, lambda result: JobStatus[result.status.name])
        status = self._cluster.ask(lambda dispatcher: dispatcher.request_job_status(self._job_id))
        return CompletableFuture(status, lambda found: JobStatus[found.name])

    def cancel(self) -> CompletableFuture:
        """Cancels the job; the future is done when the cancellation was accepted."""
        return CompletableFuture(self._cluster.ask(lambda dispatcher: dispatcher.cancel_job(self._job_id)))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Takes a savepoint and ends the job with it; future path of the savepoint.

        Args:
            advance_to_end_of_event_time: Whether all event-time timers and windows fire before, and the sources end.
            savepoint_directory: Where savepoints go, if not where `execution.checkpointing.savepoint-dir` says.
        """
        return CompletableFuture(
            self._cluster.ask(
                lambda dispatcher: dispatcher.stop_with_savepoint(
                    self._job_id, savepoint_directory, advance_to_end_of_event_time
                )
            )
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Takes a savepoint of the running job; future path of the savepoint."""
        return CompletableFuture(
            self._cluster.ask(lambda dispatcher: dispatcher.trigger_savepoint(self._job_id, savepoint_directory))
        )

    def get_accumulators(self) -> CompletableFuture:
        """Future values of the job's accumulators by name."""
        return CompletableFuture(self._result, lambda result: dict(result.accumulators))

    def get_job_execution_result(self) -> CompletableFuture:
        """Future `JobExecutionResult`; its error is a `JobFailedError` or `JobCanceledError`."""
        return CompletableFuture(self._result, _execution_result)

    def wait(self) -> JobExecutionResult:
        """Wait for the end of the job, reporting its progress; then the cluster is gone.

        Raises:
            JobFailedError: the job failed.
            JobCanceledError: the job was cancelled.
        """
        reporter = progress_reporter()
        reporter.submitted(self._job_id)
        try:
            while True:
                try:
                    result = self._result.result(_POLL_S)
                    break
                except FutureTimeoutError:
                    reporter.progressed(self._details())
            reporter.ended(self._details())
            return _execution_result(result)
        except KeyboardInterrupt:
            self.cancel_and_wait()
            raise
        finally:
            self.close()

    def _details(self) -> Any:
        return self._cluster.ask(lambda dispatcher: dispatcher.request_job_details(self._job_id)).result()

    def collected(self, collect_id: str) -> Iterator[Any]:
        """The elements of a collecting sink as they come; raises the job's error at the end, if it failed."""
        buffers = self._cluster.collected
        yield from elements_of(lambda asked: buffers.fetch(collect_id, asked, _POLL_S), self._result.done)
        self.close()
        _execution_result(self._result.result())

    def cancel_and_wait(self) -> None:
        """Cancel the job unless it is over, and end the cluster."""
        if not self._result.done():
            # It may end by itself before the Dispatcher hears of the wish to cancel it.
            with contextlib.suppress(JobNotFoundError):
                self.cancel().result()
            self._result.result()
        self.close()

    def close(self) -> None:
        """End the cluster, and with it the job."""
        self._cluster.close()


def _execution_result(result: JobResult) -> JobExecutionResult:
    if result.status.name == "FINISHED":
        return JobExecutionResult(JobID(result.job_id), result.net_runtime_ms, result.accumulators)
    if result.status.name == "CANCELED":
        raise JobCanceledError(result.job_id)
    raise JobFailedError(result.job_id, result.failure)
