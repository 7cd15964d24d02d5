"""Random queries by event time over rows out of order have the results of DuckDB, and of Python's patterns."""

from __future__ import annotations

import json
import os
import random
import tempfile
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from firesteel.common import Configuration
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.table.errors import TableException
from firesteel.testing import run_local
from tests.table.environments import MINI_BATCH
from tests.table.random_windows import COLUMNS, DISORDER_MIN, Pattern, WindowQuery, changes_of, random_tables, windowed
from tests.table.test_against_duckdb import STATES, folded, plain

pytestmark = pytest.mark.slow

PER_TABLES = 5
VERSIONS = (
    "CREATE TEMPORARY VIEW versions AS SELECT id, k, v, ts FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY k "
    "ORDER BY ts DESC) AS n FROM q WHERE k IS NOT NULL) WHERE n = 1"
)


@pytest.mark.parametrize(("name", "count"), [("batch", 10), ("streaming", 15), ("rescaled", 10)])
def test_random_queries_by_time_give_what_duckdb_gives(name, count, tmp_path):
    for one, tables, directory in cases(name, count, tmp_path):
        query, other = (WindowQuery(one, dialect) for dialect in ("flink", "duckdb"))
        text = query.query()
        if name == "batch" and "SYSTEM_TIME" in text:
            continue  # a view of versions is none of BATCH mode
        expected = in_duckdb(tables, other)
        assert in_firesteel(directory, name, text, one) == expected, (one, text, tables)


def test_random_queries_by_time_over_changes_are_right_or_refused(tmp_path):
    """Sessions stay as long as they were when a row of them is deleted, and versions end when they are."""
    refused = 0
    for one, tables, directory in cases("updates", 10, tmp_path):
        query, other = (WindowQuery(one, dialect) for dialect in ("flink", "duckdb"))
        text = query.query()
        if "SESSION" in text or "SYSTEM_TIME" in text:
            continue
        write_changes(directory, tables, random.Random(one))
        try:
            found = in_firesteel(directory, "updates", text, one)
        except TableException as error:
            if "doesn't support consuming update" not in str(error):
                raise
            refused += 1
            continue
        assert found == in_duckdb(tables, other), (one, text, tables)
    assert refused, "none of the queries needs rows that stay"


def write_changes(directory, tables, choose):
    """Write the tables as changelogs beside their files of rows."""
    for table, rows in tables.items():
        (directory / f"{table}-changes").mkdir(exist_ok=True)
        messages = [
            {
                "before": before and dict(zip(COLUMNS, before, strict=True)),
                "after": after and dict(zip(COLUMNS, after, strict=True)),
                "op": "c" if before is None else "u" if after else "d",
            }
            for before, after in changes_of(rows, choose)
        ]
        text = "\n".join(json.dumps(message, default=str) for message in messages)
        (directory / f"{table}-changes" / "changes.json").write_text(text + "\n")


@pytest.mark.parametrize(("name", "count"), [("streaming", 10), ("rescaled", 5)])
def test_random_patterns_match_what_a_regular_expression_matches(name, count, tmp_path):
    for one, tables, directory in cases(f"{name} pattern", count, tmp_path):
        pattern = Pattern(one)
        expected = Counter(pattern.expected(tables["p"]))
        assert in_firesteel(directory, name, pattern.query(), one) == expected, (one, pattern.query(), tables)


def cases(name, count, tmp_path):
    seed = os.environ.get("FIRESTEEL_RANDOM_SEED", "1")
    for number in range(int(os.environ.get("FIRESTEEL_RANDOM_QUERIES", count)) // PER_TABLES):
        tables, directory = random_tables(random.Random(f"{seed} {name} {number}")), tmp_path / str(number)
        for table, rows in tables.items():
            (directory / table).mkdir(parents=True)
            lines = (json.dumps(dict(zip(COLUMNS, row, strict=True)), default=lambda time: str(time)) for row in rows)
            (directory / table / "rows.json").write_text("\n".join(lines) + "\n")
        for place in range(PER_TABLES):
            yield f"{seed} {name} {number} {place}", tables, directory


def in_duckdb(tables, query):
    text = query.query()
    database = duckdb.connect(config={"default_null_order": "nulls_first_on_asc_last_on_desc", "threads": 1})
    bounds = {"window_start": "TIMESTAMP", "window_end": "TIMESTAMP"}
    made = {table: (COLUMNS, rows) for table, rows in tables.items()}
    made |= {
        name: (COLUMNS | bounds, windowed(tables[table], *window)) for name, (table, *window) in query.tables.items()
    }
    for name, (columns, rows) in made.items():
        declared = ", ".join(f"{column} {kind.split('(')[0]}" for column, kind in columns.items())
        database.execute(f"CREATE TABLE {name} ({declared})")
        for row in rows:
            database.execute(f"INSERT INTO {name} VALUES ({', '.join('?' * len(row))})", row)
    found = Counter(map(plain, database.execute(text).fetchall()))
    database.close()
    return found


def in_firesteel(directory, name, query, seed):
    choose = random.Random(seed)
    if name == "batch":
        return folded(run_local(program(directory, query, "batch", {}, choose.randrange(1, 4))).elements)
    options = choose.choice([{}, MINI_BATCH])
    before, after = (choose.randrange(1, 4) for _ in range(2))
    backends = [{"state.backend.type": choose.choice(STATES)} for _ in range(2)]
    if name in ("streaming", "updates"):
        job = program(directory, query, name, options | backends[0], before)
        return folded(run_local(job, batch_elements=3).elements)
    batches = choose.randrange(1, 9)
    with tempfile.TemporaryDirectory() as savepoint:
        job = program(directory, query, "streaming", options | backends[0], before)
        replayed = [choose.randrange(batches)]
        first = run_local(job, batch_elements=3, batches=batches, replayed=replayed, savepoint=Path(savepoint))
        restored = options | backends[1] | {"execution.state-recovery.path": str(first.savepoint)}
        second = run_local(program(directory, query, "streaming", restored, after), batch_elements=3)
    return folded(first.elements + second.elements)


def program(directory, query, mode, options, parallelism):
    configuration = Configuration()
    for key, value in options.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(parallelism)
    env.set_runtime_mode(RuntimeExecutionMode.BATCH if mode == "batch" else RuntimeExecutionMode.STREAMING)
    t_env = StreamTableEnvironment.create(env)
    columns = ", ".join(f"{column} {kind}" for column, kind in COLUMNS.items()).replace("VARCHAR", "STRING")
    watermark = f"WATERMARK FOR ts AS ts - INTERVAL '{DISORDER_MIN}' MINUTE"
    for table in ("p", "q"):
        path, form = (f"{table}-changes", "debezium-json") if mode == "updates" else (table, "json")
        options_of = f"'connector' = 'filesystem', 'path' = '{(directory / path).as_uri()}', 'format' = '{form}'"
        t_env.execute_sql(f"CREATE TEMPORARY TABLE {table} ({columns}, {watermark}) WITH ({options_of})")
    t_env.execute_sql(VERSIONS)
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    return env
