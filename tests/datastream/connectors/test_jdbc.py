"""The JdbcSink against SQLite, and against a PostgreSQL server where there is one."""

from __future__ import annotations

import datetime
import sqlite3
import sys
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from firesteel.common import Instant, Row, Types, WatermarkStrategy
from firesteel.common.files.run_directory import RUN_DIRECTORY, UnsafeDirectoryError
from firesteel.connectors.jdbc import writer as jdbc_writer
from firesteel.connectors.jdbc.address import database_of
from firesteel.connectors.jdbc.database import count_parameters, native_statement
from firesteel.connectors.jdbc.mysql import MySqlDatabase
from firesteel.connectors.jdbc.postgresql import PostgresDatabase
from firesteel.connectors.jdbc.writer import INLINE_ROWS, JdbcCommitter, JdbcWriter, PreparedRows, RowError
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.datastream.connectors.jdbc import JdbcConnectionOptions, JdbcExecutionOptions, JdbcSink
from firesteel.datastream.connectors.number_seq import NumberSequenceSource
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.operators.sinks.committables import SinkCommitError
from firesteel.testing import Fault, run_local
from tests.datastream.connectors.conftest import Target

pytestmark = pytest.mark.slow

ROW = Types.ROW_NAMED(["id", "name"], [Types.LONG(), Types.STRING()])
INSERT = "INSERT INTO results (id, name) VALUES (?, ?)"
CREATE = "CREATE TABLE results (id BIGINT PRIMARY KEY, name VARCHAR(20))"


def options(url: str) -> JdbcConnectionOptions:
    return JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()


def sink_of(target: Target, sql: str = INSERT, row_type: Any = ROW, execution: Any = None) -> JdbcSink:
    return JdbcSink.sink(sql, row_type, options(target.url), execution)


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
    getattr(rows(env, 100), method)(sink_of(target))
    run_local(env, batch_elements=7)
    assert target.execute(SELECT) == expected(100)


@pytest.mark.parametrize("after_rows", [0, 1, 100])
def test_each_row_is_written_once_whatever_dies_and_is_committed_again(target: Target, after_rows: int) -> None:
    target.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    env = environment()
    rows(env, 40).rebalance().map(lambda row: row, ROW).add_sink(sink_of(target))
    faults = [Fault(batch, stage, slot, after_rows) for batch in range(4) for stage in (0, 1) for slot in (0, 1)]
    run_local(env, batch_elements=3, faults=faults, replayed=[0, 2, 3])
    assert target.execute(SELECT) == expected(40)


def test_many_rows_travel_in_files_that_are_gone_afterwards(target: Target, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv(RUN_DIRECTORY, str(tmp_path / "run"))
    target.execute(CREATE)
    env = environment()
    count = 5 * INLINE_ROWS
    rows(env, count).add_sink(sink_of(target, execution=JdbcExecutionOptions.builder().with_batch_size(300).build()))
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
    made = sink_of(sqlite).create_writer(
        WriterInitContext("job", "sink", 0, 1, 0, False, None, {}, lambda: 0, lambda: True)
    )
    many = [Row(n, "name") for n in range(INLINE_ROWS + 1)]
    made.write_all(many, None)
    assert [path.stat().st_mode & 0o777 for path in (tmp_path / "run", tmp_path / "run/staging-job")] == [0o700, 0o700]
    made.close()
    (tmp_path / "run").chmod(0o777)
    with pytest.raises(UnsafeDirectoryError, match="its mode is 777"):
        sink_of(sqlite).create_writer(
            WriterInitContext("job", "sink", 0, 1, 0, False, None, {}, lambda: 0, lambda: True)
        )


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
    stream.add_sink(sink_of(target))
    stream.add_sink(sink_of(target, "INSERT INTO results (id, name) SELECT ? + 100, ?"))
    run_local(env, replayed=[0])
    assert [row[0] for row in target.execute(SELECT)] == [0, 1, 2, 3, 4, 100, 101, 102, 103, 104]


UPSERTS = {"mysql": "ON DUPLICATE KEY UPDATE name = VALUES(name)"}


def test_upserts_run_as_they_are_written(target: Target) -> None:
    target.execute(CREATE)
    env = environment(1)
    upsert = f"{INSERT} {UPSERTS.get(target.kind, 'ON CONFLICT (id) DO UPDATE SET name = excluded.name')}"
    env.from_collection([Row(1, "a"), Row(2, "b"), Row(1, "c")], ROW).add_sink(sink_of(target, upsert))
    run_local(env)
    assert target.execute(SELECT) == [(1, "c"), (2, "b")]


# --- errors --------------------------------------------------------------------------------------------------------


def test_a_row_that_the_database_refuses_is_refused_before_its_checkpoint_is_decided(
    target: Target, tmp_path: Path
) -> None:
    target.execute(CREATE)
    env = environment(1)
    env.from_collection([Row(n, "a") for n in (1, 2, 3, 2)], ROW).add_sink(sink_of(target))
    with pytest.raises(SinkCommitError):
        run_local(env, batch_elements=2, checkpoint=tmp_path)
    assert [path.name for path in tmp_path.glob("chk-*")] == ["chk-1"]
    assert target.execute(SELECT) == [(1, "a"), (2, "a")]


def test_row_that_the_database_refuses_is_named_with_the_sink_and_nothing_is_written(target: Target) -> None:
    target.execute(CREATE)
    env = environment(1)
    stream = env.from_collection([Row(1, "a"), Row(2, "b"), Row(1, "c")], ROW)
    stream.add_sink(sink_of(target)).name("totals")
    with pytest.raises(
        SinkCommitError, match=r"sink '.*totals': could not commit: .*\(1, 'c'\).*(?i:unique|duplicate)"
    ):
        run_local(env)
    assert target.execute(SELECT) == []


def test_bad_statement_is_named(target: Target) -> None:
    env = environment(1)
    env.from_collection([Row(1, "a")], ROW).add_sink(sink_of(target))
    with pytest.raises(SinkCommitError, match=r"INSERT INTO results .* row \(1, 'a'\).*results"):
        run_local(env)


def test_record_of_another_type_is_named_with_its_operator(sqlite: Target) -> None:
    env = environment(1)
    env.from_collection([(1, "a"), ("two", "b")]).add_sink(sink_of(sqlite)).name("totals")
    with pytest.raises(UserFunctionError, match=r"operator '.*totals': .*id.*LONG.*'two'"):
        run_local(env)


def test_inconsistent_arguments_are_rejected_when_the_sink_is_created() -> None:
    at = options("jdbc:sqlite:/nowhere/x.db")
    with pytest.raises(ValueError, match="has 1 parameters, type_info has 2 fields"):
        JdbcSink.sink("INSERT INTO t VALUES (?, '?')", ROW, at)
    with pytest.raises(TypeError, match=r"type_info must be a Types.ROW"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", Types.INT(), at)
    with pytest.raises(NotImplementedError, match="field 'tags': SQLite does not support values of"):
        JdbcSink.sink("INSERT INTO t VALUES (?)", Types.ROW_NAMED(["tags"], [Types.LIST(Types.INT())]), at)
    with pytest.raises(ValueError, match=r"no driver for 'jdbc:derby://h/d'; use jdbc:sqlite"):
        JdbcSink.sink(INSERT, ROW, options("jdbc:derby://h/d"))
    with pytest.raises(ValueError, match="private to one connection"):
        JdbcSink.sink(INSERT, ROW, options("jdbc:sqlite::memory:"))
    with pytest.raises(ValueError, match="need an address"):
        JdbcConnectionOptions.JdbcConnectionOptionsBuilder().build()
    with pytest.raises(ValueError, match="size must be 1 or greater, found 0"):
        JdbcExecutionOptions.builder().with_batch_size(0)


@pytest.mark.parametrize(("package", "name"), [("psycopg", "postgresql"), ("pymysql", "mysql")])
def test_missing_driver_is_named_with_the_command_that_installs_it(package: str, name: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    committer = JdbcSink.sink(INSERT, ROW, options(f"jdbc:{name}://nowhere/db")).create_committer()
    with pytest.raises(ModuleNotFoundError, match=rf"pip install 'firesteel\[{name}\]'"):
        committer.commit([])


# --- the committer -------------------------------------------------------------------------------------------------


def request(subtask: int, number: int, *names: str, job: str = "job") -> CommitRequest:
    prepared = PreparedRows(None, tuple((100 * subtask + 10 * number + i, name) for i, name in enumerate(names)))
    return CommitRequest(job, "sink", subtask, number, prepared)


def test_requests_that_come_again_are_recognised_one_by_one(target: Target) -> None:
    target.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    committer = sink_of(target).create_committer()
    committer.commit([request(0, 0, "a"), request(1, 0, "b")])
    committer.commit([request(0, 0, "again"), request(0, 1, "c"), request(1, 0, "again")])
    committer.commit([request(0, 0, "d", job="other job")])
    assert sorted(row[1] for row in target.execute(SELECT)) == ["a", "b", "c", "d"]


def test_after_a_failed_commit_all_subtasks_are_committed_again(target: Target) -> None:
    target.execute(CREATE)
    committer = sink_of(target).create_committer()
    with pytest.raises(RowError):
        committer.commit([request(0, 0, "a"), request(1, 0, "b"), request(0, 0, "a")])
    assert target.execute(SELECT) == []
    committer.commit([request(0, 0, "a"), request(1, 0, "b")])
    assert [row[1] for row in target.execute(SELECT)] == ["a", "b"]


def test_a_database_that_is_locked_is_tried_again(sqlite: Target, monkeypatch: Any) -> None:
    sqlite.execute(CREATE)
    committer = sink_of(sqlite, execution=JdbcExecutionOptions(max_retries=1)).create_committer()
    path = sqlite.url.removeprefix("jdbc:sqlite:")
    real = sqlite3.connect
    waits: list[float] = []
    with closing(real(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def give_up(seconds: float) -> None:
            waits.append(seconds)
            other.execute("ROLLBACK")

        monkeypatch.setattr(sqlite3, "connect", lambda path, **settings: real(path, **{**settings, "timeout": 0}))
        monkeypatch.setattr(jdbc_writer, "time", SimpleNamespace(sleep=give_up))
        committer.commit([request(0, 0, "a")])
    assert waits == [1]
    assert len(sqlite.execute(SELECT)) == 1


def test_commit_needs_no_right_to_create_tables_once_the_bookkeeping_is_there(postgres: Target) -> None:
    postgres.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    sink_of(postgres).create_committer().commit([request(0, 0, "a")])
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


def test_commit_to_mysql_needs_no_right_to_create_tables_once_the_bookkeeping_is_there(mysql: Target) -> None:
    mysql.execute("CREATE TABLE results (id BIGINT, name VARCHAR(20))")
    sink_of(mysql).create_committer().commit([request(0, 0, "a")])
    mysql.execute("CREATE OR REPLACE USER guest@'%'")
    mysql.execute("GRANT SELECT, INSERT, UPDATE ON test.* TO guest@'%'")
    url = mysql.url.split("?")[0] + "?user=guest"
    JdbcSink.sink(INSERT, ROW, options(url)).create_committer().commit([request(0, 1, "b")])
    assert len(mysql.execute(SELECT)) == 2


def test_a_lock_that_mysql_waits_for_too_long_is_tried_again(mysql: Target, monkeypatch: Any) -> None:
    mysql.execute(CREATE)
    committer = sink_of(mysql, execution=JdbcExecutionOptions(max_retries=1)).create_committer()
    with closing(database_of(f"{mysql.url}&socketTimeout=30000", None, None).connect()) as other:
        mysql.execute("INSERT INTO results VALUES (0, 'old')")
        mysql.execute("SET GLOBAL innodb_lock_wait_timeout = 1")
        other.cursor().execute("BEGIN")
        other.cursor().execute("UPDATE results SET name = 'locked'")
        monkeypatch.setattr(jdbc_writer, "time", SimpleNamespace(sleep=lambda seconds: other.rollback()))
        with pytest.raises(RowError, match="Duplicate entry"):
            committer.commit([request(0, 0, "a")])
    mysql.execute("SET GLOBAL innodb_lock_wait_timeout = 50")


# --- values and statements -----------------------------------------------------------------------------------------

MOMENT = datetime.datetime(2024, 1, 31, 12, 0, 0, 5000)
VALUES: list[tuple[str, Any, str, Any, Any, Any]] = [
    # name, type, column, value, in SQLite, in PostgreSQL (and in MySQL, where nothing else is said)
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


IN_MYSQL = {
    "b": 1,
    "u": datetime.timedelta(hours=12, microseconds=5000),
    "z": datetime.datetime(1970, 1, 1, 0, 0, 1, 500_000),
}
MYSQL_COLUMNS = {
    "u": "TIME(6)",
    "m": "DATETIME(6)",
    "z": "TIMESTAMP(6)",
    "y": "BLOB",
}


def make_table_of_all_types(target: Target) -> tuple[str, Any]:
    """Create the table; return how to insert a row into it, and the type of its rows."""
    blob = "BYTEA" if target.kind == "postgres" else "BLOB"
    own = MYSQL_COLUMNS if target.kind == "mysql" else {}
    columns = ", ".join(f"{name} {own.get(name) or column or blob}" for name, _, column, *_ in VALUES)
    target.execute(f"CREATE TABLE results ({columns})")
    sql = f"INSERT INTO results VALUES ({', '.join('?' * len(VALUES))})"
    return sql, Types.ROW_NAMED([value[0] for value in VALUES], [value[1] for value in VALUES])


def test_values_of_each_type_come_back(target: Target) -> None:
    sql, row_type = make_table_of_all_types(target)
    env = environment(1)
    env.from_collection([Row(*(value[3] for value in VALUES))], row_type).add_sink(sink_of(target, sql, row_type))
    run_local(env)
    (row,) = target.execute("SELECT * FROM results")
    own = IN_MYSQL if target.kind == "mysql" else {}
    assert list(row) == [own.get(value[0], value[4 if target.kind == "sqlite" else 5]) for value in VALUES]


def test_lists_become_arrays_in_postgresql(postgres: Target) -> None:
    postgres.execute("CREATE TABLE results (tags INTEGER[])")
    env = environment(1)
    row_type = Types.ROW([Types.LIST(Types.INT())])
    env.from_collection([Row([1, 2])], row_type).add_sink(sink_of(postgres, "INSERT INTO results VALUES (?)", row_type))
    run_local(env)
    assert postgres.execute("SELECT tags FROM results") == [([1, 2],)]


@pytest.mark.parametrize(
    ("sql", "parameters", "native"),
    [
        ("INSERT INTO t VALUES (?, ?)", 2, "INSERT INTO t VALUES (%s, %s)"),
        ("SELECT 'it''s ?', \"?\", ? -- ?\n, ?", 2, "SELECT 'it''s ?', \"?\", %s -- ?\n, %s"),
        ("SELECT /* ? */ $q$ ? $q$, a ?? ?, 5 % 3", 1, "SELECT /* ? */ $q$ ? $q$, a ? %s, 5 %% 3"),
        ("SELECT '100%'", 0, "SELECT '100%%'"),
        ("SELECT `why?` FROM t WHERE a = ?", 1, "SELECT `why?` FROM t WHERE a = %s"),
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


def test_properties_of_a_mysql_address_get_the_names_of_its_driver(caplog: pytest.LogCaptureFixture) -> None:
    url = "jdbc:mariadb://h/d?user=you&connectTimeout=1500&socketTimeout=0&sslMode=VERIFY_CA&autoReconnect=true"
    database = database_of(url, None, "secret")
    options = (("user", "you"), ("password", "secret"), ("connect_timeout", 2), ("ssl_verify_cert", True))
    assert database == MySqlDatabase("h", 3306, "d", options)
    assert "secret" not in repr(database)
    assert caplog.messages == ["JDBC: properties without effect in the address of the database: autoReconnect"]
    with pytest.raises(ValueError, match=r"sslMode must be one of disabled, .* found 'maybe'"):
        database_of("jdbc:mysql://h/d?sslMode=maybe", None, None)
    with pytest.raises(ValueError, match="has no host; expected jdbc:mysql://<host>"):
        database_of("jdbc:mysql:///d", None, None)


@pytest.mark.parametrize("user", ["", "sa:geheim@"])
@pytest.mark.parametrize("address", ["oracle://{}h/d", "mysql://{}/d", "mariadb://{}:1/d"])
def test_messages_about_an_address_hide_its_passwords(address: str, user: str) -> None:
    url = f"jdbc:{address.format(user)}?password=geheim&ssl=true"
    with pytest.raises(ValueError, match=r"password=\*{6}&ssl=true") as refused:
        database_of(url, None, None)
    at = JdbcConnectionOptions.JdbcConnectionOptionsBuilder().with_url(url).build()
    postgres = database_of(f"jdbc:postgresql://{user}h/d?password=geheim", None, None)
    assert "geheim" not in f"{refused.value} {at!r} {postgres!r}"


@pytest.mark.parametrize("user", ["", "sa:geheim@"])
def test_the_message_about_a_missing_driver_hides_passwords(user: str, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(ModuleNotFoundError, match="postgresql") as missing:
        database_of(f"jdbc:postgresql://{user}h/d", None, None).connect()
    assert "geheim" not in str(missing.value)
