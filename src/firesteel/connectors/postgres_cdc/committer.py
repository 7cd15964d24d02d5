"""Advances the replication slot after completed checkpoints, so that the server can remove its log."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import ClassVar

from firesteel.connectors.cdc.splits import is_log
from firesteel.connectors.postgres_cdc.pgoutput import PostgresCdcError
from firesteel.connectors.postgres_cdc.server import connect, lsn_text, psycopg_library
from firesteel.connectors.postgres_cdc.settings import CdcSettings
from firesteel.functions.connector_base import CommitRequest, Committer

logger = logging.getLogger(__name__)

_completed: dict[tuple[str, int, str], deque[int]] = {}
"""The positions of the last checkpoints by slot; after a restart the slot waits for new ones."""


_ADVANCE = (
    "SELECT end_lsn FROM pg_replication_slot_advance(%s, greatest(%s::pg_lsn, "
    "(SELECT confirmed_flush_lsn FROM pg_replication_slots WHERE slot_name = %s)))"
)


@dataclass(frozen=True)
class SlotCommitter(Committer):
    """Advances the slot of a source.

    The job restores its positions from its checkpoint, so errors are logged and ignored: the slot then keeps more of
    the log than it must.

    Attributes:
        settings: The settings of the source.
    """

    commits_data: ClassVar[bool] = True

    settings: CdcSettings

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Advance the slot to an earlier checkpoint, see `CdcSettings.kept_checkpoints`."""
        positions = [lsn for each in requests for split, lsn in each.committable.items() if is_log(split)]
        if not positions:
            return
        settings = self.settings
        kept = _completed.setdefault((settings.address.hostname, settings.address.port, settings.slot), deque())
        # A checkpoint may be committed again, and restored ones are older.
        if not kept or kept[-1] < max(positions):
            kept.append(max(positions))
        if len(kept) <= settings.kept_checkpoints:
            return
        while len(kept) > settings.kept_checkpoints + 1:
            kept.popleft()
        try:
            with closing(connect(settings.address)) as connection:
                connection.execute(_ADVANCE, (settings.slot, lsn_text(kept[0]), settings.slot))
        except (PostgresCdcError, psycopg_library().Error) as error:
            logger.warning("could not advance the replication slot %r: %s", settings.slot, error)
