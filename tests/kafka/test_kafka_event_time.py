"""Event time of Kafka sources on Spark: watermarks per partition, idle partitions, and a history before the topic."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from firesteel.common import Duration, Time, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import RuntimeExecutionMode, StreamExecutionEnvironment
from firesteel.datastream.connectors.file_system import FileSource, StreamFormat
from firesteel.datastream.connectors.hybrid_source import HybridSource
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.window import TumblingEventTimeWindows
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

START_MS = 1_600_000_000_000


def environment(parallelism: int) -> StreamExecutionEnvironment:
    env = StreamExecutionEnvironment.get_execution_environment()
    env.set_runtime_mode(RuntimeExecutionMode.STREAMING)
    env.set_parallelism(parallelism)
    return env


def source(broker: Broker, topic: str) -> Any:
    made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    return made.set_value_only_deserializer(SimpleStringSchema())


def sink(broker: Broker, topic: str) -> KafkaSink:
    schema = KafkaRecordSerializationSchema.builder().set_topic(topic)
    schema.set_value_serialization_schema(SimpleStringSchema())
    return KafkaSink.builder().set_bootstrap_servers(broker.servers).set_record_serializer(schema.build()).build()


def at(*seconds: int) -> list[tuple[str, int]]:
    """Records whose Kafka timestamps are that many seconds after `START_MS`."""
    return [(str(second), START_MS + 1000 * second) for second in seconds]


def wait_until(is_so: Any, between: Any = lambda: None) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        between()
        threading.Event().wait(0.2)


@pytest.mark.parametrize("parallelism", [1, 2])
def test_the_slowest_partition_holds_windows_back_until_it_is_idle(broker: Broker, parallelism: int) -> None:
    before, read, after = broker.topic(3), broker.topic(), broker.topic()
    broker.write(before, at(1, 3, 12, 25), 0)  # Partition 2 stays empty: it must not hold windows back for ever.
    broker.write(before, at(2, 4), 1)
    strategy: Any = WatermarkStrategy.for_monotonous_timestamps().with_idleness(Duration.of_seconds(3))
    env = environment(parallelism)
    stream = env.from_source(source(broker, before).build(), strategy, "in", Types.STRING())
    stream.sink_to(sink(broker, read))
    windows = stream.window_all(TumblingEventTimeWindows.of(Time.seconds(10)))
    windows.reduce(lambda a, b: f"{a} {b}").map(_distinct, Types.STRING()).sink_to(sink(broker, after))
    job = env.execute_async()
    try:
        # Splits that become idle together emit no watermark, as in Flink; so partition 0 goes on.
        first = ["1 2 3 4", "12"]
        wait_until(lambda: broker.values(after) == first, lambda: broker.write(before, at(25), 0))
        broker.write(before, at(26), 1)
        wait_until(lambda: "26" in broker.values(read))  # while it is unread, its idle partition holds nothing back
        wait_until(
            lambda: broker.values(after) == [*first, "25 26"],
            lambda: (broker.write(before, at(31), 0), broker.write(before, at(32), 1)),
        )
    finally:
        job.cancel().result()


def _distinct(text: str) -> str:
    return " ".join(sorted(set(text.split()), key=int))


def test_a_topic_goes_on_where_files_end(broker: Broker, tmp_path: Path) -> None:
    topic, after = broker.topic(2), broker.topic()
    (tmp_path / "history").write_text("".join(f"old {i}\n" for i in range(100)))
    for partition in range(2):
        broker.write(topic, [f"new {i}" for i in range(partition, 100, 2)], partition)
    history = FileSource.for_record_stream_format(StreamFormat.text_line_format(), str(tmp_path / "history")).build()
    live = source(broker, topic).set_bounded(KafkaOffsetsInitializer.latest()).build()
    env = environment(2)
    both = HybridSource.builder(history).add_source(live).build()
    stream = env.from_source(both, WatermarkStrategy.no_watermarks(), "in", Types.STRING())
    stream.map(str.upper, Types.STRING()).sink_to(sink(broker, after))
    env.execute()
    expected = [f"OLD {i}" for i in range(100)] + [f"NEW {i}" for i in range(100)]
    assert sorted(broker.values(after)) == sorted(expected)
