"""Little memory for state in columns."""

from __future__ import annotations

import tempfile


class FixedSpill:
    """So many bytes for entries, and a directory for the others."""

    def __init__(self, limit: int) -> None:
        self.directory = tempfile.gettempdir()
        self.used = 0
        self._limit = limit

    def allowed(self) -> int:
        return self._limit
