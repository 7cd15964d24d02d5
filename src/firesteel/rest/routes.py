"""Routes: method, path and handler of each endpoint (Flink: `runtime.webmonitor.WebMonitorEndpoint`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from firesteel.common.json_types import Json
from firesteel.rest.cluster import Cluster
from firesteel.rest.operations import Operations
from firesteel.rest.rest_errors import RestError
from firesteel.rest.token_limits import NO_SHARE, Share


@dataclass(slots=True)
class Call:
    """A request as a handler sees it.

    Attributes:
        cluster: The cluster.
        operations: Asynchronous operations.
        path: Values of the path parameters.
        query: Values of the query parameters.
        body: The JSON object of the request.
        files: Uploaded files by name.
        share: What the sender's token has used.
    """

    cluster: Cluster
    operations: Operations
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    share: Share = NO_SHARE

    def number(self, name: str) -> int:
        """Return a path parameter that is a non-negative number.

        Raises:
            RestError: it is not (400).
        """
        text = self.path[name]
        if not text.isdecimal():
            raise RestError(400, f"Bad request, could not parse parameters: {name} is {text!r}, expected a number")
        return int(text)


@dataclass(frozen=True, slots=True)
class Text:
    """A response that is not JSON."""

    text: str
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class File:
    """A response with a text file, or the part of it given by the request's `Range`."""

    path: Path


@dataclass(frozen=True, slots=True)
class Pieces:
    """A response with a text file of another process, or the part of it given by the request's `Range`.

    Attributes:
        size: Size of the file in bytes.
        read: Returns bytes from an offset on; none at the end.
    """

    size: int
    read: Callable[[int], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Accepted:
    """A response with another status than 200."""

    body: Any
    status: int = 202


Schema = Mapping[str, Any]
STRING: Schema = {"type": "string"}
PATH: Schema = {"type": "string", "format": "path"}
"""A path on the hosts of the cluster; only callers with a token may name one."""

FORM = "multipart/form-data"
BOOLEAN: Schema = {"type": "boolean"}
TRIGGER_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_TYPES: dict[str, tuple[type, str]] = {
    "string": (str, "a string"),
    "boolean": (bool, "a boolean"),
    "integer": (int, "an integer"),
    "object": (dict, "an object"),
    "array": (list, "an array"),
}
"""Python's type of each type of a schema, and its name in messages."""


Answer: TypeAlias = "Json | Text | File | Pieces | Accepted"
"""What a handler returns: a JSON document unless it says otherwise."""

Handler = Callable[[Any], Awaitable[Answer]]
"""Answers a call: a `Call`, or that of another server."""


@dataclass(frozen=True, slots=True)
class Route:
    """An endpoint.

    Attributes:
        method: The HTTP method.
        path: The path, with parameters in braces.
        handler: The handler.
        role: The role that a caller needs: view, submit or admin.
        query: JSON schemas of the query parameters.
        body: JSON schemas of the fields of the request body.
        consumes: Content type of the request body.
        status: Status of a successful response.
        produces: Content type of a successful response.
        runs_code: Whether it runs code of the caller, or hands out that of others.
        cancels: Whether it cancels a job.
        is_public: Whether it needs no token, as probes have none.
    """

    method: str
    path: str
    handler: Handler
    role: str = "view"
    query: Mapping[str, Schema] = field(default_factory=dict)
    body: Mapping[str, Schema] = field(default_factory=dict)
    consumes: str = "application/json"
    status: int = 200
    produces: str = "application/json"
    runs_code: bool = False
    cancels: bool = False
    is_public: bool = False

    def names_path(self, body: Mapping[str, object]) -> bool:
        """Return whether a request names a path on the hosts of the cluster."""
        return any(body.get(name) is not None for name, schema in self.body.items() if schema.get("format") == "path")

    def check(self, body: Mapping[str, Any]) -> None:
        """Check the types of the fields of a request; null is treated as a missing field.

        Raises:
            RestError: a field is invalid (400).
        """
        for name, schema in self.body.items():
            value = body.get(name)
            if value is None:
                continue
            kind, description = _TYPES[schema["type"]]
            if not isinstance(value, kind):
                raise RestError(400, f"{name} is {value!r:.80}, expected {description}")
            if value not in schema.get("enum", (value,)):
                raise RestError(400, f"{name} is {value!r:.80}; allowed: {', '.join(schema['enum'])} or none")
