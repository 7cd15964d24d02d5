"""FlinkKafkaConsumer and FlinkKafkaProducer of PyFlink 1: what they are translated to, and against a real broker."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Types
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    FlinkKafkaConsumer,
    FlinkKafkaProducer,
    KafkaOffsetResetStrategy,
    KafkaOffsetsInitializer,
    Semantic,
)
from firesteel.errors import InvalidProgramError
from firesteel.testing import run_local
from tests.kafka.broker import Broker

pytestmark = pytest.mark.slow

SERVERS = {"bootstrap.servers": "localhost:9092"}
committed = KafkaOffsetsInitializer.committed_offsets


def consumer(topics: Any = "orders", **properties: Any) -> FlinkKafkaConsumer:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return FlinkKafkaConsumer(topics, SimpleStringSchema(), {**SERVERS, **named})


def producer(semantic: Semantic = Semantic.AT_LEAST_ONCE, **properties: Any) -> FlinkKafkaProducer:
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return FlinkKafkaProducer("totals", SimpleStringSchema(), {**SERVERS, **named}, semantic=semantic)


@pytest.mark.parametrize(
    ("made", "offsets"),
    [
        (consumer(group_id="g"), committed(KafkaOffsetResetStrategy.LATEST)),
        (consumer(group_id="g", auto_offset_reset="earliest"), committed(KafkaOffsetResetStrategy.EARLIEST)),
        (consumer(group_id="g", auto_offset_reset="none"), committed(KafkaOffsetResetStrategy.NONE)),
        (consumer(), KafkaOffsetsInitializer.latest()),
        (consumer(auto_offset_reset="earliest"), KafkaOffsetsInitializer.earliest()),
        (consumer(group_id="g").set_start_from_earliest(), KafkaOffsetsInitializer.earliest()),
        (consumer(group_id="g").set_start_from_latest(), KafkaOffsetsInitializer.latest()),
        (consumer(group_id="g").set_start_from_timestamp(5), KafkaOffsetsInitializer.timestamp(5)),
        (
            consumer(group_id="g").set_start_from_earliest().set_start_from_group_offsets(),
            committed(KafkaOffsetResetStrategy.LATEST),
        ),
    ],
)
def test_a_consumer_starts_where_it_is_told(made, offsets):
    assert made.as_source().settings.starting_offsets == offsets


def test_an_unknown_reset_strategy_is_rejected():
    with pytest.raises(ValueError, match=r"auto\.offset\.reset must be earliest, latest or none, found 'first'"):
        consumer(auto_offset_reset="first").as_source()


def test_committed_offsets_alone_need_a_group():
    with pytest.raises(InvalidProgramError, match="committed offsets need a group"):
        consumer(auto_offset_reset="none").as_source()


def test_a_consumer_reads_topics_with_its_properties():
    settings = consumer(["a", "b"], group_id="g", max_poll_records=5).as_source().settings
    assert settings.topics == ("a", "b")
    assert settings.properties["max.poll.records"] == "5"
    assert settings.bootstrap_servers == "localhost:9092"


def test_a_consumer_looks_for_new_partitions_only_if_it_is_told():
    assert consumer().as_source().settings.discovery_interval_ms == -1
    made = FlinkKafkaConsumer("a", SimpleStringSchema(), {**SERVERS, "flink.partition-discovery.interval-millis": 100})
    assert made.as_source().settings.discovery_interval_ms == 100


@pytest.mark.parametrize("commits", [True, False])
def test_a_consumer_commits_offsets_unless_told_otherwise(commits):
    made = consumer(group_id="g")
    assert made.as_source().settings.commits_offsets
    assert made.set_commit_offsets_on_checkpoints(commits).as_source().settings.commits_offsets is commits


@pytest.mark.parametrize(
    ("made", "guarantee"),
    [
        (producer(), DeliveryGuarantee.AT_LEAST_ONCE),
        (producer(Semantic.NONE), DeliveryGuarantee.NONE),
        (producer(Semantic.EXACTLY_ONCE), DeliveryGuarantee.EXACTLY_ONCE),
        (producer().set_flush_on_checkpoint(False), DeliveryGuarantee.NONE),
        (producer(Semantic.EXACTLY_ONCE).set_flush_on_checkpoint(False), DeliveryGuarantee.EXACTLY_ONCE),
    ],
)
def test_a_semantic_is_a_delivery_guarantee(made, guarantee):
    assert made.as_sink().settings.guarantee is guarantee


def test_transactional_ids_begin_with_program_and_topic_or_as_the_property_says(monkeypatch):
    monkeypatch.setattr(sys, "argv", ["/jobs/count_words.py"])
    assert producer(Semantic.EXACTLY_ONCE).as_sink().settings.transactional_id_prefix == "count_words-totals"
    made = producer(Semantic.EXACTLY_ONCE, transactional_id="mine").as_sink()
    assert made.settings.transactional_id_prefix == "mine"


def test_the_stream_has_the_type_of_the_schema():
    env = StreamExecutionEnvironment.get_execution_environment()
    assert env.add_source(consumer()).get_type() == Types.STRING()


@pytest.mark.parametrize("semantic", Semantic)
def test_records_of_a_producer_arrive(broker: Broker, semantic):
    topic = broker.topic(2)
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_parallelism(2)
    config = {"bootstrap.servers": broker.servers, "transactional.id": topic}
    sink = FlinkKafkaProducer(topic, SimpleStringSchema(), config, semantic=semantic)
    env.from_collection(["a", "b", "c"], Types.STRING()).add_sink(sink)
    run_local(env)
    assert broker.values(topic) == ["a", "b", "c"]


def test_records_in_a_topic_are_consumed(broker: Broker):
    topic = broker.topic()
    broker.write(topic, [b"a", b"b", b"c"])
    source = FlinkKafkaConsumer(topic, SimpleStringSchema(), {"bootstrap.servers": broker.servers}).as_source()
    bounded = type(source).builder().set_bounded(KafkaOffsetsInitializer.latest())
    bounded.set_topics(topic).set_properties(source.settings.properties)
    bounded.set_value_only_deserializer(SimpleStringSchema())

    class Consumer(FlinkKafkaConsumer):
        def as_source(self):
            return bounded.build()

    env = StreamExecutionEnvironment.get_execution_environment()
    env.add_source(Consumer(topic, SimpleStringSchema(), {"bootstrap.servers": broker.servers})).collect_async()
    assert sorted(run_local(env).elements) == ["a", "b", "c"]


@pytest.mark.parametrize("module", ["pyflink.datastream.connectors", "pyflink.datastream.connectors.kafka"])
def test_both_modules_have_the_names(tmp_path: Path, module):
    program = tmp_path / "job.py"
    program.write_text(
        textwrap.dedent(f"""
        from pyflink.datastream import StreamExecutionEnvironment
        from pyflink.common.serialization import SimpleStringSchema
        from {module} import FlinkKafkaConsumer, FlinkKafkaProducer, Semantic
        env = StreamExecutionEnvironment.get_execution_environment()
        env.add_jars("file:///opt/flink-sql-connector-kafka-1.17.2.jar")
        consumer = FlinkKafkaConsumer("in", SimpleStringSchema(), {{"bootstrap.servers": "x:1", "group.id": "g"}})
        stream = env.add_source(consumer.set_start_from_earliest())
        stream.add_sink(FlinkKafkaProducer("out", SimpleStringSchema(), {{"bootstrap.servers": "x:1"}}))
        """)
    )
    command = [sys.executable, "-m", "firesteel", "check", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert (
        "FlinkKafkaConsumer: is from PyFlink 1 and works; use from_source() with KafkaSource.builder()" in done.stdout
    )
    assert "flink-sql-connector-kafka-1.17.2.jar: not needed: Kafka is built in" in done.stdout
