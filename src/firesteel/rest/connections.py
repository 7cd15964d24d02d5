"""Limits on connections, which apply before authentication."""

from __future__ import annotations

import asyncio
import ssl
from typing import Any

from aiohttp import web

MAX_CONNECTIONS = 1000
FIRST_REQUEST_S = 30.0
"""Timeout in seconds of the first request's line and headers, including the TLS handshake."""

IDLE_S = 300
"""Idle timeout in seconds between two requests, as Flink's `rest.idleness-timeout`."""


class Connections:
    """Accepts connections up to a limit, and closes those without a request.

    Args:
        server: Creates a protocol for each connection.
        maximum: Maximum number of concurrent connections.
        first_request_s: Timeout of the first request in seconds.
    """

    def __init__(self, server: web.Server, maximum: int, first_request_s: float) -> None:
        self._server = server
        self._maximum = maximum
        self._first_request_s = first_request_s
        self._silent: dict[asyncio.BaseProtocol, asyncio.TimerHandle] = {}
        self._listener: asyncio.Server | None = None

    async def listen(self, host: str, port: int, tls: ssl.SSLContext | None) -> int:
        """Start listening and return the port.

        Raises:
            OSError: the port is in use.
        """
        loop = asyncio.get_running_loop()
        limits: dict[str, Any] = {} if tls is None else {"ssl_handshake_timeout": self._first_request_s}
        self._listener = await loop.create_server(self._accept, host, port, ssl=tls, **limits)
        return int(self._listener.sockets[0].getsockname()[1])

    def close(self) -> None:
        """Stop accepting connections."""
        if self._listener is not None:
            self._listener.close()
        for timer in self._silent.values():
            timer.cancel()
        self._silent.clear()

    def has_asked(self, protocol: asyncio.BaseProtocol) -> None:
        """Record that a connection has sent a request."""
        timer = self._silent.pop(protocol, None)
        if timer is not None:
            timer.cancel()

    def _accept(self) -> asyncio.BaseProtocol:
        if len(self._server.connections) >= self._maximum:
            return _Refused()
        protocol = self._server()
        loop = asyncio.get_running_loop()
        self._silent[protocol] = loop.call_later(self._first_request_s, self._close, protocol)
        return protocol

    def _close(self, protocol: web.RequestHandler) -> None:
        self._silent.pop(protocol, None)
        if protocol.transport is not None:
            protocol.transport.abort()


class _Refused(asyncio.Protocol):
    """A connection beyond the limit."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
