"""Connections and cursors of databases, as far as they are used here (PEP 249)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol


class Cursor(Protocol):
    """Runs statements and holds the result of the last query."""

    def execute(self, sql: str, parameters: Sequence[object] = ..., /) -> object:
        """Run a statement."""

    def executemany(self, sql: str, rows: Sequence[Sequence[object]], /) -> object:
        """Run a statement for each row of parameters."""

    def fetchmany(self, size: int = ..., /) -> Sequence[Sequence[Any]]:
        """Return the next rows; none at the end."""

    def fetchall(self) -> Sequence[Sequence[Any]]:
        """Return all rows that are left."""

    def close(self) -> None:
        """Release the result."""


class Connection(Protocol):
    """A connection in autocommit mode."""

    def cursor(self) -> Cursor:
        """Return a new cursor."""

    def close(self) -> None:
        """Close the connection."""
