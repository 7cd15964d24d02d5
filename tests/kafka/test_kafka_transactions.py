"""The protocol of exactly-once commits, against a model of Kafka's transaction coordinator.

Commits are decided one after the other. Whoever commits may die at each step; its successor commits the same again,
and one that seemed dead may resume.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from firesteel.connectors.kafka import client as kafka_client
from firesteel.connectors.kafka import transactions as kafka_transactions
from firesteel.connectors.kafka import writer as kafka_writer
from firesteel.connectors.kafka.client import KafkaError
from firesteel.connectors.kafka.transactions import TransactionalProducer
from firesteel.connectors.kafka.writer import PreparedRecords
from firesteel.connectors.staging import PreparedRows
from firesteel.datastream.connectors.base import CommitRequest
from tests.kafka.transaction_model import KafkaModel, ProcessDied, dies_after, dies_before, library

pytestmark = pytest.mark.slow

PROPERTIES = {"bootstrap.servers": "model:1"}
BATCHES = 3


@pytest.fixture
def new_cluster(monkeypatch: Any) -> Callable[[], KafkaModel]:
    """Makes a cluster, to which producers connect from then on."""

    def make() -> KafkaModel:
        made = KafkaModel()
        for module in (kafka_client, kafka_transactions, kafka_writer):
            monkeypatch.setattr(module, "kafka_library", lambda: library(made))
        return made

    return make


@pytest.fixture
def cluster(new_cluster: Callable[[], KafkaModel]) -> KafkaModel:
    return new_cluster()


def checkpoint(number: int, topic: str = "t") -> list[CommitRequest]:
    """Return the commit that the writer prepared for a checkpoint: several batches of two records."""
    return [
        CommitRequest("job", "sink", 0, n, PreparedRecords(_rows(topic, n), frozenset({topic}), "prefix-0"))
        for n in range(BATCHES * number, BATCHES * (number + 1))
    ]


def _rows(topic: str, number: int) -> PreparedRows:
    return PreparedRows(None, tuple((topic, None, f"{number}{c}".encode(), 0, None) for c in "ab"))


def values(checkpoints: int) -> list[bytes]:
    return [f"{n}{c}".encode() for n in range(BATCHES * checkpoints) for c in "ab"]


def producer() -> TransactionalProducer:
    return TransactionalProducer(PROPERTIES, "prefix-0")


@pytest.mark.parametrize("dies", [dies_before, dies_after])
def test_each_record_is_committed_once_wherever_the_process_dies(new_cluster: Any, dies: Any) -> None:
    for step in count(1):
        cluster = new_cluster()
        cluster.interrupted = (step, dies)
        mine = None
        for number in range(3):
            try:
                mine = mine or producer()
                mine.commit(checkpoint(number))
            except ProcessDied:
                mine = producer()
                mine.commit(checkpoint(number))
        assert cluster.records == values(3), step
        if cluster.interrupted is not None:
            assert step > 20
            return


def test_a_process_paused_at_any_step_changes_nothing_when_it_resumes(new_cluster: Any) -> None:
    for step in count(1):
        cluster = new_cluster()
        sleeper = producer()
        sleeper.commit(checkpoint(0))
        cluster.steps, cluster.interrupted = 0, (step, _while_a_successor_commits)
        if step > 8:
            sleeper.commit(checkpoint(1))
            assert cluster.interrupted is not None
            return
        with pytest.raises(KafkaError, match="is used by another job, or by another run of this one"):
            sleeper.commit(checkpoint(1))
        assert cluster.records == values(3), step


def _while_a_successor_commits(call: Callable[[], Any]) -> Any:
    successor = producer()
    successor.commit(checkpoint(1))
    successor.commit(checkpoint(2))
    return call()


def test_a_committer_that_wakes_up_late_does_not_commit_twice(cluster: KafkaModel) -> None:
    leader = producer()
    leader.commit(checkpoint(0))
    late = producer()
    late.commit(checkpoint(0))
    with pytest.raises(KafkaError, match="fenced"):
        leader.commit(checkpoint(1))
    again = producer()
    again.commit(checkpoint(1))
    assert cluster.records == values(2)


def test_a_commit_marker_is_valid_for_any_topic(cluster: KafkaModel) -> None:
    producer().commit(checkpoint(0, "t"))
    producer().commit(checkpoint(1, "a"))
    for number, topic in ((0, "t"), (1, "a")):
        producer().commit(checkpoint(number, topic))
    assert cluster.records == values(2)


def test_an_older_checkpoint_is_not_written_again(cluster: KafkaModel) -> None:
    for number in (0, 1, 0):
        producer().commit(checkpoint(number))
    assert cluster.records == values(2)


def test_a_marker_that_is_about_to_be_written_is_waited_for(cluster: KafkaModel) -> None:
    producer().commit(checkpoint(0))
    cluster.unstable = 2
    producer().commit(checkpoint(0))
    assert (cluster.records, cluster.unstable) == (values(1), 0)


def test_other_records_under_a_committed_number_are_refused_instead_of_lost(cluster: KafkaModel) -> None:
    producer().commit(checkpoint(0))
    other = [*checkpoint(0)[:-1], replace(checkpoint(0)[-1], committable=checkpoint(1)[0].committable)]
    for committed_by in (producer(), producer()):
        with pytest.raises(KafkaError, match=r"commit 2 of .* is in Kafka with other records \(checksum 2-"):
            committed_by.commit(other)
    producer().commit(checkpoint(1))
    assert cluster.records == values(2)
