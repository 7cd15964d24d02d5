"""The autoscaler under a load that rises and falls: parallelism, backlog and reversals.

python benchmarks/bench_autoscaler.py [--cycles N] [--seconds S]

A job reads Kafka, waits 20 ms for each record as for a service, and goes on by key. Its load changes each S seconds
between a low and a high rate. For each change: the decisions, the parallelism in the end, the largest backlog, and the
time from the first decision (a rise) until the backlog is less than what comes in within a second. A reversal is a
decision in the other direction than the change of the load.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from firesteel.client.job_client import EmbeddedJobClient
from firesteel.common import Configuration, Types, WatermarkStrategy
from firesteel.common.serialization import SimpleStringSchema
from firesteel.datastream import StreamExecutionEnvironment
from firesteel.datastream.connectors.kafka import KafkaOffsetsInitializer, KafkaSource
from firesteel.graph.job_graph import JobGraph
from tests.kafka.broker import Broker, running

PARTITIONS, SLOTS, KEYS = 8, 8, 100
WAIT_S = 0.02
LOW, HIGH = 15, 175
CATCH_UP_S = 20
TICK_S = 0.1
OPTIONS = {
    "execution.checkpointing.interval": "1 s",
    "taskmanager.numberOfTaskSlots": str(SLOTS),
    "jobmanager.adaptive-scheduler.executing.cooldown-after-rescaling": "0 s",
    "job.autoscaler.enabled": "true",
    "job.autoscaler.metrics.window": "5 s",
    "job.autoscaler.stabilization.interval": "2 s",
    "job.autoscaler.scale-down.interval": "5 s",
    "job.autoscaler.catch-up.duration": f"{CATCH_UP_S} s",
    "job.autoscaler.restart.time": "3 s",
    "job.autoscaler.vertex.max-parallelism": str(SLOTS),
    "job.autoscaler.history.max.count": "1000",
    "autoscaler.standalone.control-loop.interval": "1 s",
}


class Seen(NamedTuple):
    """The job at one moment."""

    at_s: float
    parallelism: int
    pending: int
    read: int


class Load:
    """A thread that writes records at a rate, evenly to all partitions."""

    def __init__(self, broker: Broker, topic: str) -> None:
        self._broker, self._topic = broker, topic
        self.rate, self.written, self.unwritten = 0, 0, 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._write)

    def _write(self) -> None:
        from confluent_kafka import Producer

        producer = Producer({**self._broker.client, "batch.num.messages": 1})
        due = 0.0
        while not self._is_over.wait(TICK_S):
            due += self.rate * TICK_S
            while due >= 1:
                producer.produce(self._topic, str(self.written), partition=self.written % PARTITIONS)
                self.written += 1
                due -= 1
            producer.poll(0)
        self.unwritten = producer.flush(30)

    @contextmanager
    def running(self) -> Iterator[None]:
        self._thread.start()
        try:
            yield
        finally:
            self._is_over.set()
            self._thread.join()


def waited(text: str) -> int:
    time.sleep(WAIT_S)
    return int(text) % KEYS


def graph(broker: Broker, topic: str) -> JobGraph:
    configuration = Configuration()
    for key, value in OPTIONS.items():
        configuration.set_string(key, value)
    env = StreamExecutionEnvironment.get_execution_environment(configuration)
    env.set_parallelism(1)
    source = KafkaSource.builder().set_bootstrap_servers(broker.servers).set_topics(topic)
    source = source.set_starting_offsets(KafkaOffsetsInitializer.earliest())
    texts = env.from_source(
        source.set_value_only_deserializer(SimpleStringSchema()).build(),
        WatermarkStrategy.no_watermarks(),
        "records",
        Types.STRING(),
    )
    keys = texts.map(waited, Types.LONG()).key_by(lambda key: key, Types.LONG())
    keys.reduce(lambda a, b: a).filter(lambda _: False).print()
    return env.get_stream_graph().get_job_graph()


class Job:
    """The job, and what is seen of it."""

    def __init__(self, job_graph: JobGraph) -> None:
        self._client = EmbeddedJobClient(job_graph)
        self._id = str(self._client.get_job_id())
        self.seen: list[Seen] = []

    def look(self) -> Seen:
        details = self._client._cluster.ask(lambda one: one.request_job_details(self._id)).result()
        source = details.vertices[0]
        seen = Seen(time.time(), source.parallelism, source.pending_records or 0, source.units_read or 0)
        self.seen.append(seen)
        if "-v" in sys.argv:
            print(f"{seen.at_s % 1000:.1f}", seen[1:], details.batches, file=sys.stderr)
        return seen

    def watch(self, seconds: float) -> None:
        end_s = time.time() + seconds
        while time.time() < end_s:
            self.look()
            time.sleep(0.2)

    def decisions(self) -> list[tuple[float, int, int]]:
        """Return (time, before, after) of each decision, oldest first."""
        found = self._client._cluster.ask(lambda one: one.request_scaling_decisions(self._id)).result()
        changes = [(one.time_ms / 1000, max(one.before.values()), max(one.after.values())) for one in found or ()]
        return changes[::-1]

    def end(self) -> None:
        self._client.cancel().result()
        self._client._result.result()


def caught_up_s(seen: list[Seen], from_s: float, rate: int) -> float:
    """Return the time after `from_s` from which on the backlog is less than a second's load until the end."""
    behind = [one.at_s for one in seen if one.at_s >= from_s and one.pending > rate]
    return max(behind) - from_s if behind else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cycles", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=35)
    args = parser.parse_args([one for one in sys.argv[1:] if one != "-v"])
    with running() as broker:
        topic = broker.topic(PARTITIONS)
        load, job = Load(broker, topic), Job(graph(broker, topic))
        changes = []
        with load.running():
            load.rate = LOW
            job.watch(15)
            for rate in [HIGH, LOW] * args.cycles:
                load.rate = rate
                changes.append((time.time(), rate))
                job.watch(args.seconds)
        if load.unwritten:
            raise SystemExit(f"the broker did not take {load.unwritten} records, so the load was another one")
        while job.look().read < load.written:
            time.sleep(0.2)
        report(changes, job.seen, job.decisions(), load.written)
        job.end()


def report(
    changes: list[tuple[float, int]], seen: list[Seen], decisions: list[tuple[float, int, int]], written: int
) -> None:
    print("| load, 1/s | decisions, after s | parallelism | largest backlog | caught up after, s | reversals |")
    print("|--:|---|--:|--:|--:|--:|")
    for (begun_s, rate), (end_s, _) in pairwise([*changes, (changes[-1][0] + (changes[-1][0] - changes[-2][0]), 0)]):
        mine = [one for one in decisions if begun_s <= one[0] < end_s]
        here = [one for one in seen if begun_s <= one.at_s < end_s]
        reversals = sum((after > before) != (rate == HIGH) for _, before, after in mine)
        first_s = mine[0][0] if mine and rate == HIGH else begun_s
        texts = ", ".join(f"{before} → {after} ({at - begun_s:.0f})" for at, before, after in mine)
        caught = caught_up_s(here, first_s, rate)
        most = max(one.pending for one in here)
        print(f"| {rate} | {texts or 'none'} | {here[-1].parallelism} | {most:,} | {caught:.1f} | {reversals} |")
    print(f"\n{written:,} records written and read, {os.cpu_count()} cores, catch-up duration {CATCH_UP_S} s")


if __name__ == "__main__":
    main()
