"""Random queries over random tables have the same results as in SQLite, where the semantics agree, in both modes."""

from __future__ import annotations

import sqlite3

import pytest

from tests.table.random_queries import COLUMNS, cases, environment_with, result_of


@pytest.mark.parametrize("mode", ["batch", "streaming"])
def test_random_queries_give_what_sqlite_gives(mode):
    for tables, query in cases(mode, 6):
        database = sqlite3.connect(":memory:")
        for name, rows in tables.items():
            database.execute(f"CREATE TABLE {name} ({', '.join(COLUMNS[name])})")
            database.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
        expected = sorted(database.execute(query).fetchall(), key=repr)
        database.close()
        assert result_of(environment_with(mode, tables), query) == expected, (query, tables)
