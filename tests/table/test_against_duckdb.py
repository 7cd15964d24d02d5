"""Random queries over random tables of many types have the results of DuckDB, in both modes and over updates."""

from __future__ import annotations

import math
import os
import random
from collections import Counter
from decimal import Decimal

import duckdb
import pytest

from firesteel.common import RowKind
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.testing import run_local
from tests.table.environments import MINI_BATCH, environment
from tests.table.typed_queries import TABLES, TypedQuery, random_tables

pytestmark = pytest.mark.slow

TYPES = {
    "INT": DataTypes.INT(),
    "BIGINT": DataTypes.BIGINT(),
    "DOUBLE": DataTypes.DOUBLE(),
    "DECIMAL(8, 2)": DataTypes.DECIMAL(8, 2),
    "STRING": DataTypes.STRING(),
    "DATE": DataTypes.DATE(),
    "BOOLEAN": DataTypes.BOOLEAN(),
}
PER_TABLES = 5


@pytest.mark.parametrize(("name", "count"), [("batch", 5), ("streaming", 5), ("updates", 15), ("mini-batches", 5)])
def test_random_queries_give_what_duckdb_gives(name, count):
    seed = os.environ.get("FIRESTEEL_RANDOM_SEED", "1")
    mode = "batch" if name == "batch" else "streaming"
    for number in range(int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", count)) // PER_TABLES):
        tables = random_tables(random.Random(f"{seed} {name} {number}"))
        database = in_duckdb(tables, name)
        for place in range(PER_TABLES):
            both = (TypedQuery(f"{seed} {name} {number} {place}", one, mode).query() for one in ("flink", "duckdb"))
            query, other = both
            expected = Counter(map(plain, database.execute(other).fetchall()))
            assert in_firesteel(tables, name, query) == expected, (query, tables)
        database.close()


def view_of(name, table):
    """Return the query of a table; over updates, rows of an id replace each other."""
    columns = TABLES[table]
    if name not in ("updates", "mini-batches"):
        return f"SELECT {', '.join(columns)} FROM {table}_rows"
    keys = [column for column in columns if column in ("d", "n", "f")]  # doubles with NaN, and BOOLEAN
    greatest = ", ".join(c if c in keys else f"MAX({c}) AS {c}" for c in columns)
    return f"SELECT {greatest} FROM {table}_rows GROUP BY {', '.join(['id', *keys])} HAVING COUNT(*) < 4"


def in_duckdb(tables, name):
    database = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc", "threads": 1})
    for table, rows in tables.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in TABLES[table].items())
        database.execute(f"CREATE TABLE {table}_rows (id INT, {columns})")
        for row in rows:
            database.execute(f"INSERT INTO {table}_rows VALUES ({', '.join('?' * len(row))})", row)
        database.execute(f"CREATE TABLE {table} AS {view_of(name, table)}")
    return database


def in_firesteel(tables, name, query):
    if name == "batch":
        env, t_env = None, environment("batch", parallelism=2)
    else:
        env = StreamExecutionEnvironment.get_execution_environment()
        env.set_parallelism(2)
        t_env = StreamTableEnvironment.create(env)
        for key, value in (MINI_BATCH if name == "mini-batches" else {}).items():
            t_env.get_config().set(key, value)
    for table, rows in tables.items():
        fields = [DataTypes.FIELD("id", DataTypes.INT())]
        fields += [DataTypes.FIELD(column, TYPES[kind]) for column, kind in TABLES[table].items()]
        kind = DataTypes.ROW(fields)
        t_env.create_temporary_view(f"{table}_rows", t_env.from_elements(rows or [(None,) * len(fields)], kind))
        where = "" if rows else " WHERE id IS NOT NULL"
        source = f"(SELECT * FROM {table}_rows{where})"
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {table} AS {view_of(name, table).replace(f'{table}_rows', source)}")
    if env is None:
        with t_env.execute_sql(query).collect() as found:
            return Counter(plain(row) for row in found)
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return folded(run_local(env, batch_elements=3).elements)


def folded(changes):
    """Return the rows that remain; those without a former row would be negative."""
    counts = Counter()
    for change in changes:
        is_added = change.get_row_kind() in (RowKind.INSERT, RowKind.UPDATE_AFTER)
        counts[plain(change)] += 1 if is_added else -1
        assert counts[plain(change)] >= 0, "a row is retracted that is not there"
    return +counts


def plain(row):
    return tuple(_plain(value) for value in row)


def _plain(value):
    if isinstance(value, bool) or not isinstance(value, float | Decimal | int):
        return value
    return "NaN" if math.isnan(value) else round(float(value), 9) + 0.0
