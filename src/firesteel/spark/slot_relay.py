"""A relay for connections to slots from other hosts.

Caller and relay prove to each other that they know the relay's token, see `task.relay_handshake`. The relay then
forwards bytes in both directions. Callers on the same host connect to slots directly.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections.abc import Coroutine
from pathlib import Path

from firesteel.runtime.front_door import MAX_STRANGERS, FrontDoor, Visit, connection_limit
from firesteel.runtime.internal_tls import InternalTls, tls_problem
from firesteel.task.relay_handshake import NONCE_BYTES, PROOF_BYTES, is_relay_proof, new_nonce, relay_proof
from firesteel.task.slot_address import SlotAddress

logger = logging.getLogger(__name__)

_GREETING_S = 10
_SLOT_S = 60
_CHUNK = 1 << 20


class SlotRelay:
    """A server that connects callers, authenticated by its token, with the Unix sockets in a directory.

    Args:
        host: The address to listen on, as other hosts reach it.
        directory: The directory of the sockets.
        tls: The TLS settings; None disables TLS.
    """

    def __init__(self, host: str, directory: Path, tls: InternalTls | None = None) -> None:
        self._tls = tls
        self._host = host
        self._directory = directory
        self._token = secrets.token_hex(16)
        self._server: asyncio.Server | None = None
        self._starting = asyncio.Lock()
        self._connections: set[asyncio.Task[None]] = set()
        self._strangers = FrontDoor(connection_limit(MAX_STRANGERS))

    async def start(self) -> None:
        """Start to listen on a free port, once; slots that open at the same time share the listener."""
        async with self._starting:
            if self._server is None:
                self._server = await asyncio.start_server(self._accept, self._host, 0, limit=_CHUNK)

    def address_of(self, path: str) -> SlotAddress:
        """Return the address of a slot through this relay."""
        assert self._server is not None
        port = self._server.sockets[0].getsockname()[1]
        return SlotAddress(path, f"{self._host}:{port}", self._token)

    async def close(self) -> None:
        """Stop listening and close all connections."""
        async with self._starting:
            if self._server is not None:
                self._server.close()
        for connection in self._connections:
            connection.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        visit = self._strangers.admit(writer.get_extra_info("peername")[0], writer.transport.abort)
        if visit is None:
            writer.transport.abort()
            return
        self._connections.add(task)
        try:
            # If a caller or a slot disconnects, the other side notices.
            with contextlib.suppress(OSError, EOFError, ValueError, TimeoutError, asyncio.CancelledError):
                if await self._begin_tls(writer):
                    await self._relay(reader, writer, visit)
        finally:
            visit.leave()
            self._connections.discard(task)
            await _close(writer)

    async def _begin_tls(self, writer: asyncio.StreamWriter) -> bool:
        if self._tls is not None:
            try:
                await writer.start_tls(self._tls.server_context(), ssl_handshake_timeout=_GREETING_S)
            except OSError as error:
                logger.warning("refused %s: %s", writer.get_extra_info("peername"), tls_problem(error))
                return False
        return True

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, visit: Visit) -> None:
        own = new_nonce()
        writer.write(own)
        async with asyncio.timeout(_GREETING_S):
            theirs = await reader.readexactly(NONCE_BYTES)
            given = await reader.readexactly(PROOF_BYTES)
            name = (await reader.readline()).decode(errors="replace").removesuffix("\n")
        if not is_relay_proof(given, self._token, "caller", own, theirs, name):
            logger.warning("refused a connection of %s: wrong token", writer.get_extra_info("peername"))
            return
        # It is no stranger any more, whose number is limited.
        visit.leave()
        from_slot, to_slot = await asyncio.wait_for(self._connect(Path(name).name), _SLOT_S)
        try:
            writer.write(relay_proof(self._token, "relay", own, theirs, name))
            await _first_of(_pump(reader, to_slot), _pump(from_slot, writer))
        finally:
            await _close(to_slot)

    async def _connect(self, name: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Connect to a slot; wait for the restart of a slot process that was killed."""
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


async def _first_of(*pumps: Coroutine[object, object, None]) -> None:
    """Return when one side has ended, which ends the connection."""
    tasks = [asyncio.ensure_future(pump) for pump in pumps]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
