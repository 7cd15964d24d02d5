"""Kafka sink: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar, cast

from firesteel.common.checks import require
from firesteel.connectors.kafka.committer import KafkaCommitter
from firesteel.connectors.kafka.properties import producer_settings, warn_of_unknown
from firesteel.connectors.kafka.records import KafkaRecordSerializationSchema
from firesteel.connectors.kafka.writer import KafkaWriter, StagingKafkaWriter
from firesteel.errors import InvalidProgramError
from firesteel.functions.connector_base import (
    Committer,
    DeliveryGuarantee,
    Sink,
    SinkWriter,
    StreamTransformer,
    SupportsPreprocessing,
    WriterInitContext,
)

# Flink: `KafkaSinkBuilder.MAXIMUM_PREFIX_BYTES`.
_LONGEST_ID = 64_000


@dataclass(frozen=True)
class KafkaSinkSettings:
    """Settings of a `KafkaSink`."""

    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    serializer: KafkaRecordSerializationSchema[Any] | None = None
    guarantee: DeliveryGuarantee = DeliveryGuarantee.NONE
    transactional_id_prefix: str | None = None


T = TypeVar("T")
T_in = TypeVar("T_in", contravariant=True)
R = TypeVar("R")


class KafkaSink(Sink[T_in], SupportsPreprocessing):
    """Writes records to Kafka topics (Flink: `connector.kafka.sink.KafkaSink`).

    With `EXACTLY_ONCE`, records are staged with the checkpoint and produced when it is committed. Each writer uses one
    transaction, which also stores the number of the checkpoint's commit in Kafka. So the sink does not depend on
    transactions that outlive an outage, and no open transaction delays readers between checkpoints. Readers must set
    `isolation.level=read_committed`.

    Needs the package `confluent-kafka` (`pip install 'firesteel[kafka]'`).

    Attributes:
        settings: Settings of the sink.

    Example:
        >>> serializer = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("totals")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_record_serializer(serializer)
        ...     .set_delivery_guarantee(DeliveryGuarantee.EXACTLY_ONCE)
        ...     .set_transactional_id_prefix("totals")
        ...     .build()
        ... )
        >>> _ = env.from_collection(["to 2", "be 2"], Types.STRING()).sink_to(sink)
    """

    def __init__(self, settings: KafkaSinkSettings) -> None:
        super().__init__()
        self.settings = settings

    @staticmethod
    def builder() -> KafkaSinkBuilder[Any]:
        """Return a builder."""
        return KafkaSinkBuilder()

    def get_transformer(self) -> StreamTransformer | None:
        """Return None: the writers select topics themselves."""
        return None

    def is_two_phase(self) -> bool:
        """Return whether the guarantee is `EXACTLY_ONCE`, so that records take effect only when they are committed."""
        return self.settings.guarantee is DeliveryGuarantee.EXACTLY_ONCE

    def create_writer(self, context: WriterInitContext) -> SinkWriter[T_in]:
        """Return the writer of a subtask, which produces or stages records."""
        settings = self.settings
        assert settings.serializer is not None
        if self.is_two_phase():
            assert settings.transactional_id_prefix is not None
            prefix = settings.transactional_id_prefix
            return StagingKafkaWriter(settings.properties, settings.serializer, context, prefix)
        flushes = settings.guarantee is DeliveryGuarantee.AT_LEAST_ONCE
        return KafkaWriter(settings.properties, settings.serializer, context, flushes)

    def create_committer(self) -> Committer:
        """Return the committer, which produces staged records."""
        return KafkaCommitter(self.settings.properties)


class KafkaSinkBuilder(Generic[T]):
    """A builder of `KafkaSink`; as in Flink, the default delivery guarantee is `NONE`.

    Example:
        >>> serializer = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("totals")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> sink = (
        ...     KafkaSink.builder()
        ...     .set_bootstrap_servers("localhost:9092")
        ...     .set_record_serializer(serializer)
        ...     .set_delivery_guarantee(DeliveryGuarantee.AT_LEAST_ONCE)
        ...     .set_property("compression.type", "lz4")
        ...     .build()
        ... )
    """

    def __init__(self) -> None:
        self._settings = KafkaSinkSettings()

    def build(self) -> KafkaSink[T]:
        """Return the sink.

        Raises:
            InvalidProgramError: brokers, serializer or, for `EXACTLY_ONCE`, transactional id prefix are missing.
        """
        settings = self._settings
        is_exact = settings.guarantee is DeliveryGuarantee.EXACTLY_ONCE
        for is_there, what, method in (
            ("bootstrap.servers" in settings.properties, "bootstrap.servers is", "set_bootstrap_servers()"),
            (settings.serializer is not None, "the record serializer is", "set_record_serializer()"),
            (
                settings.transactional_id_prefix is not None or not is_exact,
                "EXACTLY_ONCE needs a transactional id prefix that no other job uses, which is",
                "set_transactional_id_prefix()",
            ),
        ):
            if not is_there:
                raise InvalidProgramError(f"KafkaSink: {what} missing; call {method}")
        producer_settings(settings.properties)
        warn_of_unknown(settings.properties, "KafkaSink")
        return KafkaSink(settings)

    def set_bootstrap_servers(self, bootstrap_servers: str) -> KafkaSinkBuilder[T]:
        """Set the bootstrap servers: `host:port`, separated by commas.

        Args:
            bootstrap_servers: For example `broker1:9092,broker2:9092`.
        """
        return self.set_property("bootstrap.servers", bootstrap_servers)

    def set_delivery_guarantee(self, delivery_guarantee: DeliveryGuarantee) -> KafkaSinkBuilder[T]:
        """Set the delivery guarantee.

        Args:
            delivery_guarantee: By default NONE. EXACTLY_ONCE needs checkpoints and a prefix of transactional ids.
        """
        return self._change(guarantee=delivery_guarantee)

    def set_transactional_id_prefix(self, transactional_id_prefix: str) -> KafkaSinkBuilder[T]:
        """Set the prefix of transactional ids, which must be unique per sink; the number of the writer follows.

        Args:
            transactional_id_prefix: Another job with the same prefix would fence this one.

        Raises:
            ValueError: the prefix is empty or longer than 64,000 bytes.
        """
        length = len(transactional_id_prefix.encode())
        if not 0 < length <= _LONGEST_ID:
            raise ValueError(f"transactional_id_prefix must have 1 to {_LONGEST_ID} bytes, found {length}")
        return self._change(transactional_id_prefix=transactional_id_prefix)

    def set_record_serializer(self, record_serializer: KafkaRecordSerializationSchema[R]) -> KafkaSinkBuilder[R]:
        """Set the serialization schema of records.

        Args:
            record_serializer: Made by `KafkaRecordSerializationSchema.builder()`.
        """
        require(record_serializer, KafkaRecordSerializationSchema, "set_record_serializer()")
        return cast("KafkaSinkBuilder[R]", self._change(serializer=record_serializer))

    def set_property(self, key: str, value: str) -> KafkaSinkBuilder[T]:
        """Set a property of the Java client.

        Args:
            key: For example `acks` or `compression.type`; properties that librdkafka does not know are named in a
                warning.
            value: The value as text.
        """
        return self._change(properties={**self._settings.properties, str(key): str(value)})

    def _change(self, **settings: Any) -> KafkaSinkBuilder[T]:
        self._settings = replace(self._settings, **settings)
        return self
