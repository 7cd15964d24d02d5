"""A model of Kafka's transactions, in the place of `confluent_kafka`: it hides aborted records and fences producers.

The broker of the other tests shows aborted records to all readers. Every call to the model is a step, before or after
which a process may die.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


class ProcessDied(BaseException):
    """The process that called is gone; nothing of it runs any more."""


@dataclass
class KafkaModel:
    """The state of the brokers: committed records and markers, and the newest epoch of each transactional id.

    Attributes:
        steps: How many calls there were.
        interrupted: At which call something befalls the process, and what: a function that is given the call.
        unstable: How many more times the markers are not told, as they are about to be written.
    """

    records: list[bytes] = field(default_factory=list)
    markers: dict[str, dict[tuple[str, int], tuple[int, str]]] = field(default_factory=dict)
    epochs: dict[str, int] = field(default_factory=dict)
    steps: int = 0
    unstable: int = 0
    interrupted: tuple[int, Callable[[Callable[[], Any]], Any]] | None = None

    def step(self, call: Callable[[], Any]) -> Any:
        self.steps += 1
        if self.interrupted is None or self.steps != self.interrupted[0]:
            return call()
        befalls, self.interrupted = self.interrupted[1], None
        return befalls(call)


def dies_before(call: Callable[[], Any]) -> Any:
    """The brokers never hear of the call."""
    raise ProcessDied


def dies_after(call: Callable[[], Any]) -> Any:
    """The brokers carry it out."""
    call()
    raise ProcessDied


class Fault(Exception):
    """Stands for `KafkaException`."""


def _error(name: str) -> Fault:
    return Fault(SimpleNamespace(name=lambda: name, str=lambda: name))


class Producer:
    """A transactional producer."""

    def __init__(self, cluster: KafkaModel, settings: dict[str, Any]) -> None:
        self.cluster = cluster
        self.id = settings["transactional.id"]
        self.epoch = -1
        self.records: list[bytes] = []
        self.offsets: dict[str, dict[tuple[str, int], tuple[int, str]]] = {}

    def _call(self, call: Callable[[], Any]) -> Any:
        def unless_fenced() -> Any:
            if self.cluster.epochs.get(self.id) != self.epoch:
                raise _error("_FENCED")
            return call()

        return self.cluster.step(unless_fenced)

    def init_transactions(self, timeout: float) -> None:
        def begin() -> None:
            self.epoch = self.cluster.epochs[self.id] = self.cluster.epochs.get(self.id, -1) + 1

        self.cluster.step(begin)

    def begin_transaction(self) -> None:
        self.records, self.offsets = [], {}

    def produce(self, topic: str, value: bytes, key: Any, timestamp: int, headers: Any) -> None:
        self._call(lambda: self.records.append(value))

    def poll(self, timeout: float) -> None:
        pass

    def purge(self) -> None:
        pass

    def send_offsets_to_transaction(self, offsets: list[Any], group: str, timeout: float) -> None:
        noted = {(o.topic, o.partition): (o.offset, o.metadata) for o in offsets}
        self._call(lambda: self.offsets.update({group: noted}))

    def commit_transaction(self, timeout: float) -> None:
        def commit() -> None:
            self.cluster.records += self.records
            for group, offsets in self.offsets.items():
                self.cluster.markers.setdefault(group, {}).update(offsets)

        self._call(commit)


class AdminClient:
    """Answers for groups."""

    def __init__(self, cluster: KafkaModel, settings: dict[str, Any]) -> None:
        self.cluster = cluster

    def poll(self, timeout: float) -> None:
        pass

    def list_consumer_group_offsets(self, groups: list[Any], require_stable: bool, request_timeout: float) -> Any:
        def look_up() -> Any:
            assert require_stable
            found = self.cluster.markers.get(groups[0].group, {})
            offsets = [
                SimpleNamespace(topic=topic, partition=partition, offset=offset, metadata=metadata, error=None)
                for (topic, partition), (offset, metadata) in found.items()
            ]
            if self.cluster.unstable:
                self.cluster.unstable -= 1
                for one in offsets:
                    one.offset, one.metadata, one.error = -1001, None, _error("UNSTABLE_OFFSET_COMMIT").args[0]
            answer: Future[Any] = Future()
            answer.set_result(SimpleNamespace(topic_partitions=offsets))
            return {groups[0].group: answer}

        return self.cluster.step(look_up)


def library(cluster: KafkaModel) -> SimpleNamespace:
    """The part of `confluent_kafka` that the connector uses."""
    return SimpleNamespace(
        Producer=lambda settings: Producer(cluster, settings),
        Consumer=lambda settings: SimpleNamespace(
            consumer_group_metadata=lambda: settings["group.id"], close=lambda: None
        ),
        TopicPartition=lambda topic, partition, offset=0, metadata="": SimpleNamespace(
            topic=topic, partition=partition, offset=offset, metadata=metadata
        ),
        ConsumerGroupTopicPartitions=lambda group, partitions: SimpleNamespace(group=group),
        KafkaException=Fault,
        admin=SimpleNamespace(AdminClient=lambda settings: AdminClient(cluster, settings)),
    )
