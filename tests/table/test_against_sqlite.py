"""Random queries over random tables have the same results as in SQLite, where the semantics agree, in both modes."""

from __future__ import annotations

import sqlite3

import pytest

from tests.table.environments import MINI_BATCH
from tests.table.random_queries import COLUMNS, cases, environment_with, result_of

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "mode", "options", "count"),
    [("batch", "batch", {}, 5), ("streaming", "streaming", {}, 4), ("mini-batches", "streaming", MINI_BATCH, 4)],
)
def test_random_queries_give_what_sqlite_gives(name, mode, options, count):
    for tables, query in cases(name, count):
        database = sqlite3.connect(":memory:")
        for table, rows in tables.items():
            database.execute(f"CREATE TABLE {table} ({', '.join(COLUMNS[table])})")
            database.executemany(f"INSERT INTO {table} VALUES (?, ?, ?)", rows)
        expected = sorted(database.execute(query).fetchall(), key=repr)
        database.close()
        assert result_of(environment_with(mode, tables, options), query) == expected, (query, tables)
