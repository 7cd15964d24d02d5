"""The enumerator: chunks of an exported snapshot, and the log of the slot.

All chunks show the table at one LSN, where a temporary slot has exported its snapshot. Only if that snapshot is lost
before all chunks were read, the others are read at a later LSN.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from firesteel.connectors.cdc.enumerator import CaptureEnumerator
from firesteel.connectors.cdc.splits import Chunk, KnownTable, Log, chunk_of
from firesteel.connectors.postgres_cdc.replication import ExportedSnapshot, prepare, require_slot
from firesteel.connectors.postgres_cdc.server import (
    ColumnShape,
    TableShape,
    captured_tables,
    check_columns,
    chunk_column,
    connect,
    lsn_of,
    psycopg_library,
    table_shape,
)
from firesteel.connectors.postgres_cdc.settings import Address, CdcSettings
from firesteel.functions.splits import Discovered, Known, Split

if TYPE_CHECKING:
    from psycopg import Connection

_SLOT_NAME = 63


class CdcEnumerator(CaptureEnumerator):
    """The enumerator of a captured table.

    Args:
        settings: The settings of the source. The server is first contacted by `discover`.
    """

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
            return super().discover(parallelism, known)
        except psycopg_library().Error:
            self.close()  # the next attempt, after a restart of the job, connects again
            raise

    def check(self, known: Known) -> None:
        """Check that there is the slot."""
        if not self._has_slot:
            require_slot(self._settings, self._connection)
            self._has_slot = True

    @property
    def _connection(self) -> Connection[tuple[object, ...]]:
        if self._connected is None or self._connected.closed:
            self._connected = connect(self._settings.address)
        return self._connected

    # --- the snapshot ------------------------------------------------------------------------------------------------

    def begin(self, parallelism: int) -> list[Split]:
        """Prepare the server, and return the splits of the first batches."""
        settings, connection = self._settings, self._connection
        tables = captured_tables(connection, settings)
        shapes = {table: table_shape(connection, table.address) for table in tables}
        for table, shape in shapes.items():
            check_columns(table, shape)
        start = prepare(tables, connection)
        self._has_slot = True
        if settings.startup != "initial":
            known = {t.address.table_name: KnownTable(one.signature, one.primary_key) for t, one in shapes.items()}
            return [self.log_split(Log(known), start)]
        found = [chunk for table, shape in shapes.items() for chunk in self._chunks(table, shape)]
        at = self._export()
        chunks = [replace(one, number=n, position=at.lsn, snapshot=at.name) for n, one in enumerate(found)]
        return [chunk.split(settings.chunk_rows) for chunk in chunks]

    def _chunks(self, settings: CdcSettings, shape: TableShape) -> list[Chunk]:
        """Return the chunks of a table, without numbers and position."""
        column = chunk_column(settings, shape)
        bounds = [None, *([] if column is None else self._bounds(settings.address, column)), None]
        name, kind = ("", "") if column is None else (column.name, column.type_name)
        known, table = KnownTable(shape.signature, shape.primary_key, name, kind), settings.address.table_name
        chunks = [Chunk(0, table, 0, start=start, end=end, column=name) for start, end in pairwise(bounds)]
        # Once per table: splits are part of each checkpoint.
        return [replace(chunks[0], known=known), *chunks[1:]]

    def _bounds(self, address: Address, column: ColumnShape) -> list[str]:
        """Return the keys that divide the table into chunks of the same size."""
        from psycopg.sql import SQL, Identifier

        query = SQL(
            "SELECT DISTINCT key FROM (SELECT {0} AS key, row_number() OVER (ORDER BY {0}) AS place FROM {1}) AS keys "
            "WHERE place %% %s = 1 AND place > 1 ORDER BY key"
        ).format(Identifier(column.name), Identifier(address.schema, address.table))
        rows = SQL("SELECT key::text FROM ({}) AS bounds").format(query)
        return [str(key) for (key,) in self._connection.execute(rows, (max(2, self._settings.chunk_rows),))]

    def _export(self) -> ExportedSnapshot:
        self.end_snapshot()
        random = secrets.token_hex(4)
        # A name of its own each time: the slot of a lost session lives on until the server notices the loss.
        slot = f"{self._settings.slot[: _SLOT_NAME - len(random) - 3]}_s_{random}"
        self._snapshot = ExportedSnapshot(self._settings, slot)
        return self._snapshot

    def more_chunks(self, parallelism: int, unread: Sequence[Split], known: Known) -> list[Split]:
        """Return splits with unread chunks in a new snapshot if the former one was lost, and the former ones empty."""
        if not unread:
            return []
        if self._snapshot is not None and self._snapshot.is_alive(self._connection):
            return []
        snapshot = self._export()
        renewed = []
        for split in unread:
            chunk = replace(chunk_of(split.split_id), snapshot=snapshot.name, position=snapshot.lsn)
            renewed += [split.grown_to(split.start, (), grows=False), chunk.split(self._settings.chunk_rows)]
        return renewed

    # --- the log -----------------------------------------------------------------------------------------------------

    def log_split(self, log: Log, start: int) -> Split:
        """Return the split of the log from an LSN."""
        return Split(log.split_id, 0, start, max(start, self._end()), grows=True)

    def grown(self, split: Split) -> Split:
        """Return the split up to what the server has written."""
        return split.grown_to(max(split.end, self._end()), (), grows=True)

    def _end(self) -> int:
        return lsn_of(self._connection, "SELECT pg_current_wal_flush_lsn()")

    def end_snapshot(self) -> None:
        """Release the snapshot."""
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None:
            with suppress(Exception):
                snapshot.close()

    def close(self) -> None:
        """Close all connections."""
        self.end_snapshot()
        connection, self._connected = self._connected, None
        if connection is not None:
            with suppress(Exception):
                connection.close()
