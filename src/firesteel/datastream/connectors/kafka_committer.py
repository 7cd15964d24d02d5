"""What is committed to Kafka with a checkpoint: offsets of a source's group, and records of an exactly-once sink."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache

from firesteel.datastream.connectors.base import CommitRequest, Committer
from firesteel.datastream.connectors.kafka_client import KafkaAdmin, KafkaError
from firesteel.datastream.connectors.kafka_source import KafkaTopicPartition
from firesteel.datastream.connectors.kafka_transactions import commit_in_transaction

logger = logging.getLogger(__name__)

_MOST_THREADS = 16
_KNOWN_TOPICS: set[str] = set()


@lru_cache(maxsize=16)
def _admin(properties: tuple[tuple[str, str], ...]) -> KafkaAdmin:
    """Return a client that stays connected from one checkpoint to the next."""
    return KafkaAdmin(dict(properties))


@dataclass(frozen=True)
class KafkaOffsetsCommitter(Committer):
    """Commits the offsets of a checkpoint to the group of a source.

    They only show progress: a job goes on from its checkpoint, so an error is logged and nothing more, as in Flink.

    Attributes:
        properties: Of the Java client.
    """

    properties: Mapping[str, str] = field(repr=False)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit the furthest offset of each partition."""
        offsets: dict[KafkaTopicPartition, int] = {}
        for request in requests:
            for split_id, offset in request.committable.items():
                topic, _, number = split_id.rpartition("-")
                partition = KafkaTopicPartition(topic, int(number))
                offsets[partition] = max(offset, offsets.get(partition, 0))
        try:
            _admin(tuple(sorted(self.properties.items()))).commit(self.properties["group.id"], offsets)
        except KafkaError as error:
            logger.warning("offsets of the last checkpoint were not committed: %s", error)


@dataclass(frozen=True)
class KafkaCommitter(Committer):
    """Produces the records that the writers of an exactly-once sink staged, in one transaction for each writer.

    Attributes:
        properties: Of the Java client.
    """

    properties: Mapping[str, str] = field(repr=False)

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Raise if a topic does not exist.

        Raises:
            KafkaError: it does not, or brokers do not answer.
        """
        topics = {topic for request in requests for topic in request.committable.topics}
        unknown = topics - _KNOWN_TOPICS
        if unknown:
            admin = _admin(tuple(sorted(self.properties.items())))
            for topic in sorted(unknown):
                admin.require_topic(topic)
            _KNOWN_TOPICS.update(unknown)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Produce what was not produced before, for all writers at the same time.

        Raises:
            KafkaError: a transaction failed; those of other writers may be committed.
        """
        of_writer: dict[tuple[str, str, int], list[CommitRequest]] = {}
        for request in sorted(requests, key=lambda request: request.number):
            of_writer.setdefault((request.job_id, request.sink_id, request.subtask_index), []).append(request)
        with ThreadPoolExecutor(min(_MOST_THREADS, len(of_writer)), "kafka-commit") as pool:
            for _ in pool.map(self._commit_writer, of_writer.values()):
                pass

    def _commit_writer(self, requests: Sequence[CommitRequest]) -> None:
        commit_in_transaction(self.properties, requests)
        for request in requests:
            request.committable.rows.discard()
