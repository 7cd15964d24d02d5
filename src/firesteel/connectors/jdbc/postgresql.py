"""PostgreSQL for `JdbcSink` and `JdbcSource`, with the driver `psycopg` (`pip install 'firesteel[postgresql]'`)."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, urlsplit

from firesteel.common.optional_package import optional_package
from firesteel.common.options.sensitive_values import masked_text
from firesteel.common.typeinfo import BasicType, ElementTypeInfo, TypeInformation
from firesteel.connectors.jdbc.database import BOOKKEEPING, UPSERT, Convert, Rows, column_converter, fetch_rows

if TYPE_CHECKING:
    from types import ModuleType

    from firesteel.common.time import Instant
    from firesteel.connectors.jdbc.connections import Cursor


@dataclass(frozen=True, slots=True)
class PostgresDatabase:
    """A database of a PostgreSQL server."""

    parameter: ClassVar[str] = "%s"
    percent: ClassVar[str] = "%%"
    begin: ClassVar[str] = "BEGIN"
    lock: ClassVar[str | None] = "SELECT pg_advisory_xact_lock(hashtext(%s))"
    upsert: ClassVar[str] = UPSERT
    url: str = field(repr=False)
    options: tuple[tuple[str, str], ...] = field(repr=False)

    def connect(self) -> Any:
        """Return a connection."""
        return _psycopg(self.url).connect(self.url, autocommit=True, **dict(self.options))

    def create_bookkeeping(self, cursor: Cursor) -> None:
        """Create the table of commits; the lock is needed because concurrent creation by two sessions would fail."""
        cursor.execute(
            "DO $$ BEGIN IF to_regclass('firesteel_commits') IS NULL THEN "
            f"PERFORM pg_advisory_xact_lock(hashtext('firesteel_commits')); {BOOKKEEPING}; END IF; END $$"
        )

    def rows(self, connection: Any, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
        """Yield the rows of a query with a server-side cursor."""
        # Cursors on the server exist within a transaction only.
        with connection.transaction():
            yield from fetch_rows(connection.cursor(name="firesteel"), sql, parameters, fetch_size)

    def converter(self, type_info: TypeInformation[Any]) -> Convert | None:
        """Return None for all types but Instant; lists become arrays."""
        return column_converter(type_info, _TYPES, "PostgreSQL")

    def is_transient(self, error: Exception) -> bool:
        """Return whether the error is a lost connection, a deadlock or a serialization failure."""
        return isinstance(error, _psycopg(self.url).OperationalError)


def _psycopg(url: str) -> ModuleType:
    with optional_package(f"JDBC: {masked_text(url)}", "psycopg", "postgresql"):
        import psycopg
    return psycopg


def postgres_of(url: str, user_name: str | None, password: str | None) -> PostgresDatabase:
    """Return the database at `postgresql://<host>:<port>/<name>`, with JDBC's properties translated to libpq's."""
    parts = urlsplit(url)
    options = {"user": user_name, "password": password}
    for name, value in parse_qsl(parts.query):
        if name == "currentSchema":
            options["options"] = f"-csearch_path={value}"
        else:
            options[_PROPERTIES.get(name, name)] = value
    address = parts._replace(query="").geturl()
    return PostgresDatabase(address, tuple((name, value) for name, value in options.items() if value is not None))


_PROPERTIES = {"ApplicationName": "application_name", "connectTimeout": "connect_timeout"}


def _instant(value: Instant) -> datetime.datetime:
    moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
    return moment.replace(microsecond=value.nanos // 1000)


_TYPES: dict[Any, Convert | None] = {BasicType.INSTANT: _instant, ElementTypeInfo: None}
