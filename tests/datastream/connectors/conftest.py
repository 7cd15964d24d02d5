"""Databases that the JDBC connectors are tested against."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.datastream.connectors import database_servers


@dataclass(frozen=True)
class Target:
    """A database: its kind, its address, and how to run a statement in it."""

    kind: str
    url: str
    execute: Callable[..., list[Any]]


@pytest.fixture
def sqlite(tmp_path: Path) -> Target:
    path = tmp_path / "results.db"

    def execute(sql: str) -> list[Any]:
        with closing(sqlite3.connect(path)) as connection, connection:
            return connection.execute(sql).fetchall()

    return Target("sqlite", f"jdbc:sqlite:{path}", execute)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    with database_servers.postgresql() as url:
        yield url


@pytest.fixture
def postgres(postgres_server: str) -> Target:
    import psycopg

    def execute(sql: str) -> list[Any]:
        with psycopg.connect(postgres_server.removeprefix("jdbc:")) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description is not None else []

    execute("DROP TABLE IF EXISTS results, firesteel_commits")
    return Target("postgres", postgres_server, execute)


@pytest.fixture(scope="session")
def mysql_server() -> Iterator[str]:
    """The address of a MariaDB server of our own."""
    with database_servers.mariadb() as url:
        yield url


@pytest.fixture
def mysql(mysql_server: str) -> Target:
    from firesteel.connectors.jdbc.address import database_of

    def execute(sql: str) -> list[Any]:
        with closing(database_of(mysql_server, None, None).connect()) as connection, connection.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    execute("DROP TABLE IF EXISTS results, firesteel_commits")
    return Target("mysql", mysql_server, execute)


@pytest.fixture(params=["sqlite", "postgres", "mysql"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found
