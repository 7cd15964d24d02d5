"""Random correlated subqueries have the results that SQLite's nested loops give, in both modes and over updates."""

from __future__ import annotations

import os
import random
import sqlite3

import pytest

from firesteel.table import DataTypes
from tests.table.environments import environment
from tests.table.random_queries import result_of
from tests.table.random_subqueries import COLUMNS, RandomQuery, random_tables

TYPES = {"x": DataTypes.BIGINT(False), "y": DataTypes.DOUBLE(), **dict.fromkeys("srz", DataTypes.STRING())}
UPDATES = "SELECT MAX({0}) AS {0}, MIN({1}) AS {1}, MAX({2}) AS {2} FROM {3} GROUP BY id HAVING COUNT(*) < 4"
PER_JOB = 6


@pytest.mark.parametrize(("name", "mode"), [("batch", "batch"), ("streaming", "streaming"), ("updates", "streaming")])
def test_random_subqueries_give_what_sqlite_gives(name, mode):
    seed = os.environ.get("FIRESTEEL_RANDOM_SEED", "1")
    for job in range(int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", 24)) // PER_JOB):
        choose = random.Random(f"{seed} {name} {job}")
        tables = with_ids(random_tables(choose), choose)
        seeds = [f"{seed} {name} {job} {number}" for number in range(PER_JOB)]
        expected = in_sqlite(tables, name, [RandomQuery(s, "sqlite", mode).query() for s in seeds])
        found = in_firesteel(tables, name, mode, [RandomQuery(s, "flink", mode).query() for s in seeds])
        for number, one in enumerate(seeds):
            rows = [sorted((r[1:] for r in result if r[0] == number), key=repr) for result in (found, expected)]
            assert rows[0] == rows[1], (RandomQuery(one, "flink", mode).query(), tables)


def with_ids(tables, choose):
    """Return the rows with an id before them; rows of one id replace each other in the test of updates."""
    return {name: [(choose.randrange(5), *row) for row in rows] for name, rows in tables.items()}


def together(queries):
    numbered = [f"SELECT {number} AS id, v0, v1 FROM ({query}) AS all{number}" for number, query in enumerate(queries)]
    return " UNION ALL ".join(numbered)


def view_of(name, table, columns):
    return UPDATES.format(*columns, table) if name == "updates" else f"SELECT {', '.join(columns)} FROM {table}"


def in_sqlite(tables, name, queries):
    database = sqlite3.connect(":memory:")
    for table, rows in tables.items():
        columns = COLUMNS[table]
        database.execute(f"CREATE TABLE {table}_rows (id, {', '.join(columns)})")
        database.executemany(f"INSERT INTO {table}_rows VALUES (?, ?, ?, ?)", rows)
        database.execute(f"CREATE TABLE {table} AS {view_of(name, f'{table}_rows', columns)}")
    found = database.execute(together(queries)).fetchall()
    database.close()
    return found


def in_firesteel(tables, name, mode, queries):
    t_env = environment(mode, parallelism=2)
    for table, rows in tables.items():
        columns = COLUMNS[table]
        fields = [DataTypes.FIELD(column, TYPES.get(column, DataTypes.INT())) for column in ("id", *columns)]
        base = t_env.from_elements(rows, DataTypes.ROW(fields))
        t_env.create_temporary_view(f"{table}_rows", base)
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {table} AS {view_of(name, f'{table}_rows', columns)}")
    return result_of(t_env, together(queries))
