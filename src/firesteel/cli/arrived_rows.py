"""The rows of a running query, as its screen shows them from one refresh to the next."""

from __future__ import annotations

import threading
from collections import deque

from firesteel.common.types import Row
from firesteel.table.environment.materialized_rows import MaterializedRows

__all__ = ["CHANGES_KEPT", "ArrivedRows"]

CHANGES_KEPT = 1000
"""How many changes the result mode `changelog` keeps, as in Flink."""


class ArrivedRows:
    """Takes changes from the thread that collects them, and keeps as many rows as the screen can show.

    Changes are applied when they arrive. A queue of them would grow without bound until the next refresh, for which a
    user can let the query wait forever. Flink: `MaterializedCollectStreamResult`, and `ChangelogCollectResult`, which
    lets the query wait instead.

    Args:
        most: Maximum number of rows of the table; None: keep the changes themselves, the last ones of them.
    """

    def __init__(self, most: int | None) -> None:
        self.is_changelog = most is None
        self._changes: deque[Row] = deque(maxlen=CHANGES_KEPT)
        self._left = MaterializedRows(most)
        self._received = 0
        self._taken = 0
        self._lock = threading.Lock()

    def add(self, row: Row) -> None:
        """Apply a change."""
        with self._lock:
            self._received += 1
            if self.is_changelog:
                self._changes.append(row)
            else:
                self._left.add(row)

    @property
    def has_news(self) -> bool:
        """Return whether changes have arrived since the last `take`."""
        return self._received > self._taken

    def take(self) -> tuple[list[Row], int]:
        """Return the rows as they are now, and how many changes have arrived."""
        with self._lock:
            self._taken = self._received
            return list(self._changes) if self.is_changelog else self._left.rows(), self._received
