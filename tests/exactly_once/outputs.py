"""Where the jobs of the fault runs write to, and what is committed there."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol

from firesteel.connectors.jdbc.address import database_of
from tests.exactly_once.truth import Result
from tests.kafka.log import CommittedLog

_CREATE = "CREATE TABLE results (k BIGINT, a BIGINT, b BIGINT)"


class Output(Protocol):
    """A place to write to: `sink` is the program's argument for it."""

    sink: str

    def count(self) -> int:
        """How many results are committed."""

    def results(self) -> Counter[Result]:
        """All that is committed.

        Raises:
            ValueError: something is half-written.
        """


class Files:
    """Part files; hidden ones do not count. `sink` says when they are finished."""

    def __init__(self, sink: str, directory: Path) -> None:
        self.sink = sink
        self._directory = directory
        self._lines: dict[Path, int] = {}

    def _shown(self) -> list[Path]:
        return [path for path in self._directory.rglob("*") if path.is_file() and not path.name.startswith(".")]

    def count(self) -> int:
        for path in self._shown():
            if path not in self._lines:
                self._lines[path] = path.read_bytes().count(b"\n")
        return sum(self._lines.values())

    def results(self) -> Counter[Result]:
        found: Counter[Result] = Counter()
        for path in self._shown():
            text = path.read_text()
            if not text.endswith("\n"):
                raise ValueError(f"{path} ends in the middle of a line: {text[-50:]!r}")
            for line in text.splitlines():
                key, a, b = map(int, line.split(" "))
                found[key, a, b] += 1
        return found


class Sqlite:
    """A table in a file."""

    def __init__(self, path: Path) -> None:
        self.sink = f"jdbc:sqlite:{path}"
        self._path = path
        self._query(_CREATE)

    def _query(self, sql: str) -> list[Any]:
        with closing(sqlite3.connect(self._path, timeout=60)) as connection, connection:
            return connection.execute(sql).fetchall()

    def count(self) -> int:
        return int(self._query("SELECT COUNT(*) FROM results")[0][0])

    def results(self) -> Counter[Result]:
        return Counter(self._query("SELECT k, a, b FROM results"))


class Server:
    """A table of its own in the database at `url`, emptied first."""

    def __init__(self, url: str) -> None:
        self.sink = url
        self._query("DROP TABLE IF EXISTS results, firesteel_commits")
        self._query(_CREATE)

    def _query(self, sql: str) -> list[Any]:
        with (
            closing(database_of(self.sink, None, None).connect()) as connection,
            closing(connection.cursor()) as cursor,
        ):
            cursor.execute(sql)
            return list(cursor.fetchall()) if cursor.description is not None else []

    def count(self) -> int:
        return int(self._query("SELECT COUNT(*) FROM results")[0][0])

    def results(self) -> Counter[Result]:
        return Counter(self._query("SELECT k, a, b FROM results"))


class Kafka:
    """A topic of its own, whose aborted transactions do not count."""

    def __init__(self, servers: str, topic: str, partitions: int) -> None:
        self.sink = f"kafka://{servers}/{topic}"
        self._logs = [CommittedLog(servers, topic, number) for number in range(partitions)]

    def count(self) -> int:
        return sum(len(log.read()) for log in self._logs)

    def results(self) -> Counter[Result]:
        found: Counter[Result] = Counter()
        for log in self._logs:
            for value in log.read():
                key, a, b = map(int, value.split())
                found[key, a, b] += 1
        return found
