"""What is committed to Kafka with a checkpoint: offsets of a source's group."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from firesteel.datastream.connectors.base import CommitRequest, Committer
from firesteel.datastream.connectors.kafka_client import KafkaAdmin, KafkaError
from firesteel.datastream.connectors.kafka_source import KafkaTopicPartition

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class KafkaOffsetsCommitter(Committer):
    """Commits the offsets of a checkpoint to the group of a source.

    They only show progress: a job goes on from its checkpoint, so an error is logged and nothing more, as in Flink.

    Attributes:
        properties: Of the Java client.
    """

    properties: Mapping[str, str]

    def commit(self, requests: Sequence[CommitRequest]) -> None:
        """Commit the furthest offset of each partition."""
        offsets: dict[KafkaTopicPartition, int] = {}
        for request in requests:
            for split_id, offset in request.committable.items():
                topic, _, number = split_id.rpartition("-")
                partition = KafkaTopicPartition(topic, int(number))
                offsets[partition] = max(offset, offsets.get(partition, 0))
        try:
            KafkaAdmin(self.properties).commit(self.properties["group.id"], offsets)
        except KafkaError as error:
            logger.warning("offsets of the last checkpoint were not committed: %s", error)
