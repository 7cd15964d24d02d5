"""Kafka source: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Generic, TypeVar, cast

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.kafka.properties import consumer_settings, warn_of_unknown
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import Source

logger = logging.getLogger(__name__)

DISCOVERY_INTERVAL = "partition.discovery.interval.ms"
COMMIT_OFFSETS = "commit.offsets.on.checkpoint"
CLIENT_ID_PREFIX = "client.id.prefix"
GROUP_ID = "group.id"
AUTO_COMMIT = "enable.auto.commit"
_DEFAULT_DISCOVERY_MS = "300000"


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


T = TypeVar("T")
T_out = TypeVar("T_out", covariant=True)
R = TypeVar("R")


class KafkaSource(Source[T_out]):
    """Reads Kafka topics, with the timestamps of their records (Flink: `connector.kafka.source.KafkaSource`).

    A split is a partition and a position an offset; a checkpoint contains the offset of each partition. Records without
    a value are skipped. Needs the package `confluent-kafka` (`pip install 'firesteel[kafka]'`).

    Attributes:
        settings: Settings of the source.

    Example:
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topics("orders")
        ...     .set_group_id("totals")
        ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
        >>> orders = env.from_source(source, WatermarkStrategy.for_monotonous_timestamps(), "orders")
    """

    def __init__(self, settings: KafkaSourceSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def builder() -> KafkaSourceBuilder[Any]:
        """Return a builder."""
        return KafkaSourceBuilder()

    def is_bounded(self) -> bool:
        """Return whether the source is bounded."""
        return self.settings.is_bounded

    @property
    def produced_type(self) -> TypeInformation[Any]:
        """Type of the elements, as declared by the deserializer."""
        assert self.settings.deserializer is not None
        return self.settings.deserializer.get_produced_type()


class KafkaSourceBuilder(Generic[T]):
    """A builder of `KafkaSource`; by default the source starts at the earliest offsets and is unbounded.

    Example:
        >>> source = (
        ...     KafkaSource.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_topic_pattern("orders-.*")
        ...     .set_starting_offsets(KafkaOffsetsInitializer.timestamp(1_700_000_000_000))
        ...     .set_bounded(KafkaOffsetsInitializer.latest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._settings = KafkaSourceSettings()

    def build(self) -> KafkaSource[T]:
        """Return the source.

        Raises:
            InvalidProgramError: brokers, topics or a deserializer are missing, or properties contradict each other.
        """
        settings = replace(self._settings, properties=_completed(self._settings.properties))
        for is_there, what, method in (
            ("bootstrap.servers" in settings.properties, "bootstrap.servers is", "set_bootstrap_servers()"),
            (settings.subscribed, "topics, topic pattern and partitions are", "set_topics()"),
            (settings.deserializer is not None, "the deserializer is", "set_value_only_deserializer()"),
        ):
            if not is_there:
                raise InvalidProgramError(f"KafkaSource: {what} missing; call {method}")
        uses_group = OffsetKind.COMMITTED in {
            offsets.kind for offsets in (settings.starting_offsets, settings.stopping_offsets) if offsets is not None
        }
        if uses_group and GROUP_ID not in settings.properties:
            raise InvalidProgramError("KafkaSource: committed offsets need a group; call set_group_id()")
        consumer_settings(settings.properties)
        warn_of_unknown(settings.properties, "KafkaSource")
        return KafkaSource(settings)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSourceBuilder[T]:
        """Set the bootstrap servers: `host:port`, separated by commas.

        Args:
            bootstrap_servers: For example `broker1:9092,broker2:9092`.
        """
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_group_id(self, group_id: str) -> KafkaSourceBuilder[T]:
        """Set the consumer group to which offsets are committed.

        Args:
            group_id: The property `group.id`. Without it, offsets are not committed.
        """
        return self.set_property(GROUP_ID, group_id)

    def set_topics(self, *topics: str) -> KafkaSourceBuilder[T]:
        """Read the given topics.

        Args:
            topics: Names of topics, or lists of names.

        Raises:
            InvalidProgramError: topics, a pattern or partitions are set already.
        """
        names = tuple(name for topic in topics for name in ([topic] if isinstance(topic, str) else topic))
        return self._subscribe("topics", topics=names)

    def set_topic_pattern(self, topic_pattern: str) -> KafkaSourceBuilder[T]:
        """Read all topics whose full names match a regular expression, including topics created later.

        Args:
            topic_pattern: A regular expression in Python's syntax.

        Raises:
            InvalidProgramError: topics, a pattern or partitions are set already.
            ValueError: the pattern is not a regular expression.
        """
        try:
            re.compile(topic_pattern)
        except re.error as error:
            raise ValueError(f"topic_pattern {topic_pattern!r} is not a regular expression: {error}") from None
        return self._subscribe("a topic pattern", topic_pattern=topic_pattern)

    def set_partitions(self, partitions: set[KafkaTopicPartition]) -> KafkaSourceBuilder[T]:
        """Read individual partitions.

        Args:
            partitions: Topics and partition numbers.

        Raises:
            InvalidProgramError: topics, a pattern or partitions are set already.
        """
        return self._subscribe("partitions", partitions=frozenset(partitions))

    def _subscribe(self, what: str, **to: object) -> KafkaSourceBuilder[T]:
        if self._settings.subscribed:
            raise InvalidProgramError(f"KafkaSource: cannot set {what}, {self._settings.subscribed} are set already")
        return self._change(**to)

    def _change(self, **settings: object) -> KafkaSourceBuilder[T]:
        change: Callable[..., KafkaSourceSettings] = replace
        self._settings = change(self._settings, **settings)
        return self

    def set_starting_offsets(self, starting_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T]:
        """Set the starting offsets of a job without a checkpoint.

        Partitions found later are read from their beginning.

        Args:
            starting_offsets_initializer: By default the earliest offsets.
        """
        return self._change(starting_offsets=starting_offsets_initializer)

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T]:
        """Stop reading each partition at the given offsets, without ending the source.

        Args:
            stopping_offsets_initializer: The offsets, exclusive.
        """
        return self._change(stopping_offsets=stopping_offsets_initializer, is_bounded=False)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T]:
        """Make the source bounded: it ends when each partition is read up to the given offsets.

        Args:
            stopping_offsets_initializer: The offsets, exclusive; `latest()` means the ends of the partitions when the
                job starts.
        """
        return self._change(stopping_offsets=stopping_offsets_initializer, is_bounded=True)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[R]) -> KafkaSourceBuilder[R]:
        """Set the deserialization schema of the values of records.

        Args:
            deserialization_schema: Converts the bytes of a value to an element; it skips the record if it returns None.
        """
        return cast("KafkaSourceBuilder[R]", self._change(deserializer=deserialization_schema))

    def set_client_id_prefix(self, prefix: str) -> KafkaSourceBuilder[T]:
        """Set the prefix of client ids; the number of the subtask follows.

        Args:
            prefix: The property `client.id.prefix`.
        """
        return self.set_property(CLIENT_ID_PREFIX, prefix)

    def set_property(self, key: str, value: str) -> KafkaSourceBuilder[T]:
        """Set a property of the Java client or of the source.

        Args:
            key: For example `partition.discovery.interval.ms` or `max.poll.records`; properties that librdkafka does
                not know are named in a warning.
            value: The value as text.
        """
        return self.set_properties({key: value})

    def set_properties(self, props: Mapping[str, str]) -> KafkaSourceBuilder[T]:
        """Set several properties.

        Args:
            props: Values by property, as for `set_property`.
        """
        texts = {str(key): str(value) for key, value in props.items()}
        return self._change(properties={**self._settings.properties, **texts})


def _completed(properties: Mapping[str, str]) -> dict[str, str]:
    """Return the properties with the source's defaults, as Flink's builder sets them."""
    if GROUP_ID not in properties and properties.get(COMMIT_OFFSETS, "true").lower() == "true":
        logger.warning("KafkaSource: offsets are not committed on checkpoints because group.id is not specified")
    defaults = {
        CLIENT_ID_PREFIX: properties.get(GROUP_ID) or f"KafkaSource-{uuid.uuid4().hex[:12]}",
        COMMIT_OFFSETS: "true",
        AUTO_COMMIT: "false",
        DISCOVERY_INTERVAL: _DEFAULT_DISCOVERY_MS,
    }
    return {**defaults, **properties}
