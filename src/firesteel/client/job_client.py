"""Client of a job that runs in this process."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from firesteel.client.client_errors import JobCanceledError, JobFailedError
from firesteel.client.collected import elements_of
from firesteel.client.interrupts import interrupted, interrupted_again, until_done
from firesteel.client.progress import progress_reporter
from firesteel.client.progress_reporter import ProgressReporter
from firesteel.client.restarts import RestartListener
from firesteel.client.staged_data import StagedData
from firesteel.common.closed_output import OUTPUT_CLOSED, OutputClosedError, discard_output
from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.entrypoint.mini_cluster import MiniCluster
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.dispatcher.dispatcher_gateway import JobNotFoundError
from firesteel.runtime.executiongraph.job_details import JobDetails, JobResult

_POLL_S = 0.2
_PATIENCE_S = 2.0
_WAITS = (
    "The job is being cancelled: its functions, connectors or commits have not returned yet. Ctrl-C leaves at once."
)


class EmbeddedJobClient(JobClient):
    """A client of the job of a MiniCluster; the cluster ends with the job.

    Args:
        job_graph: The job, which the constructor submits.
        serves_rest: Whether the cluster has a REST API.
        staged: Data that is removed when the job has ended.

    Example:
        >>> _ = env.from_collection([1, 2, 3], Types.INT()).add_sink(SinkFunction(lambda number: None))
        >>> client = EmbeddedJobClient(env.get_stream_graph().get_job_graph())
        >>> result = client.wait()
        >>> client.get_job_status().result() is JobStatus.FINISHED
        True
    """

    def __init__(self, job_graph: JobGraph, serves_rest: bool = False, staged: StagedData | None = None) -> None:
        self._job_id = job_graph.job_id
        self._staged = staged
        self._is_closed = False
        self._restarts = RestartListener()
        self._cluster = MiniCluster(job_graph, serves_rest, [self._restarts])
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
        if staged:
            # The callback runs on the event loop of the cluster, which must not wait for files to be removed.
            self._result.add_done_callback(lambda _: staged.remove_in_background())

    def get_job_id(self) -> JobID:
        """Return the id of the job."""
        return JobID(self._job_id)

    def get_job_status(self) -> CompletableFuture:
        """Return a future of the current `JobStatus`."""
        if self._result.done():
            return CompletableFuture(self._result, lambda result: JobStatus[result.status.name])
        status = self._cluster.ask(lambda dispatcher: dispatcher.request_job_status(self._job_id))
        return CompletableFuture(status, lambda found: JobStatus[found.name])

    def cancel(self) -> CompletableFuture:
        """Cancel the job; the future completes when the cancellation is accepted."""
        return CompletableFuture(self._cluster.ask(lambda dispatcher: dispatcher.cancel_job(self._job_id)))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Stop the job with a savepoint and return a future of the savepoint's path.

        Args:
            advance_to_end_of_event_time: Whether to fire all event-time timers and windows and end the sources first.
            savepoint_directory: Directory of the savepoint; None uses `execution.checkpointing.savepoint-dir`.
        """
        return CompletableFuture(
            self._cluster.ask(
                lambda dispatcher: dispatcher.stop_with_savepoint(
                    self._job_id, savepoint_directory, advance_to_end_of_event_time
                )
            )
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Trigger a savepoint of the running job and return a future of its path."""
        return CompletableFuture(
            self._cluster.ask(lambda dispatcher: dispatcher.trigger_savepoint(self._job_id, savepoint_directory))
        )

    def get_accumulators(self) -> CompletableFuture:
        """Return a future of the values of the job's accumulators by name."""
        return CompletableFuture(self._result, lambda result: dict(result.accumulators))

    def get_job_execution_result(self) -> CompletableFuture:
        """Return a future of the `JobExecutionResult`; its error is a `JobFailedError` or `JobCanceledError`."""
        return CompletableFuture(self._result, _execution_result)

    def wait(self) -> JobExecutionResult:
        """Wait until the job ends, reporting its progress, and close the cluster; later calls return the same result.

        Raises:
            JobFailedError: the job failed.
            JobCanceledError: the job was cancelled.
        """
        if self._is_closed and self._result.done():
            return _execution_result(self._result.result())
        reporter = progress_reporter()
        reporter.submitted(self._job_id)
        try:
            while True:
                try:
                    result = self._result.result(_POLL_S)
                    break
                except FutureTimeoutError:
                    self._show(reporter.progressed)
            self._show(reporter.ended)
            return _execution_result(result)
        except KeyboardInterrupt:
            try:
                until_done(lambda: self._cancel(reporter.progressed))
                self._show(reporter.ended)
            except KeyboardInterrupt:
                self._leave(reporter)
                raise interrupted_again() from None
            raise interrupted(self._restarts.last) from None
        finally:
            until_done(self.close)

    def _show(self, show: Callable[[JobDetails], None]) -> None:
        # Another thread may have closed the cluster, whose job has ended then.
        with contextlib.suppress(JobNotFoundError):
            show(self._cluster.ask(lambda dispatcher: dispatcher.request_job_details(self._job_id)).result())

    def collected(self, collect_id: str) -> Iterator[Any]:
        """Yield the elements of a collecting sink as they arrive.

        Args:
            collect_id: The id that `collect_async` returned.

        Raises:
            JobFailedError: the job failed; raised after its last element.
            JobCanceledError: the job was cancelled; raised after its last element.
        """
        buffers, ends = self._cluster.collected, self._result
        # A reader that waits for elements of a job which has ended would wait out its time.
        ends.add_done_callback(lambda _: buffers.wake())
        yield from elements_of(lambda asked: buffers.fetch(collect_id, asked, 0 if ends.done() else _POLL_S), ends.done)
        self.close()
        _execution_result(self._result.result())

    def cancel_and_wait(self) -> None:
        """Cancel the job unless it has ended, and close the cluster."""
        self._cancel()
        self.close()

    def _cancel(self, show: Callable[[JobDetails], None] = lambda details: None) -> None:
        """Cancel the job, and show its details until it has ended."""
        if not self._result.done():
            # The job may end before the Dispatcher handles the cancellation.
            with contextlib.suppress(JobNotFoundError):
                self.cancel().result()
        begun_s = time.monotonic()
        while not self._result.done():
            with contextlib.suppress(FutureTimeoutError):
                self._result.result(_POLL_S)
            self._show(show)
            if not self._result.done() and begun_s and time.monotonic() - begun_s > _PATIENCE_S:
                begun_s = 0.0
                print(_WAITS, file=sys.stderr)

    def _leave(self, reporter: ProgressReporter) -> None:
        """Leave a job that takes long to end, as its user has interrupted again: it ends with the process."""
        self._show(reporter.ended)
        self._is_closed = True
        self._cluster.leave()

    def close(self) -> None:
        """Close the cluster, which ends the job."""
        self._is_closed = True
        self._cluster.close()
        if self._staged is not None:
            self._staged.remove()


def _execution_result(result: JobResult) -> JobExecutionResult:
    if result.status.name == "FINISHED":
        return JobExecutionResult(JobID(result.job_id), result.net_runtime_ms, result.accumulators)
    if result.status.name == "CANCELED":
        raise JobCanceledError(result.job_id)
    if result.failure is not None and result.failure.message.startswith(OutputClosedError.__name__):
        discard_output()
        # Nobody reads the output any more, as of `python job.py | head`: programs end without a word then.
        raise SystemExit(OUTPUT_CLOSED)
    raise JobFailedError(result.job_id, result.failure)
