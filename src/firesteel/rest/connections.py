"""The listener of an HTTP server: connections are bounded, also before TLS and before the first request."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from aiohttp import web

from firesteel.runtime.front_door import FrontDoor, Visit

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 1000
FIRST_REQUEST_S = 30.0
"""Timeout in seconds of the first request's line and headers, including the TLS handshake."""

IDLE_S = 300
"""Idle timeout in seconds between two requests, as Flink's `rest.idleness-timeout`."""

_BACKLOG = 128
_RETRY_S = 0.1


class Connections:
    """Accepts connections through a front door, and closes those without a request.

    Args:
        server: Creates a protocol for each connection.
        door: Bounds the connections.
        first_request_s: Timeout of the first request in seconds.
    """

    def __init__(self, server: web.Server, door: FrontDoor, first_request_s: float) -> None:
        self._server = server
        self._door = door
        self._first_request_s = first_request_s
        self._visits: dict[asyncio.BaseProtocol, Visit] = {}
        self._silent: dict[asyncio.BaseProtocol, asyncio.TimerHandle] = {}
        self._listeners: list[socket.socket] = []
        self._tasks: set[asyncio.Task[None]] = set()

    async def listen(self, host: str, ports: Sequence[int], tls: ssl.SSLContext | None) -> int:
        """Start listening on the first free port and return it.

        Raises:
            OSError: all ports are in use.
        """
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        addresses = list(dict.fromkeys((entry[0], str(entry[4][0])) for entry in found))
        for port in ports:
            try:
                self._listeners = _listeners(addresses, port)
                break
            except OSError:
                if port == ports[-1]:
                    raise
        for listener in self._listeners:
            self._spawn(self._accept_all(listener, tls))
        return int(self._listeners[0].getsockname()[1])

    async def close(self) -> None:
        """Stop accepting connections, and close those that have not begun."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for listener in self._listeners:
            listener.close()
        for timer in self._silent.values():
            timer.cancel()
        self._silent.clear()

    def waits(self, protocol: asyncio.BaseProtocol) -> None:
        """Record that a connection waits for its client, whose head of a request has arrived: it may give way.

        The client sends the rest of the request, reads a long answer, or has not sent the next request.
        """
        if (timer := self._silent.pop(protocol, None)) is not None:
            timer.cancel()
        if (visit := self._visits.get(protocol)) is not None:
            visit.end()

    def works(self, protocol: asyncio.BaseProtocol) -> None:
        """Record that this server works on a request, so that its connection is not closed."""
        if (visit := self._visits.get(protocol)) is not None:
            visit.begin()

    def _spawn(self, coroutine: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.get_running_loop().create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def _accept_all(self, listener: socket.socket, tls: ssl.SSLContext | None) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                connection, address = await loop.sock_accept(listener)
            except OSError as error:
                # Descriptors are short, or the client has gone.
                if not self._door.make_room():
                    logger.warning("could not accept a connection: %s", error)
                    await asyncio.sleep(_RETRY_S)
                continue
            self._admit(connection, address[0], tls)

    def _admit(self, connection: socket.socket, peer: str, tls: ssl.SSLContext | None) -> None:
        opening: list[asyncio.Task[None]] = []
        visit = self._door.admit(peer, lambda: opening[0].cancel())
        if visit is None:
            connection.close()
            return
        opening.append(self._spawn(self._open(connection, visit, tls)))
        # A task that is cancelled before it starts runs nothing.
        opening[0].add_done_callback(lambda task: _close_if_cancelled(task, connection, visit))

    async def _open(self, connection: socket.socket, visit: Visit, tls: ssl.SSLContext | None) -> None:
        """Begin TLS and hand the connection to the HTTP protocol."""
        loop = asyncio.get_running_loop()
        limits: dict[str, Any] = {} if tls is None else {"ssl_handshake_timeout": self._first_request_s}
        handler = self._server()
        try:
            await loop.connect_accepted_socket(lambda: _Watched(handler, self.left), connection, ssl=tls, **limits)
        except OSError:
            connection.close()
            visit.leave()
            return
        # From now on: before, what gives way is the task that opens the connection.
        visit.close = partial(self._abort, handler)
        self._visits[handler] = visit
        self._silent[handler] = loop.call_later(self._first_request_s, self._abort, handler)
        if handler.transport is None:  # It was closed meanwhile.
            self.left(handler)

    def left(self, handler: web.RequestHandler) -> None:
        """Record that a connection was closed."""
        if (timer := self._silent.pop(handler, None)) is not None:
            timer.cancel()
        if (visit := self._visits.pop(handler, None)) is not None:
            visit.leave()

    def _abort(self, handler: web.RequestHandler) -> None:
        if handler.transport is not None:
            handler.transport.abort()


def _close_if_cancelled(task: asyncio.Task[None], connection: socket.socket, visit: Visit) -> None:
    if task.cancelled():
        connection.close()
        visit.leave()


class _Watched(asyncio.BaseProtocol):
    """The protocol of a connection, which reports its end."""

    data_received: Callable[[bytes], None]
    eof_received: Callable[[], bool | None]
    pause_writing: Callable[[], None]
    resume_writing: Callable[[], None]

    def __init__(self, handler: web.RequestHandler, left: Callable[[web.RequestHandler], None]) -> None:
        self._left = left
        self._handler = handler
        self.data_received = handler.data_received
        self.eof_received = handler.eof_received
        self.pause_writing = handler.pause_writing
        self.resume_writing = handler.resume_writing

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._handler.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._handler.connection_lost(exc)
        self._left(self._handler)


def _listeners(addresses: Sequence[tuple[int, str]], port: int) -> list[socket.socket]:
    """Return a listening socket per address; all have the same port, also if it is chosen freely."""
    listeners: list[socket.socket] = []
    try:
        for family, address in addresses:
            listener = socket.create_server((address, port), family=family, backlog=_BACKLOG)
            listeners.append(listener)
            listener.setblocking(False)
            # Port 0 is a free one for the first address only; the others must have the same.
            port = listener.getsockname()[1]
    except OSError:
        for listener in listeners:
            listener.close()
        raise
    return listeners
