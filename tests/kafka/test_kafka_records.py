"""Whole records: what a source gives of them, and what a table writes to them."""

from __future__ import annotations

from typing import Any

import pytest

from firesteel.common import WatermarkStrategy
from firesteel.connectors.kafka.client import KafkaError
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecord,
    KafkaRecordDeserializationSchema,
    KafkaSource,
)
from firesteel.operators.chain.operator_errors import UserFunctionError
from firesteel.table.errors import ValidationException
from firesteel.testing import run_local
from tests.kafka.broker import Broker
from tests.table.local_runs import create, explained, read, written

pytestmark = pytest.mark.slow


def elements(broker: Broker, topic: str, schema: KafkaRecordDeserializationSchema[Any]) -> list[Any]:
    source = (
        KafkaSource.builder()
        .set_bootstrap_servers(broker.servers)
        .set_topics(topic)
        .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        .set_bounded(KafkaOffsetsInitializer.latest())
        .set_deserializer(schema)
        .build()
    )
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(1)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "records").collect_async()
    return list(run_local(env).elements)


def put(broker: Broker, topic: str, **record: Any) -> None:
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": broker.servers})
    producer.produce(topic, **record)
    assert producer.flush(20) == 0


class Keys(KafkaRecordDeserializationSchema[str]):
    """Keys of records with a value, and `gone` for others."""

    def deserialize_record(self, record: KafkaRecord) -> str | None:
        key = (record.key or b"").decode()
        return f"gone {key}" if record.value is None else None if key == "skipped" else f"{key} at {record.offset}"


def test_a_source_gives_whole_records(broker: Broker) -> None:
    topic = broker.topic(1)
    put(broker, topic, key=b"k", value=b"v", headers=[("a", b"1"), ("a", b"2")], timestamp=1500)
    put(broker, topic, key=b"gone", value=None, timestamp=1600)
    first, second = elements(broker, topic, KafkaRecordDeserializationSchema.rows())
    assert first.as_dict() == {
        "topic": topic, "partition": 0, "offset": 0, "timestamp": 1500, "key": b"k", "value": b"v",
        "headers": (("a", b"1"), ("a", b"2")),
    }  # fmt: skip
    assert (second["key"], second["value"], second["headers"]) == (b"gone", None, ())
    put(broker, topic, key=b"skipped", value=b"v")
    put(broker, topic, key=b"last", value=b"v")
    assert elements(broker, topic, Keys()) == ["k at 0", "gone gone", "last at 3"]


class Failing(KafkaRecordDeserializationSchema[str]):
    def deserialize_record(self, record: KafkaRecord) -> str:
        raise LookupError("no such thing")


def test_errors_of_a_schema_name_the_record(broker: Broker) -> None:
    topic = broker.topic(1)
    put(broker, topic, value=b"v")
    with pytest.raises((KafkaError, UserFunctionError), match=f"topic '{topic}', partition 0, offset 0: LookupError"):
        elements(broker, topic, Failing())
    with pytest.raises(NotImplementedError, match="use its value_only"):
        KafkaRecordDeserializationSchema()


def table(broker: Broker, columns: str, **options: str) -> str:
    given = {"connector": "kafka", "properties.bootstrap.servers": broker.servers, "format": "json",
             "scan.startup.mode": "earliest-offset", "scan.bounded.mode": "latest-offset",
             "properties.batch.size": "1"}  # fmt: skip
    return create("t", columns, given | options)


METADATA = (
    "h MAP<STRING, BYTES> METADATA FROM 'headers', n INT, `at` TIMESTAMP_LTZ(3) METADATA FROM 'timestamp', "
    "to_topic STRING METADATA FROM 'topic', o BIGINT METADATA FROM 'offset' VIRTUAL"
)
ROW = "SELECT MAP['a', x'01'], {n}, TO_TIMESTAMP_LTZ(1500, 3), {topic}"


def test_a_table_writes_headers_timestamps_and_topics_of_rows(broker: Broker) -> None:
    one, two = broker.topic(1), broker.topic(1)
    rows = " UNION ALL ".join(ROW.format(n=n, topic=f"'{topic}'") for n, topic in enumerate((one, two, two)))
    statement = table(broker, METADATA, topic=f"{one};{two}")
    written(statement, rows)
    assert [broker.values(topic) for topic in (one, two)] == [['{"n":0}'], ['{"n":1}', '{"n":2}']]
    found = read("SELECT h, n, `at`, to_topic FROM t WHERE n = 2", statement)
    [(headers, _, at, topic)] = found
    assert ({name: bytes(value) for name, value in headers.items()}, topic) == ({"a": b"\x01"}, two)
    assert at.to_epoch_milli() == 1500
    with pytest.raises(UserFunctionError, match=r"The topic of a row must be one of .*found 'elsewhere'"):
        written(statement, ROW.format(n=1, topic="'elsewhere'"))
    pattern = table(broker, METADATA, **{"topic-pattern": f"{one}|{two}"})
    written(pattern, ROW.format(n=5, topic=f"'{one}'"))
    assert broker.values(one) == ['{"n":0}', '{"n":5}']
    with pytest.raises(UserFunctionError, match="The topic of a row must be one of"):
        written(pattern, ROW.format(n=1, topic="CAST(NULL AS STRING)"))


def test_other_metadata_is_not_written() -> None:
    given = {"connector": "kafka", "properties.bootstrap.servers": "a:1", "format": "json", "topic": "a"}
    statement = create("t", "n INT, o BIGINT METADATA FROM 'offset'", given)
    with pytest.raises(ValidationException, match=r"Invalid metadata key 'offset'.*\nheaders\ntimestamp\ntopic"):
        explained(statement, "SELECT 1, CAST(2 AS BIGINT)")
    several = create("t", "n INT", given | {"topic": "a;b"})
    with pytest.raises(ValidationException, match="only supports a single topic"):
        explained(several, "SELECT 1")
