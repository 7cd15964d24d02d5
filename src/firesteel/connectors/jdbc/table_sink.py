"""The sink of a table with a primary key: rows are replaced and deleted by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any

from firesteel.columns.row_keys import freeze
from firesteel.common.typeinfo import RowTypeInfo
from firesteel.common.types import Row, RowKind
from firesteel.connectors.jdbc.database import Database
from firesteel.connectors.jdbc.sink import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from firesteel.connectors.jdbc.writer import JdbcCommitter, JdbcWriter
from firesteel.connectors.staging import PreparedRows
from firesteel.functions.connector_base import Committer, SinkWriter, WriterInitContext

if TYPE_CHECKING:
    from firesteel.connectors.jdbc.connections import Cursor

_REMOVING = (RowKind.DELETE, RowKind.UPDATE_BEFORE)


class JdbcTableSink(JdbcSink):
    """Replaces and deletes rows by their primary key (Flink: `TableBufferReducedStatementExecutor`).

    Args:
        sql: The statement that inserts or replaces a row.
        delete_sql: The statement that deletes the row of a key.
        keys: Positions of the key's columns.
        row_type: Types of the columns.
        connection_options: Address and credentials of the database.
        execution_options: Settings of writes.
    """

    def __init__(
        self,
        sql: str,
        delete_sql: str,
        keys: tuple[int, ...],
        row_type: RowTypeInfo,
        connection_options: JdbcConnectionOptions,
        execution_options: JdbcExecutionOptions,
    ) -> None:
        super().__init__(sql, row_type, connection_options, execution_options)
        self._delete_sql = delete_sql
        self._keys = keys

    def create_writer(self, context: WriterInitContext) -> SinkWriter[Any]:
        """Return the writer of a subtask, which notes for each row whether it is deleted."""
        return _Writer(self._database, self.row_type, context)

    def create_committer(self) -> Committer:
        """Return the committer, which writes the last change of each key."""
        options = self.execution_options
        return TableCommitter(
            self._database, self.sql, options.batch_size, options.max_retries, self._delete_sql, self._keys
        )


class _Writer(JdbcWriter):
    """Stages `(whether the row is deleted, its values)`."""

    def __init__(self, database: Database, row_type: RowTypeInfo, context: WriterInitContext) -> None:
        super().__init__(database, row_type, context)
        convert = self._convert
        self._convert = lambda element: (_is_deleted(element), convert(element))


def _is_deleted(element: Row) -> bool:
    return element.get_row_kind() in _REMOVING


@dataclass(frozen=True, slots=True)
class TableCommitter(JdbcCommitter):
    """Writes the last change of each key among the rows that are passed to the driver at once.

    Attributes:
        delete_sql: The statement for each deleted key.
        keys: Positions of the key's columns in a row.
    """

    delete_sql: str
    keys: tuple[int, ...]

    def _write_rows(self, cursor: Cursor, prepared: PreparedRows) -> None:
        changes = iter(prepared)
        while chunk := list(islice(changes, self.batch_size)):
            # Deletions and insertions are separate statements; two changes of a key would not be applied in their
            # order.
            last = {tuple(freeze(row[key]) for key in self.keys): (deleted, row) for deleted, row in chunk}
            deleted_keys = [tuple(row[key] for key in self.keys) for deleted, row in last.values() if deleted]
            self._execute(cursor, self.delete_sql, deleted_keys)
            self._execute(cursor, self.sql, [row for deleted, row in last.values() if not deleted])

    def _execute(self, cursor: Cursor, sql: str, rows: Sequence[tuple[Any, ...]]) -> None:
        if rows:
            self._write_chunk(cursor, sql, rows)
