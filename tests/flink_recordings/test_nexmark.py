"""Nexmark's q10, q12 and q13, which are more than a query: a partitioned sink, a window of the clock, a lookup join.

Flink's results of `NEXMARK_ROWS` say what they must give: the rows of the files, all bids, and a regular join.
"""

from __future__ import annotations

import csv
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from firesteel.datastream import StreamExecutionEnvironment
from firesteel.table import StreamTableEnvironment
from firesteel.testing import ManualClock, run_local
from tests.flink_recordings.large.folding import line, summary
from tests.flink_recordings.large.inputs import declarations, nexmark, write_inputs
from tests.flink_recordings.recordings import recorded_large_results
from tests.flink_recordings.test_large import changes_of

pytestmark = pytest.mark.slow

BATCH_ELEMENTS = 2500
FILES = """CREATE TABLE files (auction BIGINT, bidder BIGINT, price BIGINT, `dateTime` TIMESTAMP(3), extra STRING,
  dt STRING, hm STRING) PARTITIONED BY (dt, hm) WITH ('connector' = 'filesystem', 'path' = '{}', 'format' = 'csv',
  'sink.partition-commit.trigger' = 'partition-time', 'sink.partition-commit.delay' = '1 min',
  'sink.partition-commit.policy.kind' = 'success-file', 'partition.time-extractor.timestamp-pattern' = '$dt $hm:00')"""
SIDE_INPUT = """CREATE TABLE looked_up (key BIGINT, `value` STRING) WITH ('connector' = 'jdbc',
  'url' = 'jdbc:sqlite:{}', 'table-name' = 'side_input')"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("nexmark")
    write_inputs(directory)
    return directory


@pytest.fixture
def tables(inputs: Path) -> tuple[StreamExecutionEnvironment, StreamTableEnvironment]:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    t_env = StreamTableEnvironment.create(env)
    t_env.get_config().set_local_timezone("UTC")
    for statement in declarations(inputs, with_changes=False):
        t_env.execute_sql(statement)
    return env, t_env


def recorded(name: str) -> dict[str, Any]:
    result = dict(recorded_large_results()[f"nexmark_{name} streaming UTC"])
    result.pop("sql")
    return result


def test_q10_writes_each_bid_into_the_partition_of_its_minute(tables: Any, tmp_path: Path) -> None:
    env, t_env = tables
    t_env.execute_sql(FILES.format(tmp_path))
    statements = t_env.create_statement_set()
    statements.add_insert_sql(f"INSERT INTO files {nexmark.UNTIMED['q10']}")
    statements.attach_as_datastream()
    run_local(env, batch_elements=BATCH_ELEMENTS)
    assert summary(sorted(line(row) for path in sorted(tmp_path.rglob("part-*")) for row in rows_of(path))) == (
        recorded("q10")
    )
    assert {path.parent for path in tmp_path.rglob("part-*")} == {path.parent for path in tmp_path.rglob("_SUCCESS")}


def rows_of(path: Path) -> list[list[Any]]:
    partition = [part.partition("=")[2].replace("%3A", ":") for part in path.parts[-3:-1]]
    with path.open(newline="") as file:
        return [[int(a), int(b), int(p), t, extra, *partition] for a, b, p, t, extra in csv.reader(file)]


def test_q12_counts_each_bid_in_one_window_of_the_clock(tables: Any) -> None:
    env, t_env = tables
    t_env.to_changelog_stream(t_env.sql_query("SELECT bidder FROM bid")).collect_async()
    t_env.to_changelog_stream(t_env.sql_query(nexmark.UNTIMED["q12"])).collect_async()
    with ManualClock() as clock:
        found = run_local(env, batch_elements=BATCH_ELEMENTS, clock=clock, clock_step_ms=4_000).collected
    bids, windows = sorted(found.values(), key=lambda rows: len(rows[0]))
    counted: Counter[int] = Counter()
    for bidder, count, start, end in windows:
        assert (end - start).total_seconds() == 10
        counted[bidder] += count
    all_bids = Counter(bidder for (bidder,) in bids)
    assert summary(sorted(line(list(item)) for item in all_bids.items())) == recorded("bids_of_bidders")
    assert len({start for _, _, start, _ in windows}) > 1
    # As in Flink, the last window of the clock does not end when the input does; three batches fit into it.
    assert counted <= all_bids
    assert all_bids.total() - counted.total() <= 3 * BATCH_ELEMENTS


def test_q13_looks_up_what_a_regular_join_finds(tables: Any, tmp_path: Path) -> None:
    env, t_env = tables
    path = tmp_path / "side.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE side_input (key BIGINT, value TEXT)")
        database.executemany("INSERT INTO side_input VALUES (?, ?)", nexmark.SIDE_INPUT)
    t_env.execute_sql(SIDE_INPUT.format(path))
    query = nexmark.UNTIMED["q13"].replace("side_input", "looked_up")
    t_env.to_changelog_stream(t_env.sql_query(query)).collect_async()
    changes = changes_of(run_local(env, batch_elements=BATCH_ELEMENTS).elements)
    assert summary(sorted(text for _, text in changes)) == recorded("bids_with_side_input")
