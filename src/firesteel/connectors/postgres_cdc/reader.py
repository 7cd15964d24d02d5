"""The reader of a subtask: chunks of the snapshot, or the log."""

from __future__ import annotations

import io
import weakref
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv

from firesteel.columns.batch import ColumnBatch, Kind, slices
from firesteel.connectors.cdc.capture_reader import CaptureReader
from firesteel.connectors.cdc.column_batches import captured_batch
from firesteel.connectors.cdc.splits import Chunk, log_of
from firesteel.connectors.postgres_cdc.changes import Texts
from firesteel.connectors.postgres_cdc.log_reader import LogReader
from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.server import connect, copied_lines, psycopg_library
from firesteel.connectors.postgres_cdc.settings import CdcSettings
from firesteel.connectors.postgres_cdc.text_columns import column_of
from firesteel.functions.splits import SplitRange

if TYPE_CHECKING:
    from psycopg import Connection
    from psycopg.sql import Composed

_LOG_ROWS = 4096
_COPIED_ROWS = 8192


class CdcReader(CaptureReader):
    """The reader of a captured table.

    Args:
        settings: The settings of the source.
    """

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self._log: LogReader | None = None
        self._connection: Connection[tuple[object, ...]] | None = None

    def captured(self, part: SplitRange) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the rows of a chunk, or the changes in a range of the log, each with their table.

        Raises:
            PostgresCdcError: the server does not have them any more, or they are refused.
        """
        try:
            yield from super().captured(part)
        except psycopg_library().Error as error:
            self.close()
            raise PostgresCdcError(f"postgres-cdc: {self._settings.address}: {error}") from error
        except PostgresCdcError:
            self.close()
            raise

    def settings_of(self, table: str) -> CdcSettings:
        """Return the settings of a table."""
        return self._settings.of_table(table)

    # --- the log -----------------------------------------------------------------------------------------------------

    def changes(self, split_id: str, start: int, end: int) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the changes in a range of the log, each with their table."""
        if self._log is None or self._log.position != start:
            self.close()
            log = log_of(split_id)
            self._log = LogReader(self._settings, [self.settings_of(name) for name in log.tables], log, start)
            # The copy of the slot holds back the server's log as long as its session lives.
            weakref.finalize(self, self._log.close)
        changes = self._log.read(end)
        while rows := list(islice(changes, _LOG_ROWS)):
            for table, several in groupby(rows, key=lambda row: row.table):
                _, kinds, texts, times = zip(*several, strict=True)
                yield table, [_batch(self.settings_of(table), _columns(texts), len(kinds), (kinds, times))]

    # --- the snapshot ------------------------------------------------------------------------------------------------

    def rows(self, chunk: Chunk) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a chunk."""
        from psycopg.sql import SQL, Literal

        connection = self._idle_connection()
        with connection.transaction():
            # PostgreSQL imports a snapshot only here, before the first query of such a transaction.
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            try:
                connection.execute(SQL("SET TRANSACTION SNAPSHOT {}").format(Literal(chunk.snapshot)))
            except psycopg_library().Error as error:
                raise PostgresCdcError(
                    f"postgres-cdc: the snapshot of {self._settings.address} was lost with its session: {error}. "
                    "After a restart, the rest is read from a new one"
                ) from error
            yield from self._batches(self.settings_of(chunk.table), copied_lines(connection, self._query(chunk)))

    def _idle_connection(self) -> Connection[tuple[object, ...]]:
        """Return the connection for chunks, which is no longer in use by the former one."""
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings.address)
            weakref.finalize(self, self._connection.close)
        return self._connection

    def _query(self, chunk: Chunk) -> Composed:
        from psycopg.sql import SQL, Identifier, Literal

        settings = self.settings_of(chunk.table)
        columns = settings.columns
        # A query without columns, as COUNT(*), still needs a line for each row.
        names = SQL(", ").join([Identifier(column.name) for column in columns]) if columns else SQL("1")
        table = Identifier(settings.address.schema, settings.address.table)
        key, conditions = Identifier(chunk.column or "-"), [SQL("{}").format(True)]
        if chunk.start is not None:
            conditions.append(SQL("{} >= {}").format(key, Literal(chunk.start)))
        if chunk.end is not None:
            conditions.append(SQL("{} < {}").format(key, Literal(chunk.end)))
        # ONLY, as the log has the rows of tables that inherit under their own names.
        query = SQL("COPY (SELECT {} FROM ONLY {} WHERE {}) TO STDOUT (FORMAT csv)")
        return query.format(names, table, SQL(" AND ").join(conditions))

    def _batches(self, settings: CdcSettings, rows: Iterator[bytes]) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a copy, which come one by one."""
        count = settings.fetch_rows
        while lines := list(islice(rows, max(count, _COPIED_ROWS - _COPIED_ROWS % count))):
            whole = _batch(settings, _parsed(lines, len(settings.columns)), len(lines))
            yield [*slices(whole, count)]

    def close(self) -> None:
        """Close the connections."""
        log, self._log = self._log, None
        connection, self._connection = self._connection, None
        for each in (log, connection):
            if each is not None:
                each.close()


def _batch(
    settings: CdcSettings,
    columns: Sequence[pa.Array],
    length: int,
    changes: tuple[Sequence[Kind], Sequence[int]] | None = None,
) -> ColumnBatch:
    """Return a batch of rows with kinds and times; without them they are insertions."""
    arrays = [
        column_of(values, column.type, column.name) for values, column in zip(columns, settings.columns, strict=True)
    ]
    return captured_batch(settings, arrays, length, settings.address.names, changes)


def _columns(rows: Sequence[Texts]) -> list[pa.Array]:
    return [pa.array(values, pa.string()) for values in zip(*rows, strict=True)]


def _parsed(lines: Sequence[bytes], count: int) -> list[pa.Array]:
    """Return the columns of lines of CSV, where NULL is nothing between two commas."""
    if not count:
        return []
    names = [str(place) for place in range(count)]
    table = csv.read_csv(
        io.BytesIO(b"".join(lines)),
        # One block, as a row that is larger than a block is an error.
        csv.ReadOptions(column_names=names, use_threads=False, block_size=1 << 30),
        csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False),
        csv.ConvertOptions(
            column_types=dict.fromkeys(names, pa.string()),
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )
    assert table.num_rows == len(lines)
    return [column.combine_chunks() for column in table.columns]
