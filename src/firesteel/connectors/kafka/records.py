"""Serialization of elements to Kafka records: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar, cast

from firesteel.common.checks import require, require_function
from firesteel.common.serialization import SerializationSchema
from firesteel.errors import InvalidProgramError

Headers = list[tuple[str, bytes]] | None
Record = tuple[str, bytes | None, bytes | None, int, Headers]
"""Topic, key, value, timestamp (ms since the epoch; 0 is the time of writing), headers."""


class KafkaTopicSelector(ABC):
    """Chooses the topic of each element.

    Example:
        >>> class TopicPerCountry(KafkaTopicSelector):
        ...     def apply(self, data):
        ...         return f"orders-{data[:2]}"
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic_selector(TopicPerCountry())
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.records(["de 7"], None)
        [('orders-de', None, b'de 7', 0, None)]
    """

    @abstractmethod
    def apply(self, data: object) -> str:
        """Return the topic that an element is written to.

        Args:
            data: The element.

        Returns:
            Name of a topic, which the broker must know or create.
        """


@dataclass(frozen=True)
class RecordSettings:
    """What makes records of elements, as the builder has collected it."""

    topic: str | None = None
    select_topic: Callable[[Any], str] | None = None
    key_schema: SerializationSchema[Any] | None = None
    value_schema: SerializationSchema[Any] | None = None
    headers: Callable[[Any], Any] | None = None


T = TypeVar("T")
T_in = TypeVar("T_in", contravariant=True)
R = TypeVar("R")


class KafkaRecordSerializationSchema(SerializationSchema[T_in]):
    """Converts elements to records (Flink: `KafkaRecordSerializationSchema`).

    Use `KafkaRecordSerializationSchema.builder()` to create one.

    Args:
        settings: The topic, the serialization schemas and the headers that the builder has collected.

    Example:
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("totals")
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.records(["a"], None)
        [('totals', None, b'a', 0, None)]
    """

    def __init__(self, settings: RecordSettings) -> None:
        self._settings = settings

    @staticmethod
    def builder() -> KafkaRecordSerializationSchemaBuilder[Any]:
        """Return a builder."""
        return KafkaRecordSerializationSchemaBuilder()

    def records(self, elements: Sequence[T_in], timestamps: Sequence[int | None] | None) -> list[Record]:
        """Return the record of each element.

        Args:
            elements: The elements of a batch.
            timestamps: Milliseconds since the epoch; None, also for single elements, and negative ones mean the time of
                sending.

        Returns:
            Topic, key, value, timestamp (0: time of sending) and headers of each record.
        """
        settings = self._settings
        assert settings.value_schema is not None
        count = len(elements)
        select = settings.select_topic
        topics = [settings.topic or ""] * count if select is None else [select(element) for element in elements]
        keys = [None] * count if settings.key_schema is None else settings.key_schema.serialize_all(elements)
        values = settings.value_schema.serialize_all(elements)
        times = [0] * count if timestamps is None else [max(0, stamp or 0) for stamp in timestamps]
        header = settings.headers
        headers = [None] * count if header is None else [_pairs(header(element)) for element in elements]
        return list(zip(topics, keys, values, times, headers, strict=True))


def _pairs(headers: Mapping[str, bytes] | Iterable[tuple[str, bytes]] | None) -> Headers:
    return list(headers.items() if isinstance(headers, Mapping) else headers) if headers else None


class KafkaRecordSerializationSchemaBuilder(Generic[T]):
    """A builder of `KafkaRecordSerializationSchema`.

    Example:
        >>> schema = (
        ...     KafkaRecordSerializationSchema.builder()
        ...     .set_topic("orders")
        ...     .set_key_serialization_schema(SimpleStringSchema())
        ...     .set_value_serialization_schema(SimpleStringSchema())
        ...     .build()
        ... )
        >>> schema.records(["a"], [1500])
        [('orders', b'a', b'a', 1500, None)]
    """

    def __init__(self) -> None:
        self._settings = RecordSettings()

    def build(self) -> KafkaRecordSerializationSchema[T]:
        """Return the schema.

        Raises:
            InvalidProgramError: the topic or the serialization schema of values is missing.
        """
        settings = self._settings
        if settings.topic is None and settings.select_topic is None:
            raise InvalidProgramError("KafkaRecordSerializationSchema: the topic is missing; call set_topic()")
        if settings.value_schema is None:
            raise InvalidProgramError(
                "KafkaRecordSerializationSchema: the value schema is missing; call set_value_serialization_schema()"
            )
        return KafkaRecordSerializationSchema(settings)

    def set_topic(self, topic: str) -> KafkaRecordSerializationSchemaBuilder[T]:
        """Write all records to one topic.

        Args:
            topic: Name of a topic, which the broker must know or create.

        Raises:
            InvalidProgramError: a topic or a selector is set already.
        """
        return self._to(topic=topic)

    def set_topic_selector(
        self, topic_selector: Callable[[Any], str] | KafkaTopicSelector
    ) -> KafkaRecordSerializationSchemaBuilder[T]:
        """Choose the topic of each element.

        Args:
            topic_selector: A `KafkaTopicSelector`, or a function from element to topic.

        Raises:
            InvalidProgramError: a topic or a selector is set already.
        """
        require_function(topic_selector, KafkaTopicSelector, "set_topic_selector()")
        select = topic_selector.apply if isinstance(topic_selector, KafkaTopicSelector) else topic_selector
        return self._to(select_topic=select)

    def _to(self, **where: Any) -> KafkaRecordSerializationSchemaBuilder[T]:
        if self._settings.topic is not None or self._settings.select_topic is not None:
            raise InvalidProgramError("KafkaRecordSerializationSchema: the topic is set already")
        self._settings = replace(self._settings, **where)
        return self

    def set_key_serialization_schema(
        self, key_serialization_schema: SerializationSchema[T]
    ) -> KafkaRecordSerializationSchemaBuilder[T]:
        """Set the serialization schema of keys; without one, records have no keys.

        Args:
            key_serialization_schema: Gets the whole element; as with Java clients, the key determines the partition.
        """
        require(key_serialization_schema, SerializationSchema, "set_key_serialization_schema()")
        self._settings = replace(self._settings, key_schema=key_serialization_schema)
        return self

    def set_value_serialization_schema(
        self, value_serialization_schema: SerializationSchema[R]
    ) -> KafkaRecordSerializationSchemaBuilder[R]:
        """Set the serialization schema of values, which is required.

        Args:
            value_serialization_schema: Gets the whole element, and determines the type of the stream.
        """
        require(value_serialization_schema, SerializationSchema, "set_value_serialization_schema()")
        self._settings = replace(self._settings, value_schema=value_serialization_schema)
        return cast("KafkaRecordSerializationSchemaBuilder[R]", self)

    def set_header_provider(
        self, header_provider: Callable[[Any], Mapping[str, bytes] | Iterable[tuple[str, bytes]] | None]
    ) -> KafkaRecordSerializationSchemaBuilder[T]:
        """Set the function that returns the headers of a record (Flink: `HeaderProvider`, Java only).

        Args:
            header_provider: Takes an element and returns names with bytes; None for no headers.
        """
        self._settings = replace(self._settings, headers=header_provider)
        return self
