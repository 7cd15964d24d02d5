"""After a time to live without rows, a query gives what one gives that has never had any.

A job is stopped with a savepoint and goes on much later, with state on disk; another one runs all the time.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Configuration, Row
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local
from firesteel.testing.manual_clock import ManualClock
from tests.table.local_runs import left_of
from tests.table.test_row_kinds import QUERIES, REFUSED, TYPES, changelog, schema, time_of

pytestmark = pytest.mark.slow

COUNT = 60
BEGIN_MS, PAUSE_MS = 10_000, 90_000
KEEP = {
    "constants": "its source is read once",
    "temporal join": "its left rows wait for the watermark",
    "window aggregate": "windows end with the watermark",
    "legacy window": "likewise",
    "hop": "likewise",
    "session": "likewise",
    "legacy session": "likewise",
    "window rank": "likewise",
    "window join": "likewise",
    "interval join": "rows end with the watermark",
    "sort by time": "rows wait for the watermark",
    "over": "likewise",
    "pattern": "likewise, and a match has all the time that it is given",
}
"""Queries whose state has another end than the time to live."""


def tables(seed: int, is_changing: bool) -> dict[str, list[Row]]:
    """As many rows of each table."""
    if is_changing:
        return {name: changelog(seed + number)[:COUNT] for number, name in enumerate("ab")}
    return {name: inserted(seed + number) for number, name in enumerate("ab")}


def inserted(seed: int) -> list[Row]:
    """Rows that only come."""
    chance = random.Random(seed)
    return [
        Row(seed * COUNT + n, chance.choice("xyz"), chance.randrange(8), time_of(seed * COUNT + n))
        for n in range(COUNT)
    ]


def run(
    sql: str, given: dict[str, list[Row]], restored: Path | None = None, now_ms: int = BEGIN_MS, **options: Any
) -> Any:
    configuration = Configuration()
    configuration.set_string("state.backend.type", "hashmap" if restored is None else "rocksdb")
    if restored is not None:
        configuration.set_string("execution.state-recovery.path", str(restored))
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set("table.exec.state.ttl", "1 s")
    for name, rows in given.items():
        t_env.create_temporary_view(name, t_env.from_changelog_stream(env.from_collection(rows, TYPES), schema()))
    t_env.to_changelog_stream(t_env.sql_query(sql)).collect_async()
    return run_local(env, batch_elements=COUNT, clock=ManualClock(now_ms), **options)


@pytest.mark.parametrize("is_changing", [False, True])
@pytest.mark.parametrize("name", sorted(QUERIES.keys() - KEEP.keys()))
def test_what_has_expired_is_forgotten(name: str, is_changing: bool, tmp_path: Path) -> None:
    sql = QUERIES[name]
    first, second = tables(1, is_changing), tables(7, is_changing)
    both = {table: first[table] + second[table] for table in first}
    expected = left_of(run(sql, second, batches=1).elements)

    before = run(sql, both, batches=1, savepoint=tmp_path)
    after = run(sql, both, restored=before.savepoint, now_ms=BEGIN_MS + PAUSE_MS, batches=1)
    assert left_of(after.elements) == expected

    lasting = left_of(run(sql, both, batches=2, clock_step_ms=PAUSE_MS).elements)
    lasting.subtract(left_of(before.elements))
    assert lasting == expected


def test_each_query_that_keeps_its_state_is_known() -> None:
    assert QUERIES.keys() >= KEEP.keys() >= REFUSED
