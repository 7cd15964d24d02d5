"""Advances the replication slot after completed checkpoints, so that the server can remove its log."""

from __future__ import annotations

import logging
import secrets
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.server import connect, lsn_number, lsn_text, psycopg_library
from firesteel.connectors.postgres_cdc.settings import CdcSettings
from firesteel.connectors.postgres_cdc.splits import is_log
from firesteel.functions.connector_base import CommitRequest, Committer

if TYPE_CHECKING:
    from psycopg import Connection

logger = logging.getLogger(__name__)

_completed: dict[tuple[str, int, str], deque[int]] = {}
"""The positions of the last checkpoints by slot; after a restart the slot waits for new ones."""


@dataclass(frozen=True)
class SlotCommitter(Committer):
    """Advances the slot of a source.

    The job restores its positions from its checkpoint, so errors are logged and ignored: the slot then keeps more of
    the log than it must.

    Attributes:
        settings: The settings of the source.
    """

    settings: CdcSettings

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Advance the slot to an earlier checkpoint, see `CdcSettings.kept_checkpoints`."""
        positions = [lsn for each in requests for split, lsn in each.committable.items() if is_log(split)]
        if not positions:
            return
        settings = self.settings
        kept = _completed.setdefault((settings.address.hostname, settings.address.port, settings.slot), deque())
        if not kept or kept[-1] < max(positions):
            kept.append(max(positions))
        if len(kept) < settings.kept_checkpoints + 2:
            return
        while len(kept) > settings.kept_checkpoints + 2:
            kept.popleft()
        try:
            with closing(connect(settings.address)) as connection:
                _advance(settings.slot, kept[0], kept[1], connection)
        except (PostgresCdcError, psycopg_library().Error) as error:
            logger.warning("could not advance the replication slot %r: %s", settings.slot, error)


def _advance(slot: str, after: int, limit: int, connection: Connection[tuple[object, ...]]) -> None:
    """Advance a slot to the first record of the log that begins after an LSN, unless that is above the limit.

    A slot advances by whole records, and a checkpoint may be in one. A copy shows where the record ends: else the slot
    might skip a commit that the checkpoint does not have.
    """
    copy = f"{slot[:50]}_c_{secrets.token_hex(4)}"
    connection.execute("SELECT pg_copy_logical_replication_slot(%s, %s, true)", (slot, copy))
    advance = "SELECT end_lsn FROM pg_replication_slot_advance(%s, greatest(%s::pg_lsn, (SELECT confirmed_flush_lsn " \
              "FROM pg_replication_slots WHERE slot_name = %s)))"  # fmt: skip
    row = connection.execute(advance, (copy, lsn_text(after), copy)).fetchone()
    assert row is not None
    if lsn_number(str(row[0])) <= limit:
        connection.execute(advance, (slot, str(row[0]), slot))
