"""The JdbcSink against SQLite, and against a PostgreSQL server where there is one."""

from __future__ import annotations

import datetime
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Instant, Row, Types, WatermarkStrategy
from firesteel.common.run_directory import RUN_DIRECTORY, UnsafeDirectoryError
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from firesteel.datastream.connectors.jdbc_database import PostgresDatabase, count_parameters, native_statement
from firesteel.datastream.connectors.jdbc_writer import INLINE_ROWS, JdbcCommitter, JdbcWriter, PreparedRows, RowError
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.committables import SinkCommitError
from firesteel.operators.errors import UserFunctionError
from firesteel.testing import Fault, run_local
from tests.datastream.connectors import postgres_server

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
INSERT = "INSERT INTO results (id, name) VALUES (?, ?)"
CREATE = "CREATE TABLE results (id BIGINT PRIMARY KEY, name VARCHAR(20))"


def options(url: str) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()


@dataclass(frozen=True)
class Target:
    """A database to write to: its address, and how to run a statement in it."""

    url: str
    execute: Callable[..., list[Any]]

    def sink(self, sql: str = INSERT, row_type: Any = ROW, execution: Any = None) -> JdbcSink:
        return JdbcSink.sink(sql, row_type, options(self.url), execution)


@pytest.fixture
def sqlite(tmp_path: Path) -> Target:
    path = tmp_path / "results.db"

    def execute(sql: str) -> list[Any]:
        with closing(sqlite3.connect(path)) as connection, connection:
            return connection.execute(sql).fetchall()

    return Target(f"jdbc:sqlite:{path}", execute)


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """The address of a PostgreSQL server of our own."""
    pytest.importorskip("psycopg")
    if not postgres_server.IS_INSTALLED:
        pytest.skip("needs the programs postgres and initdb")
    with postgres_server.running() as url:
        yield url


@pytest.fixture
def postgres(server: str) -> Target:
    import psycopg

    def execute(sql: str) -> list[Any]:
        with psycopg.connect(server.removeprefix("jdbc:")) as connection:
            cursor = connection.execute(sql)
            return cursor.fetchall() if cursor.description is not None else []

    execute("DROP TABLE IF EXISTS results, firesteel_commits")
    return Target(server, execute)


@pytest.fixture(params=["sqlite", "postgres"])
def target(request: pytest.FixtureRequest) -> Target:
    found: Target = request.getfixturevalue(request.param)
    return found


def environment(parallelism: int = 2, is_batch: bool = False) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    if is_batch:
        env.set_runtime_mode(RuntimeExecutionMode.BATCH)
    return env


def rows(env: StreamExecutionEnvironment, count: int) -> Any:
    source = NumberSequenceSource(0, count - 1)
    numbers = env.from_source(source, WatermarkStrategy.no_watermarks(), "numbers", Types.LONG())
    return numbers.map(lambda n: Row(n, f"row {n}"), ROW)


def expected(count: int) -> list[tuple[int, str]]:
    return [(n, f"row {n}") for n in range(count)]


SELECT = "SELECT id, name FROM results ORDER BY id"

# --- whole jobs ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["add_sink", "sink_to"])
@pytest.mark.parametrize("is_batch", [False, True])
def test_each_row_is_written_once(target: Target, method: str, is_batch: bool) -> None:
    target.execute(CREATE)
    env = environment(is_batch=is_batch)
    getattr(rows(env, 100), method)(target.sink())
    run_local(env, batch_elements=7)
    assert target.execute(SELECT) == expected(100)


@pytest.mark.parametrize("after_rows", [0, 1, 100])
def test_each_row_is_written_once_whatever_dies_and_is_committed_again(target: Target, after_rows: int) -> None:
    target.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    env = environment()
    rows(env, 40).rebalance().map(lambda row: row, ROW).add_sink(target.sink())
    faults = [Fault(batch, stage, slot, after_rows) for batch in range(4) for stage in (0, 1) for slot in (0, 1)]
    run_local(env, batch_elements=3, faults=faults, replayed=[0, 2, 3])
    assert target.execute(SELECT) == expected(40)


def test_many_rows_travel_in_files_that_are_gone_afterwards(target: Target, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    target.execute(CREATE)
    env = environment()
    count = 5 * INLINE_ROWS
    rows(env, count).add_sink(target.sink(execution=JdbcExecutionOptions.builder().with_batch_size(300).build()))
    run_local(env, checkpoint=tmp_path / "versions")
    assert target.execute(SELECT) == expected(count)
    assert list((tmp_path / "run").iterdir()) == []


def writer(directory: Path, state: int | None = None) -> JdbcWriter:
    configuration = {"execution.checkpointing.dir": str(directory)}
    who = ("job", "sink", 0, 1, 0, False, None, configuration, lambda: 0, lambda: True)
    made = JdbcSink.sink(INSERT, ROW, options(f"jdbc:sqlite:{directory}/x.db")).create_writer(WriterInitContext(*who))
    assert isinstance(made, JdbcWriter)
    if state is not None:
        made.restore_state(state)
    return made


def test_files_of_failed_attempts_are_removed_with_the_one_that_is_committed(tmp_path: Path) -> None:
    many = [Row(n, "name") for n in range(INLINE_ROWS + 1)]
    first = writer(tmp_path)
    first.write_all(many, None)
    first.flush(False)
    (awaiting,) = first.prepare_commit()
    state = first.snapshot_state()
    first.write_all(many, None)
    first.flush(False)
    second = writer(tmp_path, state)
    second.write_all(many, None)
    second.flush(False)
    (prepared,) = second.prepare_commit()
    assert len(list((tmp_path / "job/staging").iterdir())) == 3  # Another leader may yet decide what the first wrote.
    for rows_in_file in (awaiting, prepared):
        assert len(list(rows_in_file)) == len(many)
        rows_in_file.discard()
    assert not (tmp_path / "job/staging").exists()


def test_rows_are_not_staged_where_others_can_write(sqlite: Target, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    made = sqlite.sink().create_writer(
        WriterInitContext("job", "sink", 0, 1, 0, False, None, {}, lambda: 0, lambda: True)
    )
    many = [Row(n, "name") for n in range(INLINE_ROWS + 1)]
    made.write_all(many, None)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "run", tmp_path / "run/staging-job")] == [0o700, 0o700]
    made.close()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(UnsafeDirectoryError, match="its mode is 777"):
        sqlite.sink().create_writer(WriterInitContext("job", "sink", 0, 1, 0, False, None, {}, lambda: 0, lambda: True))


def test_a_checkpoint_holds_no_password_and_recovery_commits(
    postgres: Target, tmp_path: Path, monkeypatch: Any
) -> None:
    postgres.execute(CREATE)
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(postgres.url)
    at = builder.with_password("hush-hush-hush").build()
    env = environment(1)
    rows(env, 10).add_sink(JdbcSink.sink(INSERT, ROW, at))
    graph = env.get_stream_graph().get_job_graph()
    with monkeypatch.context() as failing:
        failing.setattr(JdbcCommitter, "commit", lambda *_: exec("raise ConnectionError('down')"))
        with pytest.raises(SinkCommitError, match="down"):
            run_local(graph, batch_elements=5, checkpoint=tmp_path)
    metadata = (tmp_path / "chk-1/_metadata").read_bytes()
    assert b"row 3" in metadata
    assert b"hush-hush-hush" not in metadata
    assert b"127.0.0.1" not in metadata
    assert postgres.execute(SELECT) == []
    run_local(graph, batch_elements=5, checkpoint=tmp_path)
    assert postgres.execute(SELECT) == expected(10)


def test_two_sinks_of_one_database_are_told_apart(target: Target) -> None:
    target.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    env = environment()
    stream = rows(env, 5)
    stream.add_sink(target.sink())
    stream.add_sink(target.sink("INSERT INTO results (id, name) SELECT ? + 100, ?"))
    run_local(env, replayed=[0])
    assert [row[0] for row in target.execute(SELECT)] == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]


def test_upserts_run_as_they_are_written(target: Target) -> None:
    target.execute(CREATE)
    env = environment(1)
    upsert = f"{INSERT} ON CONFLICT (id) DO UPDATE SET name = excluded.name"
    env.from_collection([Row(1, "a"), Row(2, "b"), Row(1, "c")], ROW).add_sink(target.sink(upsert))
    run_local(env)
    assert target.execute(SELECT) == [(1, "c"), (2, "b")]


# --- errors --------------------------------------------------------------------------------------------------------


def test_a_row_that_the_database_refuses_is_refused_before_its_checkpoint_is_decided(
    target: Target, tmp_path: Path
) -> None:
    target.execute(CREATE)
    env = environment(1)
    env.from_collection([Row(n, "a") for n in (1, 2, 3, 2)], ROW).add_sink(target.sink())
    with pytest.raises(SinkCommitError):
        run_local(env, batch_elements=2, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.glob("chk-*")] == ["chk-1"]
    assert target.execute(SELECT) == [(1, "a"), (2, "a")]


def test_row_that_the_database_refuses_is_named_with_the_sink_and_nothing_is_written(target: Target) -> None:
    target.execute(CREATE)
    env = environment(1)
    stream = env.from_collection([Row(1, "a"), Row(2, "b"), Row(1, "c")], ROW)
    stream.add_sink(target.sink()).name("totals")
    with pytest.raises(SinkCommitError, match=r"sink '.*totals': could not commit: .*\(1, 'c'\).*(?i:unique)"):
        run_local(env)
    assert target.execute(SELECT) == []


def test_bad_statement_is_named(target: Target) -> None:
    env = environment(1)
    env.from_collection([Row(1, "a")], ROW).add_sink(target.sink())
    with pytest.raises(SinkCommitError, match=r"INSERT INTO results .* row \(1, 'a'\).*results"):
        run_local(env)


def test_record_of_another_type_is_named_with_its_operator(sqlite: Target) -> None:
    env = environment(1)
    env.from_collection([(1, "a"), ("two", "b")]).add_sink(sqlite.sink()).name("totals")
    with pytest.raises(UserFunctionError, match=r"operator '.*totals': .*id.*LONG.*'two'"):
        run_local(env)


def test_what_does_not_fit_together_is_refused_when_the_sink_is_made() -> None:
    at = options("jdbc:sqlite:/nowhere/x.db")
    with pytest.raises(ValueError, match="has 1 parameters, type_info has 2 fields"):
        JdbcSink.sink("INSERT INTO t VALUES (?, '?')", ROW, at)
    with pytest.raises(TypeError, match=r"type_info must be a Types.ROW"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", Types.INT(), at)
    with pytest.raises(NotImplementedError, match="field 'tags': no column of SQLite holds values of"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", Types.ROW_NAMED(["tags"], [Types.LIST(Types.INT())]), at)
    with pytest.raises(ValueError, match=r"no driver for 'jdbc:mysql://h/d'; there are jdbc:sqlite"):
        JdbcSink.sink(INSERT, ROW, options("jdbc:mysql://h/d"))
    with pytest.raises(ValueError, match="one connection only"):
        JdbcSink.sink(INSERT, ROW, options("jdbc:sqlite::memory:"))
    with pytest.raises(ValueError, match="need an address"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    with pytest.raises(ValueError, match="size must be 1 or greater, found 0"):
        JdbcExecutionOptions.builder().with_batch_size(0)


def test_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    committer = JdbcSink.sink(INSERT, ROW, options("jdbc:postgresql://nowhere/db")).create_committer()
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'firesteel\[postgresql\]'"):
        committer.commit([])


# --- the committer -------------------------------------------------------------------------------------------------


def request(subtask: int, number: int, *names: str, job: str = "job") -> CommitRequest:
    prepared = PreparedRows(None, tuple((100 * subtask + 10 * number + i, name) for i, name in enumerate(names)))
    return CommitRequest(job, "sink", subtask, number, prepared)


def test_requests_that_come_again_are_recognised_one_by_one(target: Target) -> None:
    target.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    committer = target.sink().create_committer()
    committer.commit([request(0, 0, "a"), request(1, 0, "b")])
    committer.commit([request(0, 0, "again"), request(0, 1, "c"), request(1, 0, "again")])
    committer.commit([request(0, 0, "d", job="other job")])
    assert sorted(row[1] for row in target.execute(SELECT)) == ["a", "b", "c", "d"]


def test_a_failure_leaves_all_subtasks_uncommitted_to_be_tried_again(target: Target) -> None:
    target.execute(CREATE)
    committer = target.sink().create_committer()
    with pytest.raises(RowError):
        committer.commit([request(0, 0, "a"), request(1, 0, "b"), request(0, 0, "a")])
    assert target.execute(SELECT) == []
    committer.commit([request(0, 0, "a"), request(1, 0, "b")])
    assert [row[1] for row in target.execute(SELECT)] == ["a", "b"]


def test_a_database_that_is_locked_is_tried_again(sqlite: Target, monkeypatch: Any) -> None:
    sqlite.execute(CREATE)
    committer = sqlite.sink(execution=JdbcExecutionOptions(max_retries=1)).create_committer()
    path = sqlite.url.removeprefix("jdbc:sqlite:")
    real = sqlite3.connect
    waits: list[float] = []
    with closing(real(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def give_up(seconds: float) -> None:
            waits.append(seconds)
            other.execute("ROLLBACK")

        monkeypatch.setattr(sqlite3, "connect", lambda path, **settings: real(path, **{**settings, "timeout": 0}))
        monkeypatch.setattr(time, "sleep", give_up)
        committer.commit([request(0, 0, "a")])
    assert waits == [1]
    assert len(sqlite.execute(SELECT)) == 1


def test_commit_needs_no_right_to_create_tables_once_the_bookkeeping_is_there(postgres: Target) -> None:
    postgres.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    postgres.sink().create_committer().commit([request(0, 0, "a")])
    postgres.execute("DROP ROLE IF EXISTS guest")
    postgres.execute("CREATE ROLE guest LOGIN")
    postgres.execute("GRANT ALL ON results, firesteel_commits TO guest")
    try:
        url = postgres.url.replace("user=tester", "user=guest")
        JdbcSink.sink(INSERT, ROW, options(url)).create_committer().commit([request(0, 1, "b")])
    finally:
        postgres.execute("DROP OWNED BY guest")
        postgres.execute("DROP ROLE guest")
    assert len(postgres.execute(SELECT)) == 2


# --- values and statements -----------------------------------------------------------------------------------------

MOMENT = datetime.datetime(2024, 1, 31, 12, 0, 0, 5000)
VALUES: list[tuple[str, Any, str, Any, Any, Any]] = [
    # name, type, column, value, in SQLite, in PostgreSQL
    ("b", Types.BOOLEAN(), "BOOLEAN", True, 1, True),
    ("s", Types.SHORT(), "SMALLINT", 40000, -25536, -25536),
    ("f", Types.DOUBLE(), "DOUBLE PRECISION", 1.5, 1.5, 1.5),
    ("t", Types.STRING(), "TEXT", "ü?%s", "ü?%s", "ü?%s"),
    ("n", Types.STRING(), "TEXT", None, None, None),
    ("c", Types.BIG_DEC(), "DECIMAL(10,2)", Decimal("1.25"), 1.25, Decimal("1.25")),
    ("i", Types.BIG_INT(), "DECIMAL(40)", 10**30, 1e30, Decimal(10**30)),
    ("d", Types.SQL_DATE(), "DATE", MOMENT.date(), "2024-01-31", MOMENT.date()),
    ("u", Types.SQL_TIME(), "TIME", MOMENT.time(), "12:00:00.005000", MOMENT.time()),
    ("m", Types.SQL_TIMESTAMP(), "TIMESTAMP", MOMENT, "2024-01-31 12:00:00.005000", MOMENT),
    (
        "z",
        Types.INSTANT(),
        "TIMESTAMP WITH TIME ZONE",
        Instant(1, 500_000_000),
        "1970-01-01 00:00:01.500000+00:00",
        datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000, datetime.UTC),
    ),
    ("y", Types.PRIMITIVE_ARRAY(Types.BYTE()), None, b"\0x", b"\0x", b"\0x"),
]


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_values_of_each_type_come_back(kind: str, request: pytest.FixtureRequest) -> None:
    found: Target = request.getfixturevalue(kind)
    blob = {"sqlite": "BLOB", "postgres": "BYTEA"}[kind]
    columns = ", ".join(f"{name} {column or blob}" for name, _, column, *_ in VALUES)
    found.execute(f"CREATE TABLE results ({columns})")
    names, types = [value[0] for value in VALUES], [value[1] for value in VALUES]
    sql = f"INSERT INTO results VALUES ({', '.join('?' * len(names))})"
    env = environment(1)
    row_type = Types.ROW_NAMED(names, types)
    env.from_collection([Row(*(value[3] for value in VALUES))], row_type).add_sink(found.sink(sql, row_type))
    run_local(env)
    (row,) = found.execute("SELECT * FROM results")
    assert list(row) == [value[4 if kind == "sqlite" else 5] for value in VALUES]


def test_lists_become_arrays_in_postgresql(postgres: Target) -> None:
    postgres.execute("CREATE TABLE results (tags INTEGER[])")
    env = environment(1)
    row_type = Types.ROW([Types.LIST(Types.INT())])
    env.from_collection([Row([1, 2])], row_type).add_sink(postgres.sink("INSERT INTO results VALUES (?)", row_type))
    run_local(env)
    assert postgres.execute("SELECT tags FROM results") == [([1, 2],)]


@pytest.mark.parametrize(
    ("sql", "parameters", "native"),
    [
        ("INSERT INTO t VALUES (?, ?)", 2, "INSERT INTO t VALUES (%s, %s)"),
        ("SELECT 'it''s ?', \"?\", ? -- ?\n, ?", 2, "SELECT 'it''s ?', \"?\", %s -- ?\n, %s"),
        ("SELECT /* ? */ $q$ ? $q$, a ?? ?, 5 % 3", 1, "SELECT /* ? */ $q$ ? $q$, a ? %s, 5 %% 3"),
        ("SELECT '100%'", 0, "SELECT '100%%'"),
    ],
)
def test_question_marks_are_parameters_where_they_are_no_text(sql: str, parameters: int, native: str) -> None:
    assert count_parameters(sql) == parameters
    assert native_statement(sql, PostgresDatabase("", ())) == native


def test_addresses_have_user_and_password_apart() -> None:
    builder = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url("jdbc:postgresql://h:1/d?currentSchema=s")
    at = builder.with_user_name("me").with_password("secret").with_driver_name("org.postgresql.Driver").build()
    database = JdbcSink.sink(INSERT, ROW, at)._database
    assert database == PostgresDatabase(
        "postgresql://h:1/d", (("user", "me"), ("password", "secret"), ("options", "-csearch_path=s"))
    )
    assert "secret" not in repr(at)
    assert (at.get_db_url(), at.get_user_name(), at.get_password(), at.get_driver_name()) == (
        "jdbc:postgresql://h:1/d?currentSchema=s",
        "me",
        "secret",
        "org.postgresql.Driver",
    )
