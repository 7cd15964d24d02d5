"""The reader of a subtask: chunks of the snapshot, or the log."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from firesteel.columns.batch import ColumnBatch, slices
from firesteel.connectors.cdc.capture_reader import CaptureReader
from firesteel.connectors.cdc.column_batches import captured_batch
from firesteel.connectors.cdc.splits import Chunk, log_of
from firesteel.connectors.mysql_cdc.binlog import Binlog, random_server_id
from firesteel.connectors.mysql_cdc.changes import ChangeReader, batch_of, logged_columns
from firesteel.connectors.mysql_cdc.columns_of_snapshot import quoted, selected, snapshot_column
from firesteel.connectors.mysql_cdc.keys import KeyOrders, chunk_type, key_as_text, literal
from firesteel.connectors.mysql_cdc.server import connect, files_of, pymysql_library, query, snapshot_position
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError, names_of
from firesteel.connectors.mysql_cdc.shapes import TableShape, check_columns, table_shape
from firesteel.connectors.mysql_cdc.undo import FormerRow, Undo
from firesteel.functions.splits import SplitRange

if TYPE_CHECKING:
    from pymysql.connections import Connection

_FETCHED = 8192
_ATTEMPTS, _RETRY_S = 1000, 0.01


class MySqlCdcReader(CaptureReader):
    """The reader of captured tables.

    Args:
        settings: The settings of the source.
        subtask: Index of the subtask.
    """

    def __init__(self, settings: CdcSettings, subtask: int) -> None:
        self._settings = settings
        self._server_id = _server_id(settings, subtask)
        self._log: tuple[str, Binlog, ChangeReader] | None = None
        self._undo: tuple[int, str, Undo] | None = None
        self._connection: Connection | None = None
        self._shapes: dict[str, TableShape] = {}
        self._orders = KeyOrders(settings.server)

    def captured(self, part: SplitRange) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the rows of a chunk, or the changes in a range of the log, each with their table.

        Raises:
            MySqlCdcError: the server does not have them any more, or they are refused.
        """
        try:
            yield from super().captured(part)
        except (pymysql_library().Error, OSError) as error:
            self.close()
            raise MySqlCdcError(f"mysql-cdc: {self._settings.server}: {error}") from error
        except BaseException:
            self.close()
            raise

    def settings_of(self, table: str) -> CdcSettings:
        """Return the settings, with the columns to read of a table."""
        return self._settings

    # --- the log -----------------------------------------------------------------------------------------------------

    def changes(self, split_id: str, start: int, end: int) -> Iterator[tuple[str, list[ColumnBatch]]]:
        """Yield the changes in a range of the log, each with their table."""
        if self._log is None or self._log[0] != split_id or self._log[1].position != start:
            self.close()
            log = log_of(split_id)
            files = files_of(self._connected())
            binlog = Binlog(self._settings, files, log.tables, start, self._server_id)
            self._log = split_id, binlog, ChangeReader(self._settings, log, self._orders)
        _, binlog, reader = self._log
        for changes in reader.read(binlog, end):
            if changes.kinds:
                yield changes.table, [batch_of(self.settings_of(changes.table), changes)]

    # --- the snapshot ------------------------------------------------------------------------------------------------

    def rows(self, chunk: Chunk) -> Iterator[list[ColumnBatch]]:
        """Yield the rows of a chunk."""
        connection, shape = self._connected(), self.shape_of(chunk.table)
        seen = self._begin(connection, chunk.position)
        undo = self._undone(connection, chunk, shape)
        undo.read_to(seen)
        former, key = undo.former(chunk.table), len(shape.primary_key)
        # Row by row, as pymysql otherwise keeps the whole result in memory.
        with connection.cursor(pymysql_library().cursors.SSCursor) as cursor:
            cursor.execute(self._query(chunk, shape))
            while rows := cursor.fetchmany(_FETCHED):
                if former:
                    rows = [row for row in rows if row[len(row) - key :] not in former]
                if rows:
                    yield from self._batches(chunk, shape, rows)
        query(connection, "COMMIT")
        restored = [row for key_values, row in undo.rows(chunk.table) if self._is_in(chunk, shape, key_values)]
        if restored:
            yield [self._restored(chunk, restored)]

    def _is_in(self, chunk: Chunk, shape: TableShape, key: Sequence[object]) -> bool:
        """Return whether a key is one of a chunk."""
        if not chunk.column:
            return True
        read = self._orders.reader(chunk_type(shape.columns[chunk.column]))
        value = read(key_as_text(key[list(shape.primary_key).index(chunk.column)]))
        start, end = chunk.start, chunk.end
        return (start is None or read(start) <= value) and (end is None or value < read(end))

    def _begin(self, connection: Connection, position: int) -> int:
        """Begin a transaction that sees all changes before a position; return one up to which it may see more."""
        query(connection, "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        for _ in range(_ATTEMPTS):
            query(connection, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
            # A commit is in the log some time before other sessions see it.
            seen = snapshot_position(connection)
            if seen >= position:
                return seen
            query(connection, "COMMIT")
            time.sleep(_RETRY_S)
        raise MySqlCdcError(f"mysql-cdc: {self._settings.server} is not as far as the snapshot; was it reset?")

    def _undone(self, connection: Connection, chunk: Chunk, shape: TableShape) -> Undo:
        at = (chunk.position, chunk.table)
        if self._undo is not None and self._undo[:2] == at:
            return self._undo[2]
        if self._undo is not None:
            self._undo[2].close()
        files, tables = files_of(connection), {chunk.table: shape.known()}
        undo = Undo(Binlog(self._settings, files, tables, chunk.position, self._server_id), tables)
        self._undo = (*at, undo)
        return undo

    def _query(self, chunk: Chunk, shape: TableShape) -> str:
        columns = [selected(shape.columns[column.name]) for column in self.settings_of(chunk.table).columns]
        columns += [quoted(name) for name in shape.primary_key]
        conditions, name = [], quoted(chunk.column)
        kind = shape.columns[chunk.column].type_name if chunk.column else ""
        if chunk.start is not None:
            conditions.append(f"{name} >= {literal(kind, chunk.start)}")
        if chunk.end is not None:
            conditions.append(f"{name} < {literal(kind, chunk.end)}")
        table = ".".join(map(quoted, chunk.table.split(".", 1)))
        return f"SELECT {', '.join(columns)} FROM {table}" + (
            f" WHERE {' AND '.join(conditions)}" if conditions else ""
        )

    def _batches(
        self, chunk: Chunk, shape: TableShape, rows: Sequence[tuple[object, ...]]
    ) -> Iterator[list[ColumnBatch]]:
        settings, length = self.settings_of(chunk.table), len(rows)
        values = list(zip(*rows, strict=True))
        columns = [
            snapshot_column(values[place], shape.columns[column.name], column.type, settings.time_zone)
            for place, column in enumerate(settings.columns)
        ]
        whole = captured_batch(settings, columns, length, names_of(chunk.table))
        yield [*slices(whole, settings.fetch_rows)]

    def _restored(self, chunk: Chunk, rows: Sequence[FormerRow]) -> ColumnBatch:
        """Return rows that a chunk had."""
        images = [row.image for row in rows if row.image is not None]
        settings = self.settings_of(chunk.table)
        columns = logged_columns(settings, rows[0].event, images)
        return captured_batch(settings, columns, len(images), names_of(chunk.table))

    def shape_of(self, table: str) -> TableShape:
        """Return a table as the server has it."""
        if table not in self._shapes:
            database, _, name = table.partition(".")
            found = table_shape(self._connected(), database, name)
            check_columns(self._settings, found)
            self._shapes[table] = found
        return self._shapes[table]

    def _connected(self) -> Connection:
        if self._connection is None or not self._connection.open:
            encoders = {
                kind: encode
                for kind, encode in pymysql_library().converters.conversions.items()
                if kind.__class__ is type
            }
            self._connection = connect(self._settings.server, conv=encoders)
        return self._connection

    def close(self) -> None:
        """Close the connections."""
        log, undo, connection = self._log, self._undo, self._connection
        self._log = self._undo = self._connection = None
        self._shapes = {}
        self._orders.close()
        if log is not None:
            log[1].close()
        if undo is not None:
            undo[2].close()
        if connection is not None and connection.open:
            connection.close()


def _server_id(settings: CdcSettings, subtask: int) -> int:
    if settings.server_ids is None:
        return random_server_id()
    first, last = settings.server_ids
    if first + subtask > last:
        raise MySqlCdcError(
            f"mysql-cdc: 'server-id' is {first}-{last}, which has no id for subtask {subtask}; each "
            "subtask needs its own"
        )
    return first + subtask
