"""What a program on trial gets in place of a job: one that has ended without doing anything."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from firesteel.common.completable_future import CompletableFuture
from firesteel.common.job_client import JobClient
from firesteel.common.job_execution_result import JobExecutionResult
from firesteel.common.job_id import JobID
from firesteel.common.job_status import JobStatus
from firesteel.functions.closeable_iterator import CloseableIterator
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_result import TableResult
from firesteel.table.types import RowType

__all__ = ["EndedJob", "ended", "itself", "no_rows", "nothing"]

_NO_JOB = JobID("0" * 32)


def ended(*_: object) -> JobExecutionResult:
    """Return the result of a job that did nothing."""
    return JobExecutionResult(_NO_JOB, 0)


class EndedJob(JobClient):
    """The client of a job that was planned: it has ended without doing anything.

    Args:
        awaited: Called when the program waits for the end of the job.
    """

    def __init__(self, awaited: Callable[[], None] = lambda: None) -> None:
        self._awaited = awaited

    def get_job_id(self) -> JobID:
        """Return an id that no job has."""
        return _NO_JOB

    def get_job_status(self) -> CompletableFuture:
        """Return FINISHED."""
        return _done(JobStatus.FINISHED)

    def cancel(self) -> CompletableFuture:
        """Do nothing."""
        return _done(None)

    def stop_with_savepoint(
        self, advance_to_end_of_event_time: bool, savepoint_directory: str | None = None
    ) -> CompletableFuture:
        """Return an empty path."""
        return _done("")

    def trigger_savepoint(self, savepoint_directory: str | None = None) -> CompletableFuture:
        """Return an empty path."""
        return _done("")

    def get_accumulators(self) -> CompletableFuture:
        """Return none."""
        return _done({})

    def get_job_execution_result(self) -> CompletableFuture:
        """Return the result."""
        self._awaited()
        return _done(ended())


def _done(value: object) -> CompletableFuture:
    future: Future[object] = Future()
    future.set_result(value)
    return CompletableFuture(future)


def nothing(*_: object) -> CloseableIterator[object]:
    """Return an iterator without elements."""
    return CloseableIterator((), job_client=EndedJob())


def no_rows(*_: object) -> TableResult:
    """Return a result without rows."""
    return TableResult(RowType([]), [], EndedJob(), ResultKind.SUCCESS)


def itself(called: object) -> object:
    """Return the object whose method was called."""
    return called
