"""The routes: method, path and handler of each endpoint. Flink: `runtime.webmonitor.WebMonitorEndpoint`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firesteel.rest.cluster import Cluster
from firesteel.rest.errors import RestError
from firesteel.rest.operations import Operations


@dataclass(slots=True)
class Call:
    """One request, as a handler sees it.

    Attributes:
        cluster: What is asked about.
        operations: Operations that take a while.
        path: Values of the path's parameters.
        query: Values of the query's parameters.
        body: The JSON object that came with it.
        files: Uploaded files by name.
    """

    cluster: Cluster
    operations: Operations
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)

    def number(self, name: str) -> int:
        """A path parameter that is a number from 0.

        Raises:
            RestError: it is none (400).
        """
        text = self.path[name]
        if not text.isdigit():
            raise RestError(400, f"Bad request, could not parse parameters: {name} is {text!r}, allowed are numbers")
        return int(text)


@dataclass(frozen=True, slots=True)
class Text:
    """An answer that is no JSON."""

    text: str
    content_type: str = "text/plain"


@dataclass(frozen=True, slots=True)
class File:
    """An answer that is a text file, or the part of it that the request's `Range` names."""

    path: Path


@dataclass(frozen=True, slots=True)
class Pieces:
    """An answer that is a text file elsewhere, or the part of it that the request's `Range` names.

    Attributes:
        size: Of the whole file.
        read: Gives some bytes from an offset on; none at the end.
    """

    size: int
    read: Callable[[int], Awaitable[bytes]]


@dataclass(frozen=True, slots=True)
class Accepted:
    """An answer with another status than 200."""

    body: Any
    status: int = 202


Schema = Mapping[str, Any]
STRING: Schema = {"type": "string"}
FORM = "multipart/form-data"
BOOLEAN: Schema = {"type": "boolean"}
TRIGGER_ID: Schema = {"type": "string", "pattern": "^[0-9a-f]{32}$"}
_TYPES = {"string": str, "boolean": bool}

Handler = Callable[[Call], Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Route:
    """One endpoint.

    Attributes:
        method: The HTTP method.
        path: With parameters in braces.
        handler: Answers it.
        role: What a caller must be allowed to: view, submit or admin.
        query: JSON schemas of the query's parameters.
        body: JSON schemas of the fields of the object that comes with it.
        consumes: How that is written.
        status: Of a good answer.
        produces: How that is written.
        runs_code: Whether it runs code of the caller.
        cancels: Whether it cancels a job.
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

    def check(self, body: Mapping[str, Any]) -> None:
        """Refuse a request whose fields are of other types; null is as good as nothing.

        Raises:
            RestError: a field is wrong (400).
        """
        for name, schema in self.body.items():
            value = body.get(name)
            if value is None:
                continue
            if not isinstance(value, _TYPES[schema["type"]]):
                raise RestError(400, f"{name} is {value!r:.80}, expected a {schema['type']}")
            if value not in schema.get("enum", (value,)):
                raise RestError(400, f"{name} is {value!r:.80}, allowed are {', '.join(schema['enum'])} or none")
