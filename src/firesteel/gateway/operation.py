"""Operations: statements that run in the background (Flink: `gateway.service.operation.OperationManager`)."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable
from enum import Enum

from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.gateway.result_fetcher import ResultFetcher


class OperationStatus(Enum):
    """The status of an operation."""

    INITIALIZED = "INITIALIZED"
    PENDING = "PENDING"
    RUNNING = "RUNNING"
    FINISHED = "FINISHED"
    CANCELED = "CANCELED"
    CLOSED = "CLOSED"
    ERROR = "ERROR"
    TIMEOUT = "TIMEOUT"


_S = OperationStatus
_STOPPED = {_S.CANCELED, _S.CLOSED, _S.ERROR, _S.TIMEOUT}
TRANSITIONS: dict[OperationStatus, set[OperationStatus]] = {
    _S.INITIALIZED: {_S.PENDING, *_STOPPED},
    _S.PENDING: {_S.RUNNING, *_STOPPED},
    _S.RUNNING: {_S.FINISHED, *_STOPPED},
    # Flink refuses to cancel a query that has been submitted; here that cancels its job.
    _S.FINISHED: {_S.CANCELED, _S.CLOSED},
    _S.CANCELED: {_S.CLOSED},
    _S.ERROR: {_S.CLOSED},
    _S.TIMEOUT: {_S.CLOSED},
    _S.CLOSED: set(),
}
_UNFINISHED = (_S.INITIALIZED, _S.PENDING, _S.RUNNING)

Work = Callable[["Operation"], ResultFetcher]
"""Executes a statement, which ends early if the operation `has_stopped`."""


class Operation:
    """A statement with its status and its results; all methods may be called from any thread.

    Args:
        work: Executes the statement.
    """

    def __init__(self, work: Work) -> None:
        self.handle = str(uuid.uuid4())
        self._work = work
        self._lock = threading.Lock()
        self._status = _S.INITIALIZED
        self._fetcher: ResultFetcher | None = None
        self._error: Exception | None = None
        self._stopped = threading.Event()

    @property
    def status(self) -> OperationStatus:
        """Return the current status."""
        return self._status

    @property
    def has_stopped(self) -> bool:
        """Return whether the operation was cancelled, was closed or timed out."""
        return self._stopped.is_set()

    def submit(self) -> None:
        """Record that the operation waits for earlier ones of its session."""
        self._move(_S.PENDING)

    def run(self) -> None:
        """Execute the statement, unless the operation was stopped before."""
        if not self._moved(_S.RUNNING):
            return
        try:
            fetcher = self._work(self)
        except Exception as error:
            self._error = error
            self._moved(_S.ERROR)
            return
        with self._lock:
            self._fetcher = fetcher
        if not self._moved(_S.FINISHED):
            fetcher.close()

    def fetch(self) -> ResultFetcher | None:
        """Return the results, or None if they are not ready.

        Raises:
            SqlGatewayError: the operation was stopped.
            Exception: the statement failed.
        """
        with self._lock:
            status, fetcher, error = self._status, self._fetcher, self._error
        if status in _UNFINISHED:
            return None
        if status is _S.ERROR and error is not None:
            raise error
        if status is not _S.FINISHED or fetcher is None:
            raise SqlGatewayError(f"Can not fetch results from the {self.handle} in {status.name} status.")
        return fetcher

    def cancel(self) -> None:
        """Cancel the statement and, for a query, its job.

        Raises:
            SqlGatewayError: the operation has ended.
        """
        fetcher = self._fetcher
        if self._status is _S.FINISHED and (fetcher is None or not fetcher.is_running):
            raise _no_transition(self, _S.CANCELED)
        self._move(_S.CANCELED)
        self._stop()

    def close(self) -> None:
        """Release the results, and cancel the job of a query. Idempotent."""
        self._moved(_S.CLOSED)
        self._stop()

    def time_out(self) -> None:
        """Stop the statement if it is still being executed."""
        if self._status in _UNFINISHED and self._moved(_S.TIMEOUT):
            self._stop()

    def _stop(self) -> None:
        self._stopped.set()
        with self._lock:
            fetcher = self._fetcher
        if fetcher is not None:
            fetcher.close()

    def _move(self, status: OperationStatus) -> None:
        if not self._moved(status):
            raise _no_transition(self, status)

    def _moved(self, status: OperationStatus) -> bool:
        with self._lock:
            if status not in TRANSITIONS[self._status]:
                return False
            self._status = status
            return True


def _no_transition(operation: Operation, status: OperationStatus) -> SqlGatewayError:
    return SqlGatewayError(
        f"Failed to convert the Operation Status from {operation.status.name} to {status.name} for {operation.handle}."
    )
