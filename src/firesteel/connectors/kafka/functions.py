"""Kafka connectors for `add_source` and `add_sink`: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from enum import Enum
from pathlib import Path
from typing import Any, Self

from firesteel.common.serialization import DeserializationSchema, SerializationSchema
from firesteel.common.typeinfo import TypeInformation
from firesteel.connectors.kafka.records import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.sink import KafkaSink
from firesteel.connectors.kafka.source import KafkaSource
from firesteel.connectors.kafka.source_settings import KafkaOffsetResetStrategy, KafkaOffsetsInitializer
from firesteel.functions.connector_base import DeliveryGuarantee
from firesteel.functions.user_functions import SinkFunction, SourceFunction

_logger = logging.getLogger(__name__)
_GROUP, _RESET, _TRANSACTIONAL_ID = "group.id", "auto.offset.reset", "transactional.id"
_OLD_DISCOVERY = "flink.partition-discovery.interval-millis"
_DISCOVERY, _COMMIT = "partition.discovery.interval.ms", "commit.offsets.on.checkpoint"


class FlinkKafkaConsumerBase(SourceFunction[Any]):
    """The base class of the consumer: starting position and committed offsets.

    Args:
        deserialization_schema: Deserializes the values of records; keys are ignored.
        properties: Properties of the Java client; keys and values are converted by `str`.
    """

    def __init__(self, deserialization_schema: DeserializationSchema[Any], properties: Mapping[str, Any]) -> None:
        super().__init__()
        self._schema = deserialization_schema
        self._properties = {str(key): str(value) for key, value in properties.items()}
        self._offsets: KafkaOffsetsInitializer | None = None

    def set_start_from_earliest(self) -> Self:
        """Start at the first record of each partition."""
        return self._start(KafkaOffsetsInitializer.earliest())

    def set_start_from_latest(self) -> Self:
        """Start at the end of each partition."""
        return self._start(KafkaOffsetsInitializer.latest())

    def set_start_from_timestamp(self, startup_offsets_timestamp: int) -> Self:
        """Start at the first record of each partition that is not older than a time.

        Args:
            startup_offsets_timestamp: Milliseconds since the epoch.
        """
        return self._start(KafkaOffsetsInitializer.timestamp(startup_offsets_timestamp))

    def set_start_from_group_offsets(self) -> Self:
        """Start at the committed offsets of the group, or by `auto.offset.reset` (default latest) if there are none."""
        return self._start(None)

    def set_commit_offsets_on_checkpoints(self, commit_on_checkpoints: bool) -> Self:
        """Set whether checkpoints commit their offsets to the consumer group.

        Args:
            commit_on_checkpoints: True by default. The offsets are for monitoring: a restart uses those of the
                checkpoint.
        """
        self._properties[_COMMIT] = str(commit_on_checkpoints).lower()
        return self

    def disable_filter_restored_partitions_with_subscribed_topics(self) -> Self:
        """Do nothing: partitions of other topics are never read."""
        return self

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the elements."""
        return self._schema.get_produced_type()

    def _start(self, offsets: KafkaOffsetsInitializer | None) -> Self:
        self._offsets = offsets
        return self


class FlinkKafkaConsumer(FlinkKafkaConsumerBase):
    """Reads Kafka topics, for `add_source`; by default from the committed offsets of the group.

    As in Flink, new partitions are discovered only with the property `flink.partition-discovery.interval-millis`.

    Args:
        topics: One name, or a list of names.
        deserialization_schema: Deserializes the values of records.
        properties: Properties of the Java client.

    Example:
        >>> properties = {"bootstrap.servers": "localhost:9092", "group.id": "totals"}
        >>> consumer = FlinkKafkaConsumer("orders", SimpleStringSchema(), properties).set_start_from_earliest()
        >>> orders = env.add_source(consumer)
    """

    def __init__(
        self,
        topics: str | list[str],
        deserialization_schema: DeserializationSchema[Any],
        properties: Mapping[str, Any],
    ) -> None:
        super().__init__(deserialization_schema, properties)
        _logger.warning("FlinkKafkaConsumer is deprecated; use from_source() with KafkaSource.builder()")
        self._topics = [topics] if isinstance(topics, str) else list(topics)
        self._properties[_DISCOVERY] = self._properties.pop(_OLD_DISCOVERY, "-1")

    def as_source(self) -> KafkaSource[Any]:
        """Return the equivalent `KafkaSource`."""
        builder = KafkaSource.builder().set_topics(*self._topics).set_properties(self._properties)
        builder = builder.set_starting_offsets(self._offsets or self._group_offsets())
        return builder.set_value_only_deserializer(self._schema).build()

    def _group_offsets(self) -> KafkaOffsetsInitializer:
        text = self._properties.get(_RESET, "latest")
        try:
            reset = KafkaOffsetResetStrategy[text.upper()]
        except KeyError:
            raise ValueError(f"{_RESET} must be earliest, latest or none, found {text!r}") from None
        if _GROUP in self._properties or reset is KafkaOffsetResetStrategy.NONE:
            return KafkaOffsetsInitializer.committed_offsets(reset)
        is_earliest = reset is KafkaOffsetResetStrategy.EARLIEST
        return KafkaOffsetsInitializer.earliest() if is_earliest else KafkaOffsetsInitializer.latest()


class Semantic(Enum):
    """The delivery guarantee of the producer."""

    EXACTLY_ONCE = 0
    AT_LEAST_ONCE = 1
    NONE = 2


class FlinkKafkaProducerBase(SinkFunction[Any]):
    """The base class of the producer: delivery settings.

    Args:
        guarantee: Delivery guarantee; `set_flush_on_checkpoint(False)` turns AT_LEAST_ONCE into NONE.
    """

    def __init__(self, guarantee: DeliveryGuarantee) -> None:
        super().__init__()
        self._guarantee = guarantee

    def set_flush_on_checkpoint(self, flush_on_checkpoint: bool) -> Self:
        """Set whether a checkpoint waits for records in flight.

        Args:
            flush_on_checkpoint: False turns AT_LEAST_ONCE into NONE; True does not undo that.
        """
        if not flush_on_checkpoint and self._guarantee is DeliveryGuarantee.AT_LEAST_ONCE:
            self._guarantee = DeliveryGuarantee.NONE
        return self

    def set_log_failures_only(self, log_failures_only: bool) -> Self:
        """Do nothing: a failed write fails the attempt.

        Args:
            log_failures_only: Ignored.
        """
        return self

    def set_write_timestamp_to_kafka(self, write_timestamp_to_kafka: bool) -> Self:
        """Do nothing: timestamps are always written.

        Args:
            write_timestamp_to_kafka: Ignored.
        """
        return self


class FlinkKafkaProducer(FlinkKafkaProducerBase):
    """Writes the values of records to a Kafka topic, for `add_sink`.

    Differences to Flink: Kafka's partitioner chooses the partitions instead of the subtask index, timestamps are always
    written, and a failed write always fails the attempt. With `EXACTLY_ONCE` the property `transactional.id` is the
    prefix of transactional ids; the default prefix consists of the names of program and topic.

    Args:
        topic: Name of the topic.
        serialization_schema: Serializes the values of records.
        producer_config: Properties of the Java client.
        kafka_producer_pool_size: Ignored: a transaction is open only while it is committed.
        semantic: Delivery guarantee.

    Example:
        >>> properties = {"bootstrap.servers": "localhost:9092", "transactional.id": "totals"}
        >>> producer = FlinkKafkaProducer("totals", SimpleStringSchema(), properties, semantic=Semantic.EXACTLY_ONCE)
        >>> _ = env.from_collection(["to 2", "be 2"], Types.STRING()).add_sink(producer)
    """

    def __init__(
        self,
        topic: str,
        serialization_schema: SerializationSchema[Any],
        producer_config: Mapping[str, Any],
        kafka_producer_pool_size: int = 5,
        semantic: Semantic = Semantic.AT_LEAST_ONCE,
    ) -> None:
        super().__init__(DeliveryGuarantee[semantic.name])
        _logger.warning("FlinkKafkaProducer is deprecated; use sink_to() with KafkaSink.builder()")
        self._topic = topic
        self._schema = serialization_schema
        self._properties = {str(key): str(value) for key, value in producer_config.items()}
        prefix = f"{Path(sys.argv[0]).stem or 'program'}-{topic}"
        self._prefix = self._properties.pop(_TRANSACTIONAL_ID, prefix)

    def ignore_failures_after_transaction_timeout(self) -> Self:
        """Do nothing: no transaction outlives an outage."""
        return self

    def as_sink(self) -> KafkaSink[Any]:
        """Return the equivalent `KafkaSink`."""
        serializer = KafkaRecordSerializationSchema.builder().set_topic(self._topic)
        builder = KafkaSink.builder().set_delivery_guarantee(self._guarantee)
        for key, value in self._properties.items():
            builder.set_property(key, value)
        if self._guarantee is DeliveryGuarantee.EXACTLY_ONCE:
            builder.set_transactional_id_prefix(self._prefix)
        return builder.set_record_serializer(serializer.set_value_serialization_schema(self._schema).build()).build()
