"""Committing sinks on Spark: output is committed once, and errors name the sink."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from firesteel.client.client_errors import JobFailedError
from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, Committer, Sink, SinkWriter, WriterInitContext
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcSink
from firesteel.datastream.connectors.number_seq import NumberSequenceSource

pytestmark = pytest.mark.spark

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
MODES = pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])


def environment(mode: RuntimeExecutionMode) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(2)
    return env


def numbers(env: StreamExecutionEnvironment, count: int) -> Any:
    source = NumberSequenceSource(0, count - 1)
    return env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG()).rebalance()


def database(directory: Path) -> tuple[str, JdbcSink]:
    path = str(directory / "results.db")
    at = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(f"jdbc:sqlite:{path}").build()
    return path, JdbcSink.sink("INSERT INTO results (id, name) VALUES (?, ?)", ROW, at)


@MODES
def test_rows_are_in_the_database_once_although_processes_were_killed(mode, tmp_path):
    def kill_once(value):
        marker = tmp_path / str(value)
        if value in (5_001, 15_000) and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return Row(value, f"row {value}")

    path, sink = database(tmp_path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE results (id BIGINT, name TEXT)")
        env = environment(mode)
        numbers(env, 20_000).map(kill_once, ROW).add_sink(sink)
        env.execute()
        found = connection.execute("SELECT id, name FROM results ORDER BY id").fetchall()
    assert found == [(n, f"row {n}") for n in range(20_000)]


@MODES
def test_commit_that_fails_fails_the_job_and_names_sink_and_row(mode, tmp_path):
    _, sink = database(tmp_path)
    env = environment(mode)
    numbers(env, 1).map(lambda n: Row(n, "x"), ROW).add_sink(sink).name("totals")
    with pytest.raises(JobFailedError, match=r"sink '[^']*totals'.*\(0, 'x'\).*no such table: results"):
        env.execute()


class Lines(Sink):
    """Writes the elements of each commit to a file of its own: a sink as users write them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def create_writer(self, context: WriterInitContext) -> SinkWriter:
        return LinesWriter()

    def create_committer(self) -> Committer:
        return LinesCommitter(self.directory)


class LinesWriter(SinkWriter):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, element: Any, timestamp: int | None) -> None:
        self.lines.append(str(element))

    def prepare_commit(self) -> Sequence[Any]:
        lines, self.lines = self.lines, []
        return [lines] if lines else []


class LinesCommitter(Committer):
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        for request in requests:
            (self.directory / f"{request.subtask_index}-{request.number}").write_text("\n".join(request.committable))

    def close(self) -> None:
        (self.directory / "closed").touch()


@MODES
def test_sink_of_the_user_commits_on_the_driver_and_is_closed_there(mode, tmp_path):
    env = environment(mode)
    numbers(env, 100).sink_to(Lines(tmp_path))
    env.execute()
    (tmp_path / "closed").unlink()
    lines = [int(line) for path in tmp_path.iterdir() for line in path.read_text().splitlines()]
    assert sorted(lines) == list(range(100))
