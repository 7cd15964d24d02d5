"""Takes connections to slots from other hosts: the data goes to the state, the state does not move.

First comes a line with a token and the name of a slot's socket, and a line feed goes back once the slot is there; from
then on bytes go to and fro. Slots on the caller's own host are reached without it.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import logging
import secrets
from pathlib import Path

from firesteel.runtime.internal_tls import InternalTls, tls_problem
from firesteel.task.slot_address import SlotAddress

logger = logging.getLogger(__name__)

_GREETING_S = 10
_SLOT_S = 60
_CHUNK = 1 << 20


class SlotRelay:
    """Connects callers that know its token with the Unix sockets in a directory.

    Args:
        host: Where to listen, as others reach it.
        directory: Where the sockets are.
        tls: What to speak TLS with; None: not at all.
    """

    def __init__(self, host: str, directory: Path, tls: InternalTls | None = None) -> None:
        self._tls = None if tls is None else tls.server_context()
        self._host = host
        self._directory = directory
        self._token = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._connections: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen at any free port."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, self._host, 0, limit=_CHUNK)

    def address_of(self, path: str) -> SlotAddress:
        """How a slot is reached through this relay."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return SlotAddress(path, f"{self._host}:{port}", self._token)

    async def close(self) -> None:
        """Listen no more, and break the connections."""
        if self._server is not None:
            self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections.add(task)
        try:
            # A caller that breaks off, and a slot that ends, are seen by the other side.
            with contextlib.suppress(OSError, ValueError, TimeoutError, asyncio.CancelledError):
                if await self._begin_tls(writer):
                    await self._relay(reader, writer)
        finally:
            self._connections.discard(task)
            await _close(writer)

    async def _begin_tls(self, writer: asyncio.StreamWriter) -> bool:
        if self._tls is not None:
            try:
                await writer.start_tls(self._tls, ssl_handshake_timeout=_GREETING_S)
            except OSError as error:
                logger.warning("refused %s: %s", writer.get_extra_info("peername"), tls_problem(error))
                return False
        return True

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        greeting = await asyncio.wait_for(reader.readline(), _GREETING_S)
        token, _, name = greeting.decode(errors="replace").strip().partition(" ")
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            logger.warning("refused a connection of %s: wrong token", writer.get_extra_info("peername"))
            return
        from_slot, to_slot = await asyncio.wait_for(self._connect(Path(name).name), _SLOT_S)
        try:
            writer.write(b"\n")
            await _first_of(_pump(reader, to_slot), _pump(from_slot, writer))
        finally:
            await _close(to_slot)

    async def _connect(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a slot; a slot process that was killed is started again meanwhile."""
        while True:
            with contextlib.suppress(OSError):
                return await asyncio.open_unix_connection(str(self._directory / name), limit=_CHUNK)
            await asyncio.sleep(0.05)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(_CHUNK):
        writer.write(data)
        await writer.drain()


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _first_of(*pumps: object) -> None:
    """Return when one side has ended, and with it the connection."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]  # type: ignore[call-overload]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
