"""Latency of SQL: Kafka to Kafka with one aggregation, and small statements on a warm session.

python benchmarks/bench_sql_latency.py [--seconds S]
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import statistics
import time
from collections.abc import Callable
from typing import Any

import harness
from mock_broker import PARTITIONS, MockBroker, running

from firesteel.table import EnvironmentSettings, TableEnvironment

SPAWN = multiprocessing.get_context("spawn")
RATE, KEYS, PARALLELISM = 5_000, 1_000, 2
LINGER_MS = 10
FETCH_MS = 5
"""The broker answers a fetch without records when this has passed, and not as soon as there are some."""
TEXT = f"""{RATE:,} JSON records per second with {KEYS:,} keys, in {PARTITIONS} partitions of librdkafka's broker for
tests on the same machine, counted by key into another topic (`upsert-kafka`), parallelism {PARALLELISM}. A latency
ends when a consumer has a result and begins when the latest record in it was produced. The first half of the time
does not count. The producer sends what {LINGER_MS} ms bring to one partition after the other, and the broker answers
a fetch without records after {FETCH_MS} ms. Broker alone: from the producer to a consumer. By hand: one process that
consumes, counts in a dictionary and produces, without lasting state. Small statements give three rows each, in a
session that has run them before: from `execute_sql` to the last row."""
EVENTS = """CREATE TABLE events (k INT, written DOUBLE) WITH ('connector' = 'kafka', 'topic' = '{topic}',
'properties.bootstrap.servers' = '{servers}', 'scan.startup.mode' = 'earliest-offset', 'format' = 'json',
'properties.fetch.max.wait.ms' = '{wait_ms}')"""
COUNTS = """CREATE TABLE counts (k INT, n BIGINT, written DOUBLE, PRIMARY KEY (k) NOT ENFORCED) WITH (
'connector' = 'upsert-kafka', 'topic' = '{topic}', 'properties.bootstrap.servers' = '{servers}',
'key.format' = 'json', 'value.format' = 'json')"""
VALUES = "(VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'c')) AS t (n, s)"
SMALL = {
    "filter": f"SELECT n + 1, s FROM {VALUES} WHERE n < 4",
    "GROUP BY": f"SELECT s, SUM(n) FROM {VALUES} WHERE n < 4 GROUP BY s",
    "join": f"SELECT t.n, u.n FROM {VALUES} JOIN (VALUES (1, 'a'), (2, 'b')) AS u (n, s) ON t.s = u.s",
}
SMALL_RUNS = 20


# --- Kafka to Kafka ---------------------------------------------------------------------------------------------------


def consumer_of(servers: str, topic: str) -> Any:
    """Return a consumer of all partitions of a new topic."""
    from confluent_kafka import Consumer, TopicPartition

    consumer = Consumer({"bootstrap.servers": servers, "group.id": topic, "fetch.wait.max.ms": FETCH_MS})
    consumer.assign([TopicPartition(topic, partition, 0) for partition in range(PARTITIONS)])
    return consumer


def produce(servers: str, topic: str, seconds: float) -> None:
    """Produce records at the rate."""
    from confluent_kafka import Producer

    lingers = {"linger.ms": LINGER_MS, "sticky.partitioning.linger.ms": LINGER_MS}
    producer = Producer({"bootstrap.servers": servers, **lingers})
    begin = time.time()
    for i in range(int(RATE * seconds)):
        while (now := time.time()) < begin + i / RATE:
            time.sleep(0.001)
        producer.produce(topic, json.dumps({"k": i % KEYS, "written": now}))
        producer.poll(0)
    producer.flush()


def by_sql(options: dict[str, str]) -> Callable[[MockBroker, str, str], Callable[[], None]]:
    """Return what starts the statement, and returns what ends it."""

    def start(broker: MockBroker, before: str, after: str) -> Callable[[], None]:
        t_env = TableEnvironment.create(EnvironmentSettings.in_streaming_mode())
        for key, value in {"parallelism.default": str(PARALLELISM), **options}.items():
            t_env.get_config().set(key, value)
        t_env.execute_sql(EVENTS.format(topic=before, servers=broker.servers, wait_ms=FETCH_MS))
        t_env.execute_sql(COUNTS.format(topic=after, servers=broker.servers))
        result = t_env.execute_sql("INSERT INTO counts SELECT k, COUNT(*), MAX(written) FROM events GROUP BY k")
        return lambda: result.get_job_client().cancel().result()

    return start


def count(servers: str, before: str, after: str) -> None:
    """Count in a loop that does not end."""
    from confluent_kafka import Producer

    consumer, producer = consumer_of(servers, before), Producer({"bootstrap.servers": servers, "linger.ms": 5})
    counts: dict[int, int] = {}
    while True:
        results = {}
        for message in consumer.consume(10_000, 0.005):
            event = json.loads(message.value())
            counts[event["k"]] = counts.get(event["k"], 0) + 1
            results[event["k"]] = event["written"]
        for key, written in results.items():
            value = json.dumps({"k": key, "n": counts[key], "written": written})
            producer.produce(after, value, json.dumps({"k": key}))
        producer.poll(0)


def alone(broker: MockBroker, before: str, after: str) -> Callable[[], None]:
    """Start nothing: what is produced is consumed."""
    return lambda: None


def by_hand(broker: MockBroker, before: str, after: str) -> Callable[[], None]:
    """Start the loop in a process, and return what ends it."""
    process = SPAWN.Process(target=count, args=(broker.servers, before, after))
    process.start()
    return process.kill


def latencies(start: Callable[[MockBroker, str, str], Callable[[], None]], seconds: float) -> list[float]:
    """Return the sorted latencies in s."""
    found: list[tuple[float, float]] = []
    with running() as broker:
        before, after = broker.topic(), broker.topic()
        end = start(broker, before, after)
        consumer = consumer_of(broker.servers, before if start is alone else after)
        producing = SPAWN.Process(target=produce, args=(broker.servers, before, seconds))
        producing.start()
        while producing.is_alive():
            for message in consumer.consume(10_000, 0.005):
                if message.value():
                    found.append((json.loads(message.value())["written"], time.time()))
        consumer.close()
        end()
    warm = found[0][0] + seconds / 2
    return sorted(came - written for written, came in found if written > warm)


# --- small statements -------------------------------------------------------------------------------------------------


def small(mode: str) -> dict[str, list[float]]:
    """Return the sorted times in s of each small statement."""
    t_env = TableEnvironment.create(getattr(EnvironmentSettings, f"in_{mode}_mode")())
    t_env.get_config().set("parallelism.default", str(PARALLELISM))
    found = {}
    for name, statement in SMALL.items():
        times = []
        for _ in range(SMALL_RUNS + 3):
            begin = time.perf_counter()
            with t_env.execute_sql(statement).collect() as rows:
                assert list(rows)
            times.append(time.perf_counter() - begin)
        found[name] = sorted(times[3:])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=TEXT)
    parser.add_argument("--seconds", type=float, default=30, help="of each pipeline [30]")
    options = parser.parse_args()
    rows = []
    for name, start in {
        "broker alone": alone,
        "by hand": by_hand,
        "firesteel": by_sql({}),
        "firesteel, buffer timeout of 10 ms": by_sql({"execution.buffer-timeout.interval": "10 ms"}),
    }.items():
        found = latencies(start, options.seconds)
        at = [f"{1000 * found[int(len(found) * share)]:.0f}" for share in (0.5, 0.9, 0.99)]
        print(name, *at, flush=True)
        rows.append([name, f"{len(found):,}", *at])
    lines = ["# SQL latency", "", TEXT, "", f"{harness.environment_line()}. {harness.versions_line()}.", ""]
    lines += harness.table("Kafka to Kafka | results | p50 ms | p90 ms | p99 ms", rows)
    rows = []
    for mode in ("streaming", "batch"):
        for name, times in small(mode).items():
            print(mode, name, f"{statistics.median(times):.3f}", flush=True)
            rows.append([f"{name}, {mode.upper()}", f"{statistics.median(times):.2f}", f"{times[-1]:.2f}"])
    lines += ["", *harness.table("small statement | p50 s | most s", rows), ""]
    harness.write_report("SQL latency", "\n".join(lines))


if __name__ == "__main__":
    main()
