"""An HTTP server of routes, with access control, limits and error responses (Flink: `RestServerEndpoint`)."""

from __future__ import annotations

import errno
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from aiohttp import web

from firesteel.common.histogram import Histogram
from firesteel.common.options.rest_options import REST_BIND_ADDRESS, REST_BIND_PORT, REST_PORT
from firesteel.rest.access import Access
from firesteel.rest.connections import FIRST_REQUEST_S, IDLE_S, MAX_CONNECTIONS, Connections
from firesteel.rest.proofs import add_answer_proof
from firesteel.rest.request_content import RequestContent
from firesteel.rest.rest_errors import AddressInUseError, RestError
from firesteel.rest.routes import FORM, Accepted, File, Pieces, Route, Text
from firesteel.rest.token_limits import TokenLimits
from firesteel.runtime.front_door import FrontDoor, connection_limit
from firesteel.runtime.highavailability.high_availability_errors import StaleLeaderError
from firesteel.runtime.highavailability.leader_gateway import NoLeaderError
from firesteel.runtime.rpc import EndpointStoppedError, FencingTokenError, RpcConnectionError
from firesteel.runtime.ssl_contexts import rest_server_context

logger = logging.getLogger(__name__)

audit = logging.getLogger("firesteel.audit")
"""Who has changed something: each request that needs more than the role to view, with the outcome."""

MakeCall = Callable[[web.Request, dict[str, Any], dict[str, bytes]], Any]
"""Returns the call of a handler for a request, its JSON object and its files."""

BROWSER_RULES = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
    "X-Frame-Options": "DENY",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
}
"""Headers of each answer. The dashboard has no code or styles in its pages, and is not shown inside of others."""

_LATENCY_BOUNDS_S = (0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
"""Upper bounds of the buckets of response times."""

_NO_LEADER = (NoLeaderError, StaleLeaderError, EndpointStoppedError, FencingTokenError, RpcConnectionError)
"""What a request may meet while a leader ends and the next one is elected; what it asked for may be done."""

_PLAIN = "text/plain; charset=UTF-8"
_ELECTION = "Service temporarily unavailable due to an ongoing leader election. Please refresh."


class RestServerEndpoint:
    """Serves routes at `rest.bind-address` (127.0.0.1) and `rest.port` (8081; 0 chooses a free port).

    Args:
        routes: The routes; the first one that matches a request serves it.
        prefixes: Prefixes of all paths, one for each version of the API.
        make_call: Makes the argument of handlers.
        access: The access rules.
        configuration: Options of the server, which include limits and TLS.

    Attributes:
        latencies: How long answers have taken, by method and path of the route.
        limits: What each token may use.
        token_of: Returns the token of a request, empty without one.

    Raises:
        InvalidOptionError: TLS is misconfigured.
    """

    def __init__(
        self,
        routes: Iterable[Route],
        prefixes: Iterable[str],
        make_call: MakeCall,
        access: Access,
        configuration: Mapping[str, str],
    ) -> None:
        self._make_call = make_call
        self._access = access
        self._host = REST_BIND_ADDRESS.of(configuration)
        self._ports = REST_BIND_PORT.of(configuration) or (REST_PORT.of(configuration),)
        self._port = self._ports[0]
        self._tls = rest_server_context(configuration)
        self._content = RequestContent(configuration)
        self.limits = TokenLimits(configuration)
        self.token_of = access.token_of
        self.latencies: dict[tuple[str, str], Histogram] = {}
        # The first one is outermost: errors are answers when `_proven` sees them, and are proved, too.
        application = web.Application(middlewares=[self._noted, _proven, _errors])
        application.on_response_prepare.append(self._access.add_headers)
        application.on_response_prepare.append(_add_browser_rules)
        for route in routes:
            for prefix in prefixes:
                application.router.add_route(route.method, prefix + route.path, self._handler(route))
        # Not decompressed by aiohttp: a small body could expand to gigabytes (see `RequestContent.read`).
        self._runner = web.AppRunner(application, access_log=None, keepalive_timeout=IDLE_S, auto_decompress=False)
        self._connections: Connections | None = None

    @property
    def address(self) -> str:
        """The URL of the server, after the start."""
        return f"{'http' if self._tls is None else 'https'}://{self._host}:{self._port}"

    @property
    def port(self) -> int:
        """The port of the server, after the start."""
        return self._port

    async def start(self) -> None:
        """Start listening.

        Raises:
            AddressInUseError: the port is in use, or all of them are.
            OSError: nobody can listen at this address.
        """
        await self._runner.setup()
        assert self._runner.server is not None
        door = FrontDoor(connection_limit(MAX_CONNECTIONS))
        self._connections = Connections(self._runner.server, door, FIRST_REQUEST_S)
        try:
            self._port = await self._connections.listen(self._host, self._ports, self._tls)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise
            raise AddressInUseError(self._host, self._ports, self._access.port_option) from error

    async def stop(self) -> None:
        """Stop listening."""
        if self._connections is not None:
            await self._connections.close()
        await self._runner.cleanup()

    @web.middleware
    async def _noted(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Record when a connection serves a request, as others give way to new connections."""
        assert self._connections is not None
        protocol = request.protocol
        self._connections.waits(protocol)
        try:
            return await handler(request)
        finally:
            self._connections.waits(protocol)

    def _handler(self, route: Route) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
        # By the path of the route, not of the request, which has ids: each job would be a series of its own.
        latencies = self.latencies.setdefault((route.method, route.path), Histogram(_LATENCY_BOUNDS_S))

        async def handle(request: web.Request) -> web.StreamResponse:
            begun_s, status = time.monotonic(), "failed"
            try:
                answered = await self._answer(route, request)
                status = str(answered.status)
                return answered
            except RestError as error:
                status = str(error.status)
                raise
            finally:
                latencies.observe(time.monotonic() - begun_s)
                if route.role != "view":
                    by = self._access.name_of(request)
                    audit.info("%s %s by %s at %s: %s", request.method, request.path, by, request.remote, status)

        return handle

    async def _answer(self, route: Route, request: web.Request) -> web.StreamResponse:
        connection = None if request.transport is None else request.transport.get_extra_info("ssl_object")
        if self._tls is not None and connection is not None and self._tls.is_outdated(connection):
            raise RestError(401, "the TLS session is from before a change of certificates: open another one")
        self._access.check(request, route)
        with self.limits.at_work(self.token_of(request)):
            return await self._answer_checked(route, request)

    async def _answer_checked(self, route: Route, request: web.Request) -> web.StreamResponse:
        assert self._connections is not None
        if route.runs_code:  # The sender is known, and uploads may be slow.
            self._connections.works(request.protocol)
        body, files = await self._content.read(request, takes_files=route.consumes == FORM)
        self._connections.works(request.protocol)
        # Before `names_path`, which relies on the types of the fields.
        route.check(body)
        if route.names_path(body):
            self._access.check_files(request)
        found = await route.handler(self._make_call(request, body, files))
        if isinstance(found, Pieces):
            self._connections.waits(request.protocol)
            return await _stream(request, found)
        return _response(found)


def _response(found: object) -> web.StreamResponse:
    match found:
        case Text():
            return web.Response(text=found.text, content_type=found.content_type, charset="UTF-8")
        case File():
            return web.FileResponse(found.path, headers={"Content-Type": _PLAIN})
        case Accepted():
            return _json(found.body, found.status)
    return _json(found, 200)


@web.middleware
async def _proven(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Add the proof of the server to the answer."""
    answer = await handler(request)
    add_answer_proof(request, answer)
    return answer


async def _add_browser_rules(request: web.Request, response: web.StreamResponse) -> None:
    """Add headers that keep pages of others from framing this server, and its answers from being taken for code."""
    response.headers.update(BROWSER_RULES)


async def _stream(request: web.Request, file: Pieces) -> web.StreamResponse:
    """Send the pieces of a file in sequence; data appended meanwhile is left to the next request."""
    try:
        begin, end, _ = request.http_range.indices(file.size)
    except ValueError as error:
        raise RestError(416, f"cannot parse the header Range: {error}") from None
    is_part = "Range" in request.headers
    if is_part and begin >= end:
        raise RestError(416, f"Range begins at {begin}, the file has {file.size} bytes")
    response = web.StreamResponse(status=206 if is_part else 200, headers={"Content-Type": _PLAIN})
    if is_part:
        response.headers["Content-Range"] = f"bytes {begin}-{end - 1}/{file.size}"
    response.content_length = end - begin
    await response.prepare(request)
    while begin < end and (piece := (await file.read(begin))[: end - begin]):
        await response.write(piece)
        begin += len(piece)
    await response.write_eof()
    return response


def _json(body: object, status: int) -> web.Response:
    text = json.dumps(body, separators=(",", ":"))
    return web.Response(text=text, status=status, content_type="application/json", charset="UTF-8")


@web.middleware
async def _errors(
    request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
) -> web.StreamResponse:
    """Convert errors to responses; log unexpected errors and respond without their details."""
    try:
        return await handler(request)
    except RestError as error:
        answer = _json({"errors": [error.message]}, error.status)
        if error.retry_after_s is not None:
            answer.headers["Retry-After"] = str(error.retry_after_s)
        return answer
    except web.HTTPException as error:
        message = "Not found." if error.status == 404 else f"{error.reason}"
        return _json({"errors": [f"{message} ({request.method} {request.path})"]}, error.status)
    except _NO_LEADER as error:
        return _json({"errors": [f"{_ELECTION} {error}"]}, 503)
    except Exception as error:
        logger.exception("%s %s failed", request.method, request.path)
        return _json({"errors": ["Internal server error.", f"{type(error).__name__}: {error}"]}, 500)
