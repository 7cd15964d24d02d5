"""Settings of a Kafka source: partitions, offsets at which it starts and stops, properties."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from firesteel.common.serialization import DeserializationSchema

DISCOVERY_INTERVAL = "partition.discovery.interval.ms"
COMMIT_OFFSETS = "commit.offsets.on.checkpoint"
CLIENT_ID_PREFIX = "client.id.prefix"
GROUP_ID = "group.id"
AUTO_COMMIT = "enable.auto.commit"
DEFAULT_DISCOVERY_MS = "300000"


@dataclass(frozen=True, slots=True, order=True)
class KafkaTopicPartition:
    """A partition of a topic (Flink: `org.apache.kafka.common.TopicPartition`).

    Attributes:
        topic: Name of the topic.
        partition: Number of the partition, from 0.

    Example:
        >>> offsets = {KafkaTopicPartition("orders", 0): 42, KafkaTopicPartition("orders", 1): 17}
        >>> initializer = KafkaOffsetsInitializer.offsets(offsets, KafkaOffsetResetStrategy.EARLIEST)
    """

    topic: str
    partition: int


class KafkaOffsetResetStrategy(Enum):
    """The starting position for partitions without an offset (Flink: `OffsetResetStrategy`)."""

    LATEST = 0
    EARLIEST = 1
    NONE = 2


class OffsetKind(Enum):
    """The way a `KafkaOffsetsInitializer` determines offsets."""

    EARLIEST = "earliest"
    LATEST = "latest"
    COMMITTED = "committed"
    TIMESTAMP = "timestamp"
    OFFSETS = "offsets"


@dataclass(frozen=True)
class KafkaOffsetsInitializer:
    """The offsets at which a `KafkaSource` starts or stops reading each partition (Flink: `OffsetsInitializer`).

    Attributes:
        kind: The way offsets are determined.
        reset_strategy: Starting position for partitions without an offset.
        time: Milliseconds since the epoch, for `TIMESTAMP`.
        specified: Offsets by partition, for `OFFSETS`.

    Example:
        >>> initializer = KafkaOffsetsInitializer.committed_offsets(KafkaOffsetResetStrategy.EARLIEST)
    """

    kind: OffsetKind
    reset_strategy: KafkaOffsetResetStrategy
    time: int = -1
    specified: Mapping[KafkaTopicPartition, int] = field(default_factory=dict)

    @staticmethod
    def committed_offsets(
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.NONE,
    ) -> KafkaOffsetsInitializer:
        """Return an initializer for the committed offsets of the group.

        Args:
            offset_reset_strategy: Applies to partitions without a committed offset; `NONE` raises an error.
        """
        return KafkaOffsetsInitializer(OffsetKind.COMMITTED, offset_reset_strategy)

    @staticmethod
    def timestamp(timestamp: int) -> KafkaOffsetsInitializer:
        """Return an initializer for the first record with this timestamp or a later one, or the end of the partition.

        Args:
            timestamp: Milliseconds since the epoch.

        Raises:
            ValueError: the timestamp is negative.
        """
        if timestamp < 0:
            raise ValueError(f"timestamp must be 0 or later, found {timestamp}")
        return KafkaOffsetsInitializer(OffsetKind.TIMESTAMP, KafkaOffsetResetStrategy.LATEST, time=timestamp)

    @staticmethod
    def earliest() -> KafkaOffsetsInitializer:
        """Return an initializer for the first record of each partition."""
        return KafkaOffsetsInitializer(OffsetKind.EARLIEST, KafkaOffsetResetStrategy.EARLIEST)

    @staticmethod
    def latest() -> KafkaOffsetsInitializer:
        """Return an initializer for the end of each partition at the start of the job."""
        return KafkaOffsetsInitializer(OffsetKind.LATEST, KafkaOffsetResetStrategy.LATEST)

    @staticmethod
    def offsets(
        offsets: Mapping[KafkaTopicPartition, int],
        offset_reset_strategy: KafkaOffsetResetStrategy = KafkaOffsetResetStrategy.EARLIEST,
    ) -> KafkaOffsetsInitializer:
        """Return an initializer for the given offsets.

        Other partitions start at the committed offsets of the group, or by the reset strategy if there are none.

        Args:
            offsets: The offset of the first record to read, or after the last one, by partition.
            offset_reset_strategy: Used for partitions that have neither.

        Raises:
            ValueError: an offset is negative.
        """
        negative = {partition: offset for partition, offset in offsets.items() if offset < 0}
        if negative:
            raise ValueError(f"offsets must be 0 or greater, found {negative}")
        return KafkaOffsetsInitializer(OffsetKind.OFFSETS, offset_reset_strategy, specified=dict(offsets))


@dataclass(frozen=True)
class KafkaSourceSettings:
    """Settings of a `KafkaSource`.

    Attributes:
        properties: Properties of the Java client and of the source.
        topics: Names of topics.
        topic_pattern: Regular expression that the full name of a topic must match.
        partitions: Individual partitions.
        stopping_offsets: End of each partition; None means no end.
        is_bounded: Whether the source ends when all partitions reached their ends.
    """

    properties: dict[str, str] = field(default_factory=dict, repr=False)
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    partitions: frozenset[KafkaTopicPartition] = frozenset()
    starting_offsets: KafkaOffsetsInitializer = field(default_factory=KafkaOffsetsInitializer.earliest)
    stopping_offsets: KafkaOffsetsInitializer | None = None
    is_bounded: bool = False
    deserializer: DeserializationSchema[Any] | None = None

    @property
    def subscribed(self) -> str:
        """A description of the subscription for messages; empty if there is none yet."""
        if self.topics:
            return f"topics {', '.join(self.topics)}"
        if self.topic_pattern is not None:
            return f"topics that match {self.topic_pattern!r}"
        names = [f"{partition.topic}-{partition.partition}" for partition in sorted(self.partitions)]
        return f"partitions {', '.join(names)}" if names else ""

    @property
    def bootstrap_servers(self) -> str:
        """The bootstrap servers."""
        return self.properties["bootstrap.servers"]

    @property
    def discovery_interval_ms(self) -> int:
        """The interval in milliseconds at which new partitions are discovered; 0 or less means never."""
        return -1 if self.is_bounded else int(self.properties[DISCOVERY_INTERVAL])

    @property
    def commits_offsets(self) -> bool:
        """Whether the offsets of each checkpoint are committed to the group."""
        return GROUP_ID in self.properties and self.properties[COMMIT_OFFSETS].lower() == "true"
