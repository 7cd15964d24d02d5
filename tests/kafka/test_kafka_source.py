"""KafkaSource against a real broker: offsets and timestamps that it reads, and offsets committed to the group."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import closing
from itertools import count
from typing import Any

import pytest

from firesteel.common import Types, WatermarkStrategy
from firesteel.common.serialization import DeserializationSchema, SimpleStringSchema
from firesteel.connectors.kafka.client import KafkaError
from firesteel.coordinator.source_splits import SourceSplits
from firesteel.coordinator.split_enumerator import SplitEnumerator
from firesteel.datastream import ProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    KafkaSource,
    KafkaTopicPartition,
)
from firesteel.datastream.formats.json import JsonRowDeserializationSchema
from firesteel.errors import InvalidProgramError
from firesteel.functions.source_reading import SourceReaderContext
from firesteel.functions.splits import Split, SplitRange
from firesteel.task.batch_plan import SubtaskReport
from firesteel.testing import run_local
from tests.kafka.broker import Broker

pytestmark = [pytest.mark.libraries, pytest.mark.slow]

EARLIEST = KafkaOffsetsInitializer.earliest()
LATEST = KafkaOffsetsInitializer.latest()


def builder(broker: Broker | str, *topics: str, bounded: bool = True) -> Any:
    servers = broker if isinstance(broker, str) else broker.servers
    made = KafkaSource.builder().set_bootstrap_servers(servers).set_value_only_deserializer(SimpleStringSchema())
    if topics:
        made.set_topics(*topics)
    return made.set_bounded(LATEST) if bounded else made


def environment(parallelism: int = 1, **options: str) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(parallelism)
    for name, value in options.items():
        env._configuration.set_string(name.replace("__", "."), value)
    return env


def read(source: KafkaSource, parallelism: int = 1, **how: Any) -> list[str]:
    env = environment(parallelism)
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka", Types.STRING()).print()
    return sorted(line.partition("> ")[2] or line for line in run_local(env, **how).lines)


def test_the_backlog_is_what_the_broker_has_beyond_the_position(broker: Broker) -> None:
    name = broker.topic(2)
    for partition in range(2):
        broker.write(name, [(f"{i}", 1000) for i in range(50)], partition=partition)
    env = environment(2)
    source = builder(broker, name, bounded=False).set_starting_offsets(EARLIEST).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka", Types.STRING()).print()
    splits = SplitEnumerator(env.get_stream_graph().get_job_graph(), {}, 10)
    (vertex,) = splits._sources

    def behind() -> list[float]:
        reports = [SubtaskReport(vertex, subtask, 0, 0, False) for subtask in range(2)]
        return [splits.metrics_of(report)["Source__kafka.pendingRecords"] for report in reports]

    splits.plan(next(_times))
    assert behind() == [40, 40]
    broker.write(name, [("late", 1000)] * 7, partition=0)
    splits.plan(next(_times))
    assert sorted(behind()) == [30, 37]


# --- where reading starts and ends ------------------------------------------------------------------------------------


_times = count(0, 10_000)
"""Times of discoveries (ms), so far apart that each asks the broker."""


def splits_of(source: KafkaSource, splits: SourceSplits | None = None) -> dict[str, tuple[int, int, bool]]:
    splits = splits or SourceSplits(source, 1)
    splits.discover(next(_times))
    return {name: (split.start, split.end, split.grows) for name, split in splits.state.splits.items()}


@pytest.fixture(scope="module")
def topic(broker: Broker) -> str:
    """Two partitions: ten records, one each second, and three."""
    name = broker.topic(2)
    broker.write(name, [(f"a{i}", 1_000_000 + 1000 * i) for i in range(10)])
    broker.write(name, [(f"b{i}", 1_000_000 + 1000 * i) for i in range(3)], partition=1)
    return name


def test_offsets_to_start_with(broker: Broker, topic: str) -> None:
    first, second = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 1)
    group = f"group-of-{topic}"
    from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

    offsets = [ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 4)])]
    broker.admin.alter_consumer_group_offsets(offsets)[group].result()
    for initializer, starts in (
        (EARLIEST, (0, 0)),
        (LATEST, (10, 3)),
        (KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST), (4, 0)),
        (KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.LATEST), (4, 3)),
        (KafkaOffsetsInitializer.offsets({first: 7, second: 1}), (7, 1)),
        (KafkaOffsetsInitializer.offsets({second: 1}), (4, 1)),
        (KafkaOffsetsInitializer.offsets({first: 5}, KafkaOffsetResetStrategy.LATEST), (5, 3)),
    ):
        source = builder(broker, topic, bounded=False).set_group_id(group).set_starting_offsets(initializer).build()
        assert splits_of(source) == {f"{topic}-0": (starts[0], 10, True), f"{topic}-1": (starts[1], 3, True)}


def test_timestamp_to_start_with(broker: Broker) -> None:
    name = broker.topic()
    broker.write(name, "ab")
    # The broker of the tests looks at the time when it got a record, and finds the first one for a time to come.
    middle = time.time_ns() // 1_000_000 + 1
    while time.time_ns() // 1_000_000 <= middle:
        pass
    broker.write(name, "cd")
    source = builder(broker, name).set_starting_offsets(KafkaOffsetsInitializer.timestamp(middle)).build()
    assert read(source) == ["c", "d"]


def test_no_committed_offset_and_no_reset_strategy_is_an_error(broker: Broker, topic: str) -> None:
    offsets = KafkaOffsetsInitializer.committed_offsets()
    source = builder(broker, topic).set_group_id("nobody-committed").set_starting_offsets(offsets).build()
    with pytest.raises(KafkaError, match=f"Undefined offset with no reset policy for partition {topic}-0"):
        splits_of(source)


def test_bounded_source_ends_at_offsets(broker: Broker, topic: str) -> None:
    first, second = KafkaTopicPartition(topic, 0), KafkaTopicPartition(topic, 1)
    stop = KafkaOffsetsInitializer.offsets({first: 2, second: 1})
    assert read(builder(broker, topic).set_bounded(stop).build()) == ["a0", "a1", "b0"]


def test_bounded_source_waits_for_records_up_to_its_stopping_offsets(broker: Broker) -> None:
    name = broker.topic()
    broker.write(name, ["a"])
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(name, 0): 3})
    splits = SourceSplits(builder(broker, name).set_bounded(stop).build(), 1)
    assert not splits.is_endless
    splits.discover(0)
    assert [(part.start, part.end, part.is_last) for part in splits.take(0, 100)] == [(0, 1, False)]
    assert splits.newly_ended() == []
    broker.write(name, "bcd")
    splits.discover(1000)
    assert [(part.start, part.end, part.is_last) for part in splits.take(0, 100)] == [(1, 3, True)]
    assert splits.newly_ended() == [0]


def test_batch_mode_waits_for_records_up_to_the_stopping_offsets(broker: Broker) -> None:
    name = broker.topic()
    broker.write(name, ["a"])
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(name, 0): 3})
    source = builder(broker, name).set_bounded(stop).set_property("request.timeout.ms", "500").build()
    (part,) = SourceSplits(source, 1).all_ranges()
    later = threading.Timer(1.0, broker.write, (name, "bcd"))
    later.start()
    with closing(source.create_reader(SourceReaderContext(0, {}))) as reader:
        assert [element for chunk in reader.read(part) for element in chunk.elements] == ["a", "b", "c"]
    later.join()


def test_unbounded_source_stops_reading_but_does_not_end(broker: Broker, topic: str) -> None:
    stop = KafkaOffsetsInitializer.offsets({KafkaTopicPartition(topic, 0): 2, KafkaTopicPartition(topic, 1): 1})
    splits = SourceSplits(builder(broker, topic).set_unbounded(stop).build(), 1)
    splits.discover(0)
    assert [part.end for part in splits.take(0, 100)] == [2, 1]
    assert splits.newly_ended() == []
    splits.discover(1000)
    assert splits.take(0, 100) == []


def test_pattern_and_partitions_choose_what_is_read(broker: Broker, topic: str) -> None:
    pattern = builder(broker, bounded=False).set_topic_pattern(f"{topic[:-1]}.").build()
    assert set(splits_of(pattern)) == {f"{topic}-0", f"{topic}-1"}
    partition = builder(broker, bounded=False).set_partitions({KafkaTopicPartition(topic, 1)}).build()
    assert set(splits_of(partition)) == {f"{topic}-1"}


def test_new_topic_that_matches_is_read_from_its_beginning(broker: Broker) -> None:
    name = broker.topic()
    broker.write(name, ["old"])
    pattern = builder(broker, bounded=False).set_topic_pattern(f"{name}.*").set_starting_offsets(LATEST)
    splits = SourceSplits(pattern.set_property("partition.discovery.interval.ms", "1").build(), 1)
    assert splits_of(None, splits) == {f"{name}-0": (1, 1, True)}
    broker.create(f"{name}-more")
    broker.write(f"{name}-more", ["new"])
    assert splits_of(None, splits) == {f"{name}-0": (1, 1, True), f"{name}-more-0": (0, 1, True)}


def test_a_checkpoint_contains_start_positions_of_unread_sources(broker: Broker) -> None:
    name = broker.topic()
    source = builder(broker, name, bounded=False).set_starting_offsets(LATEST).build()
    splits = SourceSplits(source, 1)
    assert splits_of(source, splits) == {f"{name}-0": (0, 0, True)}
    broker.write(name, ["came while the job was down"])
    again = SourceSplits(source, 1)
    again.restore(splits.state)
    assert splits_of(source, again) == {f"{name}-0": (0, 1, True)}


# --- reading ----------------------------------------------------------------------------------------------------------


def test_each_record_is_read_once_in_small_batches_although_batches_are_tried_again(broker: Broker) -> None:
    name = broker.topic(3)
    for partition in range(3):
        broker.write(name, [f"{partition}-{i:03}" for i in range(200)], partition)
    found = read(builder(broker, name).build(), 2, batch_elements=70, replayed=[1, 3])
    assert found == [f"{partition}-{i:03}" for partition in range(3) for i in range(200)]


def test_transaction_markers_occupy_offsets_but_are_not_records(broker: Broker) -> None:
    name = broker.topic()
    for i in range(4):
        broker.write_in_transaction(name, [f"{i}a", f"{i}b"])
    assert broker.read(name)[-1].offset() == 10
    for batch_elements in (1, 3, 5, None):
        found = read(builder(broker, name).build(), batch_elements=batch_elements)
        assert found == [f"{i}{c}" for i in range(4) for c in "ab"]


def test_a_range_is_reread_if_the_consumer_is_ahead(broker: Broker, topic: str) -> None:
    source = builder(broker, topic).build()
    split = Split(f"{topic}-0", 0, 0, 10)
    ranges = [(0, 3), (3, 7), (3, 7), (0, 10), (9, 10)]
    with closing(source.create_reader(SourceReaderContext(0, {}))) as reader:
        found = [[e for chunk in reader.read(SplitRange(split, *r)) for e in chunk.elements] for r in ranges]
    assert found == [[f"a{i}" for i in range(*r)] for r in ranges]


class Stamps(ProcessFunction):
    def process_element(self, value, ctx):
        yield f"{value}@{ctx.timestamp()}"


def test_records_have_their_timestamps_and_an_assigner_is_given_them(broker: Broker) -> None:
    name = broker.topic()
    broker.write(name, [("a", 5000), ("b", 7000)])
    for strategy, stamps in (
        (WatermarkStrategy.no_watermarks(), [5000, 7000]),
        (WatermarkStrategy.for_monotonous_timestamps(), [5000, 7000]),
    ):
        env = environment()
        env.from_source(builder(broker, name).build(), strategy, "kafka", Types.STRING()).process(Stamps()).print()
        assert run_local(env).lines == [f"a@{stamps[0]}", f"b@{stamps[1]}"]


def test_record_that_cannot_be_read_is_named(broker: Broker) -> None:
    class Numbers(DeserializationSchema):
        def deserialize(self, message: bytes) -> int:
            return int(message)

    name = broker.topic()
    broker.write(name, ["1", "2", "three"])
    source = builder(broker, name).set_value_only_deserializer(Numbers()).build()
    with pytest.raises(Exception, match=f"topic '{name}', partition 0, offset 2: ValueError.*'three'"):
        read(source)


def test_schemas_process_buffers_and_skip_unknown_messages(broker: Broker) -> None:
    class Odd(DeserializationSchema):
        def deserialize_all(self, messages: list[bytes]) -> list[Any]:
            return [message.decode() if int(message) % 2 else None for message in messages]

    name = broker.topic()
    broker.write(name, ["1", "2", None, "3"])
    assert read(builder(broker, name).set_value_only_deserializer(Odd()).build()) == ["1", "3"]


# --- the group --------------------------------------------------------------------------------------------------------


def test_offsets_of_checkpoints_are_committed_to_the_group(broker: Broker) -> None:
    name, group = broker.topic(2), "told"
    broker.write(name, "abcdef")
    broker.write(name, "xyz", partition=1)
    env = environment(2, execution__checkpointing__interval="1 s")
    source = builder(broker, name).set_group_id(group).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka", Types.STRING()).print()
    run_local(env, batch_elements=2, batches=2)
    first = broker.committed(group, name, 2)
    assert 0 < first[0] < 6
    run_local(env, batch_elements=2)
    assert broker.committed(group, name, 2) == [6, 3]


@pytest.mark.parametrize("properties", [{}, {"group.id": "silent", "commit.offsets.on.checkpoint": "false"}])
def test_offsets_are_not_committed_without_a_group_or_when_switched_off(broker: Broker, properties: Any) -> None:
    name = broker.topic()
    broker.write(name, "ab")
    env = environment(execution__checkpointing__interval="1 s")
    source = builder(broker, name).set_properties(properties).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka", Types.STRING()).print()
    assert run_local(env).lines == ["a", "b"]
    assert broker.committed("silent", name) == [-1001]


# --- what is refused --------------------------------------------------------------------------------------------------


def test_unknown_topic_is_named(broker: Broker) -> None:
    with pytest.raises(KafkaError, match="has no topic 'nowhere'"):
        splits_of(builder(broker, "nowhere").build())
    partition = KafkaTopicPartition(broker.topic(), 7)
    with pytest.raises(KafkaError, match=f"has no partition {partition.topic}-7"):
        splits_of(builder(broker).set_partitions({partition}).build())


def test_broker_that_does_not_answer_is_an_error_after_the_request_timeout(broker: Broker) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{taken.getsockname()[1]}"
        source = builder(servers, "any").set_property("request.timeout.ms", "1000").build()
        with pytest.raises(KafkaError, match=rf"Kafka at {servers}: could not list topics: .*Connection refused"):
            splits_of(source)


def test_login_that_the_broker_refuses_is_an_error_that_says_so(broker: Broker) -> None:
    login = "org.apache.kafka.common.security.plain.PlainLoginModule required username=ann password=wrong;"
    source = builder(broker, broker.topic()).set_property("sasl.jaas.config", login)
    source.set_property("security.protocol", "SASL_PLAINTEXT").set_property("sasl.mechanism", "PLAIN")
    with pytest.raises(KafkaError, match=r"could not list topics: .*SASL PLAIN mechanism handshake failed"):
        splits_of(source.set_property("request.timeout.ms", "1000").build())


@pytest.mark.parametrize(
    ("leaves_out", "text"),
    [
        ("set_bootstrap_servers", "bootstrap.servers is missing"),
        ("set_topics", "topics, topic pattern and partitions are missing"),
        ("set_value_only_deserializer", "the deserializer is missing"),
    ],
)
def test_the_builder_names_missing_settings(leaves_out: str, text: str) -> None:
    made = KafkaSource.builder()
    calls = {"set_bootstrap_servers": "a:1", "set_topics": "t", "set_value_only_deserializer": SimpleStringSchema()}
    for method, argument in calls.items():
        if method != leaves_out:
            getattr(made, method)(argument)
    with pytest.raises(InvalidProgramError, match=text):
        made.build()


def test_the_builder_rejects_contradictory_settings() -> None:
    with pytest.raises(InvalidProgramError, match="cannot set a topic pattern, topics t are set already"):
        builder("a:1", "t").set_topic_pattern("x.*")
    with pytest.raises(InvalidProgramError, match="committed offsets need a group"):
        builder("a:1", "t").set_starting_offsets(KafkaOffsetsInitializer.committed_offsets()).build()
    with pytest.raises(ValueError, match="not a regular expression"):
        builder("a:1").set_topic_pattern("(")
    with pytest.raises(ValueError, match="timestamp must be 0 or later"):
        KafkaOffsetsInitializer.timestamp(-1)


def test_only_unbounded_sources_are_endless(broker: Broker) -> None:
    def endless(source: KafkaSource) -> list[str]:
        env = environment()
        env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka", Types.STRING()).print()
        return SplitEnumerator(env.get_stream_graph().get_job_graph(), {}).endless

    assert endless(builder(broker, "t").build()) == []
    assert len(endless(builder(broker, "t", bounded=False).build())) == 1


def test_elements_have_the_type_that_the_deserializer_says() -> None:
    row_type = Types.ROW_NAMED(["a"], [Types.INT()])
    rows = JsonRowDeserializationSchema.builder().type_info(row_type).build()
    env = environment()
    for schema, type_info in ((SimpleStringSchema(), Types.STRING()), (rows, row_type)):
        source = builder("a:1", "t").set_value_only_deserializer(schema).build()
        assert env.from_source(source, WatermarkStrategy.no_watermarks(), "kafka").get_type() == type_info
