"""Avro messages in Confluent's wire format, whose schemas are stored in a schema registry."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from typing import Any
from urllib import request
from urllib.error import HTTPError
from urllib.parse import SplitResult, quote, unquote, urlsplit

from firesteel.common.types import Row
from firesteel.connectors.formats.avro.schemas import (
    AvroRowDeserializationSchema,
    AvroRowSerializationSchema,
    AvroSchema,
)

_HEAD = struct.Struct(">bI")
_MAGIC = 0
_TIMEOUT_S = 10
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_BASIC_SOURCE, _USER_INFO = "basic.auth.credentials.source", "basic.auth.user.info"
_BEARER_SOURCE, _TOKEN = "bearer.auth.credentials.source", "bearer.auth.token"
_CONFIGS = (_BASIC_SOURCE, _USER_INFO, _BEARER_SOURCE, _TOKEN)


def wire_message(schema_id: int, record: bytes) -> bytes:
    """Return a record in the wire format."""
    return _HEAD.pack(_MAGIC, schema_id) + record


def split_message(message: bytes) -> tuple[int, bytes]:
    """Return the id of the writer schema and the record of a message.

    Raises:
        ValueError: the message is not in the wire format.
    """
    if len(message) < _HEAD.size:
        raise ValueError(f"not in Confluent's wire format: expected at least {_HEAD.size} bytes, found {len(message)}")
    magic, schema_id = _HEAD.unpack_from(message)
    if magic != _MAGIC:
        raise ValueError(f"not in Confluent's wire format: the first byte must be {_MAGIC}, found {magic}")
    return schema_id, message[_HEAD.size :]


class SchemaRegistry:
    """A client of a schema registry that caches schemas.

    Args:
        url: Address of the registry, such as `http://registry:8081`.
        registry_configs: Properties of Confluent's client: `basic.auth.credentials.source` (`URL` or `USER_INFO`),
            `basic.auth.user.info`, `bearer.auth.credentials.source` (`STATIC_TOKEN`) and `bearer.auth.token`.

    Raises:
        ValueError: a property or its value is not supported.
    """

    def __init__(self, url: str, registry_configs: Mapping[str, str] | None = None) -> None:
        self._given = url, dict(registry_configs or {})
        parts = urlsplit(url)
        self.url = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl().rstrip("/")
        self._authorization = _authorization(parts, self._given[1])
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
        if self._authorization is not None:
            asked.add_unredirected_header("Authorization", self._authorization)
        try:
            with request.urlopen(asked, timeout=_TIMEOUT_S) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                text = error.read(500).decode(errors="replace")
            raise ValueError(f"schema registry {self.url}{path}: {error.code} {text}") from error

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._given


def _authorization(url: SplitResult, configs: Mapping[str, str]) -> str | None:
    """Return the header that authenticates requests, None if there are no credentials."""
    unknown = sorted(configs.keys() - set(_CONFIGS))
    if unknown:
        raise ValueError(f"schema registry: {unknown[0]} is not supported; supported are {', '.join(_CONFIGS)}")
    if _BEARER_SOURCE in configs:
        _check_source(configs, _BEARER_SOURCE, ("STATIC_TOKEN",))
        return f"Bearer {_required(configs, _TOKEN)}"
    if _check_source(configs, _BASIC_SOURCE, ("URL", "USER_INFO")) == "USER_INFO":
        user = _required(configs, _USER_INFO)
    else:
        user = unquote(url.netloc.rpartition("@")[0])
    return f"Basic {base64.b64encode(user.encode()).decode()}" if user else None


def _check_source(configs: Mapping[str, str], key: str, allowed: tuple[str, ...]) -> str:
    source = configs.get(key, allowed[0])
    if source not in allowed:
        raise ValueError(f"schema registry: {key} '{source}' is not supported; supported are {', '.join(allowed)}")
    return source


def _required(configs: Mapping[str, str], key: str) -> str:
    if not configs.get(key):
        raise ValueError(f"schema registry: {key} is missing, although the credentials are to be read from it")
    return configs[key]


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
