"""Avro messages in Confluent's wire format, whose schemas are stored in a schema registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from firesteel.common.types import Row
from firesteel.connectors.formats.avro.schemas import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)
from firesteel.connectors.formats.schema_registry import (
    AVRO,
    RegisteredSchema,
    RegistryClient,
    split_message,
    wire_message,
)


class SchemaRegistry(RegistryClient):
    """A client of a schema registry that caches schemas of Avro; its arguments are those of `RegistryClient`."""

    def __init__(self, url: str, registry_configs: Mapping[str, str] | None = None) -> None:
        super().__init__(url, registry_configs)
        self._schemas: dict[int, AvroSchema] = {}

    def schema(self, schema_id: int) -> AvroSchema:
        """Return the schema with an id.

        Raises:
            ValueError: the registry has no such schema.
            OSError: the registry is unreachable.
        """
        if schema_id not in self._schemas:
            self._schemas[schema_id] = AvroSchema(self.found(schema_id).text)
        return self._schemas[schema_id]

    def register(self, subject: str, schema: AvroSchema) -> int:
        """Register a schema under a subject unless it is registered already, and return its id.

        Raises:
            ValueError: the registry rejects the schema.
            OSError: the registry is unreachable.
        """
        return self.registered(subject, RegisteredSchema(schema.json_schema, AVRO))


class ConfluentRegistryAvroDeserializationSchema(AvroRowDeserializationSchema):
    """Deserializes messages that contain the id of their writer schema to Rows of a reader schema.

    Flink: `formats.avro.registry.confluent.ConfluentRegistryAvroDeserializationSchema` (Java only).

    Example:
        >>> order = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> schema = ConfluentRegistryAvroDeserializationSchema.for_generic(order, "http://registry:8081")
    """

    def __init__(self, avro_schema: AvroSchema, registry: SchemaRegistry) -> None:
        super().__init__(avro_schema_string=avro_schema.json_schema)
        self._registry = registry

    @staticmethod
    def for_generic(
        avro_schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a deserialization schema with `avro_schema` as reader schema and the registry at `url`.

        Args:
            avro_schema: The reader schema.
            url: Address of the registry.
            registry_configs: Credentials, as for `SchemaRegistry`.
        """
        return ConfluentRegistryAvroDeserializationSchema(avro_schema, SchemaRegistry(url, registry_configs))

    def _deserialized(self, message: bytes) -> Row:
        schema_id, record = split_message(message)
        return self._decoded(record, self._registry.schema(schema_id))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.schema, self._registry)


class ConfluentRegistryAvroSerializationSchema(AvroRowSerializationSchema):
    """Serializes Rows to messages that contain the id of their schema.

    The schema is registered when the first message is written.

    Flink: `formats.avro.registry.confluent.ConfluentRegistryAvroSerializationSchema` (Java only).

    Example:
        >>> order = AvroSchema.parse_string(
        ...     '{"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}'
        ... )
        >>> url = "http://registry:8081"
        >>> schema = ConfluentRegistryAvroSerializationSchema.for_generic("orders-value", order, url)
    """

    def __init__(self, subject: str, avro_schema: AvroSchema, registry: SchemaRegistry) -> None:
        super().__init__(avro_schema_string=avro_schema.json_schema)
        self._subject = subject
        self._registry = registry

    @staticmethod
    def for_generic(
        subject: str, avro_schema: AvroSchema, url: str, registry_configs: Mapping[str, str] | None = None
    ) -> ConfluentRegistryAvroSerializationSchema:
        """Return a serialization schema for records of `avro_schema`, with the registry at `url`.

        Args:
            subject: The subject to register the schema under.
            avro_schema: The schema of the records.
            url: Address of the registry.
            registry_configs: Credentials, as for `SchemaRegistry`.
        """
        return ConfluentRegistryAvroSerializationSchema(subject, avro_schema, SchemaRegistry(url, registry_configs))

    def serialize(self, element: object) -> bytes:
        """Return the bytes of a record.

        Raises:
            ValueError: the element is not a record of the schema, or the registry rejects the schema.
            OSError: the registry is unreachable.
        """
        schema_id = self._registry.register(self._subject, self.schema)
        return wire_message(schema_id, super().serialize(element))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._subject, self.schema, self._registry)
