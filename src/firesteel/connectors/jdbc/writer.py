"""The writer and the committer of a `JdbcSink`.

The writers buffer rows, and the committer writes the rows of all subtasks in one transaction. In the table
`firesteel_commits` the same transaction stores the number of the last committable of each writer. So requests that are
committed again, because the outcome of the first attempt is unknown, are recognised and skipped.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.common.typeinfo import RowTypeInfo
from firesteel.common.values.coercion import coercer
from firesteel.connectors.jdbc.database import Database, native_statement, row_converter
from firesteel.connectors.staging import PreparedRows, StagingWriter
from firesteel.functions.connector_base import CommitRequest, Committer, WriterInitContext

if TYPE_CHECKING:
    from firesteel.connectors.jdbc.connections import Cursor

INLINE_ROWS = 1000
"""Maximum number of rows of one batch that are kept in memory; more are staged in a file."""

_Row = tuple[Any, ...]


class JdbcWriter(StagingWriter[PreparedRows]):
    """Converts elements to rows and buffers the rows of a batch, in a file if there are many."""

    def __init__(self, database: Database, row_type: RowTypeInfo, context: WriterInitContext) -> None:
        super().__init__(context)
        convert, coerce = row_converter(database, row_type), coercer(row_type)
        assert coerce is not None
        self._convert: Callable[[Any], _Row] = lambda element: convert(coerce(element))
        self._is_batch = context.is_batch

    def write(self, element: object, timestamp: int | None) -> None:
        """Write one element."""
        self.write_all([element], None)

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Write several elements.

        Raises:
            TypeError: an element does not fit the declared type.
        """
        convert = self._convert
        self._staged.add([convert(element) for element in elements])
        if len(self._staged) > INLINE_ROWS:
            self._staged.stage()

    def flush(self, end_of_input: bool) -> None:
        """Finish the rows of the batch."""
        prepared = self._staged.finish()
        # In BATCH mode writers without rows commit, too, so that another run of the job finds all writers.
        if prepared.rows or prepared.staged is not None or self._is_batch:
            self._prepared.append(prepared)


class RowError(Exception):
    """The database rejected a row."""

    def __init__(self, sql: str, row: _Row, error: Exception) -> None:
        super().__init__(sql, row, error)
        self.sql = sql
        self.row = row
        self.error = error

    def __str__(self) -> str:
        text = repr(self.row)
        row = text if len(text) <= 200 else f"{text[:200]}..."
        return f"{self.sql!r} failed for row {row}: {type(self.error).__name__}: {self.error}"


@dataclass(frozen=True, slots=True)
class JdbcCommitter(Committer):
    """Writes the rows of all subtasks in one transaction.

    Attributes:
        sql: The statement for each row, with `?`.
        batch_size: Number of rows passed to the driver at once.
        max_retries: Maximum number of retries of a transaction after a transient error.
    """

    commits_data: ClassVar[bool] = True

    database: Database
    sql: str
    batch_size: int
    max_retries: int

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit the requests that are not committed yet.

        Raises:
            RowError: the database rejected a row; nothing was committed.
        """
        self._with_retries(requests, "COMMIT")
        for request in requests:
            request.committable.discard()

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Write the rows in a transaction that is rolled back, so that no checkpoint completes with an invalid row.

        Raises:
            RowError: the database rejected a row.
        """
        self._with_retries(requests, "ROLLBACK")

    def _with_retries(self, requests: Sequence[CommitRequest], end: str) -> None:
        for retry in range(self.max_retries + 1):
            try:
                with closing(self.database.connect()) as connection:
                    self._write_in(connection.cursor(), requests, end)
                break
            except Exception as error:
                if retry == self.max_retries or not self.database.is_transient(error):
                    raise
                time.sleep(min(retry + 1, 5))

    def _write_in(self, cursor: Cursor, requests: Sequence[CommitRequest], end: str) -> None:
        # Before the transaction begins: in MySQL a CREATE TABLE commits the one that is open.
        self.database.create_bookkeeping(cursor)
        cursor.execute(self.database.begin)
        try:
            of_sinks: dict[tuple[str, str], list[CommitRequest]] = {}
            for request in requests:
                of_sinks.setdefault((request.job_id, request.sink_id), []).append(request)
            # Sorted, so that two committers which take several locks cannot wait for each other.
            for sink in sorted(of_sinks):
                if self.database.lock is not None:  # before MySQL takes the snapshot that the transaction reads
                    cursor.execute(self.database.lock, ("/".join(sink),))
            for sink, of_sink in of_sinks.items():
                self._write_new(cursor, sink, of_sink)
            cursor.execute(end)
        except BaseException:
            with suppress(Exception):
                cursor.execute("ROLLBACK")
            raise

    def _write_new(self, cursor: Any, sink: tuple[str, str], requests: Sequence[CommitRequest]) -> None:
        """Write the rows of new requests and store their numbers."""
        known = f"SELECT subtask, number FROM firesteel_commits WHERE job = {self._p} AND sink = {self._p}"
        cursor.execute(known, sink)
        before: dict[int, int] = dict(cursor.fetchall())
        numbers: dict[int, int] = {}
        for request in requests:
            # A request is written again after a failure: the numbers in the same transaction tell.
            if request.number > before.get(request.subtask_index, -1):
                self._write_rows(cursor, request.committable)
                numbers[request.subtask_index] = max(request.number, numbers.get(request.subtask_index, -1))
        note = (
            f"INSERT INTO firesteel_commits (job, sink, subtask, number) VALUES ({self._p}, {self._p}, {self._p}, "
            f"{self._p}) {self.database.upsert}"
        )
        for subtask, number in numbers.items():
            cursor.execute(note, (*sink, subtask, number))

    @property
    def _p(self) -> str:
        return self.database.parameter

    def _write_rows(self, cursor: Cursor, prepared: PreparedRows) -> None:
        rows = iter(prepared)
        while chunk := list(islice(rows, self.batch_size)):
            self._write_chunk(cursor, self.sql, chunk)

    def _write_chunk(self, cursor: Cursor, sql: str, rows: Sequence[_Row]) -> None:
        """Execute a statement for each row; if the database rejects one, find it."""
        native = native_statement(sql, self.database)
        # PostgreSQL refuses all that follows an error, up to a savepoint.
        cursor.execute("SAVEPOINT firesteel_rows")
        try:
            cursor.executemany(native, rows)
        except Exception as error:
            if self.database.is_transient(error):
                raise
            cursor.execute("ROLLBACK TO SAVEPOINT firesteel_rows")
            for row in rows:
                try:
                    cursor.execute(native, row)
                except Exception as failed:
                    raise RowError(sql, row, failed) from failed
        cursor.execute("RELEASE SAVEPOINT firesteel_rows")
