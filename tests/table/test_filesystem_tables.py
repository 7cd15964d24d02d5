"""Tables of files."""

import datetime
from decimal import Decimal

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.errors import TableException

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("format_name", ["parquet", "json", "csv", "avro"])
def test_partitions_are_written_overwritten_and_read(tmp_path, format_name):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    t_env.execute_sql(
        "CREATE TABLE t (id INT, price DECIMAL(10, 2), name STRING, dt STRING) PARTITIONED BY (dt) "
        f"WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{format_name}')"
    )
    t_env.execute_sql("INSERT INTO t VALUES (1, 1.5, 'a', 'x y'), (2, 2, 'b', 'z')").wait()
    t_env.execute_sql("INSERT OVERWRITE t PARTITION (dt = 'z') SELECT 3, CAST(3 AS DECIMAL(10, 2)), 'c'").wait()
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == ["dt=x y", "dt=z"]
    with t_env.execute_sql("SELECT dt, id, CAST(price AS STRING), name FROM t").collect() as rows:
        assert sorted(tuple(row) for row in rows) == [("x y", 1, "1.50", "a"), ("z", 3, "3.00", "c")]


def test_files_are_selected_by_pattern_and_partition(tmp_path):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for day, number in (("a", "1"), ("b", "2"), ("c", "broken")):
        (tmp_path / f"dt={day}").mkdir()
        (tmp_path / f"dt={day}" / "part.csv").write_text(f"{number}\n")
        (tmp_path / f"dt={day}" / "other.txt").write_text("broken\n")
    t_env.execute_sql(
        "CREATE TABLE t (id INT, dt STRING) PARTITIONED BY (dt) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'csv', 'source.path.regex-pattern' = '.*[.]csv', 'scan.parallelism' = '1')"
    )
    with t_env.execute_sql("SELECT id, dt FROM t WHERE dt IN ('a', 'b') AND id > 1").collect() as rows:
        assert [tuple(row) for row in rows] == [(2, "b")]
    assert "broken" in (tmp_path / "dt=c" / "part.csv").read_text()


def test_committed_partitions_are_marked(tmp_path):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.execute_sql(
        "CREATE TABLE t (id INT, dt STRING) PARTITIONED BY (dt) WITH ('connector' = 'filesystem', "
        f"'path' = '{tmp_path}', 'format' = 'csv', 'sink.parallelism' = '1', "
        "'sink.partition-commit.policy.kind' = 'success-file', 'sink.partition-commit.success-file.name' = '_DONE')"
    )
    t_env.execute_sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')").wait()
    assert sorted(path.parent.name for path in tmp_path.rglob("_DONE")) == ["dt=a", "dt=b"]
    with t_env.execute_sql("SELECT id FROM t").collect() as rows:
        assert sorted(row[0] for row in rows) == [1, 2]


def test_no_row_of_files_in_the_order_of_event_time_is_late(tmp_path):
    files, rows, start = 6, 3_000, datetime.datetime(2026, 1, 1)
    for number in range(files):
        seconds = range(number * rows, (number + 1) * rows)
        lines = [f'{{"ts": "{start + datetime.timedelta(seconds=second)}"}}\n' for second in seconds]
        (tmp_path / f"{number}.json").write_text("".join(lines))
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "2")
    t_env.execute_sql(
        "CREATE TABLE t (ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '1' SECOND) WITH "
        f"('connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'json')"
    )
    windows = "TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '10' SECOND))"
    query = f"SELECT COUNT(*) FROM {windows} GROUP BY window_start, window_end"
    with t_env.execute_sql(query).collect() as found:
        assert sum(row[0] for row in found) == files * rows


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("sink.partition-commit.policy.kind", "metastore"),
        ("sink.partition-commit.trigger", "custom"),
        ("sink.partition-commit.delay", "soon"),
        ("sink.partition-commit.watermark-time-zone", "Nowhere"),
        ("partition.time-extractor.kind", "custom"),
        ("partition.time-extractor.class", "org.Mine"),
        ("partition.time-extractor.timestamp-formatter", "bbb"),
        ("sink.parallelism", "0"),
        ("scan.watermark.idle-timeout", "1 s"),
    ],
)
def test_unsupported_options_are_refused(tmp_path, option, value):
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    options = {"connector": "filesystem", "path": str(tmp_path), "format": "csv",
               "sink.partition-commit.policy.kind": "success-file", option: value}  # fmt: skip
    text = ", ".join(f"'{key}' = '{text}'" for key, text in options.items())
    t_env.execute_sql(f"CREATE TABLE t (id INT, dt STRING) PARTITIONED BY (dt) WITH ({text})")
    with pytest.raises(TableException, match=option):
        t_env.execute_sql("INSERT INTO t VALUES (1, 'a')")


@pytest.mark.parametrize("name", ["csv", "json", "parquet", "avro", "raw"])
def test_unknown_options_of_the_format_are_a_warning(tmp_path, caplog, name):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    files = f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = '{name}'"
    t_env.execute_sql(f"CREATE TABLE t (s STRING) WITH ({files}, '{name}.unknown-here' = '1')")
    t_env.explain_sql("INSERT INTO t VALUES ('a')")
    t_env.explain_sql("SELECT * FROM t")
    assert [record.message for record in caplog.records] == [f"'{name}' has no option unknown-here: it has no effect"]


def test_avro_files_go_to_fastavro_and_come_from_it(tmp_path):
    fastavro = pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    t_env.get_config().set("parallelism.default", "1")
    columns = "id BIGINT NOT NULL, price DECIMAL(10, 2), moment TIMESTAMP(3), r ROW<xs ARRAY<INT>, s STRING>"
    options = f"'connector' = 'filesystem', 'path' = '{tmp_path}', 'format' = 'avro'"
    t_env.execute_sql(f"CREATE TABLE t ({columns}) WITH ({options})")
    t_env.execute_sql(
        "INSERT INTO t VALUES (1, 1.5, TIMESTAMP '2024-01-01 00:00:00.123', ROW(ARRAY[1, 2], 'x')), "
        "(2, CAST(NULL AS DECIMAL(10, 2)), CAST(NULL AS TIMESTAMP(3)), CAST(NULL AS ROW<xs ARRAY<INT>, s STRING>))"
    ).wait()
    (path,) = (path for path in tmp_path.iterdir() if path.name.startswith("part-"))
    with path.open("rb") as file:
        reader = fastavro.reader(file)
        records, schema = list(reader), reader.writer_schema
    moment = datetime.datetime(2024, 1, 1, 0, 0, 0, 123000, datetime.UTC)
    assert records == [
        {"id": 1, "price": Decimal("1.50"), "moment": moment, "r": {"xs": [1, 2], "s": "x"}},
        {"id": 2, "price": None, "moment": None, "r": None},
    ]
    with (tmp_path / "other.avro").open("wb") as file:
        fastavro.writer(file, schema, [{**records[0], "id": 3, "r": {"xs": None, "s": "y"}}], codec="null")
    with t_env.execute_sql("SELECT r.s, id, CAST(moment AS STRING) FROM t").collect() as rows:
        moment_text = "2024-01-01 00:00:00.123"
        assert sorted((tuple(row) for row in rows), key=lambda row: row[1]) == [
            ("x", 1, moment_text),
            (None, 2, None),
            ("y", 3, moment_text),
        ]


def test_avro_codecs_and_formats_of_messages_are_refused(tmp_path):
    t_env = TableEnvironment.create(EnvironmentSettings.in_batch_mode())
    for name, options, says in (
        ("a", "'format' = 'avro', 'avro.codec' = 'lz4'", "Invalid value for option 'codec' of 'avro'"),
        ("b", "'format' = 'avro-confluent', 'avro-confluent.url' = 'http://r'", "identifiers for files are"),
    ):
        t_env.execute_sql(
            f"CREATE TABLE {name} (id INT) WITH ('connector' = 'filesystem', 'path' = '{tmp_path}', {options})"
        )
        with pytest.raises(TableException, match=says):
            t_env.execute_sql(f"INSERT INTO {name} VALUES (1)")
