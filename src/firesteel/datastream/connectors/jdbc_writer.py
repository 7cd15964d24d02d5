"""The writer and the committer of a `JdbcSink`.

The writers gather rows, the committer writes those of all subtasks in one transaction. The same transaction notes in
the table `firesteel_commits` up to which number the rows of each writer are in, so what is to be committed again, since
nobody knew whether it was, is recognised.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any

from firesteel.common.coercion import coercer
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.datastream.connectors.base import CommitRequest, Committer, SinkWriter, WriterInitContext
from firesteel.datastream.connectors.jdbc_database import Database, native_statement, row_converter
from firesteel.datastream.connectors.staging import PreparedRows, StagedRows

INLINE_ROWS = 1000
"""More rows of one batch travel in a file."""

_Row = tuple[Any, ...]


class JdbcWriter(SinkWriter[Any]):
    """Turns elements into rows and gathers those of a batch, in a file if they are many."""

    def __init__(self, database: Database, row_type: RowTypeInfo, context: WriterInitContext) -> None:
        convert, coerce = row_converter(database, row_type), coercer(row_type)
        assert coerce is not None
        self._convert: Callable[[Any], _Row] = lambda element: convert(coerce(element))
        self._is_batch = context.is_batch
        self._staged = StagedRows(context)
        self._prepared: list[PreparedRows] = []

    def write(self, element: Any, timestamp: int | None) -> None:
        """Take one element."""
        self.write_all([element], None)

    def write_all(self, elements: Sequence[Any], timestamps: Sequence[int | None] | None) -> None:
        """Take elements.

        Raises:
            TypeError: one does not fit the declared type.
        """
        convert = self._convert
        self._staged.add([convert(element) for element in elements])
        if len(self._staged) > INLINE_ROWS:
            self._staged.stage()

    def snapshot_state(self) -> int | None:
        """How many files there were."""
        return self._staged.files or None

    def restore_state(self, state: int) -> None:
        """Go on with the next one."""
        self._staged.files = max(self._staged.files, state)

    def flush(self, end_of_input: bool) -> None:
        """Finish the rows of the batch."""
        prepared = self._staged.finish()
        # In BATCH mode each writer is noted, so that another run of the job finds all its writers there.
        if prepared.rows or prepared.staged is not None or self._is_batch:
            self._prepared.append(prepared)

    def prepare_commit(self) -> Sequence[PreparedRows]:
        """The rows that were finished."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def close(self) -> None:
        """Remove the file of a batch that was not finished."""
        self._staged.close()


class RowError(Exception):
    """The database refused a row."""

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
        batch_size: So many rows are handed to the driver at once.
        max_retries: How often a transaction is tried again after an error that may pass.
    """

    database: Database
    sql: str
    batch_size: int
    max_retries: int

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit what was not committed before.

        Raises:
            RowError: the database refused a row; nothing was committed.
        """
        self._with_retries(requests, "COMMIT")
        for request in requests:
            request.committable.discard()

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Write the rows in a transaction that is rolled back: a row that the database refuses is never decided.

        Raises:
            RowError: the database refuses a row.
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

    def _write_in(self, cursor: Any, requests: Sequence[CommitRequest], end: str) -> None:
        self.database.create_bookkeeping(cursor)
        cursor.execute(self.database.begin)
        try:
            of_sinks: dict[tuple[str, str], list[CommitRequest]] = {}
            for request in requests:
                of_sinks.setdefault((request.job_id, request.sink_id), []).append(request)
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
        """Write the rows that are not in yet, and note that they are."""
        known = f"SELECT subtask, number FROM firesteel_commits WHERE job = {self._p} AND sink = {self._p}"
        cursor.execute(known, sink)
        before: dict[int, int] = dict(cursor.fetchall())
        numbers: dict[int, int] = {}
        for request in requests:
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

    def _write_rows(self, cursor: Any, prepared: PreparedRows) -> None:
        sql = native_statement(self.sql, self.database)
        rows = iter(prepared)
        while chunk := list(islice(rows, self.batch_size)):
            cursor.execute("SAVEPOINT firesteel_rows")
            try:
                cursor.executemany(sql, chunk)
            except Exception as error:
                if self.database.is_transient(error):
                    raise
                cursor.execute("ROLLBACK TO SAVEPOINT firesteel_rows")
                self._write_one_by_one(cursor, sql, chunk)
            cursor.execute("RELEASE SAVEPOINT firesteel_rows")

    def _write_one_by_one(self, cursor: Any, sql: str, rows: Sequence[_Row]) -> None:
        """Find the row that the database refuses."""
        for row in rows:
            try:
                cursor.execute(sql, row)
            except Exception as error:
                raise RowError(self.sql, row, error) from error
