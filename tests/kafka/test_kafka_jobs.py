"""Kafka jobs on Spark: records while processes are killed, and error messages."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from firesteel.client.client_errors import JobFailedError
from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from tests.kafka import demo
from tests.kafka.broker import Broker
from tests.processes import thread_names

pytestmark = pytest.mark.spark


def source(broker: Broker, topic: str) -> Any:
    made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic).set_group_id(f"of-{topic}")
    return made.set_value_only_deserializer(SimpleStringSchema())


def sink(broker: Broker, topic: str) -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    made = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_transactional_id_prefix(topic)
    made.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    return made.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build()


def environment(mode: Any = RuntimeExecutionMode.STREAMING, **options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name.replace("__", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_runtime_mode(mode)
    env.set_parallelism(2)
    return env


@pytest.mark.parametrize("mode", [RuntimeExecutionMode.STREAMING, RuntimeExecutionMode.BATCH])
def test_records_go_from_kafka_to_kafka_once_although_processes_are_killed(
    broker: Broker, mode: Any, tmp_path: Path
) -> None:
    before, after = broker.topic(3), broker.topic(2)
    values = [f"{i:05}" for i in range(3000)]
    for partition in range(3):
        broker.write(before, values[partition::3], partition)

    def kill_once(value: str) -> str:
        marker = tmp_path / value
        if value in ("00100", "01500", "02900") and not marker.exists():
            marker.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return value

    env = environment(mode, execution__checkpointing__interval="100 ms")
    stream = env.from_source(
        source(broker, before).set_bounded(KafkaOffsetsInitializer.latest()).build(),
        WatermarkStrategy.no_watermarks(),
        "in",
        Types.STRING(),
    )
    stream.key_by(lambda value: value[-1]).map(kill_once, Types.STRING()).sink_to(sink(broker, after))
    env.execute()
    assert broker.values(after) == values
    if mode is RuntimeExecutionMode.STREAMING:
        assert broker.committed(f"of-{before}", before, 3) == [1000] * 3


def test_unbounded_job_reads_what_comes_and_commits_it_with_its_checkpoints(broker: Broker) -> None:
    before, after = broker.topic(), broker.topic()
    broker.write(before, ["first"])
    broker.committed(f"of-{before}", before)
    clients = _clients()
    env = environment(execution__checkpointing__interval="50 ms")
    stream = env.from_source(source(broker, before).build(), WatermarkStrategy.no_watermarks(), "in", Types.STRING())
    stream.map(str.upper, Types.STRING()).sink_to(sink(broker, after))
    job = env.execute_async()
    try:
        _wait_until(lambda: broker.values(after) == ["FIRST"])
        broker.write(before, ["second"])
        _wait_until(lambda: broker.values(after) == ["FIRST", "SECOND"])
        _wait_until(lambda: broker.committed(f"of-{before}", before) == [2])
    finally:
        job.cancel().result()
    _wait_until(lambda: _clients() == clients)


def _clients() -> int:
    """How many clients of librdkafka this process has."""
    return sum(name.startswith("rdk:main") for name in thread_names(os.getpid()))


def _wait_until(is_so: Any) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)


def test_job_of_an_unknown_topic_fails_and_names_it(broker: Broker) -> None:
    env = environment()
    made = source(broker, "not-there").set_bounded(KafkaOffsetsInitializer.latest()).build()
    env.from_source(made, WatermarkStrategy.no_watermarks(), "in", Types.STRING()).print()
    with pytest.raises(JobFailedError, match="has no topic 'not-there'"):
        env.execute()


def test_examples_run_as_they_stand(broker: Broker) -> None:
    counts = demo.count_words(broker, ["to be or", "not to be"])
    assert {line.partition("> ")[2] for line in counts.splitlines()} >= {"(to,2)", "(be,2)", "(or,1)", "(not,1)"}
    found = demo.balances(broker)
    assert found == ["anna 10.25", "anna 12.50", "bert 3.00", "bert 3.50", "carl 100.00"]
