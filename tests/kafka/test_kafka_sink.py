"""KafkaSink against a real broker: delivery guarantees and rejected settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Row, Types, WatermarkStrategy
from firesteel.common.serialization import SerializationSchema, SimpleStringSchema
from firesteel.connectors.kafka import transactions as kafka_transactions
from firesteel.connectors.kafka.client import KafkaError
from firesteel.connectors.kafka.committer import KafkaCommitter
from firesteel.connectors.kafka.writer import PreparedRecords
from firesteel.connectors.staging import PreparedRows
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import CommitRequest, DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
    KafkaTopicSelector,
)
from firesteel.errors import InvalidProgramError
from firesteel.testing import run_local
from firesteel.testing.local_job import Fault
from tests.kafka.broker import Broker

pytestmark = pytest.mark.slow

EXACTLY_ONCE = DeliveryGuarantee.EXACTLY_ONCE


def serializer(topic: str) -> Any:
    return (
        KafkaRecordSerializationSchema.builder().set_topic(topic).set_value_serialization_schema(SimpleStringSchema())
    )


def sink(broker: Broker | str, schema: Any, guarantee: DeliveryGuarantee, prefix: str = "") -> Any:
    servers = broker if isinstance(broker, str) else broker.servers
    made = KafkaSink.builder().set_bootstrap_servers(servers).set_record_serializer(schema.build())
    return made.set_delivery_guarantee(guarantee).set_transactional_id_prefix(prefix or "any")


def environment(parallelism: int = 2, mode: Any = RuntimeExecutionMode.STREAMING) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(mode)
    env.set_parallelism(parallelism)
    return env


def to_kafka(values: Sequence[Any], made: Any, type_info: Any = None, **how: Any) -> None:
    env = environment()
    env.from_collection(list(values), type_info or Types.STRING()).rebalance().sink_to(made.build())
    run_local(env, **how)


NUMBERS = [f"{i:04}" for i in range(1000)]


@pytest.mark.parametrize("guarantee", DeliveryGuarantee)
@pytest.mark.parametrize("batch_elements", [None, 130])
def test_every_element_arrives_once_if_nothing_fails(broker: Broker, guarantee: Any, batch_elements: Any) -> None:
    topic = broker.topic(2)
    to_kafka(NUMBERS, sink(broker, serializer(topic), guarantee, topic), batch_elements=batch_elements)
    assert broker.values(topic) == NUMBERS


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, EXACTLY_ONCE])
def test_every_element_arrives_although_slots_die(broker: Broker, guarantee: Any) -> None:
    topic = broker.topic(2)
    faults = [Fault(batch, 1, slot, after) for batch, slot, after in [(0, 0, 1), (2, 1, 0), (3, 1, 2)]]
    to_kafka(NUMBERS, sink(broker, serializer(topic), guarantee, topic), batch_elements=130, faults=faults)
    found = broker.values(topic)
    assert sorted(set(found)) == NUMBERS
    assert guarantee is not EXACTLY_ONCE or found == NUMBERS


def test_committing_again_has_no_effect(broker: Broker) -> None:
    topic = broker.topic(2)
    to_kafka(NUMBERS, sink(broker, serializer(topic), EXACTLY_ONCE, topic), batch_elements=130, replayed=range(8))
    assert broker.values(topic) == NUMBERS


def test_a_job_resumed_in_another_process_writes_the_remaining_records(
    broker: Broker, tmp_path: Path, monkeypatch: Any
) -> None:
    topic = broker.topic(2)
    env = environment()
    stream = env.from_collection(NUMBERS, Types.STRING()).rebalance()
    stream.sink_to(sink(broker, serializer(topic), EXACTLY_ONCE, topic).build())
    graph = env.get_stream_graph().get_job_graph()
    for batches in (2, 3, None):
        monkeypatch.setattr(kafka_transactions, "_shared", {})  # Producers are gone with their process.
        run_local(graph, batch_elements=130, checkpoint=tmp_path, batches=batches)
    assert broker.values(topic) == NUMBERS


def test_a_job_resumed_with_another_prefix_does_not_commit_twice(
    broker: Broker, tmp_path: Path, monkeypatch: Any
) -> None:
    topic = broker.topic(2)
    for prefix, batches in ((topic, 3), (f"new-{topic}", None)):
        monkeypatch.setattr(kafka_transactions, "_shared", {})
        env = environment()
        stream = env.from_collection(NUMBERS, Types.STRING()).rebalance()
        stream.sink_to(sink(broker, serializer(topic), EXACTLY_ONCE, prefix).build())
        graph = env.get_stream_graph().get_job_graph()
        graph.job_id = "0" * 32
        run_local(graph, batch_elements=130, checkpoint=tmp_path, batches=batches)
    assert broker.values(topic) == NUMBERS


def test_batch_job_commits_once(broker: Broker) -> None:
    topic = broker.topic()
    env = environment(mode=RuntimeExecutionMode.BATCH)
    env.from_collection(NUMBERS, Types.STRING()).rebalance().sink_to(
        sink(broker, serializer(topic), EXACTLY_ONCE, topic).build()
    )
    run_local(env)
    assert broker.values(topic) == NUMBERS


def test_kafka_to_kafka(broker: Broker) -> None:
    before, after = broker.topic(2), broker.topic(2)
    for partition in range(2):
        broker.write(before, NUMBERS[:200], partition)
    source = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(before)
    source.set_value_only_deserializer(SimpleStringSchema()).set_bounded(KafkaOffsetsInitializer.latest())
    env = environment()
    env.from_source(source.build(), WatermarkStrategy.no_watermarks(), "in", Types.STRING()).key_by(
        lambda value: value[-1]
    ).map(lambda value: value, Types.STRING()).sink_to(sink(broker, serializer(after), EXACTLY_ONCE, after).build())
    run_local(env, batch_elements=50, replayed=[1], faults=[Fault(2, 1, 0, 1)])
    assert broker.values(after) == sorted(NUMBERS[:200] * 2)


# --- records ----------------------------------------------------------------------------------------------------------


class KeyOfRow(SerializationSchema):
    def serialize(self, element: Any) -> bytes:
        return str(element[0]).encode()


class TopicOfRow(KafkaTopicSelector):
    def __init__(self, topics: dict[str, str]) -> None:
        self.topics = topics

    def apply(self, data: Any) -> str:
        return self.topics[data[0]]


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, EXACTLY_ONCE])
def test_record_has_topic_key_and_headers_of_its_element(broker: Broker, guarantee: Any) -> None:
    topics = {"a": broker.topic(8), "b": broker.topic(8)}
    schema = KafkaRecordSerializationSchema.builder().set_topic_selector(TopicOfRow(topics))
    schema.set_value_serialization_schema(SimpleStringSchema()).set_key_serialization_schema(KeyOfRow())
    schema.set_header_provider(lambda row: {"length": bytes([len(row[1])])} if len(row[1]) > 1 else None)
    row_type = Types.ROW([Types.STRING(), Types.STRING()])
    to_kafka([Row("a", "x"), Row("b", "yy"), Row("a", "z")], sink(broker, schema, guarantee, topics["a"]), row_type)
    found = {name: broker.read(topic) for name, topic in topics.items()}
    assert [len(found[name]) for name in "ab"] == [2, 1]
    assert {message.key() for message in found["a"]} == {b"a"}
    # Java's clients put keys "a" and "b" of eight partitions there.
    assert {message.partition() for message in found["a"]} == {_java_partition(b"a", 8)}
    assert {message.partition() for message in found["b"]} == {_java_partition(b"b", 8)}
    assert found["b"][0].headers() == [("length", b"\x02")]
    assert found["a"][0].headers() is None


def _java_partition(key: bytes, partitions: int) -> int:
    """`Utils.toPositive(Utils.murmur2(key)) % partitions` of Kafka's Java clients, for keys of one byte."""
    assert len(key) == 1
    h = (0x9747B28C ^ 1) & 0xFFFFFFFF
    h = ((h ^ key[0]) * 0x5BD1E995) & 0xFFFFFFFF
    h ^= h >> 13
    h = (h * 0x5BD1E995) & 0xFFFFFFFF
    h ^= h >> 15
    return (h & 0x7FFFFFFF) % partitions


def test_record_has_the_time_of_its_element(broker: Broker) -> None:
    topic = broker.topic()
    env = environment(1)
    strategy = WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(Seconds())
    env.from_collection(["5", "7"], Types.STRING()).assign_timestamps_and_watermarks(strategy).sink_to(
        sink(broker, serializer(topic), EXACTLY_ONCE, topic).build()
    )
    run_local(env)
    assert [message.timestamp()[1] for message in broker.read(topic)] == [5000, 7000]


class Seconds:
    def extract_timestamp(self, value: Any, record_timestamp: int) -> int:
        return 1000 * int(value)


# --- transactions -----------------------------------------------------------------------------------------------------


def request(topic: str, number: int, *values: str, job: str = "job") -> CommitRequest:
    """Return the commit prepared by the first writer of a sink with that topic as its prefix."""
    rows = tuple((topic, None, value.encode(), 0, None) for value in values)
    return CommitRequest(
        job, "sink", 0, number, PreparedRecords(PreparedRows(None, rows), frozenset({topic}), f"{topic}-0")
    )


def test_job_with_the_same_prefix_fences_the_older_one_which_says_so(broker: Broker, monkeypatch: Any) -> None:
    topic = broker.topic()
    committer = KafkaCommitter({"bootstrap.servers": broker.servers})
    committer.commit([request(topic, 0, "old")])
    of_the_older = kafka_transactions._shared
    monkeypatch.setattr(kafka_transactions, "_shared", {})
    committer.commit([request(topic, 0, "new", job="other")])
    monkeypatch.setattr(kafka_transactions, "_shared", of_the_older)
    with pytest.raises(KafkaError, match=f"transactional id '{topic}-0' is used by another job.*prefix of its own"):
        committer.commit([request(topic, 1, "lost")])
    # A restart takes the id back and commits what was decided.
    committer.commit([request(topic, 1, "lost")])
    assert broker.values(topic) == ["lost", "new", "old"]


def test_topics_are_looked_for_at_the_brokers_of_the_sink(broker: Broker) -> None:
    topic = broker.topic()
    KafkaCommitter({"bootstrap.servers": broker.servers}).check([request(topic, 0, "a")])
    elsewhere = {"bootstrap.servers": "127.0.0.1:1", "request.timeout.ms": "500", "default.api.timeout.ms": "500"}
    with pytest.raises(KafkaError):
        KafkaCommitter(elsewhere).check([request(topic, 0, "a")])


def test_several_batches_of_a_checkpoint_are_one_transaction_and_files_are_removed(
    broker: Broker, tmp_path: Path
) -> None:
    topic = broker.topic()
    committer = KafkaCommitter({"bootstrap.servers": broker.servers})
    committer.commit([request(topic, 1, "b"), request(topic, 0, "a")])
    assert [(message.offset(), message.value()) for message in broker.read(topic)] == [(0, b"a"), (1, b"b")]


# --- what is refused --------------------------------------------------------------------------------------------------


def test_record_that_is_too_large_is_refused_before_it_is_decided(broker: Broker) -> None:
    made = sink(broker, serializer(broker.topic()), EXACTLY_ONCE).set_property("max.request.size", "100")
    with pytest.raises(Exception, match=r"a record of 200 bytes is larger than max\.request\.size"):
        to_kafka(["x" * 200], made.set_property("batch.size", "100"))


@pytest.mark.parametrize("guarantee", [DeliveryGuarantee.AT_LEAST_ONCE, EXACTLY_ONCE])
def test_broker_that_does_not_answer_is_an_error_and_not_a_hang(guarantee: Any) -> None:
    made = sink("127.0.0.1:1", serializer("t"), guarantee)
    for name in ("request.timeout.ms", "delivery.timeout.ms"):
        made.set_property(name, "1000")
    with pytest.raises(Exception, match=r"Kafka at 127\.0\.0\.1:1: could not .*(Connection refused|timed out)"):
        to_kafka(["x"], made)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda made: made, "bootstrap.servers is missing"),
        (lambda made: made.set_bootstrap_servers("a:1"), "the record serializer is missing"),
        (
            lambda made: (
                made.set_bootstrap_servers("a:1")
                .set_record_serializer(serializer("t").build())
                .set_delivery_guarantee(EXACTLY_ONCE)
            ),
            r"transactional id prefix .* call set_transactional_id_prefix",
        ),
    ],
)
def test_the_builder_names_missing_settings(change: Any, text: str) -> None:
    with pytest.raises(InvalidProgramError, match=text):
        change(KafkaSink.builder()).build()


def test_schema_needs_one_topic_and_a_schema_of_values() -> None:
    new = KafkaRecordSerializationSchema.builder
    with pytest.raises(InvalidProgramError, match="the topic is missing"):
        new().set_value_serialization_schema(SimpleStringSchema()).build()
    with pytest.raises(InvalidProgramError, match="value schema is missing"):
        new().set_topic("t").build()
    with pytest.raises(InvalidProgramError, match="topic is set already"):
        new().set_topic("t").set_topic_selector(lambda value: "u")
    with pytest.raises(ValueError, match="1 to 64000 bytes, found 0"):
        KafkaSink.builder().set_transactional_id_prefix("")
