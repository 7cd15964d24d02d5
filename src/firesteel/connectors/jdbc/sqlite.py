"""SQLite for `JdbcSink` and `JdbcSource`, with Python's `sqlite3`."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from firesteel.common.typeinfo import BasicType, DateTypeInfo, TimestampTypeInfo, TimeTypeInfo, TypeInformation
from firesteel.connectors.jdbc.database import BOOKKEEPING, UPSERT, Convert, Rows, column_converter, fetch_rows

if TYPE_CHECKING:
    from firesteel.common.time import Instant
    from firesteel.connectors.jdbc.connections import Connection, Cursor


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A SQLite file; times are stored as text such as `2024-01-31 12:00:00`, and decimals as text, too."""

    parameter: ClassVar[str] = "?"
    percent: ClassVar[str] = "%"
    # It takes the lock at once. A transaction that only reads first is refused when it writes after another one did.
    begin: ClassVar[str] = "BEGIN IMMEDIATE"
    lock: ClassVar[str | None] = None
    upsert: ClassVar[str] = UPSERT
    path: str

    def connect(self) -> Connection:
        """Return a connection that waits up to a minute for other writers."""
        import sqlite3

        return sqlite3.connect(self.path, timeout=60, isolation_level=None)

    def create_bookkeeping(self, cursor: Cursor) -> None:
        """Create the table of commits."""
        cursor.execute(BOOKKEEPING)

    def rows(self, connection: Connection, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
        """Yield the rows of a query."""
        return fetch_rows(connection.cursor(), sql, parameters, fetch_size)

    def converter(self, type_info: TypeInformation[Any]) -> Convert | None:
        """Return None for whole numbers, text and bytes, otherwise a function that converts values to text."""
        return column_converter(type_info, _TYPES, "SQLite")

    def is_transient(self, error: Exception) -> bool:
        """Return whether the file is locked by others."""
        import sqlite3

        return getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def sqlite_of(url: str) -> SqliteDatabase:
    """Return the database at `sqlite:<path>` or `sqlite://<path>`.

    Raises:
        ValueError: the address does not name a file.
    """
    path = url.removeprefix("sqlite:").removeprefix("//").split("?")[0]
    if path in ("", ":memory:"):
        raise ValueError(f"JDBC: {url!r} is private to one connection; use the path of a file")
    return SqliteDatabase(path)


def _timestamp_text(value: datetime.datetime) -> str:
    return value.isoformat(" ")


def _instant_text(value: Instant) -> str:
    moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
    return _timestamp_text(moment.replace(microsecond=value.nanos // 1000))


def _iso_text(value: datetime.date | datetime.time) -> str:
    return str(value.isoformat())


def _number(value: float) -> float:
    if value != value:
        raise ValueError("SQLite has no NaN and would store NULL")
    return value


def _int64_or_text(value: int) -> object:
    return value if -(2**63) <= value < 2**63 else str(value)


_TYPES: dict[Any, Convert | None] = {
    BasicType.BOOLEAN: int,
    BasicType.FLOAT: _number,
    BasicType.DOUBLE: _number,
    BasicType.BIG_INT: _int64_or_text,
    BasicType.BIG_DEC: str,
    BasicType.INSTANT: _instant_text,
    DateTypeInfo: _iso_text,
    TimeTypeInfo: _iso_text,
    TimestampTypeInfo: _timestamp_text,
}
