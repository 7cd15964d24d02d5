"""The database behind the address that a JDBC connector was given."""

from __future__ import annotations

from firesteel.datastream.connectors.jdbc_database import Database
from firesteel.datastream.connectors.jdbc_mysql import mysql_of
from firesteel.datastream.connectors.jdbc_postgresql import postgres_of
from firesteel.datastream.connectors.jdbc_sqlite import sqlite_of


def database_of(url: str, user_name: str | None, password: str | None) -> Database:
    """Return the database behind an address, such as `jdbc:postgresql://host:port/name`; `jdbc:` may be left out.

    Raises:
        ValueError: the address is of another kind, or incomplete.
    """
    plain = url.removeprefix("jdbc:")
    scheme = plain.split(":", 1)[0]
    if scheme == "sqlite":
        return sqlite_of(plain)
    if scheme in ("postgresql", "postgres"):
        return postgres_of(plain, user_name, password)
    if scheme in ("mysql", "mariadb"):
        return mysql_of(plain, user_name, password)
    raise ValueError(
        f"JDBC: no driver for {url!r}; there are jdbc:sqlite:<path>, jdbc:postgresql://<host>:<port>/<database>, "
        "jdbc:mysql://... and jdbc:mariadb://..."
    )
