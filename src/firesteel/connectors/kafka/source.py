"""Kafka source: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

import logging
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Generic, TypeVar, cast

from firesteel.common.checks import require
from firesteel.common.options.checkpointing_options import CHECKPOINTING_INTERVAL
from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.kafka.properties import consumer_settings, warn_of_unknown
from firesteel.connectors.kafka.record_schema import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.source_settings import (
    AUTO_COMMIT,
    CLIENT_ID_PREFIX,
    COMMIT_OFFSETS,
    DEFAULT_DISCOVERY_MS,
    DISCOVERY_INTERVAL,
    GROUP_ID,
    KafkaOffsetsInitializer,
    KafkaSourceSettings,
    KafkaTopicPartition,
    OffsetKind,
)
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import Committer, Source
from firesteel.functions.source_reading import ReadingHints, SourceEnumerator, SourceReader, SourceReaderContext

logger = logging.getLogger(__name__)


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

    reading_hints = ReadingHints(unit="Records")

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

    def create_enumerator(self, configuration: Mapping[str, str]) -> SourceEnumerator:
        """Return the enumerator of partitions."""
        from firesteel.connectors.kafka.splits import KafkaEnumerator  # late: it needs Kafka's client

        return KafkaEnumerator(self.settings, self.is_bounded())

    def create_reader(self, context: SourceReaderContext) -> SourceReader:
        """Return the reader of a subtask."""
        from firesteel.connectors.kafka.splits import KafkaReader  # late: it needs Kafka's client

        return KafkaReader(self.settings, context.subtask_index)

    def create_position_committer(self, configuration: Mapping[str, str]) -> Committer | None:
        """Return the committer of the group's offsets, with each checkpoint or, without them, on auto-commit."""
        from firesteel.connectors.kafka.committer import KafkaOffsetsCommitter  # late: it needs Kafka's client

        properties, takes_checkpoints = self.settings.properties, CHECKPOINTING_INTERVAL.of(configuration) > 0
        commits = self.settings.commits_offsets if takes_checkpoints else properties[AUTO_COMMIT].lower() == "true"
        return KafkaOffsetsCommitter(properties) if commits and GROUP_ID in properties else None


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
        require(starting_offsets_initializer, KafkaOffsetsInitializer, "set_starting_offsets()")
        return self._change(starting_offsets=starting_offsets_initializer)

    def set_unbounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T]:
        """Stop reading each partition at the given offsets, without ending the source.

        Args:
            stopping_offsets_initializer: The offsets, exclusive.
        """
        require(stopping_offsets_initializer, KafkaOffsetsInitializer, "set_unbounded()")
        return self._change(stopping_offsets=stopping_offsets_initializer, is_bounded=False)

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> KafkaSourceBuilder[T]:
        """Make the source bounded: it ends when each partition is read up to the given offsets.

        Args:
            stopping_offsets_initializer: The offsets, exclusive; `latest()` means the ends of the partitions when the
                job starts.
        """
        require(stopping_offsets_initializer, KafkaOffsetsInitializer, "set_bounded()")
        return self._change(stopping_offsets=stopping_offsets_initializer, is_bounded=True)

    def set_value_only_deserializer(self, deserialization_schema: DeserializationSchema[R]) -> KafkaSourceBuilder[R]:
        """Set the deserialization schema of the values of records.

        Args:
            deserialization_schema: Converts the bytes of a value to an element; it skips the record if it returns None.
        """
        require(deserialization_schema, DeserializationSchema, "set_value_only_deserializer()")
        return cast("KafkaSourceBuilder[R]", self._change(deserializer=deserialization_schema))

    def set_deserializer(self, record_deserializer: KafkaRecordDeserializationSchema[R]) -> KafkaSourceBuilder[R]:
        """Set the deserialization schema of whole records: keys, headers, topics, partitions, offsets, timestamps.

        Args:
            record_deserializer: A class with `deserialize_record`, or `KafkaRecordDeserializationSchema.rows()`.
        """
        require(record_deserializer, KafkaRecordDeserializationSchema, "set_deserializer()")
        return cast("KafkaSourceBuilder[R]", self._change(deserializer=record_deserializer))

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
        DISCOVERY_INTERVAL: DEFAULT_DISCOVERY_MS,
    }
    return {**defaults, **properties}
