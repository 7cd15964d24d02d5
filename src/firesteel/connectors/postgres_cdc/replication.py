"""What a source needs on the server: a publication, a replication slot, and a snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.server import connect, lsn_number, lsn_of, lsn_text
from firesteel.connectors.postgres_cdc.settings import CdcSettings

if TYPE_CHECKING:
    from psycopg import Connection


def prepare(tables: Sequence[CdcSettings], connection: Connection[tuple[object, ...]]) -> int:
    """Create what is missing of publication and slot; return the LSN from which the slot has changes.

    Args:
        tables: The settings of each table.
        connection: A connection.

    Raises:
        PostgresCdcError: the server does not decode its log, or one of the two is missing and must not be created.
    """
    level = connection.execute("SHOW wal_level").fetchone()
    if level != ("logical",):
        raise PostgresCdcError(f"postgres-cdc: the server has wal_level = {level and level[0]}; logical is needed")
    settings = tables[0]
    for table in tables:
        _publish(table, connection)
    if find_slot(settings, connection) is None:
        if settings.startup == "committed-offset":
            raise PostgresCdcError(
                f"postgres-cdc: 'scan.startup.mode' is committed-offset, but there is no slot {settings.slot!r}"
            )
        connection.execute("SELECT pg_create_logical_replication_slot(%s, 'pgoutput')", (settings.slot,))
    slot = require_slot(settings, connection)
    if settings.startup == "committed-offset":
        return slot
    # A slot from before may lack the publication; what is read begins after this point anyway.
    return lsn_of(
        connection,
        "SELECT end_lsn FROM pg_replication_slot_advance(%s, greatest(pg_current_wal_flush_lsn(), %s::pg_lsn))",
        settings.slot,
        lsn_text(slot),
    )


def _publish(settings: CdcSettings, connection: Connection[tuple[object, ...]]) -> None:
    from psycopg.sql import SQL, Identifier

    address, name = settings.address, settings.publication
    at = (name, address.schema, address.table)
    found = "SELECT 1 FROM pg_publication_tables WHERE pubname = %s AND schemaname = %s AND tablename = %s"
    if connection.execute(found, at).fetchone() is not None:
        return
    mode = settings.creates_publication
    exists = connection.execute("SELECT 1 FROM pg_publication WHERE pubname = %s", (name,)).fetchone() is not None
    if mode == "disabled" or (exists and mode == "all_tables"):
        raise PostgresCdcError(f"postgres-cdc: {address} is in no publication {name!r}; create it, or add the table")
    table = Identifier(address.schema, address.table)
    if mode == "all_tables":
        statement = SQL("CREATE PUBLICATION {} FOR ALL TABLES").format(Identifier(name))
    elif exists:
        statement = SQL("ALTER PUBLICATION {} ADD TABLE {}").format(Identifier(name), table)
    else:
        statement = SQL("CREATE PUBLICATION {} FOR TABLE {}").format(Identifier(name), table)
    connection.execute(statement)


def find_slot(settings: CdcSettings, connection: Connection[tuple[object, ...]]) -> tuple[object, ...] | None:
    """Return the slot: plugin, database, `wal_status`, and the LSN from which it has changes; None if there is none."""
    return connection.execute(
        "SELECT plugin, database, wal_status, confirmed_flush_lsn - '0/0' FROM pg_replication_slots "
        "WHERE slot_name = %s",
        (settings.slot,),
    ).fetchone()


def require_slot(settings: CdcSettings, connection: Connection[tuple[object, ...]]) -> int:
    """Return the LSN from which the slot has changes.

    Raises:
        PostgresCdcError: it is gone, has lost its log, or is of another plugin or database.
    """
    found, name = find_slot(settings, connection), settings.slot
    anew = "start the job without its savepoint, with 'scan.startup.mode' = 'initial', to read the table anew"
    if found is None:
        raise PostgresCdcError(f"postgres-cdc: the replication slot {name!r} does not exist any more: {anew}")
    plugin, database, status, lsn = found
    if status == "lost":
        raise PostgresCdcError(
            f"postgres-cdc: the server has removed the log of slot {name!r} (max_slot_wal_keep_size): "
            f"drop it, and {anew}"
        )
    if plugin != "pgoutput" or database != settings.address.database:
        raise PostgresCdcError(
            f"postgres-cdc: slot {name!r} is of plugin {plugin} and database {database}; needed are pgoutput and "
            f"{settings.address.database}"
        )
    return int(str(lsn))


class ExportedSnapshot:
    """A snapshot of the database that other sessions can read, as long as this one is open.

    A temporary slot exports it, so that it shows exactly the transactions that committed before an LSN. The snapshot of
    a transaction does not tell: a commit is in the log some time before others see it.

    Attributes:
        name: Name of the snapshot.
        lsn: The LSN.
    """

    def __init__(self, settings: CdcSettings, slot: str) -> None:
        self._connection = connect(settings.address, replication="database")
        self._slot = slot
        command = f'CREATE_REPLICATION_SLOT "{slot}" TEMPORARY LOGICAL pgoutput EXPORT_SNAPSHOT'
        result = self._connection.pgconn.exec_(command.encode())
        if result.ntuples != 1:
            self.close()
            raise PostgresCdcError(f"postgres-cdc: no snapshot: {result.error_message.decode().strip()}")
        values = [(result.get_value(0, column) or b"").decode() for column in range(3)]
        self.name, self.lsn = values[2], lsn_number(values[1])

    def is_alive(self, connection: Connection[tuple[object, ...]]) -> bool:
        """Return whether the session is open; a command in it would end the snapshot."""
        query = "SELECT 1 FROM pg_replication_slots WHERE slot_name = %s AND active"
        return connection.execute(query, (self._slot,)).fetchone() is not None

    def close(self) -> None:
        """Release the snapshot."""
        self._connection.close()
