"""The enumerator: chunks of a snapshot first, and the log when all of them were read.

A batch that reads chunks has ended before the log appears, so changes of a row come after the row itself, whichever
subtasks read them. Flink CDC: `HybridSplitAssigner`.
"""

from __future__ import annotations

import secrets
import weakref
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from firesteel.connectors.postgres_cdc.replication import ExportedSnapshot, prepare, require_slot
from firesteel.connectors.postgres_cdc.server import (
    ColumnShape,
    TableShape,
    check_columns,
    chunk_column,
    connect,
    lsn_of,
    psycopg_library,
    table_shape,
)
from firesteel.connectors.postgres_cdc.settings import UNITS_PER_ROW, CdcSettings
from firesteel.connectors.postgres_cdc.splits import Chunk, KnownTable, Log, chunk_of, is_log, log_after
from firesteel.functions.source_reading import SourceEnumerator
from firesteel.functions.splits import Discovered, Known, Split

if TYPE_CHECKING:
    from psycopg import Connection

POLLING_MS = 50
"""Interval in ms at which the server is asked how far its log is."""

_SLOT_NAME = 63


class CdcEnumerator(SourceEnumerator):
    """The enumerator of a captured table.

    Args:
        settings: The settings of the source. The server is first contacted by `discover`.
    """

    rediscover_ms = POLLING_MS

    def __init__(self, settings: CdcSettings) -> None:
        self._settings = settings
        self._connected: Connection[tuple[object, ...]] | None = None
        self._snapshot: ExportedSnapshot | None = None
        self._has_slot = False

    def discover(self, parallelism: int, known: Known) -> Discovered:
        """Return the chunks to read, or the log with its end.

        Raises:
            PostgresCdcError: the server has no such table, slot or publication, or has lost the log of the slot.
        """
        try:
            return self._discover(known)
        except psycopg_library().Error:
            self.close()  # the next attempt, after a restart of the job, connects again
            raise

    def _discover(self, known: Known) -> Discovered:
        if known.is_first:
            return self._begin(), set()
        if not self._has_slot:
            require_slot(self._settings, self._connection)
            self._has_slot = True
        logs = [split for split in known.splits.values() if is_log(split.split_id)]
        if logs:
            return [self._grown(split) for split in logs], set()
        chunks = [split for split in known.splits.values() if split.end > split.start]
        if chunks:
            return self._renewed(chunks), set(known.keys)
        self._release()
        log, start = log_after(known.keys)
        return [self._log_split(log, start)], set()

    @property
    def _connection(self) -> Connection[tuple[object, ...]]:
        if self._connected is None or self._connected.closed:
            self._connected = connect(self._settings.address)
            weakref.finalize(self, self._connected.close)  # nobody closes an enumerator
        return self._connected

    # --- the snapshot ------------------------------------------------------------------------------------------------

    def _begin(self) -> list[Split]:
        """Prepare the server, and return the splits of the first batches."""
        settings, connection = self._settings, self._connection
        shape = table_shape(connection, settings.address)
        check_columns(settings, shape)
        start = prepare(settings, connection)
        self._has_slot = True
        if settings.startup != "initial":
            return [self._log_split(Log(KnownTable(shape.signature, shape.primary_key)), start)]
        return self._chunks(shape)

    def _chunks(self, shape: TableShape) -> list[Split]:
        column = chunk_column(self._settings, shape)
        bounds = [None, *([] if column is None else self._bounds(column)), None]
        name, kind = ("", "") if column is None else (column.name, column.type_name)
        table = KnownTable(shape.signature, shape.primary_key, name, kind)
        snapshot = self._export()
        pairs = enumerate(pairwise(bounds))
        chunks = [Chunk(n, snapshot.name, snapshot.lsn, start, end, name) for n, (start, end) in pairs]
        return [self._chunk_split(replace(chunks[0], table=table)), *map(self._chunk_split, chunks[1:])]

    def _bounds(self, column: ColumnShape) -> list[str]:
        """Return the keys that divide the table into chunks of the same size."""
        from psycopg.sql import SQL, Identifier

        address = self._settings.address
        query = SQL(
            "SELECT DISTINCT key FROM (SELECT {0} AS key, row_number() OVER (ORDER BY {0}) AS place FROM {1}) AS keys "
            "WHERE place %% %s = 1 AND place > 1 ORDER BY key"
        ).format(Identifier(column.name), Identifier(address.schema, address.table))
        rows = SQL("SELECT key::text FROM ({}) AS bounds").format(query)
        return [str(key) for (key,) in self._connection.execute(rows, (max(2, self._settings.chunk_rows),))]

    def _export(self) -> ExportedSnapshot:
        self._release()
        random = secrets.token_hex(4)
        slot = f"{self._settings.slot[: _SLOT_NAME - len(random) - 3]}_s_{random}"
        self._snapshot = ExportedSnapshot(self._settings, slot)
        weakref.finalize(self, self._snapshot.close)
        return self._snapshot

    def _chunk_split(self, chunk: Chunk) -> Split:
        units = UNITS_PER_ROW * self._settings.chunk_rows
        return Split(chunk.split_id, 0, 0, units, is_whole=True)

    def _renewed(self, splits: list[Split]) -> list[Split]:
        """Return splits with unread chunks in a new snapshot if the former one was lost, and the former ones empty."""
        if self._snapshot is not None and self._snapshot.is_alive(self._connection):
            return []
        snapshot = self._export()
        renewed = []
        for split in splits:
            chunk = replace(chunk_of(split.split_id), snapshot=snapshot.name, lsn=snapshot.lsn)
            renewed += [split.grown_to(split.start, (), grows=False), self._chunk_split(chunk)]
        return renewed

    # --- the log -----------------------------------------------------------------------------------------------------

    def _log_split(self, log: Log, start: int) -> Split:
        return Split(log.split_id, 0, start, max(start, self._end()), grows=True)

    def _grown(self, split: Split) -> Split:
        return split.grown_to(max(split.end, self._end()), (), grows=True)

    def _end(self) -> int:
        return lsn_of(self._connection, "SELECT pg_current_wal_flush_lsn()")

    def _release(self) -> None:
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            with suppress(Exception):
                snapshot.close()

    def close(self) -> None:
        """Close all connections."""
        self._release()
        connection, self._connected = self._connected, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
