"""Client of a job that runs on the cluster of another process."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from firesteel.client.client_errors import JobCanceledError, JobFailedError
from firesteel.client.collected import elements_of
from firesteel.client.interrupts import detached
from firesteel.client.progress import progress_reporter
from firesteel.client.progress_reporter import Restart
from firesteel.client.rest_client import ClusterClientError, RestClusterClient
from firesteel.client.staged_data import StagedData
from firesteel.common.closed_output import OUTPUT_CLOSED, discard_output
from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.functions.operator_descriptors import PrintSinkOperator
from firesteel.graph.job_graph import JobGraph
from firesteel.runtime.executiongraph.job_details import JobDetails
from firesteel.runtime.failure import TaskFailure
from firesteel.spark.collect_buffers import CollectRequest, CollectResponse, collect_ids_of

_Result = dict[str, Any]
_POLL_S = 0.2
_COLLECT_POLL_S = 0.05


class RemoteJobClient(JobClient):
    """A client that uses a cluster's REST API; the job continues without this process.

    Args:
        cluster: The cluster.
        job_graph: The job, which the constructor submits.
        staged: Data that is removed after the job has ended.

    Raises:
        ClusterClientError: the cluster rejected the job, or its results cannot be trusted.
    """

    def __init__(self, cluster: RestClusterClient, job_graph: JobGraph, staged: StagedData | None = None) -> None:
        if collect_ids_of(job_graph):
            # Before the submission: otherwise a job runs on whose results the program then refuses.
            cluster.check_results_can_be_trusted()
        self._cluster = cluster
        self._job_id = job_graph.job_id
        self._threads = ThreadPoolExecutor(thread_name_prefix="job-client")
        self._staged = staged
        self._ends: Future[_Result] | None = None
        self._lock = threading.Lock()
        self._restarts, self._repetitions = 0, 0
        self._cause: TaskFailure | None = None
        self._prints, self._printed = _has_print_sink(job_graph), 0
        cluster.submit(job_graph)
        if staged:
            # The job reads the data as long as it runs, which may be longer than this process does.
            staged.remove_after(lambda: cluster.has_ended(self._job_id))

    def _ask(self, question: Callable[[], Any]) -> CompletableFuture:
        return CompletableFuture(self._threads.submit(question))

    def get_job_id(self) -> JobID:
        """Return the id of the job."""
        return JobID(self._job_id)

    def get_job_status(self) -> CompletableFuture:
        """Return a future of the current `JobStatus`."""
        return self._ask(lambda: JobStatus[self._cluster.job_status(self._job_id)])

    def cancel(self) -> CompletableFuture:
        """Cancel the job; the future completes when the cancellation is accepted."""
        return self._ask(lambda: self._cluster.cancel(self._job_id))

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Stop the job with a savepoint and return a future of the savepoint's path."""
        return self._savepoint(
            lambda: self._cluster.trigger_stop(self._job_id, savepoint_directory, advance_to_end_of_event_time)
        )

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Trigger a savepoint of the running job and return a future of its path."""
        return self._savepoint(lambda: self._cluster.trigger_savepoint(self._job_id, savepoint_directory))

    def _savepoint(self, trigger: Callable[[], str]) -> CompletableFuture:
        return self._ask(lambda: self._cluster.savepoint_location(self._job_id, trigger()))

    def get_accumulators(self) -> CompletableFuture:
        """Return a future of an empty dict: the REST API does not transfer accumulators."""
        return self._ask(dict)

    def get_job_execution_result(self) -> CompletableFuture:
        """Return a future of the `JobExecutionResult`; its error is a `JobFailedError` or `JobCanceledError`."""
        with self._lock:
            if self._ends is None or (self._ends.done() and self._ends.exception() is not None):
                self._ends = Future()
                # One for all futures, as each would keep a thread from other questions until the job ends; and a
                # daemon, as a program that waits no longer may end before its job.
                threading.Thread(target=self._await_end, args=(self._ends,), name="job-result", daemon=True).start()
            return CompletableFuture(self._ends, _execution_result)

    def _await_end(self, ends: Future[_Result]) -> None:
        try:
            ends.set_result(self._final_result())
        except BaseException as error:
            ends.set_exception(error)

    def _final_result(self) -> _Result:
        while (result := self._cluster.execution_result(self._job_id)) is None:
            time.sleep(_POLL_S)
        self._remove_staged()
        return result

    def _result(self) -> JobExecutionResult:
        return _execution_result(self._final_result())

    def _remove_staged(self) -> None:
        if self._staged is not None:
            self._staged.remove()

    def collected(self, collect_id: str) -> Iterator[Any]:
        """Return an iterator over the elements of a collecting sink as they arrive.

        At the end the iterator raises the job's error if the job failed. It raises a `ClusterClientError` if elements
        are lost because another JobManager took over the job.
        """
        # Requested now rather than with the first element, to know the JobManager with which the job began.
        with contextlib.suppress(ClusterClientError):
            return self._elements(
                collect_id, self._cluster.collected(self._job_id, collect_id, CollectRequest()).version
            )
        return self._elements(collect_id, "")

    def _elements(self, collect_id: str, version: str) -> Iterator[Any]:
        def fetch(asked: CollectRequest) -> CollectResponse:
            answer = self._cluster.collected(self._job_id, collect_id, asked)
            if not answer.elements:
                time.sleep(_COLLECT_POLL_S)
            return answer

        yield from elements_of(fetch, lambda: self._cluster.execution_result(self._job_id) is not None, version)
        self._result()

    def cancel_and_wait(self) -> None:
        """Cancel the job unless it has ended, and wait for its end."""
        # The job may end before the cluster handles the cancellation.
        with contextlib.suppress(ClusterClientError):
            self._cluster.cancel(self._job_id)
        while self._cluster.execution_result(self._job_id) is None:
            time.sleep(_POLL_S)
        self._remove_staged()

    def wait(self) -> JobExecutionResult:
        """Wait until the job ends; an interrupt leaves it running.

        Raises:
            JobFailedError: the job failed.
            JobCanceledError: the job was cancelled.
        """
        reporter = progress_reporter()
        reporter.submitted(self._job_id)
        details: JobDetails | None = None
        try:
            for details in self._details():
                reporter.progressed(details)
        except KeyboardInterrupt:
            raise detached(self._job_id) from None
        finally:
            if details is not None:
                reporter.ended(details)
        return self._result()

    def _details(self) -> Iterator[JobDetails]:
        """Yield the details of the job until it has ended; print what it prints, and report its restarts."""
        has_ended = False
        while not has_ended:
            # Asked first, so that what a job prints and counts at its end is shown, too.
            has_ended = self._cluster.execution_result(self._job_id) is not None
            try:
                self._print()
                details = self._cluster.progress(self._job_id)
            except ClusterClientError:  # The next question says it, if it lasts.
                pass
            else:
                self._report_restarts(details)
                yield details
            if not has_ended:
                time.sleep(_POLL_S)

    def _print(self) -> None:
        """Print what the job has printed on the cluster since the last time."""
        while self._prints:
            offset, text = self._cluster.printed(self._job_id, self._printed)
            if offset > self._printed:
                print(f"{offset - self._printed} characters of the job's output were not kept", file=sys.stderr)
            if not text:
                return
            try:
                print(text, end="", flush=True)
            except BrokenPipeError:  # Nobody reads any more; the job goes on.
                discard_output()
                raise SystemExit(OUTPUT_CLOSED) from None
            self._printed = offset + len(text)

    def _report_restarts(self, details: JobDetails) -> None:
        number, cause = details.restarts, details.failure
        if number == self._restarts:
            return
        self._repetitions = self._repetitions + number - self._restarts if cause == self._cause else 1
        self._restarts, self._cause = number, cause
        progress_reporter().restarts(Restart(self._job_id, number, cause, self._repetitions))


def _has_print_sink(job_graph: JobGraph) -> bool:
    return any(
        isinstance(part, PrintSinkOperator)
        for vertex in job_graph.vertices
        for node in vertex.chain
        for part in getattr(node.operator, "operators", (node.operator,))
    )


def _execution_result(result: _Result) -> JobExecutionResult:
    outcome, job_id = result["application-status"], result["id"]
    if outcome == "SUCCEEDED":
        return JobExecutionResult(JobID(job_id), result["net-runtime"], {})
    if outcome == "CANCELED":
        raise JobCanceledError(job_id)
    cause = result.get("failure-cause")
    raise JobFailedError(job_id, None if cause is None else TaskFailure(cause["stack-trace"]))
