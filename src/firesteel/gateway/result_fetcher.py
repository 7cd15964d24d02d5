"""Buffered results of a statement, fetched by token (Flink: `gateway.service.result.ResultFetcher`, `ResultStore`)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from firesteel.columns.column_types import RowType
from firesteel.common.types import Row
from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.table.result_kind import ResultKind
from firesteel.table.table_parts import is_query, row_type_of
from firesteel.table.table_result import TableResult
from firesteel.table.types import DataTypes

_MAX_BUFFERED = 5000


class ResultFetcher:
    """The rows of a result; those of a query are read by a thread while its job runs.

    The buffer is bounded: the thread waits until the client has fetched rows. A client that got no response may fetch
    the last token again.

    Args:
        row_type: Names and types of the columns.
        rows: The rows.
        close: Cancels the job that computes the rows; None if there is none.
        is_query: Whether the rows are those of a query.
        has_content: Whether there is more to tell than that the statement succeeded.
        job_id: Id of the job, or None.
    """

    def __init__(
        self,
        row_type: RowType,
        rows: Iterator[Row],
        close: Callable[[], None] | None = None,
        is_query: bool = False,
        has_content: bool = True,
        job_id: str | None = None,
    ) -> None:
        self.row_type = row_type
        self.is_query = is_query
        self.has_content = has_content
        self.job_id = job_id
        self._rows = rows
        self._close = close
        self._changed = threading.Condition()
        self._buffer: list[Row] = []
        self._previous: list[Row] = []
        self._token = 0
        self._has_ended = False
        self._is_closed = False
        self._error: Exception | None = None
        if close is None:
            self._buffer, self._has_ended = list(rows), True
        else:
            threading.Thread(target=self._read, name="sql-gateway-results", daemon=True).start()

    @property
    def is_running(self) -> bool:
        """Return whether more rows may arrive."""
        with self._changed:
            return not self._has_ended

    def fetch(self, token: int) -> list[Row] | None:
        """Return the rows of a token, which may be none so far; None after the last row.

        Raises:
            SqlGatewayError: the token is neither the next nor the last one.
            FiresteelError: the job failed.
        """
        with self._changed:
            # The answer to the request before may have been lost on its way.
            if token == self._token - 1:
                return self._previous
            if token != self._token:
                allowed = f"{self._token}" if self._token == 0 else f"{self._token - 1} or {self._token}"
                raise SqlGatewayError(f"Expecting token to be {allowed}, but found {token}.")
            # Rows that came before the error are delivered first, as they are part of the result.
            if self._error is not None and not self._buffer:
                raise self._error
            if not self._buffer and self._has_ended:
                return None
            self._previous, self._buffer = self._buffer, []
            self._token += 1
            self._changed.notify_all()
            return self._previous

    def close(self) -> None:
        """Cancel the job if it is still running, and wait for its end; the remaining rows are dropped. Idempotent."""
        with self._changed:
            self._is_closed = True
            # The job is cancelled outside of the lock, which the reading thread needs to end.
            close, self._close = self._close, None
            is_running = not self._has_ended
            self._changed.notify_all()
        if close is not None and is_running:
            close()

    def _read(self) -> None:
        try:
            for row in self._rows:
                with self._changed:
                    self._changed.wait_for(lambda: len(self._buffer) < _MAX_BUFFERED or self._is_closed)
                    if self._is_closed:
                        break
                    self._buffer.append(row)
        except Exception as error:
            with self._changed:
                # A job that was cancelled by close() fails with an error of its own.
                self._error = None if self._is_closed else error
        finally:
            self._finish()

    def _finish(self) -> None:
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()


def fetcher_of(result: TableResult) -> ResultFetcher:
    """Return the fetcher of a `TableResult`; the result of an INSERT is the id of its job."""
    client = result.get_job_client()
    if client is not None and not is_query(result):
        return job_fetcher(str(client.get_job_id()))
    rows = result.collect()
    return ResultFetcher(
        row_type_of(result),
        rows,
        rows.close if is_query(result) else None,
        is_query(result),
        result.get_result_kind() == ResultKind.SUCCESS_WITH_CONTENT,
        None if client is None else str(client.get_job_id()),
    )


def job_fetcher(job_id: str) -> ResultFetcher:
    """Return the result of an INSERT: one row with the id of its job."""
    row_type = RowType([DataTypes.FIELD("job id", DataTypes.STRING())])
    return ResultFetcher(row_type, iter([Row(job_id)]), job_id=job_id)
