"""Kafka source with a metadata service (module as `pyflink.datastream.connectors.dynamic_kafka`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Generic, TypeVar, cast

from firesteel.common.checks import require
from firesteel.common.serialization import DeserializationSchema
from firesteel.connectors.kafka.record_schema import KafkaRecordDeserializationSchema
from firesteel.connectors.kafka.source import KafkaSource, KafkaSourceBuilder
from firesteel.connectors.kafka.source_settings import DISCOVERY_INTERVAL, KafkaOffsetsInitializer
from firesteel.errors import InvalidProgramError

T = TypeVar("T")
T_out = TypeVar("T_out", covariant=True)
R = TypeVar("R")

__all__ = [
    "DynamicKafkaSource",
    "DynamicKafkaSourceBuilder",
    "KafkaMetadataService",
    "KafkaRecordDeserializationSchema",
    "KafkaStreamSetSubscriber",
    "KafkaStreamSubscriber",
    "SingleClusterTopicMetadataService",
    "StreamPatternSubscriber",
]

_METADATA_INTERVAL = "stream-metadata-discovery-interval-ms"


class KafkaMetadataService:
    """Resolves streams to topics of clusters; `SingleClusterTopicMetadataService` is the only implementation.

    Args:
        j_metadata_service: Not used.

    Raises:
        NotImplementedError: always; the subclass has a constructor of its own.

    Example:
        >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
        >>> isinstance(service, KafkaMetadataService)
        True
    """

    def __init__(self, j_metadata_service: object) -> None:
        raise NotImplementedError(
            "KafkaMetadataService wraps a Java object; use SingleClusterTopicMetadataService, or a KafkaSource per "
            "cluster"
        )


class SingleClusterTopicMetadataService(KafkaMetadataService):
    """A metadata service in which each topic of one cluster is a stream of the same name.

    Args:
        kafka_cluster_id: A name for the cluster.
        properties: Properties of the Java client, including `bootstrap.servers`.

    Example:
        >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
    """

    def __init__(self, kafka_cluster_id: str, properties: Mapping[str, str]) -> None:
        self.kafka_cluster_id = kafka_cluster_id
        self.properties = dict(properties)


class KafkaStreamSubscriber:
    """Selects the streams to read: `KafkaStreamSetSubscriber` or `StreamPatternSubscriber`.

    Args:
        j_kafka_stream_subscriber: Not used.

    Raises:
        NotImplementedError: always; the subclasses have constructors of their own.

    Example:
        >>> isinstance(StreamPatternSubscriber("orders-.*"), KafkaStreamSubscriber)
        True
    """

    def __init__(self, j_kafka_stream_subscriber: object) -> None:
        raise NotImplementedError(
            "KafkaStreamSubscriber wraps a Java object; use KafkaStreamSetSubscriber or StreamPatternSubscriber"
        )

    def subscribe(self, builder: KafkaSourceBuilder[Any]) -> KafkaSourceBuilder[Any]:
        """Set the topics to read.

        Args:
            builder: Changed in place.

        Returns:
            The same builder.

        Raises:
            NotImplementedError: the subscriber is neither a `KafkaStreamSetSubscriber` nor a `StreamPatternSubscriber`.
        """
        raise NotImplementedError(f"{type(self).__name__} has no subscribe(builder)")


class KafkaStreamSetSubscriber(KafkaStreamSubscriber):
    """Selects the streams with the given names.

    Args:
        stream_ids: Names of the streams, which are names of topics; at least one.

    Raises:
        ValueError: the set is empty.

    Example:
        >>> subscriber = KafkaStreamSetSubscriber({"orders", "payments"})
        >>> builder = DynamicKafkaSource.builder().set_kafka_stream_subscriber(subscriber)
    """

    def __init__(self, stream_ids: set[str]) -> None:
        if not stream_ids:
            raise ValueError("KafkaStreamSetSubscriber: stream_ids must not be empty")
        self.stream_ids = frozenset(stream_ids)

    def subscribe(self, builder: KafkaSourceBuilder[Any]) -> KafkaSourceBuilder[Any]:
        """Set the topics to read in a builder."""
        return builder.set_topics(*sorted(self.stream_ids))


class StreamPatternSubscriber(KafkaStreamSubscriber):
    """Selects the streams whose full names match a regular expression, including streams created later.

    Args:
        stream_pattern: A regular expression in Python's syntax. It is checked when the source is built.

    Example:
        >>> subscriber = StreamPatternSubscriber("orders-.*")
        >>> builder = DynamicKafkaSource.builder().set_kafka_stream_subscriber(subscriber)
    """

    def __init__(self, stream_pattern: str) -> None:
        self.stream_pattern = stream_pattern

    def subscribe(self, builder: KafkaSourceBuilder[Any]) -> KafkaSourceBuilder[Any]:
        """Set the topics to read in a builder."""
        return builder.set_topic_pattern(self.stream_pattern)


class DynamicKafkaSource(KafkaSource[T_out]):
    """Reads streams of Kafka topics (Flink: `connector.kafka.dynamic.source.DynamicKafkaSource`, since 1.18).

    The only metadata service in PyFlink that is not a Java object is that of a single cluster. So this source is a
    `KafkaSource` of the topics named like the streams. Difference to Flink: it cannot move to another cluster.

    Example:
        >>> source = (
        ...     DynamicKafkaSource.builder()
        ...     .set_stream_pattern("orders-.*")
        ...     .set_kafka_metadata_service(SingleClusterTopicMetadataService("one", {"bootstrap.servers": "h:9092"}))
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .build()
        ... )
    """

    @staticmethod
    def builder() -> DynamicKafkaSourceBuilder[Any]:  # type: ignore[override]
        """Return a builder."""
        return DynamicKafkaSourceBuilder()


class DynamicKafkaSourceBuilder(Generic[T]):
    """A builder of `DynamicKafkaSource`.

    Example:
        >>> service = SingleClusterTopicMetadataService("main", {"bootstrap.servers": "localhost:9092"})
        >>> source = (
        ...     DynamicKafkaSource.builder()
        ...     .set_stream_ids({"orders"})
        ...     .set_kafka_metadata_service(service)
        ...     .set_starting_offsets(KafkaOffsetsInitializer.earliest())
        ...     .set_value_only_deserializer(SimpleStringSchema())
        ...     .set_group_id("totals")
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._kafka = KafkaSource.builder()
        self._service: SingleClusterTopicMetadataService | None = None
        self._subscriber: KafkaStreamSubscriber | None = None
        self._properties: dict[str, str] = {}

    def set_stream_ids(self, stream_ids: set[str]) -> DynamicKafkaSourceBuilder[T]:
        """Select streams by their names.

        Args:
            stream_ids: Names of streams, which are topics of the cluster; at least one.

        Raises:
            InvalidProgramError: the streams are selected already.
            ValueError: the set is empty.
        """
        return self.set_kafka_stream_subscriber(KafkaStreamSetSubscriber(stream_ids))

    def set_stream_pattern(self, stream_pattern: str) -> DynamicKafkaSourceBuilder[T]:
        """Select streams by a regular expression, including streams created later.

        Args:
            stream_pattern: Must match the full name of a stream.

        Raises:
            InvalidProgramError: the streams are selected already.
        """
        return self.set_kafka_stream_subscriber(StreamPatternSubscriber(stream_pattern))

    def set_kafka_stream_subscriber(
        self, kafka_stream_subscriber: KafkaStreamSubscriber
    ) -> DynamicKafkaSourceBuilder[T]:
        """Select streams by a subscriber.

        Args:
            kafka_stream_subscriber: A `KafkaStreamSetSubscriber` or `StreamPatternSubscriber`.

        Raises:
            InvalidProgramError: a subscriber is set already.
        """
        require(kafka_stream_subscriber, KafkaStreamSubscriber, "set_kafka_stream_subscriber()")
        if self._subscriber is not None:
            raise InvalidProgramError("DynamicKafkaSource: the streams to read are set already")
        self._subscriber = kafka_stream_subscriber
        return self

    def set_kafka_metadata_service(self, kafka_metadata_service: KafkaMetadataService) -> DynamicKafkaSourceBuilder[T]:
        """Set the cluster to read from.

        Args:
            kafka_metadata_service: A `SingleClusterTopicMetadataService`, whose properties include `bootstrap.servers`.

        Raises:
            TypeError: the service is not a `SingleClusterTopicMetadataService`.
        """
        if not isinstance(kafka_metadata_service, SingleClusterTopicMetadataService):
            raise TypeError(
                "DynamicKafkaSource: the metadata service must be a SingleClusterTopicMetadataService, found "
                f"{kafka_metadata_service!r}"
            )
        self._service = kafka_metadata_service
        return self

    def set_starting_offsets(
        self, starting_offsets_initializer: KafkaOffsetsInitializer
    ) -> DynamicKafkaSourceBuilder[T]:
        """Set where a job without a checkpoint starts reading.

        Args:
            starting_offsets_initializer: Offsets of each partition (default: the earliest ones).
        """
        self._kafka.set_starting_offsets(starting_offsets_initializer)
        return self

    def set_bounded(self, stopping_offsets_initializer: KafkaOffsetsInitializer) -> DynamicKafkaSourceBuilder[T]:
        """Make the source bounded.

        Args:
            stopping_offsets_initializer: Offset of each partition at which reading ends; its record is not read.
        """
        self._kafka.set_bounded(stopping_offsets_initializer)
        return self

    def set_deserializer(self, deserializer: KafkaRecordDeserializationSchema[R]) -> DynamicKafkaSourceBuilder[R]:
        """Set the deserialization schema of records.

        Args:
            deserializer: A schema made by `KafkaRecordDeserializationSchema.value_only`.
        """
        require(deserializer, KafkaRecordDeserializationSchema, "set_deserializer()")
        return self.set_value_only_deserializer(deserializer)

    def set_value_only_deserializer(
        self, deserialization_schema: DeserializationSchema[R]
    ) -> DynamicKafkaSourceBuilder[R]:
        """Set the deserialization schema of values; keys are ignored.

        Args:
            deserialization_schema: Determines the type of the elements; its None results are skipped.
        """
        self._kafka.set_value_only_deserializer(deserialization_schema)
        return cast("DynamicKafkaSourceBuilder[R]", self)

    def set_group_id(self, group_id: str) -> DynamicKafkaSourceBuilder[T]:
        """Set the consumer group.

        Args:
            group_id: Checkpoints commit their offsets to it, for monitoring. Without it, none are committed.
        """
        self._kafka.set_group_id(group_id)
        return self

    def set_client_id_prefix(self, prefix: str) -> DynamicKafkaSourceBuilder[T]:
        """Set the beginning of the ids by which brokers know the consumers.

        Args:
            prefix: The number of the subtask follows it.
        """
        self._kafka.set_client_id_prefix(prefix)
        return self

    def set_property(self, key: str, value: str) -> DynamicKafkaSourceBuilder[T]:
        """Set a property of the source.

        Args:
            key: A property of the Java client, or of the source.
            value: Replaces the present value, and that of the metadata service.
        """
        return self.set_properties({key: value})

    def set_properties(self, props: Mapping[str, str]) -> DynamicKafkaSourceBuilder[T]:
        """Set several properties of the source.

        Args:
            props: Properties of the Java client or of the source; the discovery interval of streams sets that of
                partitions.
        """
        self._properties.update(props)
        return self

    def build(self) -> DynamicKafkaSource[T]:
        """Return the source.

        Raises:
            InvalidProgramError: streams, metadata service or deserializer are missing.
        """
        if self._subscriber is None:
            raise InvalidProgramError("DynamicKafkaSource: call set_stream_ids()")
        if self._service is None:
            raise InvalidProgramError("DynamicKafkaSource: call set_kafka_metadata_service()")
        properties = {**self._service.properties, **self._properties}
        if _METADATA_INTERVAL in properties:
            properties[DISCOVERY_INTERVAL] = properties.pop(_METADATA_INTERVAL)
        self._kafka.set_properties(properties)
        return DynamicKafkaSource(self._subscriber.subscribe(self._kafka).build().settings)
