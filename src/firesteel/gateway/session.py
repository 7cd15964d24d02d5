"""A session of the gateway (Flink: `gateway.service.session.Session`)."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import TimeoutError as FutureTimeoutError
from typing import Any

from firesteel.common.table_errors import TableException
from firesteel.errors import FiresteelError
from firesteel.gateway.completion import completions, word_before
from firesteel.gateway.gateway_errors import SqlGatewayError
from firesteel.gateway.operation import Operation
from firesteel.gateway.result_fetcher import ResultFetcher, fetcher_of, job_fetcher
from firesteel.gateway.result_rows import RowFormat, results_text
from firesteel.gateway.session_context import SessionContext
from firesteel.table.planner.parse.parser import parse
from firesteel.table.syntax import statements as s
from firesteel.table.table_parts import is_query
from firesteel.table.table_result import TableResult, ok

logger = logging.getLogger(__name__)

_POLL_S = 0.1
_BEGIN = re.compile(r"\s*BEGIN\s+STATEMENT\s+SET\s*;?\s*", re.IGNORECASE)
_END = re.compile(r"\s*END\s*;?\s*", re.IGNORECASE)
_CONFIGURES = (
    s.SetOption,
    s.CreateTable,
    s.CreateView,
    s.CreateCatalog,
    s.CreateDatabase,
    s.CreateFunction,
    s.CreateModel,
    s.Drop,
    s.DropModel,
    s.AlterTable,
    s.AlterView,
    s.AlterDatabase,
    s.AlterCatalog,
    s.AlterFunction,
    s.AlterModel,
    s.Use,
    s.LoadModule,
)
"""Statements that a session may be configured with: those that start no job."""


class Session:
    """Executes statements one after the other, and keeps their results until they are closed.

    Args:
        options: Initial options.
        name: Name of the session, or None.
        fixed: Prefixes of options that the session cannot change.
    """

    def __init__(self, options: Mapping[str, str], name: str | None = None, fixed: tuple[str, ...] = ()) -> None:
        self.handle = str(uuid.uuid4())
        self.name = name
        self._context = SessionContext(options, fixed)
        self.turn = asyncio.Lock()
        """Held while a statement is executed, so that statements are executed in the order of their requests."""

        self._lock = threading.Lock()
        self._operations: dict[str, Operation] = {}
        self._accessed = time.monotonic()
        self._statement_set: list[s.Insert] | None = None
        """The INSERTs since `BEGIN STATEMENT SET`, which Flink's client sends as a statement of its own."""

    @property
    def idle_s(self) -> float:
        """Return the seconds since the last request."""
        return time.monotonic() - self._accessed

    def touch(self) -> None:
        """Record a request of the session."""
        self._accessed = time.monotonic()

    def options(self) -> dict[str, str]:
        """Return all options that are set, with secrets masked."""
        return self._context.shown_options()

    # --- statements --------------------------------------------------------------------------------------------------

    def operation(self, handle: str) -> Operation:
        """Return an operation.

        Raises:
            SqlGatewayError: there is none with this handle.
        """
        found = self._operations.get(handle)
        if found is None:
            raise SqlGatewayError(f"Can not find the submitted operation in the OperationManager with the {handle}.")
        return found

    def submit(self, text: str, options: Mapping[str, str]) -> Operation:
        """Return a new operation that executes a statement with these options when it is run."""
        operation = Operation(lambda running: self._execute(running, text, options))
        operation.submit()
        self._operations[operation.handle] = operation
        return operation

    def close_operation(self, handle: str) -> None:
        """Release an operation and cancel the job of its query.

        Raises:
            SqlGatewayError: there is none with this handle.
        """
        operation = self.operation(handle)
        self._operations.pop(handle, None)
        operation.close()

    def _execute(self, operation: Operation, text: str, options: Mapping[str, str]) -> ResultFetcher:
        with self._lock, self._context.overridden(options):
            result = self._result(text)
            is_awaited = self._context.waits_for_inserts
        client = result.get_job_client()
        if client is None or is_query(result):
            return fetcher_of(result)
        # Not under the lock: a job may run for days, and the session answers completions meanwhile.
        if is_awaited:
            _wait(operation, client)
        return job_fetcher(str(client.get_job_id()))

    def _result(self, text: str) -> TableResult:
        if _BEGIN.fullmatch(text) and self._statement_set is None:
            self._statement_set = []
            return ok()
        if self._statement_set is None:
            return self._context.execute(parse(text))
        if not _END.fullmatch(text):
            statement = parse(text)
            if not isinstance(statement, s.Insert):
                raise TableException("Only INSERT statements are allowed between BEGIN STATEMENT SET and END")
            self._statement_set.append(statement)
            return ok()
        inserts, self._statement_set = self._statement_set, None
        if not inserts:
            raise TableException("No statement in the statement set, skip submit.")
        return self._context.execute(s.StatementSetBlock(tuple(inserts)))

    def configure(self, text: str) -> None:
        """Execute a statement that sets an option, or creates, changes or uses an object.

        Raises:
            SqlGatewayError: it is another statement.
            FiresteelError: it is invalid.
        """
        statement = parse(text)
        starts_job = isinstance(statement, s.CreateTable) and statement.query is not None
        if starts_job or not isinstance(statement, _CONFIGURES):
            raise SqlGatewayError(
                f"Unsupported statement for configuring session: {text}\nconfigure-session takes SET, RESET, USE, LOAD "
                "and UNLOAD MODULE, and CREATE, ALTER and DROP of tables, views, databases, catalogs and functions"
            )
        with self._lock:
            self._context.execute(statement)

    def completions(self, statement: str, position: int) -> list[str]:
        """Return the completions of the word that ends at a position of a statement."""
        with self._lock:
            return completions(self._context.table_env, word_before(statement, position))

    def results_text(self, fetcher: ResultFetcher, rows: list[Any], form: RowFormat) -> str:
        """Return columns and rows of a result as JSON."""
        return results_text(fetcher.row_type, rows, form, self._context.time_zone)

    def close(self) -> None:
        """Close all operations, which cancels the jobs of queries; jobs of INSERTs go on."""
        for handle, operation in list(self._operations.items()):
            self._operations.pop(handle, None)
            try:
                operation.close()
            except FiresteelError as error:
                logger.warning("the query of operation %s was not cancelled: %s", handle, error)


def _wait(operation: Operation, client: Any) -> None:
    """Wait for the job of an INSERT; if the operation is stopped, cancel the job."""
    future = client.get_job_execution_result()
    while True:
        try:
            future.result(_POLL_S)
            return
        except FutureTimeoutError:
            if operation.has_stopped:
                client.cancel().result()
                raise SqlGatewayError("The statement was stopped, and its job was cancelled.") from None
