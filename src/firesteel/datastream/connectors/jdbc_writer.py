"""The writer and the committer of a `JdbcSink`.

The writers gather rows, the committer writes those of all subtasks in one transaction. The same transaction notes in
the table `firesteel_commits` up to which number the rows of each writer are in, so what is to be committed again, since
nobody knew whether it was, is recognised.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any

from firesteel.common.coercion import coercer
from firesteel.common.durability import PRIVATE_DIRECTORY, make_directory, sync_directory
from firesteel.common.local_path import local_path
from firesteel.common.run_directory import run_directory
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.datastream.connectors.base import CommitRequest, Committer, SinkWriter, WriterInitContext
from firesteel.datastream.connectors.jdbc_database import Database, native_statement, row_converter

INLINE_ROWS = 1000
"""More rows of one batch travel in a file."""

CHECKPOINT_DIRECTORY = "execution.checkpointing.dir"

_Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class PreparedRows:
    """Rows of one writer, ready for the driver: those in the file at `staged`, if it is set, then `rows`."""

    staged: str | None
    rows: tuple[_Row, ...]

    def __iter__(self) -> Iterator[_Row]:
        if self.staged is not None:
            with open(self.staged, "rb") as file:
                while chunk := pickle.load(file):
                    yield from chunk
        yield from self.rows

    def discard(self) -> None:
        """Remove the file and those that other attempts made in its place; their directory with the last one.

        It is committed, so no other attempt of its number can be decided any more.
        """
        if self.staged is not None:
            path = Path(self.staged)
            for attempt in path.parent.glob(f"{path.stem}.*"):
                attempt.unlink(missing_ok=True)
            with suppress(OSError):
                path.parent.rmdir()


class JdbcWriter(SinkWriter):
    """Turns elements into rows and gathers those of a batch, in a file if they are many."""

    def __init__(self, database: Database, row_type: RowTypeInfo, context: WriterInitContext) -> None:
        convert, coerce = row_converter(database, row_type), coercer(row_type)
        assert coerce is not None
        self._convert: Callable[[Any], _Row] = lambda element: convert(coerce(element))
        self._is_batch = context.is_batch
        self._directory = _staging_directory(context)
        sink = hashlib.md5(context.sink_id.encode(), usedforsecurity=False).hexdigest()[:12]
        self._file_prefix = f"{sink}-{context.subtask_index}-"
        self._attempt = uuid.uuid4().hex[:12]
        self._files = 0
        self._rows: list[_Row] = []
        self._file: IO[bytes] | None = None
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
        self._rows += [convert(element) for element in elements]
        if len(self._rows) > INLINE_ROWS:
            self._stage()

    def _stage(self) -> None:
        if self._file is None:
            make_directory(self._directory, mode=PRIVATE_DIRECTORY)
            path = self._directory / f"{self._file_prefix}{self._files}.{self._attempt}"
            self._file = open(path, "wb")  # noqa: SIM115 - closed when it is prepared
            self._files += 1
        pickle.dump(self._rows, self._file, protocol=pickle.HIGHEST_PROTOCOL)
        self._rows = []

    def snapshot_state(self) -> int | None:
        """How many files there were."""
        return self._files or None

    def restore_state(self, state: int) -> None:
        """Go on with the next one."""
        self._files = max(self._files, state)

    def flush(self, end_of_input: bool) -> None:
        """Finish the rows of the batch; the file, if there is one, outlives a crash of the machine."""
        rows, self._rows = tuple(self._rows), []
        staged = None
        if self._file is not None:
            pickle.dump([], self._file)
            self._file.flush()
            os.fsync(self._file.fileno())
            sync_directory(self._directory)
            self._file.close()
            staged, self._file = self._file.name, None
        # In BATCH mode each writer is noted, so that another run of the job finds all its writers there.
        if rows or staged is not None or self._is_batch:
            self._prepared.append(PreparedRows(staged, rows))

    def prepare_commit(self) -> Sequence[PreparedRows]:
        """The rows that were finished."""
        prepared, self._prepared = self._prepared, []
        return prepared

    def close(self) -> None:
        """Remove the file of a batch that was not finished."""
        if self._file is not None:
            self._file.close()
            os.unlink(self._file.name)
            self._file = None


def _staging_directory(context: WriterInitContext) -> Path:
    """Return a directory beside the checkpoints, else in the run directory, which is this user's own.

    Raises:
        UnsafeDirectoryError: the run directory can't be trusted.
    """
    configured = context.configuration.get(CHECKPOINT_DIRECTORY)
    if configured is None:
        return run_directory() / f"staging-{context.job_id}"
    return local_path(configured) / context.job_id / "staging"


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
        cursor.execute(self.database.bookkeeping)
        cursor.execute(self.database.begin)
        try:
            for sink in sorted({(request.job_id, request.sink_id) for request in requests}):
                if self.database.lock is not None:
                    cursor.execute(self.database.lock, ("/".join(sink),))
                of_sink = [request for request in requests if (request.job_id, request.sink_id) == sink]
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
            f"{self._p}) ON CONFLICT (job, sink, subtask) DO UPDATE SET number = excluded.number"
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
