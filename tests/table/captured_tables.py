"""A PostgreSQL server whose tables are captured, and the runs that capture them."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg

from firesteel.common.types import RowKind
from firesteel.connectors.cdc.enumerator import POLLING_MS
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.testing import LocalResult, ManualClock, run_local
from tests.datastream.connectors import database_servers
from tests.table.local_runs import create

_numbers = itertools.count()

Change = tuple[RowKind, tuple[Any, ...]]


@dataclass(frozen=True)
class Server:
    """A server that decodes its log."""

    url: str

    def execute(self, *statements: str) -> list[Any]:
        """Run statements, each in its own transaction, and return the rows of the last one."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            for statement in statements:
                cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    def options(self, table: str, **more: str) -> dict[str, str]:
        """The options of a captured table, with a slot of its own; underscores stand for dots and hyphens."""
        at = urlsplit(self.url)
        given = {
            "connector": "postgres-cdc",
            "hostname": str(at.hostname),
            "port": str(at.port),
            "username": "tester",
            "password": "secret",
            "database-name": "postgres",
            "schema-name": "public",
            "table-name": table,
            "slot.name": f"slot_{next(_numbers)}",
            "debezium.publication.name": "captured",
        }
        return given | more


@contextmanager
def server() -> Iterator[Server]:
    """A server of our own with `wal_level = logical`."""
    more = ("-c", "wal_level=logical", "-c", "max_replication_slots=80", "-c", "max_wal_senders=20")
    with database_servers.postgresql(*more) as url:
        yield Server(url.removeprefix("jdbc:"))


def capture(
    columns: str,
    options: Mapping[str, str],
    checkpoint: Path,
    query: str = "SELECT * FROM t",
    parallelism: int = 2,
    restore: Path | None = None,
    **more: Any,
) -> LocalResult:
    """Run a query over a captured table `t` for some batches; each asks the server how far its log is."""
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    t_env = StreamTableEnvironment.create(env)
    if restore is not None:
        t_env.get_config().set("execution.state-recovery.path", str(restore))
    t_env.execute_sql(create("t", columns, options))
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    given = {"batches": 4, "batch_elements": 100, **more}
    with ManualClock() as clock:
        return run_local(env, checkpoint=checkpoint, clock=clock, clock_step_ms=2 * POLLING_MS, **given)


def changes(result: LocalResult) -> list[Change]:
    """The changes of a result."""
    return [(row.get_row_kind(), tuple(row)) for row in result.elements]


def folded(rows: Iterable[Change]) -> list[tuple[Any, ...]]:
    """The rows of a table that has seen all changes; a row that is removed must have been there."""
    found: Counter[tuple[Any, ...]] = Counter()
    for kind, row in rows:
        if kind in (RowKind.INSERT, RowKind.UPDATE_AFTER):
            found[row] += 1
        else:
            assert found[row] > 0, f"{row} is removed before it is added"
            found[row] -= 1
    return sorted(found.elements(), key=repr)
