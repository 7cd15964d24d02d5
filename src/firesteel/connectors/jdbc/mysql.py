"""MySQL and MariaDB for `JdbcSink` and `JdbcSource`, with the driver `PyMySQL` (`pip install 'firesteel[mysql]'`)."""

from __future__ import annotations

import datetime
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from firesteel.common.optional_package import optional_package
from firesteel.common.options.sensitive_values import masked_text
from firesteel.common.typeinfo import BasicType, TypeInformation
from firesteel.connectors.jdbc.database import BOOKKEEPING, Convert, Rows, column_converter, fetch_rows

if TYPE_CHECKING:
    from firesteel.common.time import Instant
    from firesteel.connectors.jdbc.connections import Cursor

logger = logging.getLogger(__name__)

_TRANSIENT = frozenset({1040, 1053, 1158, 1159, 1160, 1161, 1205, 1213, 1927, 2002, 2003, 2006, 2013, 2055})
"""Too many connections, shutdown, network errors, lock wait timeout, deadlock, connection lost or refused."""


@dataclass(frozen=True, slots=True)
class MySqlDatabase:
    """A database of a MySQL or MariaDB server; its tables must be transactional (InnoDB).

    The session time zone is UTC, so that an Instant means the same in TIMESTAMP and DATETIME columns.
    """

    parameter: ClassVar[str] = "%s"
    percent: ClassVar[str] = "%%"
    begin: ClassVar[str] = "BEGIN"
    lock: ClassVar[str | None] = "SELECT GET_LOCK(SHA1(%s), 31536000)"  # released when the connection is closed
    upsert: ClassVar[str] = "ON DUPLICATE KEY UPDATE number = VALUES(number)"
    host: str
    port: int
    name: str
    options: tuple[tuple[str, Any], ...] = field(repr=False)

    def connect(self) -> Any:
        """Return a connection."""
        fixed = {"autocommit": True, "init_command": "SET time_zone = '+00:00'"}
        address = {"host": self.host, "port": self.port, "database": self.name or None}
        return self._pymysql().connect(**address, **dict(self.options), **fixed)

    def _pymysql(self) -> Any:
        where = f"mysql://{self.host}:{self.port}/{self.name}"
        with optional_package(f"JDBC: {where}", "PyMySQL", "mysql"):
            import pymysql
        return pymysql

    def create_bookkeeping(self, cursor: Cursor) -> None:
        """Create the table of commits; check first, as checking needs no privilege to create tables."""
        cursor.execute("SHOW TABLES LIKE 'firesteel\\_commits'")
        if not cursor.fetchall():
            # Binary collation: ids of sinks are case-sensitive.
            cursor.execute(f"{BOOKKEEPING} ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")

    def rows(self, connection: Any, sql: str, parameters: Sequence[Any], fetch_size: int) -> Rows:
        """Yield the rows of a query as the server sends them."""
        # PyMySQL's default cursor reads the whole result into memory before its first row.
        return fetch_rows(connection.cursor(self._pymysql().cursors.SSCursor), sql, parameters, fetch_size)

    def converter(self, type_info: TypeInformation[Any]) -> Convert | None:
        """Return None for all types but Instant, which is written in UTC."""
        return column_converter(type_info, _TYPES, "MySQL")

    def is_transient(self, error: Exception) -> bool:
        """Return whether the error is a lost connection, a deadlock or a lock wait timeout."""
        errors = self._pymysql().err
        if isinstance(error, errors.InterfaceError):
            return True
        code = error.args[0] if isinstance(error, errors.MySQLError) and error.args else None
        return code in _TRANSIENT


def mysql_of(url: str, user_name: str | None, password: str | None) -> MySqlDatabase:
    """Return the database at `mysql://<host>:<port>/<name>` or `mariadb://...`.

    JDBC's properties are translated to PyMySQL's; a warning names those without effect.

    Raises:
        ValueError: the address has no host, or a property has an invalid value.
    """
    parts = urlsplit(url)
    if not parts.hostname:
        raise ValueError(f"JDBC: {masked_text(url)!r} has no host; expected jdbc:mysql://<host>:<port>/<database>")
    options: dict[str, Any] = {"user": user_name or parts.username, "password": password or parts.password}
    ignored = []
    for key, value in parse_qsl(parts.query):
        if key in ("user", "password"):
            options[key] = options[key] or value
        elif key in _PROPERTIES:
            options.update(_PROPERTIES[key](value))
        else:
            ignored.append(key)
    if ignored:
        logger.warning("JDBC: properties without effect in the address of the database: %s", ", ".join(ignored))
    given = tuple((key, value) for key, value in options.items() if value is not None)
    return MySqlDatabase(parts.hostname, parts.port or 3306, unquote(parts.path.lstrip("/")), given)


_VERIFIED = {"ssl_verify_cert": True}
_UNVERIFIED = {"ssl": {"check_hostname": False, "verify_mode": "none"}}
_SSL_MODES: dict[str, dict[str, Any]] = {
    "disabled": {"ssl_disabled": True},
    "disable": {"ssl_disabled": True},
    "preferred": {},
    "required": _UNVERIFIED,
    "trust": _UNVERIFIED,
    "verify_ca": _VERIFIED,
    "verify-ca": _VERIFIED,
    "verify_identity": {**_VERIFIED, "ssl_verify_identity": True},
    "verify-full": {**_VERIFIED, "ssl_verify_identity": True},
}


def _ssl_mode(value: str) -> dict[str, Any]:
    mode = _SSL_MODES.get(value.lower())
    if mode is None:
        raise ValueError(f"JDBC: sslMode must be one of {', '.join(_SSL_MODES)}, found {value!r}")
    return mode


def _seconds(name: str, *, is_whole: bool = False) -> Callable[[str], dict[str, Any]]:
    def convert(milliseconds: str) -> dict[str, Any]:
        seconds = int(milliseconds) / 1000
        if not seconds:
            return {}  # JDBC: no limit
        return {name: max(1, round(seconds)) if is_whole else seconds}

    return convert


_PROPERTIES: dict[str, Callable[[str], dict[str, Any]]] = {
    "connectTimeout": _seconds("connect_timeout", is_whole=True),
    "socketTimeout": _seconds("read_timeout"),
    "sslMode": _ssl_mode,
    "useSSL": lambda value: _UNVERIFIED if value.lower() == "true" else {},
    "serverSslCert": lambda value: {"ssl_ca": value.removeprefix("file:")},
    "localSocket": lambda value: {"unix_socket": value},
    "characterEncoding": lambda value: {},  # PyMySQL sends text as UTF-8
    "useUnicode": lambda value: {},
    "rewriteBatchedStatements": lambda value: {},  # PyMySQL does so anyway
    "serverTimezone": lambda value: {},
}


def _utc(value: Instant) -> datetime.datetime:
    moment = datetime.datetime.fromtimestamp(value.seconds, datetime.UTC)
    return moment.replace(microsecond=value.nanos // 1000, tzinfo=None)


_TYPES: dict[Any, Convert | None] = {BasicType.INSTANT: _utc}
