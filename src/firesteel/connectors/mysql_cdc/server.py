"""The server: connections, and positions of its log as numbers.

A position is the number of a file of the log and a place in this file, as one number: positions of later files are
larger. Places are below 2**36, more than files of the log can have.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlencode

from firesteel.common.optional_package import optional_package
from firesteel.connectors.cdc.errors import ANEW
from firesteel.connectors.jdbc.mysql import mysql_of
from firesteel.connectors.mysql_cdc.settings import CdcSettings, MySqlCdcError, Server

if TYPE_CHECKING:
    from types import ModuleType

    from pymysql.connections import Connection

_RETRY_S = 0.5
_PLACE_BITS = 36
_FIRST_PLACE = 4
_SYNTAX_ERROR = 1064

_NEEDED = {
    "log_bin": ("ON", "1"),
    "binlog_format": ("ROW",),
    "binlog_row_image": ("FULL",),
    "log_bin_compress": ("OFF", "0", None),
    "binlog_transaction_compression": ("OFF", "0", None),
    "binlog_row_value_options": ("", None),
}
"""What variables of the server must be; None: the server may not have them."""

_NAMES = "binlog_row_metadata"
"""Whether the log has names of columns."""


def pymysql_library() -> ModuleType:
    """Return the module `pymysql`.

    Raises:
        ModuleNotFoundError: it, or `pymysqlreplication`, is not installed.
    """
    with optional_package("mysql-cdc", "mysql-replication", "mysql-cdc"):
        import pymysqlreplication  # noqa: F401
    import pymysql

    library: ModuleType = pymysql
    return library


def connection_arguments(server: Server) -> dict[str, object]:
    """Return the arguments of `pymysql.connect`; times of the session are in UTC."""
    url = f"mysql://{server.hostname}:{server.port}/?{urlencode(server.properties)}"
    given = mysql_of(url, server.username, server.password).options
    at: dict[str, object] = {"host": server.hostname, "port": server.port, "connect_timeout": server.timeout_s}
    # A reader waits between batches, and for slower operators within one: the server must not close its connection.
    session = "SET time_zone = '+00:00', net_write_timeout = 86400, wait_timeout = 86400"
    return {**at, **dict(given), "charset": "utf8mb4", "autocommit": True, "init_command": session}


def connect(server: Server, **more: object) -> Connection:
    """Return a connection.

    Args:
        server: The server.
        more: Arguments of `pymysql.connect`.

    Raises:
        MySqlCdcError: there is no connection after all attempts.
    """
    library = pymysql_library()
    for attempt in range(server.retries + 1):
        try:
            return library.connect(**connection_arguments(server), **more)
        except library.err.OperationalError as error:
            if attempt == server.retries:
                raise MySqlCdcError(f"mysql-cdc: {server}: {error}") from error
            time.sleep(_RETRY_S)
    raise AssertionError("unreachable")


def query(connection: Connection, statement: str, parameters: Sequence[object] = ()) -> list[tuple[object, ...]]:
    """Return the rows of a statement."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters or None)
        return list(cursor.fetchall())


def variables(connection: Connection, statement: str) -> dict[str, str]:
    """Return variables by name, as a SHOW statement has them."""
    return {str(name): str(value) for name, value in query(connection, statement)}


class LogFiles(NamedTuple):
    """The names of the files of the log: a name, and a number of at least so many digits after a dot."""

    name: str
    digits: int

    def file(self, position: int) -> tuple[str, int]:
        """Return the file of a position, and the place in it."""
        number, place = position >> _PLACE_BITS, position & (1 << _PLACE_BITS) - 1
        return f"{self.name}.{number:0{self.digits}d}", place

    def position(self, file: str, place: int) -> int:
        """Return the position of a place in a file.

        Raises:
            MySqlCdcError: the file is of another log.
        """
        name, _, number = file.rpartition(".")
        if name != self.name or not number.isdecimal():
            raise MySqlCdcError(f"mysql-cdc: the log has files {self.name}.*, found {file}: {ANEW}")
        return position_in(int(number), place)


def position_in(number: int, place: int = _FIRST_PLACE) -> int:
    """Return the position of a place in a file with a number."""
    return (number << _PLACE_BITS) + place


def next_file(position: int) -> int:
    """Return where the file after that of a position begins."""
    return position_in((position >> _PLACE_BITS) + 1)


def files_like(file: str) -> LogFiles:
    """Return the names of the files of a log, of which one is known.

    Example:
        >>> files = files_like("binlog.000012")
        >>> files.file(files.position("binlog.000013", 400))
        ('binlog.000013', 400)
    """
    name, _, number = file.rpartition(".")
    return LogFiles(name, len(number))


def files_of(connection: Connection) -> LogFiles:
    """Return the names of the files of the log."""
    return files_like(log_end(connection)[0])


def log_end(connection: Connection) -> tuple[str, int]:
    """Return the file and the place behind the last transaction."""
    try:
        rows = query(connection, "SHOW MASTER STATUS")
    except pymysql_library().err.ProgrammingError as error:
        if error.args[0] != _SYNTAX_ERROR:
            raise
        rows = query(connection, "SHOW BINARY LOG STATUS")  # MySQL 8.4
    if not rows:
        raise MySqlCdcError("mysql-cdc: the server has no log: log_bin must be on")
    return str(rows[0][0]), int(str(rows[0][1]))


def snapshot_position(connection: Connection) -> int:
    """Return a position up to which the transaction of a connection may see changes.

    MariaDB knows up to which one it does: a commit is in the log some time before others see it.
    """
    if is_mariadb(connection):
        found = variables(connection, "SHOW STATUS LIKE 'binlog_snapshot_%'")
        file, place = found["Binlog_snapshot_file"], int(found["Binlog_snapshot_position"])
    else:
        file, place = log_end(connection)
    return files_like(file).position(file, place)


def log_files(connection: Connection) -> dict[str, int]:
    """Return the files of the log and their sizes, in their order."""
    return {str(row[0]): int(str(row[1])) for row in query(connection, "SHOW BINARY LOGS")}


def identity(connection: Connection) -> str:
    """Return what tells the server, and with it the positions of its log, from another one."""
    values = variables(connection, "SHOW VARIABLES WHERE Variable_name IN ('server_uuid', 'server_id')")
    return values.get("server_uuid") or f"server_id {values['server_id']}"


def is_mariadb(connection: Connection) -> bool:
    """Return whether the server is MariaDB."""
    return "mariadb" in str(query(connection, "SELECT version()")[0][0]).lower()


def check_server(connection: Connection, settings: CdcSettings) -> None:
    """Check that the log has whole rows, and names of columns where those of now may not be those of then.

    Raises:
        MySqlCdcError: a variable of the server has another value.
    """
    needed = _NEEDED if settings.begins_now else {**_NEEDED, _NAMES: ("FULL",)}
    names = ", ".join(f"'{name}'" for name in needed)
    found = variables(connection, f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")
    for name, allowed in needed.items():
        value = found.get(name)
        if (None if value is None else value.upper()) not in allowed:
            wanted = next(repr(one) for one in allowed if one is not None)
            where = f" with 'scan.startup.mode' = '{settings.startup}'" if name == _NAMES else ""
            raise MySqlCdcError(f"mysql-cdc: server {settings.server} has {name} = {value}; {wanted} is needed{where}")
