"""The servers of `cdc_faults`: a table that is changed, totals of it, and a crash."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

import psycopg
import pymysql

from tests.table.captured_mysql import MySqlServer, mysql_server
from tests.table.captured_tables import Server, server

ROWS, CUSTOMERS = 20_000, 20
_EXAMPLES = Path(__file__).parents[2] / "examples"
_TOTALS = "customer int PRIMARY KEY, orders bigint, amount numeric(38, 2)"
_ORDERS = "id bigint PRIMARY KEY, customer int, amount numeric(10, 2)"

Execute = Callable[[str], object]


class Changed(Protocol):
    """A server whose table `orders` is changed."""

    program: Path
    lost: type[Exception]

    def query(self, query: str) -> list[Any]:
        """The rows of a query."""

    def session(self) -> contextlib.AbstractContextManager[Execute]:
        """What runs a statement in a session."""

    def has_job(self) -> bool:
        """Whether the job has begun to read."""

    def crash(self) -> None:
        """End the server; it comes again by itself."""

    def arguments(self) -> Sequence[str]:
        """The arguments of the program."""


def change(execute: Execute, rng: random.Random) -> None:
    """Change some rows in a transaction."""
    execute("BEGIN")
    key, other = rng.randrange(ROWS), rng.randrange(ROWS, 10 * ROWS)
    execute(f"UPDATE orders SET amount = amount + 1 WHERE id BETWEEN {key} AND {key + 9}")
    execute(f"UPDATE orders SET customer = {rng.randrange(CUSTOMERS)} WHERE id = {key + 20}")
    execute(f"DELETE FROM orders WHERE id IN ({rng.randrange(ROWS)}, {other})")
    execute(f"INSERT INTO orders VALUES ({other}, {key % 20}, 5)")
    execute("COMMIT")


class ChangedPostgres:
    """PostgreSQL; it ends all sessions and recovers from its log when one of its processes is killed."""

    program = _EXAMPLES / "postgres_cdc.py"
    lost = psycopg.Error

    def __init__(self, postgres: Server) -> None:
        self._postgres = postgres
        self.query = postgres.execute
        postgres.execute(
            f"CREATE TABLE orders ({_ORDERS})",
            "ALTER TABLE orders REPLICA IDENTITY FULL",
            f"CREATE TABLE totals ({_TOTALS})",
            f"INSERT INTO orders SELECT n, n % {CUSTOMERS}, n % 1000 FROM generate_series(1, {ROWS}) AS n",
        )

    @contextlib.contextmanager
    def session(self) -> Iterator[Execute]:
        with psycopg.connect(self._postgres.url, autocommit=True) as connection:
            yield connection.execute

    def has_job(self) -> bool:
        return bool(self.query("SELECT 1 FROM pg_replication_slots"))

    def crash(self) -> None:
        with contextlib.suppress(psycopg.Error), psycopg.connect(self._postgres.url) as connection:
            os.kill(connection.info.backend_pid, signal.SIGKILL)

    def arguments(self) -> Sequence[str]:
        at = urlsplit(self._postgres.url)
        return ("--host", str(at.hostname), "--port", str(at.port), "--user", "tester", "--password", "-")


class ChangedMariaDb:
    """MariaDB; it is started again when it is killed."""

    program = _EXAMPLES / "mysql_cdc.py"
    lost = pymysql.err.MySQLError

    def __init__(self, mysql: MySqlServer) -> None:
        self._mysql = mysql
        self.query = mysql.execute
        mysql.execute(
            f"CREATE TABLE orders ({_ORDERS})",
            f"CREATE TABLE totals ({_TOTALS})",
            f"INSERT INTO orders SELECT seq, seq % {CUSTOMERS}, seq % 1000 FROM seq_1_to_{ROWS}",
            "CREATE USER job@'%' IDENTIFIED BY 'job'",
            "GRANT ALL ON *.* TO job@'%'",
        )
        self.crash = mysql.crash

    @contextlib.contextmanager
    def session(self) -> Iterator[Execute]:
        with contextlib.closing(self._mysql.connect()) as connection, connection.cursor() as cursor:
            yield cursor.execute

    def has_job(self) -> bool:
        return bool(self.query("SELECT 1 FROM information_schema.processlist WHERE user = 'job'"))

    def arguments(self) -> Sequence[str]:
        return ("--host", "127.0.0.1", "--port", str(self._mysql.port), "--user", "job", "--password", "job")


@contextlib.contextmanager
def changed_postgres() -> Iterator[Changed]:
    """A PostgreSQL server."""
    with server() as found:
        yield ChangedPostgres(found)


@contextlib.contextmanager
def changed_mariadb() -> Iterator[Changed]:
    """A MariaDB server."""
    with mysql_server(is_restarted=True, has_names=False) as found:
        yield ChangedMariaDb(found)


SERVERS = {"postgres": changed_postgres, "mariadb": changed_mariadb}
