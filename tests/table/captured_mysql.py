"""A MariaDB server whose tables are captured."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pymysql

from tests.datastream.connectors import database_servers

LOG = (
    "--log-bin=binlog",
    "--server-id=1",
    "--binlog-format=ROW",
    "--binlog-row-image=FULL",
)
NAMES = ("--binlog-row-metadata=FULL",)
KEEPS = ("--innodb-flush-log-at-trx-commit=2",)
"""A killed server loses nothing."""


@dataclass(frozen=True)
class MySqlServer:
    """A server that writes its log."""

    url: str
    pid_file: str = ""

    @property
    def port(self) -> int:
        """Its port at 127.0.0.1."""
        return int(self.url.split(":")[-1].split("/")[0])

    def connect(self) -> pymysql.Connection[Any]:
        """A connection to the database `test`."""
        at = {"host": "127.0.0.1", "port": self.port, "user": "tester", "password": "se&cret", "database": "test"}
        return pymysql.connect(**at, autocommit=True)

    def execute(self, *statements: str) -> list[Any]:
        """Run statements, each in its own transaction, and return the rows of the last one."""
        with closing(self.connect()) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
            return list(cursor.fetchall())

    def crash(self) -> None:
        """Kill the server."""
        with suppress(OSError):
            os.kill(int(Path(self.pid_file).read_text()), signal.SIGKILL)

    def options(self, table: str, **more: str) -> dict[str, str]:
        """The options of a captured table."""
        given = {
            "connector": "mysql-cdc",
            "hostname": "127.0.0.1",
            "port": str(self.port),
            "username": "tester",
            "password": "se&cret",
            "database-name": "test",
            "table-name": table,
            "server-time-zone": "UTC",
        }
        return given | more


@contextmanager
def mysql_server(*, is_restarted: bool = False, has_names: bool = True) -> Iterator[MySqlServer]:
    """A server of our own with a log of rows.

    Args:
        has_names: Whether the log has names of columns; by default a server writes none.
        is_restarted: Whether it is started again when it ends.
    """
    with database_servers.mariadb(*LOG, *(NAMES if has_names else ()), *KEEPS, is_restarted=is_restarted) as url:
        found = MySqlServer(url.removeprefix("jdbc:").partition("?")[0])
        yield replace(found, pid_file=found.execute("SELECT @@pid_file")[0][0])
