"""Deserialization of whole Kafka records: re-exported by `firesteel.datastream.connectors.kafka`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from firesteel.common.serialization import DeserializationSchema
from firesteel.common.typeinfo import TypeInformation, Types
from firesteel.common.types import Row

T = TypeVar("T")
T_out = TypeVar("T_out", covariant=True)


@dataclass(frozen=True, slots=True)
class KafkaRecord:
    """A record as it was read (Kafka: `ConsumerRecord`).

    Attributes:
        topic: The topic.
        partition: Number of the partition.
        offset: The offset.
        timestamp: Time in ms since the epoch.
        key: The key; None if there is none.
        value: The value; None for a tombstone.
        headers: Names and values of the headers.

    Example:
        >>> KafkaRecord("orders", 0, 7, 1500, None, b"order 1", ()).value
        b'order 1'
    """

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes], ...]


class KafkaRecordDeserializationSchema(DeserializationSchema[T_out]):
    """Deserializes Kafka records; PyFlink only has the variant that uses the value alone.

    Derive from it and define `deserialize_record` to use keys, headers, topics, partitions, offsets and timestamps.
    `rows()` returns a schema that gives all of these as Rows.

    Args:
        j_deserialization_schema: A schema in Python for the values of records; None in a derived class.

    Raises:
        NotImplementedError: the argument is not a `DeserializationSchema`.

    Example:
        >>> KafkaRecordDeserializationSchema.value_only(SimpleStringSchema()).deserialize(b"order 1")
        'order 1'
        >>> class KeyAndOffset(KafkaRecordDeserializationSchema):
        ...     def deserialize_record(self, record):
        ...         return record.key, record.offset
        >>> KeyAndOffset().deserialize_record(KafkaRecord("orders", 0, 7, 1500, b"k", b"v", ()))
        (b'k', 7)
    """

    def __init__(self, j_deserialization_schema: DeserializationSchema[T_out] | None = None) -> None:
        if j_deserialization_schema is None and self.takes_records:
            return
        if not isinstance(j_deserialization_schema, DeserializationSchema):
            raise NotImplementedError(
                "KafkaRecordDeserializationSchema wraps a Java object; use its value_only(schema), or a class with "
                "deserialize_record(record)"
            )
        self._value_schema = j_deserialization_schema

    @staticmethod
    def value_only(deserialization_schema: DeserializationSchema[T]) -> KafkaRecordDeserializationSchema[T]:
        """Return a schema that ignores keys, headers and timestamps of records.

        Args:
            deserialization_schema: Deserializes the values.

        Raises:
            NotImplementedError: it is not a `DeserializationSchema`.
        """
        return KafkaRecordDeserializationSchema(deserialization_schema)

    @staticmethod
    def rows() -> KafkaRecordDeserializationSchema[Row]:
        """Return a schema of Rows with the fields of `KafkaRecord`; keys, values and headers are bytes."""
        return _Rows()

    @property
    def takes_records(self) -> bool:
        """Whether the class has a `deserialize_record` of its own, which also gets records without a value."""
        return type(self).deserialize_record is not KafkaRecordDeserializationSchema.deserialize_record

    def deserialize_record(self, record: KafkaRecord) -> T_out | None:
        """Return the element of a record; None skips it.

        Args:
            record: The record.
        """
        return None if record.value is None else self.deserialize(record.value)

    def deserialize(self, message: bytes) -> T_out | None:
        """Return the element of a value."""
        return self._value_schema.deserialize(message)

    def deserialize_all(self, messages: list[bytes]) -> list[Any]:
        """Return the elements of several values."""
        return self._value_schema.deserialize_all(messages)

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the elements; override it for elements that are not to be pickled."""
        return Types.PICKLED_BYTE_ARRAY() if self.takes_records else self._value_schema.get_produced_type()


_FIELDS: dict[str, TypeInformation[Any]] = {
    "topic": Types.STRING(),
    "partition": Types.INT(),
    "offset": Types.LONG(),
    "timestamp": Types.LONG(),
    "key": Types.PICKLED_BYTE_ARRAY(),
    "value": Types.PICKLED_BYTE_ARRAY(),
    "headers": Types.PICKLED_BYTE_ARRAY(),
}


class _Rows(KafkaRecordDeserializationSchema[Row]):
    """Gives records as Rows."""

    def deserialize_record(self, record: KafkaRecord) -> Row:
        """Return the Row of a record."""
        made = Row(*(getattr(record, name) for name in _FIELDS))
        made.set_field_names(list(_FIELDS))
        return made

    def get_produced_type(self) -> TypeInformation[Any]:
        """Return the type of the Rows."""
        return Types.ROW_NAMED(list(_FIELDS), list(_FIELDS.values()))
