"""The endpoints of Flink's SQL gateway (Flink: `gateway.rest.handler`).

Errors are those of Flink: 400 for a malformed request, 500 for everything that a session refuses, each with
`{"errors": [...]}`.
"""

from __future__ import annotations

import importlib.metadata
import logging
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from firesteel.common.options.kinds import text_of
from firesteel.errors import FiresteelError
from firesteel.gateway.operation import Operation
from firesteel.gateway.result_rows import RowFormat
from firesteel.gateway.session import Session
from firesteel.gateway.sessions import Sessions
from firesteel.rest.rest_errors import RestError
from firesteel.rest.routes import STRING, Handler, Route, Schema, Text

logger = logging.getLogger(__name__)

VERSIONS = ("V1", "V2", "V3", "V4")
DEFAULT_VERSION = "v4"
"""API version of paths that do not name one."""

_HANDLE = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INTEGER: Schema = {"type": "integer"}
_OBJECT: Schema = {"type": "object"}
_FORMAT: Schema = {"type": "string", "enum": [form.value for form in RowFormat]}


@dataclass(slots=True)
class GatewayCall:
    """A request with its parameters.

    Attributes:
        sessions: All sessions.
        version: The version of the API in the path, such as `v3`.
        path: Values of the path parameters.
        query: Values of the query parameters.
        body: The JSON object of the request.
    """

    sessions: Sessions
    version: str = DEFAULT_VERSION
    path: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: dict[str, Any] = field(default_factory=dict)

    @property
    def session(self) -> Session:
        """Return the session of the path.

        Raises:
            RestError: the handle is malformed (400).
            SqlGatewayError: there is no such session.
        """
        return self.sessions.get(self._handle("session_handle"))

    @property
    def operation(self) -> Operation:
        """Return the operation of the path.

        Raises:
            RestError: a handle is malformed (400).
            SqlGatewayError: there is no such session or operation.
        """
        return self.session.operation(self._handle("operation_handle"))

    def _handle(self, name: str) -> str:
        text = self.path[name]
        if not _HANDLE.fullmatch(text):
            raise RestError(400, f"Bad request, could not parse parameters: {name} is {text!r:.80}, expected a UUID")
        return text

    def options(self, name: str) -> dict[str, str]:
        """Return the options in a field of the body.

        Raises:
            RestError: one is not a text, number or boolean (400).
        """
        found = self.body.get(name) or {}
        for key, value in found.items():
            if not isinstance(value, (str, int, float, bool)):
                raise RestError(400, f"{name} has {value!r:.80} for {key!r}, expected a string")
        return {key: text_of(value) for key, value in found.items()}

    def required(self, name: str) -> Any:
        """Return a field of the body.

        Raises:
            RestError: it is missing (400).
        """
        if self.body.get(name) is None:
            raise RestError(400, f"Request did not match expected format: {name} is missing")
        return self.body[name]

    @property
    def timeout_s(self) -> float:
        """Return the timeout of a statement in seconds; 0 for none."""
        return max(0, self.body.get("executionTimeout") or 0) / 1000


def _reported(handler: Callable[[GatewayCall], Awaitable[Any]]) -> Handler:
    """Return the handler with errors of sessions and statements as responses."""

    async def handle(call: GatewayCall) -> Any:
        try:
            return await handler(call)
        except RestError:
            raise
        except (FiresteelError, ValueError, NotImplementedError) as error:
            raise RestError(500, _message(error)) from error
        except Exception as error:
            logger.exception("a statement failed unexpectedly")
            raise RestError(500, _message(error)) from error

    return handle


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, FiresteelError) else f"{type(error).__name__}: {error}"


# --- the gateway -----------------------------------------------------------------------------------------------------


async def info(_: GatewayCall) -> dict[str, str]:
    """Return name and version of the product."""
    return {"productName": "firesteel", "version": importlib.metadata.version("firesteel")}


async def api_versions(_: GatewayCall) -> dict[str, object]:
    """Return the versions of the API."""
    return {"versions": list(VERSIONS)}


# --- sessions --------------------------------------------------------------------------------------------------------


async def open_session(call: GatewayCall) -> dict[str, str]:
    """Open a session."""
    session = await call.sessions.open(call.options("properties"), call.body.get("sessionName"))
    return {"sessionHandle": session.handle}


async def session_config(call: GatewayCall) -> dict[str, object]:
    """Return the options of a session."""
    return {"properties": call.session.options()}


async def close_session(call: GatewayCall) -> dict[str, str]:
    """Close a session."""
    await call.sessions.close(call.session.handle)
    return {"status": "CLOSED"}


async def heartbeat(call: GatewayCall) -> dict[str, object]:
    """Keep a session open."""
    call.session.touch()
    return {}


async def configure_session(call: GatewayCall) -> dict[str, object]:
    """Execute a statement that configures a session, and wait for its end."""
    await call.sessions.call(call.session.configure, call.required("statement"))
    return {}


async def complete_statement(call: GatewayCall) -> dict[str, list[str]]:
    """Return the completions at a position of a statement."""
    statement = call.required("statement")
    position = call.body.get("position")
    position = len(statement) if position is None else position
    return {"candidates": await call.sessions.call(call.session.completions, statement, position)}


# --- statements ------------------------------------------------------------------------------------------------------


async def execute_statement(call: GatewayCall) -> dict[str, str]:
    """Start executing a statement."""
    statement, options = call.required("statement"), call.options("executionConfig")
    return {"operationHandle": call.sessions.execute(call.session, statement, options, call.timeout_s).handle}


async def operation_status(call: GatewayCall) -> dict[str, str]:
    """Return the status of an operation."""
    return {"status": call.operation.status.value}


async def cancel_operation(call: GatewayCall) -> dict[str, str]:
    """Cancel an operation."""
    operation = call.operation
    await call.sessions.call(operation.cancel)
    return {"status": operation.status.value}


async def close_operation(call: GatewayCall) -> dict[str, str]:
    """Close an operation."""
    operation = call.operation
    await call.sessions.call(call.session.close_operation, operation.handle)
    return {"status": operation.status.value}


async def fetch_results(call: GatewayCall) -> Text:
    """Return rows of an operation, or that there are none yet."""
    operation, form = call.operation, _row_format(call)
    token = int(call.path["token"])
    fetcher = operation.fetch()
    if fetcher is None:
        return _json(f'{{"resultType":"NOT_READY","nextResultUri":"{_result_uri(call, token, form)}"}}')
    rows = fetcher.fetch(token)
    results = await call.sessions.call(call.session.results_text, fetcher, rows or [], form)
    parts = [
        f'"resultType":"{"EOS" if rows is None else "PAYLOAD"}"',
        f'"isQueryResult":{"true" if fetcher.is_query else "false"}',
        f'"resultKind":"{"SUCCESS_WITH_CONTENT" if fetcher.has_content else "SUCCESS"}"',
        f'"results":{results}',
    ]
    if fetcher.job_id is not None:
        parts.append(f'"jobID":"{fetcher.job_id}"')
    if rows is not None:
        parts.append(f'"nextResultUri":"{_result_uri(call, token + 1, form)}"')
    return _json(f"{{{','.join(parts)}}}")


def _row_format(call: GatewayCall) -> RowFormat:
    text = call.query.get("rowFormat", "JSON").upper()
    if text not in RowFormat.__members__:
        raise RestError(400, f"rowFormat is {text!r:.80}; allowed: {', '.join(RowFormat.__members__)}")
    return RowFormat[text]


def _result_uri(call: GatewayCall, token: int, form: RowFormat) -> str:
    session, operation = call.path["session_handle"], call.path["operation_handle"]
    query = "" if call.version == "v1" else f"?rowFormat={form.value}"
    return f"/{call.version}/sessions/{session}/operations/{operation}/result/{token}{query}"


def _json(text: str) -> Text:
    return Text(text, "application/json")


_SESSION = "/sessions/{session_handle}"
_OPERATION = _SESSION + "/operations/{operation_handle}"

_SUBMITS: dict[str, object] = {"role": "submit", "runs_code": True}
_STATEMENT: dict[str, Schema] = {"statement": STRING, "executionTimeout": _INTEGER}


def _route(method: str, path: str, handler: Callable[[GatewayCall], Awaitable[Any]], **more: Any) -> Route:
    return Route(method, path, _reported(handler), **more)


ROUTES: tuple[Route, ...] = (
    _route("GET", "/info", info),
    _route("GET", "/api_versions", api_versions),
    _route("POST", "/sessions", open_session, body={"sessionName": STRING, "properties": _OBJECT}, **_SUBMITS),
    _route("GET", _SESSION, session_config),
    _route("DELETE", _SESSION, close_session, role="submit"),
    _route("POST", _SESSION + "/heartbeat", heartbeat, role="submit"),
    _route("POST", _SESSION + "/configure-session", configure_session, body=_STATEMENT, **_SUBMITS),
    _route(
        "GET", _SESSION + "/complete-statement", complete_statement, body={"statement": STRING, "position": _INTEGER}
    ),
    _route(
        "POST", _SESSION + "/statements", execute_statement, body={**_STATEMENT, "executionConfig": _OBJECT}, **_SUBMITS
    ),
    _route("GET", _OPERATION + "/status", operation_status),
    _route("POST", _OPERATION + "/cancel", cancel_operation, role="submit"),
    _route("DELETE", _OPERATION + "/close", close_operation, role="submit"),
    _route("GET", _OPERATION + r"/result/{token:\d+}", fetch_results, query={"rowFormat": _FORMAT}),
)
