"""The enumerator: chunks of the tables, a few at a time, and the log up to where the server has written it.

Each wave of chunks has the position of the log when it was handed out, so that readers have little to undo.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from firesteel.connectors.cdc.enumerator import POLLING_MS, CaptureEnumerator
from firesteel.connectors.cdc.errors import ANEW
from firesteel.connectors.cdc.splits import Chunk, Log, chunk_of, is_log, log_of, newest_chunks
from firesteel.connectors.mysql_cdc.columns_of_snapshot import quoted
from firesteel.connectors.mysql_cdc.keys import chunk_type, key_as_text, literal
from firesteel.connectors.mysql_cdc.server import (
    check_server,
    connect,
    files_like,
    files_of,
    identity,
    log_end,
    log_files,
    next_file,
    pymysql_library,
    query,
)
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError
from firesteel.connectors.mysql_cdc.shapes import TableShape, captured_tables, check_columns, chunk_column
from firesteel.connectors.mysql_cdc.start import start_position
from firesteel.functions.splits import Discovered, Known, Split, Stop, deal_evenly

if TYPE_CHECKING:
    from pymysql.connections import Connection

_CHUNKS_AHEAD = 16
_JOINED_UNITS = 1 << 20
"""Size of ranges of the log that are read as one, if several were written before one was read."""


class MySqlCdcEnumerator(CaptureEnumerator):
    """The enumerator of captured tables.

    Args:
        settings: The settings of the source. The server is first contacted by `discover`.
    """

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self.rediscover_ms = None if settings.is_bounded else POLLING_MS
        self._connected: Connection | None = None
        self._shapes: list[TableShape] = []

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the chunks to read, or the log with its end.

        Raises:
            MySqlCdcError: the server has no such table, or has lost the log.
        """
        try:
            return super().discover(parallelism, known)
        except (pymysql_library().Error, OSError) as error:
            self.close()  # the next attempt, after a restart of the job, connects again
            raise MySqlCdcError(f"mysql-cdc: {self._settings.server}: {error}") from error

    @property
    def _connection(self) -> Connection:
        if self._connected is None or not self._connected.open:
            self._connected = connect(self._settings.server)
        return self._connected

    def _tables(self) -> list[TableShape]:
        if not self._shapes:
            self._shapes = captured_tables(self._connection, self._settings)
            for shape in self._shapes:
                check_columns(self._settings, shape)
        return self._shapes

    # --- the snapshot ------------------------------------------------------------------------------------------------

    def begin(self, parallelism: int) -> list[Split]:
        """Check the server, and return the first splits."""
        settings, connection = self._settings, self._connection
        check_server(connection, settings)
        tables = self._tables()
        if settings.startup in ("initial", "snapshot"):
            chunks = self._chunks(None if settings.is_bounded else _CHUNKS_AHEAD * parallelism, ())
            return deal_evenly(chunks, parallelism)
        known = {shape.name: shape.known(begins_now=settings.begins_now) for shape in tables}
        log = Log(known, server=identity(connection))
        return [self.log_split(log, start_position(connection, settings))]

    def more_chunks(self, parallelism: int, unread: Sequence[Split], known: Known) -> list[Split]:
        """Return the next chunks, once half of those before were read."""
        wanted = _CHUNKS_AHEAD * parallelism
        if len(unread) > wanted // 2:
            return []
        return self._chunks(wanted - len(unread), newest_chunks([*known.keys, *known.splits]))

    def _chunks(self, wanted: int | None, before: Sequence[Chunk]) -> list[Split]:
        """Return chunks that follow others, at most so many."""
        names = [shape.name for shape in self._tables()]
        last = before[-1] if before else None
        found: list[Chunk] = []
        position, server = self._end(), identity(self._connection)
        while wanted is None or len(found) < wanted:
            if last is None or last.end is None:
                place = 0 if last is None else names.index(last.table) + 1
                if place == len(names):
                    break
                shape = self._shapes[place]
                column = chunk_column(self._settings, shape)
                kind = chunk_type(column) if self._settings.is_parallel else ""
                known = shape.known((column.name if kind else "", kind))
                chunk = Chunk(0, shape.name, position, server, column=known.chunk_column, known=known)
            else:
                chunk = Chunk(0, last.table, position, server, last.end, column=last.column)
            last = replace(chunk, number=len(before) + len(found), end=self._next_bound(chunk))
            found.append(last)
        return [chunk.split(self._settings.chunk_rows) for chunk in found]

    def _next_bound(self, chunk: Chunk) -> str | None:
        """Return the key at which a chunk ends, after about `chunk_rows` rows; None if no rows follow."""
        if not chunk.column:
            return None
        name, table = quoted(chunk.column), ".".join(map(quoted, chunk.table.split(".", 1)))
        rows = max(1, self._settings.chunk_rows)
        if chunk.start is None:
            found = query(self._connection, f"SELECT {name} FROM {table} ORDER BY {name} LIMIT 1 OFFSET {rows}")
        else:
            start = literal(self._shape(chunk.table).columns[chunk.column].type_name, chunk.start)
            after = f"FROM {table} WHERE {name} >= {start} ORDER BY {name} LIMIT 1 OFFSET {rows}"
            found = query(self._connection, f"SELECT {name}, {name} > {start} {after}")
            if found and not found[0][1]:  # so many rows have the same key
                found = query(self._connection, f"SELECT min({name}) FROM {table} WHERE {name} > {start}")
        return None if not found or found[0][0] is None else key_as_text(found[0][0])

    def _shape(self, table: str) -> TableShape:
        return next(shape for shape in self._tables() if shape.name == table)

    # --- the log -----------------------------------------------------------------------------------------------------

    def check(self, known: Known) -> None:
        """Check that the positions are those of this server."""
        if self._connected is not None and self._connected.open:
            return
        server = identity(self._connection)
        for split_id in [*known.keys, *known.splits]:
            before = _server_of(split_id)
            if before != server:
                raise MySqlCdcError(
                    f"mysql-cdc: {self._settings.server} is another server ({server}) than before ({before}), and has "
                    f"other positions in its log: {ANEW}, or with 'scan.startup.mode' = "
                    "'specific-offset' and a GTID set"
                )

    def log_split(self, log: Log, start: int) -> Split:
        """Return the split of the log from a position."""
        log = replace(log, server=log.server or identity(self._connection))
        return self.grown(Split(log.split_id, 0, start, start, grows=True))

    def grown(self, split: Split) -> Split:
        """Return the split up to the last transaction; batches stop between transactions."""
        end = self._end()
        if end < split.end:
            raise MySqlCdcError(f"mysql-cdc: the log of {self._settings.server} was reset: {ANEW}")
        stops = split.stops if end == split.end else (*split.stops[:-1], *self._last_stops(split, end))
        return split.grown_to(end, stops, grows=True)

    def _last_stops(self, split: Split, end: int) -> list[Stop]:
        """Return the last stop of a split and those after it: the ends of files of the log, and its own end."""
        stops, at, files, sizes = [*split.stops[-1:]], split.end, files_of(self._connection), None
        while (following := next_file(at)) <= end:
            sizes = log_files(self._connection) if sizes is None else sizes
            file, place = files.file(at)
            if file not in sizes:
                raise MySqlCdcError(f"mysql-cdc: {self._settings.server} has removed {file} of its log: {ANEW}")
            stops.append(Stop(following, max(1, sizes[file] - place)))
            at = following
        if at < end:
            units = end - at
            if stops and stops[-1].position == at and stops[-1].units + units < _JOINED_UNITS:
                units += stops.pop().units
            stops.append(Stop(end, units))
        return stops

    def _end(self) -> int:
        file, place = log_end(self._connection)
        return files_like(file).position(file, place)

    def close(self) -> None:
        """Close the connection."""
        connection, self._connected = self._connected, None
        if connection is not None:
            with suppress(Exception):
                connection.close()


def _server_of(split_id: str) -> str:
    return log_of(split_id).server if is_log(split_id) else chunk_of(split_id).snapshot
