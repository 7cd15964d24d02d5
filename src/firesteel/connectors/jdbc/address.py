"""Databases by their JDBC addresses."""

from __future__ import annotations

from firesteel.common.options.sensitive_values import masked_text
from firesteel.connectors.jdbc.database import Database
from firesteel.connectors.jdbc.mysql import mysql_of
from firesteel.connectors.jdbc.postgresql import postgres_of
from firesteel.connectors.jdbc.sqlite import sqlite_of


def database_of(url: str, user_name: str | None, password: str | None) -> Database:
    """Return the database at an address, such as `jdbc:postgresql://host:port/name`; `jdbc:` is optional.

    Raises:
        ValueError: the address is incomplete or of an unsupported kind.
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
        f"JDBC: no driver for {masked_text(url)!r}; use jdbc:sqlite:<path>, "
        "jdbc:postgresql://<host>:<port>/<database>, jdbc:mysql://... or jdbc:mariadb://..."
    )
