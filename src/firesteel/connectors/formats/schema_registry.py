"""Confluent's schema registry, and its wire format: the id of a schema, then the record."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib import request
from urllib.error import HTTPError
from urllib.parse import SplitResult, quote, unquote, urlsplit

from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_options import Options

PROPERTIES = "properties."
CONFIGS = {
    "basic-auth.credentials-source": "basic.auth.credentials.source",
    "basic-auth.user-info": "basic.auth.user.info",
    "bearer-auth.credentials-source": "bearer.auth.credentials.source",
    "bearer-auth.token": "bearer.auth.token",
}
"""Options of formats, and the properties of the registry's client that they set."""

_HEAD = struct.Struct(">bI")
HEAD_BYTES = _HEAD.size
_MAGIC = 0
_TIMEOUT_S = 10
_CONTENT_TYPE = "application/vnd.schemaregistry.v1+json"
_BASIC_SOURCE, _USER_INFO = "basic.auth.credentials.source", "basic.auth.user.info"
_BEARER_SOURCE, _TOKEN = "bearer.auth.credentials.source", "bearer.auth.token"
AVRO = "AVRO"
_CONFIGS = (_BASIC_SOURCE, _USER_INFO, _BEARER_SOURCE, _TOKEN)


def wire_message(schema_id: int, record: bytes) -> bytes:
    """Return a record in the wire format."""
    return _HEAD.pack(_MAGIC, schema_id) + record


def split_message(message: bytes) -> tuple[int, bytes]:
    """Return the id of the writer schema and the record of a message.

    Raises:
        ValueError: the message is not in the wire format.
    """
    return schema_id_of(message), message[HEAD_BYTES:]


def schema_id_of(message: bytes) -> int:
    """Return the id of the writer schema of a message, whose record begins after `HEAD_BYTES`.

    Raises:
        ValueError: the message is not in the wire format.
    """
    if len(message) < HEAD_BYTES:
        raise ValueError(f"not in Confluent's wire format: expected at least {HEAD_BYTES} bytes, found {len(message)}")
    magic, schema_id = _HEAD.unpack_from(message)
    if magic != _MAGIC:
        raise ValueError(f"not in Confluent's wire format: the first byte must be {_MAGIC}, found {magic}")
    return int(schema_id)


class RegisteredSchema(NamedTuple):
    """A schema as the registry has it, and its kind: `AVRO`, `JSON` or `PROTOBUF`."""

    text: str
    kind: str


class RegistryClient:
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
        # Never evicted: the schema of an id does not change, and a subject has few.
        self._found: dict[int, RegisteredSchema] = {}
        self._ids: dict[tuple[str, RegisteredSchema], int] = {}

    def found(self, schema_id: int) -> RegisteredSchema:
        """Return the schema with an id.

        Raises:
            ValueError: the registry has no such schema.
            OSError: the registry is unreachable.
        """
        if schema_id not in self._found:
            answer = self._ask(f"/schemas/ids/{schema_id}")
            self._found[schema_id] = RegisteredSchema(answer["schema"], answer.get("schemaType", AVRO))
        return self._found[schema_id]

    def registered(self, subject: str, schema: RegisteredSchema) -> int:
        """Register a schema under a subject unless it is registered already, and return its id.

        Raises:
            ValueError: the registry rejects the schema.
            OSError: the registry is unreachable.
        """
        key = subject, schema
        if key not in self._ids:
            kind = {} if schema.kind == AVRO else {"schemaType": schema.kind}
            body = json.dumps({"schema": schema.text, **kind}).encode()
            self._ids[key] = self._ask(f"/subjects/{quote(subject, safe='')}/versions", body)["id"]
        return self._ids[key]

    def _ask(self, path: str, body: bytes | None = None) -> Any:
        asked = request.Request(self.url + path, body, {"Content-Type": _CONTENT_TYPE})
        if self._authorization is not None:
            # Not sent on by a redirection, which may lead to another server.
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


def client_configs(options: Options) -> dict[str, str]:
    """Return the properties of the client that the options of a format set."""
    configs = options.below(PROPERTIES, options.owner).values
    return {**configs, **{CONFIGS[key]: value for key, value in options.values.items() if key in CONFIGS}}


def client_of(options: Options) -> RegistryClient:
    """Return the client that the options of a format describe.

    Raises:
        ValidationException: a property or its value is not supported.
    """
    try:
        return RegistryClient(options.text("url"), client_configs(options))
    except ValueError as error:
        raise ValidationException(str(error)) from error
