"""Reads ranges of the server's log through a temporary copy of the slot.

The slot itself stays at the last checkpoints, so that they can be restored. The copy belongs to the session of one
reader and goes on from batch to batch: the server does not decode the log since the checkpoint each time.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from firesteel.columns.batch import Kind
from firesteel.connectors.cdc.splits import Log
from firesteel.connectors.postgres_cdc.changes import ChangeReader, Texts
from firesteel.connectors.postgres_cdc.pgoutput import (
    Begin,
    PostgresCdcError,
    Relation,
    RowChange,
    Truncate,
    parse,
)
from firesteel.connectors.postgres_cdc.replication import require_slot
from firesteel.connectors.postgres_cdc.server import connect, lsn_text
from firesteel.connectors.postgres_cdc.settings import CdcSettings

if TYPE_CHECKING:
    from psycopg import Connection

_CHANGES = (
    "SELECT data FROM pg_logical_slot_get_binary_changes(%s, %s, NULL, 'proto_version', '1', 'publication_names', %s)"
)


class LoggedChange(NamedTuple):
    """A row of a change: its table, kind, values, and the time of the commit (ms)."""

    table: str
    kind: Kind
    texts: Texts
    time_ms: int


class LogReader:
    """A reader of the log from a position.

    Args:
        settings: The settings of the source.
        tables: The settings of each table.
        log: The log.
        position: The LSN to start from.

    Attributes:
        position: The LSN up to which the log was read.

    Raises:
        PostgresCdcError: the slot is gone, or was advanced beyond the position.
    """

    def __init__(self, settings: CdcSettings, tables: Sequence[CdcSettings], log: Log, position: int) -> None:
        self._settings = settings
        self.position = position
        self._ahead: list[bytes] = []
        self._connection: Connection[tuple[object, ...]] = connect(settings.address)
        try:
            confirmed = require_slot(settings, self._connection)
            if confirmed > position:
                raise PostgresCdcError(
                    f"postgres-cdc: slot {settings.slot!r} was advanced to {lsn_text(confirmed)}, so the changes after "
                    f"{lsn_text(position)} are lost, where this checkpoint or savepoint goes on. Restore a later "
                    "one, or start the job without one to read the table anew; "
                    "'scan.lsn-commit.checkpoints-num-delay' keeps more"
                )
            # Readers of a failed attempt may still have their copies.
            self._copy = f"{settings.slot[:50]}_r_{secrets.token_hex(4)}"
            copy = "SELECT pg_copy_logical_replication_slot(%s, %s, true)"
            self._connection.execute(copy, (settings.slot, self._copy))
            self._changes = [ChangeReader(table, log) for table in tables]
        except BaseException:
            self.close()
            raise

    def read(self, end: int) -> Iterator[LoggedChange]:
        """Yield the changes of transactions that committed before an LSN.

        Raises:
            PostgresCdcError: a change is refused.
        """
        # Until all is read, so that a reader which was left halfway is not taken for one at some position.
        start, self.position = self.position, -1
        waiting, self._ahead = self._ahead, []
        commit_lsn = commit_ms = 0
        for data in self._messages(waiting, end):
            message = parse(data)
            if isinstance(message, Begin):
                commit_lsn, commit_ms = message.commit_lsn, message.commit_ms
            # The server decodes whole records: the last of them may be a commit behind the end.
            if commit_lsn >= end:
                self._ahead.append(data)
            elif isinstance(message, Relation):
                for changes in self._changes:
                    changes.see(message)
            # The copy begins where the slot is, at an earlier checkpoint.
            elif commit_lsn < start:
                continue
            elif isinstance(message, RowChange):
                for changes in self._changes:
                    for kind, texts in changes.rows(message, commit_lsn):
                        yield LoggedChange(changes.table, kind, texts, commit_ms)
            elif isinstance(message, Truncate):
                for changes in self._changes:
                    changes.check_truncate(message)
        self.position = end

    def _messages(self, waiting: list[bytes], end: int) -> Iterator[bytes]:
        yield from waiting
        # Streamed: the changes of one transaction may be larger than memory.
        with self._connection.cursor(binary=True) as cursor:
            publication = '"' + self._settings.publication.replace('"', '""') + '"'
            for (data,) in cursor.stream(_CHANGES, (self._copy, lsn_text(end), publication)):
                assert isinstance(data, bytes)
                yield data

    def close(self) -> None:
        """Close the session, which removes the copy of the slot."""
        with suppress(Exception):
            self._connection.close()
