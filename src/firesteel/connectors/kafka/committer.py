"""Committers for Kafka: offsets of a source's group, and records of an exactly-once sink."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from firesteel.connectors.kafka.client import KafkaAdmin, KafkaError
from firesteel.connectors.kafka.source_settings import KafkaTopicPartition
from firesteel.connectors.kafka.transactions import close_producers, commit_in_transaction
from firesteel.functions.connector_base import CommitRequest, Committer

logger = logging.getLogger(__name__)

_MOST_THREADS = 16


@dataclass(frozen=True)
class KafkaOffsetsCommitter(Committer):
    """Commits the offsets of a checkpoint to the group of a source.

    The offsets only show progress, as a job restores them from its checkpoint. So errors are logged and ignored, as in
    Flink.

    Attributes:
        properties: Properties of the Java client.
    """

    commits_data: ClassVar[bool] = True

    properties: Mapping[str, str] = field(repr=False)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit the highest offset of each partition."""
        offsets: dict[KafkaTopicPartition, int] = {}
        for request in requests:
            for split_id, offset in request.committable.items():
                topic, _, number = split_id.rpartition("-")
                partition = KafkaTopicPartition(topic, int(number))
                # A checkpoint covers several batches, in any order.
                offsets[partition] = max(offset, offsets.get(partition, 0))
        try:
            self._admin.commit(self.properties["group.id"], offsets)
        except KafkaError as error:
            logger.warning("could not commit the offsets of the last checkpoint: %s", error)

    @cached_property
    def _admin(self) -> KafkaAdmin:
        """The client, which stays connected between checkpoints."""
        return KafkaAdmin(self.properties)

    def close(self) -> None:
        """Close the client, which has threads and connections."""
        vars(self).pop("_admin", None)


@dataclass(frozen=True)
class KafkaCommitter(Committer):
    """Produces the staged records of an exactly-once sink, in one transaction per writer.

    Attributes:
        properties: Properties of the Java client.
    """

    commits_data: ClassVar[bool] = True

    properties: Mapping[str, str] = field(repr=False)
    _ids: set[str] = field(default_factory=set, repr=False, compare=False)
    _known_topics: set[str] = field(default_factory=set, repr=False, compare=False)

    def check(self, requests: Sequence[CommitRequest]) -> None:
        """Check that all topics exist.

        Raises:
            KafkaError: a topic does not exist, or brokers do not respond.
        """
        topics = {topic for request in requests for topic in request.committable.topics}
        unknown = topics - self._known_topics
        if unknown:
            admin = KafkaAdmin(self.properties)
            for topic in sorted(unknown):
                admin.require_topic(topic)
            self._known_topics.update(unknown)

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Produce the records that were not produced before, concurrently for all writers.

        Raises:
            KafkaError: a transaction failed; the transactions of other writers may be committed.
        """
        of_writer: dict[tuple[str, str, int], list[CommitRequest]] = {}
        # In order, as the marker of a commit says that all lower numbers are committed.
        for request in sorted(requests, key=lambda request: request.number):
            of_writer.setdefault((request.job_id, request.sink_id, request.subtask_index), []).append(request)
        with ThreadPoolExecutor(min(_MOST_THREADS, len(of_writer)), "kafka-commit") as pool:
            # With a copy of the context each, by which they learn that the job is cancelled.
            done = [pool.submit(copy_context().run, self._commit_writer, one) for one in of_writer.values()]
            for commit in done:
                commit.result()

    def _commit_writer(self, requests: Sequence[CommitRequest]) -> None:
        self._ids.add(requests[0].committable.transactional_id)
        commit_in_transaction(self.properties, requests)
        for request in requests:
            request.committable.rows.discard()

    def close(self) -> None:
        """Close the producers, each of which has threads and connections."""
        close_producers(self.properties, self._ids)
