"""Random queries over random tables of many types have the results of DuckDB, in both modes and over updates."""

from __future__ import annotations

import math
import os
import random
import tempfile
from collections import Counter
from decimal import Decimal
from pathlib import Path

import duckdb
import pytest

from firesteel.common import Configuration, RowKind
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import DataTypes, StreamTableEnvironment
from firesteel.testing import run_local
from tests.table.environments import MINI_BATCH, environment
from tests.table.typed_queries import LOOKED_UP, TABLES, TypedQuery, declare_sources, random_tables

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
STATES = ("hashmap", "rocksdb")
PLANS = {
    "table.optimizer.join.broadcast-threshold": ("1048576", "100", "-1"),
    "table.optimizer.agg-phase-strategy": ("AUTO", "ONE_PHASE"),
    "execution.sorted-inputs.memory": ("128 mb", "1 kb"),
}
PER_TABLES = 5


@pytest.mark.parametrize(
    ("name", "count"), [("batch", 5), ("streaming", 5), ("updates", 15), ("mini-batches", 5), ("rescaled", 10)]
)
def test_random_queries_give_what_duckdb_gives(name, count):
    seed = os.environ.get("FIRESTEEL_RANDOM_SEED", "1")
    mode = "batch" if name == "batch" else "streaming"
    for number in range(int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", count)) // PER_TABLES):
        tables = random_tables(random.Random(f"{seed} {name} {number}"))
        database = in_duckdb(tables, name)
        for place in range(PER_TABLES):
            one = f"{seed} {name} {number} {place}"
            query, other = (TypedQuery(one, dialect, mode).query() for dialect in ("flink", "duckdb"))
            expected = Counter(map(plain, database.execute(other).fetchall()))
            assert in_firesteel(tables, name, query, one) == expected, (one, query, tables)
        database.close()


def view_of(name, table):
    """Return the query of a table; over updates, rows of an id replace each other."""
    columns = TABLES[table]
    if name in ("batch", "streaming"):
        return f"SELECT {', '.join(columns)} FROM {table}_rows"
    keys = [column for column in columns if column in ("d", "n", "f")]  # doubles with NaN, and BOOLEAN
    greatest = ", ".join(c if c in keys else f"MAX({c}) AS {c}" for c in columns)
    return f"SELECT {greatest} FROM {table}_rows GROUP BY {', '.join(['id', *keys])} HAVING COUNT(*) < 4"


def in_duckdb(tables, name):
    database = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc", "threads": 1})
    database.execute("CREATE TABLE looked_up (v0 BIGINT, v1 VARCHAR)")
    database.executemany("INSERT INTO looked_up VALUES (?, ?)", LOOKED_UP)
    for table, rows in tables.items():
        columns = ", ".join(f"{column} {kind}" for column, kind in TABLES[table].items())
        database.execute(f"CREATE TABLE {table}_rows (id INT, {columns})")
        for row in rows:
            database.execute(f"INSERT INTO {table}_rows VALUES ({', '.join('?' * len(row))})", row)
        database.execute(f"CREATE TABLE {table} AS {view_of(name, table)}")
    return database


def in_firesteel(tables, name, query, seed):
    choose = random.Random(seed)
    if name == "batch":
        chosen = {key: choose.choice(values) for key, values in PLANS.items()}
        t_env = environment("batch", choose.randrange(1, 4), **chosen)
        declare(t_env, tables, name)
        with t_env.execute_sql(query).collect() as found:
            return Counter(plain(row) for row in found)
    if name == "rescaled":
        return folded(rescaled(tables, query, choose))
    options = MINI_BATCH if name == "mini-batches" else {}
    return folded(run_local(program(tables, name, query, options, choose.randrange(1, 4)), batch_elements=3).elements)


def rescaled(tables, query, choose):
    """Return the changes of a query that is stopped with a savepoint and goes on in another parallelism."""
    options = choose.choice([{}, MINI_BATCH])
    before, after = ({"parallelism": choose.randrange(1, 4), "state": choose.choice(STATES)} for _ in range(2))
    batches = choose.randrange(1, 7)
    replayed = [choose.randrange(batches)]
    with tempfile.TemporaryDirectory() as directory:
        first = run_local(
            program(tables, "rescaled", query, options, **before),
            batch_elements=3,
            batches=batches,
            replayed=replayed,
            savepoint=Path(directory),
        )
        restored = {**options, "execution.state-recovery.path": str(first.savepoint)}
        second = run_local(program(tables, "rescaled", query, restored, **after), batch_elements=3)
    return first.elements + second.elements


def program(tables, name, query, options, parallelism=2, state="hashmap"):
    """Return an environment whose only job collects the changes of a query."""
    configuration = Configuration()
    for key, value in {"state.backend.type": state, **options}.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    t_env = StreamTableEnvironment.create(env)
    declare(t_env, tables, name)
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return env


DIRECTORY = Path(tempfile.mkdtemp(prefix="firesteel-lookups-"))


def declare(t_env, tables, name):
    declare_sources(t_env, DIRECTORY)
    for table, rows in tables.items():
        fields = [DataTypes.FIELD("id", DataTypes.INT())]
        fields += [DataTypes.FIELD(column, TYPES[kind]) for column, kind in TABLES[table].items()]
        kind = DataTypes.ROW(fields)
        t_env.create_temporary_view(f"{table}_rows", t_env.from_elements(rows or [(None,) * len(fields)], kind))
        where = "" if rows else " WHERE id IS NOT NULL"
        source = f"(SELECT * FROM {table}_rows{where})"
        t_env.execute_sql(f"CREATE TEMPORARY VIEW {table} AS {view_of(name, table).replace(f'{table}_rows', source)}")


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
