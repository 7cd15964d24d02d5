"""Avro messages in Confluent's wire format, whose schemas are stored in a schema registry."""

from __future__ import annotations

import io
import json
import struct
from typing import Any
from urllib import request
from urllib.error import HTTPError
from urllib.parse import quote

from firesteel.common.types import Row
from firesteel.datastream.formats.avro import AvroRowDeserializationSchema, AvroRowSerializationSchema, AvroSchema

_HEAD = struct.Struct(">bI")
_MAGIC = 0
_TIMEOUT_S = 10
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"


class SchemaRegistry:
    """A client of a schema registry that caches schemas.

    Args:
        url: Address of the registry, such as `http://registry:8081`.
    """

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")
        self._schemas: dict[int, AvroSchema] = {}
        self._ids: dict[tuple[str, str], int] = {}

    def schema(self, schema_id: int) -> AvroSchema:
        """Return the schema with an id.

        Raises:
            ValueError: the registry has no such schema.
            OSError: the registry is unreachable.
        """
        if schema_id not in self._schemas:
            self._schemas[schema_id] = AvroSchema(self._ask(f"/schemas/ids/{schema_id}")["schema"])
        return self._schemas[schema_id]

    def register(self, subject: str, schema: AvroSchema) -> int:
        """Register a schema under a subject unless it is registered already, and return its id.

        Raises:
            ValueError: the registry rejects the schema.
            OSError: the registry is unreachable.
        """
        key = subject, schema.json_schema
        if key not in self._ids:
            body = json.dumps({"schema": schema.json_schema}).encode()
            self._ids[key] = self._ask(f"/subjects/{quote(subject, safe='')}/versions", body)["id"]
        return self._ids[key]

    def _ask(self, path: str, body: bytes | None = None) -> Any:
        asked = request.Request(self.url + path, body, {"Content-Type": _CONTENT_TYPE})
        try:
            with request.urlopen(asked, timeout=_TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                text = error.read(500).decode(errors="replace")
            raise ValueError(f"schema registry {self.url}{path}: {error.code} {text}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.url,)


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
    def for_generic(avro_schema: AvroSchema, url: str) -> ConfluentRegistryAvroDeserializationSchema:
        """Return a deserialization schema with `avro_schema` as reader schema and the registry at `url`."""
        return ConfluentRegistryAvroDeserializationSchema(avro_schema, SchemaRegistry(url))

    def _row(self, message: bytes) -> Row:
        magic, schema_id = _HEAD.unpack_from(message)
        if magic != _MAGIC:
            raise ValueError(f"not in Confluent's wire format: the first byte must be {_MAGIC}, found {magic}")
        body = io.BytesIO(message[_HEAD.size :])
        row: Row = self._read(self._decode(body, self._registry.schema(schema_id).parsed, self.schema.parsed))
        return row

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
    def for_generic(subject: str, avro_schema: AvroSchema, url: str) -> ConfluentRegistryAvroSerializationSchema:
        """Return a serialization schema for records of `avro_schema`, with the registry at `url`."""
        return ConfluentRegistryAvroSerializationSchema(subject, avro_schema, SchemaRegistry(url))

    def serialize(self, element: Any) -> bytes:
        """Return the bytes of a record.

        Raises:
            ValueError: the element is not a record of the schema, or the registry rejects the schema.
            OSError: the registry is unreachable.
        """
        schema_id = self._registry.register(self._subject, self.schema)
        return _HEAD.pack(_MAGIC, schema_id) + super().serialize(element)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._subject, self.schema, self._registry)
