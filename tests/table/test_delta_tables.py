"""Delta tables: rows that are written and read by SQL, versions, and commits."""

from __future__ import annotations

import datetime
import json
import pickle
from decimal import Decimal

import pyarrow as pa
import pytest

from firesteel.columns.batch import ColumnBatch
from firesteel.columns.type_text import parse_type, type_text
from firesteel.common import Configuration
from firesteel.common.table_errors import TableException, ValidationException
from firesteel.connectors.table_connector import Column, ResolvedTable, ScanRequest
from firesteel.connectors.table_options import Options
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, WriterInitContext
from firesteel.table import StreamTableEnvironment
from firesteel.testing import run_local
from tests.table.local_runs import create, explained, insert, read, written

pytest.importorskip("deltalake", reason="the extra firesteel[delta] is not installed")

from deltalake import DeltaTable, write_deltalake
from deltalake.exceptions import CommitFailedError

from firesteel.connectors.delta import delta_types
from firesteel.connectors.delta.address import DeltaAddress, check_readable, check_writable
from firesteel.connectors.delta.delta_types import schema_of, sql_type, stored_table
from firesteel.connectors.delta.source import DeltaSource
from firesteel.connectors.delta.versions import versions_of
from firesteel.connectors.delta.writer import DeltaSink, statistics

COLUMNS = "k INT NOT NULL, p STRING"


def declared(path, columns=COLUMNS, more="", **options):
    return create("t", columns, {"connector": "delta", "table-path": str(path), **options}, more)


class Lake:
    """A table that is written and read by the parts of the connector, without a job."""

    def __init__(self, path, partitions=()):
        self.path = str(path)
        self.columns = (Column("k", parse_type("INT NOT NULL")), Column("p", parse_type("STRING")))
        self.table = ResolvedTable(("c", "d", "t"), self.columns, {}, partition_keys=partitions)
        self.address = DeltaAddress(self.path)
        self.address.ensure(self.table)
        self.sink = pickle.loads(pickle.dumps(DeltaSink(self.address, self.columns)))
        self.committer = self.sink.create_committer()

    def writer(self, is_checkpoint=lambda: True):
        context = WriterInitContext("job", "v/o", 0, 2, 0, False, None, {}, lambda: 0, is_checkpoint=is_checkpoint)
        return self.sink.create_writer(context)

    def requests(self, *rows, writer=None):
        writer = writer or self.writer()
        columns = (pa.array([row[0] for row in rows], pa.int32()), pa.array([row[1] for row in rows], pa.string()))
        writer.write(ColumnBatch(columns, len(rows)), None)
        writer.flush(False)
        found = [CommitRequest("job", "v/o", 0, 0, part) for part in writer.prepare_commit()]
        return pickle.loads(pickle.dumps(found))

    def commit(self, *rows):
        requests = self.requests(*rows)
        self.committer.check(requests)
        self.committer.commit(requests)
        return requests

    def rows(self):
        return sorted(tuple(row.values()) for row in self.opened().to_pyarrow_table().to_pylist())

    def opened(self):
        return DeltaTable(self.path)

    def source(self, partitions=None, **options):
        is_bounded = options.get("mode", "batch") == "batch"
        versions = versions_of(Options(options, "delta"), self.opened(), is_bounded)
        request = ScanRequest(self.columns, partitions=partitions)
        source = DeltaSource(self.address, versions, self.table, request, None if is_bounded else 1)
        return pickle.loads(pickle.dumps(source))


def rows_of(source):
    batches = [batch for split in source.discover_splits() for batch in source.read_split(split.split_id, 0, 1)]
    return sorted(row for batch in batches for row in zip(*(c.to_pylist() for c in batch.columns), strict=True))


@pytest.fixture
def lake(tmp_path):
    return Lake(tmp_path / "t")


# --- tables -----------------------------------------------------------------------------------------------------------

VALUES = {
    "b BOOLEAN": "TRUE",
    "y TINYINT": "CAST(1 AS TINYINT)",
    "h SMALLINT": "CAST(2 AS SMALLINT)",
    "l BIGINT": "CAST(3 AS BIGINT)",
    "f FLOAT": "CAST(0.5 AS FLOAT)",
    "d DOUBLE": "CAST('NaN' AS DOUBLE)",
    "e DECIMAL(10, 2)": "CAST(1.5 AS DECIMAL(10, 2))",
    "c VARCHAR(5)": "CAST('x' AS VARCHAR(5))",
    "v BYTES": "CAST(X'6162' AS BYTES)",
    "j DATE": "DATE '2024-01-02'",
    "s TIMESTAMP(6)": "TIMESTAMP '2024-01-02 03:04:05.123456'",
    "z TIMESTAMP_LTZ(3)": "CAST(TIMESTAMP '2024-01-02 03:04:05' AS TIMESTAMP_LTZ(3))",
    "a ARRAY<INT>": "ARRAY[1, 2]",
    "m MAP<STRING, BIGINT>": "MAP['k', CAST(3 AS BIGINT)]",
    "r ROW<a INT, b STRING>": "CAST(ROW(1, 'y') AS ROW<a INT, b STRING>)",
}


def test_values_of_all_types_come_back(tmp_path):
    statement = declared(tmp_path / "t", ", ".join(VALUES))
    query = f"SELECT {', '.join(VALUES.values())}"
    written(statement, query)
    assert repr(read("SELECT * FROM t", statement)) == repr(read(query))


def test_partitions_are_directories_and_other_ones_are_not_read(tmp_path):
    statement = declared(tmp_path / "t", "k INT, p STRING, d DECIMAL(4, 2), j DATE", "PARTITIONED BY (p, d, j)")
    query = """SELECT * FROM (VALUES (1, 'a %/ü', CAST(1.5 AS DECIMAL(4, 2)), DATE '2024-01-02'),
               (2, CAST(NULL AS STRING), CAST(NULL AS DECIMAL(4, 2)), CAST(NULL AS DATE))) AS v (k, p, d, j)"""
    written(statement, query)
    assert sorted(read("SELECT * FROM t", statement)) == sorted(read(query))
    assert read("SELECT COUNT(*) FROM t", statement)[-1] == (2,)
    (directory,) = (tmp_path / "t").glob("p=a*/d=1.5/j=2024-01-02")
    next(directory.iterdir()).unlink()
    assert read("SELECT k FROM t WHERE p IS NULL", statement) == [(2,)]


def test_tables_of_other_programs_are_read_and_appended_to(tmp_path):
    path = tmp_path / "t"
    write_deltalake(path, pa.table({"k": pa.array([1], pa.int32()), "p": ["a b"]}), partition_by=["p"])
    statement = declared(path, "k INT, p STRING", "PARTITIONED BY (p)")
    written(statement, "SELECT 2, 'c%d'")
    assert sorted(read("SELECT * FROM t", statement)) == [(1, "a b"), (2, "c%d")]
    found = DeltaTable(path).to_pyarrow_table()
    assert sorted(zip(*(found[name].to_pylist() for name in "kp"), strict=True)) == [(1, "a b"), (2, "c%d")]


def test_properties_and_comments_are_those_of_the_new_table(tmp_path):
    statement = declared(tmp_path / "t", "k INT COMMENT 'key'", "COMMENT 'rows'", **{"delta.appendOnly": "true"})
    written(statement, "SELECT 1")
    made = DeltaTable(tmp_path / "t")
    assert (made.metadata().description, made.metadata().configuration) == ("rows", {"delta.appendOnly": "true"})
    assert made.schema().fields[0].metadata == {"comment": "key"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": "k INT NOT NULL, q STRING"}, "Column 'q' does not exist in the Delta table"),
        ({"columns": "k BIGINT NOT NULL, p STRING"}, "'k' is declared as BIGINT, but is INT in the Delta table"),
        ({"columns": "k INT, p STRING"}, "Column 'k' is required in the Delta table"),
        ({"more": "PARTITIONED BY (p)"}, r"partitioned by no column, but declared as PARTITIONED BY \(p\)"),
        ({"write.mode": "upsert"}, "'write.mode' of 'delta': expected one of append, found 'upsert'"),
        ({"table_path": "x"}, "'table_path' of 'delta' is not supported: use 'table-path'"),
    ],
)
def test_what_does_not_fit_the_table_is_refused(lake, change, message):
    with pytest.raises(ValidationException, match=message):
        explained(declared(lake.path, **change), "SELECT 1, 'a'")


@pytest.mark.parametrize("query", ["SELECT MAX(k), 'a' FROM (VALUES (1)) AS v (k)"])
def test_changes_of_rows_are_refused(lake, query):
    with pytest.raises(TableException, match="doesn't support consuming update changes"):
        explained(declared(lake.path), query)


@pytest.mark.parametrize("kind", ["TIME(0)", "INTERVAL DAY", "ROW<a TIME(0)>", "VARIANT"])
def test_types_without_counterpart_are_named(kind):
    with pytest.raises(ValidationException, match=r"Column 'c' has the type .* Delta has no type for"):
        schema_of([Column("c", parse_type(kind))])


def test_every_plain_type_has_a_counterpart():
    columns = [Column(name, parse_type(kind)) for name, kind in (text.split(" ", 1) for text in VALUES)]
    schema = schema_of(columns)
    stored_table(schema, "t").check(columns, writes=True)
    back = {type_text(sql_type(field.type, field.name)) for field in schema.fields}
    assert back >= {type_text(kind) for kind in delta_types._SQL.values()} - {"INT", "STRING", "TIMESTAMP_LTZ(6)"}


@pytest.mark.parametrize("kind", ["DOUBLE", "TIMESTAMP(3)", "BYTES"])
def test_types_without_one_text_are_no_partitions(tmp_path, kind):
    with pytest.raises(ValidationException, match="cannot be a partition column"):
        explained(declared(tmp_path / "t", f"k INT, p {kind}", "PARTITIONED BY (p)"), f"SELECT 1, CAST(NULL AS {kind})")


def test_a_table_that_is_not_there_and_other_schemes_are_refused(tmp_path):
    with pytest.raises(ValidationException, match="There is no Delta table at"):
        read("SELECT * FROM t", declared(tmp_path / "nowhere"))
    with pytest.raises(ValidationException, match="expected a local path or one of s3:// and s3a://, found 'gs://b/t'"):
        read("SELECT * FROM t", declared("gs://b/t"))


def test_errors_of_stores_are_told_in_one_line(monkeypatch):
    def refused(*_):  # as delta-rs says it after a while
        raise OSError("Generic S3 error\n \x1b[31m↳\x1b[0m Error performing GET\n  \x1b[31m↳\x1b[0m refused")

    monkeypatch.setattr("firesteel.connectors.delta.address.DeltaTable", refused)
    with pytest.raises(ValidationException) as found:
        DeltaAddress("s3://bucket/t").opened(3)
    expected = (
        "Could not open the Delta table s3://bucket/t at version 3: Generic S3 error Error performing GET refused"
    )
    assert str(found.value) == expected


@pytest.mark.parametrize(
    ("changes", "check"),
    [
        ({"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, "readerFeatures": ["deletionVectors"],
                       "writerFeatures": ["deletionVectors"]}}, check_readable),
        ({"configuration": {"delta.columnMapping.mode": "name"}}, check_readable),
        ({"protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}},
         check_writable),
        ({"configuration": {"delta.constraints.positive": "k > 0"}}, check_writable),
        ({"metadata": {"delta.generationExpression": "1"}}, check_writable),
    ],
)  # fmt: skip
def test_features_that_are_not_supported_are_named(lake, changes, check):
    log = next((lake.address.files.path(lake.path) / "_delta_log").glob("*.json"))
    actions = [json.loads(line) for line in log.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"].update(changes.get("protocol", {}))
        if "metaData" in action:
            action["metaData"]["configuration"] |= changes.get("configuration", {})
            schema = json.loads(action["metaData"]["schemaString"])
            schema["fields"][0]["metadata"] |= changes.get("metadata", {})
            action["metaData"]["schemaString"] = json.dumps(schema)
    log.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(TableException, match=r"Delta table .* uses"):
        check(lake.opened(), lake.path)


# --- versions ---------------------------------------------------------------------------------------------------------


def test_versions_and_times_are_read(lake):
    for number in range(3):
        lake.commit((number, "a"))
    times = [commit["timestamp"] for commit in reversed(lake.opened().history())]
    at = datetime.datetime.fromtimestamp(times[1] / 1000, datetime.UTC).isoformat()
    assert rows_of(lake.source(versionAsOf="1")) == [(0, "a")]
    assert rows_of(lake.source(timestampAsOf=at)) in ([(0, "a")], [(0, "a"), (1, "a")])  # some are in the same ms
    assert rows_of(lake.source(mode="streaming", startingVersion="2")) == [(1, "a"), (2, "a")]
    assert rows_of(lake.source(mode="streaming", startingVersion="latest")) == [(2, "a")]
    assert rows_of(lake.source(mode="streaming", startingTimestamp=at))[-2:] == [(1, "a"), (2, "a")]
    for option in ({"timestampAsOf": "2001-01-01"}, {"versionAsOf": "9"}, {"versionAsOf": "-1"}):
        with pytest.raises(ValidationException, match=r"expected a (time since the first commit|version from 0 to 3)"):
            lake.source(**option)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"versionAsOf": "0", "timestampAsOf": "2024-01-01"}, "'timestampAsOf' of 'delta' excludes 'versionAsOf'"),
        ({"mode": "streaming", "versionAsOf": "0"}, "'versionAsOf' of 'delta' is not for 'mode' = 'streaming'"),
        ({"startingVersion": "0"}, "'startingVersion' of 'delta' is not for 'mode' = 'batch'"),
        ({"ignoreDeletes": "true"}, "'ignoreDeletes' of 'delta' is not for 'mode' = 'batch'"),
        ({"timestampAsOf": "then"}, "expected a time such as"),
    ],
)
def test_options_for_other_modes_are_refused(lake, options, message):
    with pytest.raises(ValidationException, match=message):
        lake.source(**options)


def test_a_stream_goes_on_with_versions_to_come(lake):
    lake.commit((1, "a"))
    source = lake.source(mode="streaming")
    assert rows_of(source) == [(1, "a")]
    lake.commit((2, "b"))
    assert len(source.discover_splits()) == 2
    assert rows_of(source) == [(1, "a"), (2, "b")]
    again = pickle.loads(pickle.dumps(source))  # as after a restart, when splits are recognised by their ids
    assert {s.split_id for s in again.discover_splits()} == {s.split_id for s in source.discover_splits()}
    lake.opened().optimize.compact()
    assert len(source.discover_splits()) == 2


@pytest.mark.parametrize(("predicate", "option"), [("k = 1", "ignoreChanges"), ("k > 0", "ignoreDeletes")])
def test_rows_that_are_changed_or_removed_end_a_stream_unless_ignored(lake, predicate, option):
    lake.commit((1, "a"), (2, "a"))
    source, ignoring = lake.source(mode="streaming"), lake.source(mode="streaming", **{option: "true"})
    assert rows_of(ignoring) == rows_of(source)
    lake.opened().delete(predicate)
    with pytest.raises(TableException, match=f"rows; set '{option}' = 'true' to go on"):
        source.discover_splits()
    assert len(ignoring.discover_splits()) == (2 if option == "ignoreChanges" else 1)


def test_other_columns_and_a_log_that_is_gone_end_a_stream(lake):
    source = lake.source(mode="streaming")
    lake.opened().alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(TableException, match="has an action"):
        source.discover_splits()
    (lake.address.files.path(lake.path) / "_delta_log" / f"{1:020}.json").unlink()
    with pytest.raises(TableException, match="has version 1 no more"):
        list(lake.source(mode="batch")._versions.files_added(1, lake.address.files, lake.path))


# --- commits ----------------------------------------------------------------------------------------------------------


def test_a_checkpoint_is_one_version_which_is_committed_once(lake):
    requests = lake.requests((1, "a")) + lake.requests((2, None))
    for _ in range(3):
        lake.committer.commit(requests)
    assert (lake.rows(), lake.opened().version()) == ([(1, "a"), (2, None)], 1)
    lake.committer.commit([*requests, *lake.requests((3, "c"))])
    assert (lake.rows(), lake.opened().version()) == ([(1, "a"), (2, None), (3, "c")], 2)


def test_checkpoints_of_a_writer_that_are_committed_together_are_all_added(lake):
    writer = lake.writer()
    first, second = lake.requests((1, "a"), writer=writer), lake.requests((2, "b"), writer=writer)
    lake.committer.commit([*second, *first])
    lake.committer.commit(first)
    assert (lake.rows(), lake.opened().version()) == ([(1, "a"), (2, "b")], 1)


def test_a_writer_from_an_older_savepoint_is_not_taken_for_its_successor(lake):
    lake.commit((1, "a"))
    lake.commit((2, "b"))
    assert lake.rows() == [(1, "a"), (2, "b")]


@pytest.fixture
def before_commit(monkeypatch):
    """Return a function that sets what happens before a commit, after the committer has loaded the table."""
    original = DeltaTable.create_write_transaction

    def set_action(action):
        def commit(table, *arguments, **more):
            with monkeypatch.context() as context:
                context.setattr(DeltaTable, "create_write_transaction", original)
                action()
            return original(table, *arguments, **more)

        monkeypatch.setattr(DeltaTable, "create_write_transaction", commit)

    monkeypatch.setattr("time.sleep", lambda seconds: None)
    return set_action


def test_a_former_leader_that_commits_the_same_files_wins_once(lake, before_commit):
    requests = lake.requests((1, "a"))
    before_commit(lambda: lake.committer.commit(requests))
    lake.committer.commit(requests)
    assert (lake.rows(), lake.opened().version()) == ([(1, "a")], 1)


def test_concurrent_writers_lose_no_rows(lake, before_commit):
    requests, others = lake.requests((1, "a")), [lake.requests((2, "b"))]
    before_commit(lambda: lake.committer.commit(others.pop()) if others else None)
    lake.committer.commit(requests)
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_a_commit_that_always_conflicts_fails(lake, before_commit):
    requests = lake.requests((1, "a"))

    def change():
        lake.opened().alter.set_table_description(str(lake.opened().version()))

    before_commit(change)
    with pytest.raises(CommitFailedError):
        lake.committer.commit(requests)
    assert lake.rows() == []


def test_files_of_another_table_are_refused(lake, tmp_path):
    requests = lake.requests((1, "a"))
    other = Lake(tmp_path / "other")
    for action in (other.committer.check, other.committer.commit):
        with pytest.raises(TableException, match="was replaced, or partitioned by other columns"):
            action(requests)


def test_rows_between_checkpoints_survive_a_crash_of_the_writer(lake):
    checkpoints = [False]
    writer = lake.writer(lambda: checkpoints[0])
    assert lake.requests((1, "a"), writer=writer) == []
    state = writer.snapshot_state()
    assert state is None or pickle.loads(pickle.dumps(state))
    checkpoints[0] = True
    lake.committer.commit(lake.requests((2, "b"), writer=writer))
    assert lake.rows() == [(1, "a"), (2, "b")]


def test_statistics_tell_ranges_that_readers_may_trust():
    rows = pa.table({
        "i": pa.array([2, None, 1], pa.int32()),
        "s": ["b", "a", None],
        "long": ["x" * 33, "a", None],
        "none": pa.array([None] * 3, pa.int64()),
        "f": [float("nan"), 1.0, None],
        "d": [datetime.date(2024, 1, 2), None, None],
        "e": pa.array([Decimal("1.5")] * 3, pa.decimal128(4, 2)),
        "l": [[1], None, []],
    })  # fmt: skip
    found = json.loads(statistics(rows))
    assert found["minValues"] == {"i": 1, "s": "a", "d": "2024-01-02"}
    assert found["maxValues"] == {"i": 2, "s": "b", "d": "2024-01-02"}
    assert found["nullCount"] == {"i": 1, "s": 1, "long": 1, "none": 3, "f": 1, "d": 2, "e": 0}
    assert found["numRecords"] == 3


# --- object stores ----------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_tables_in_an_object_store_use_the_options_of_flink(bucket):
    def environments():
        configuration = Configuration()
        for key, value in bucket.options.items():
            configuration.set_string(key, value)
        env = StreamExecutionEnvironment.get_execution_environment(configuration)
        t_env = StreamTableEnvironment.create(env)
        t_env.execute_sql(declared(bucket.uri("t"), "k INT, p STRING", "PARTITIONED BY (p)"))
        return env, t_env

    for row in ("(1, 'a b')", "(2, 'c')"):
        insert(*environments(), f"INSERT INTO t VALUES {row}")
    env, t_env = environments()
    t_env.to_changelog_stream(t_env.sql_query("SELECT * FROM t")).collect_async()
    assert sorted(tuple(row) for row in run_local(env).elements) == [(1, "a b"), (2, "c")]
    assert sum(name.endswith(".parquet") for name in bucket.names("t")) == 2
