"""Calls between the endpoints of several processes.

Why: `docs/decisions/0008-rpc-over-asyncio-streams.md`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from firesteel.common.options.rpc_options import (
    JOBMANAGER_BIND_HOST,
    JOBMANAGER_RPC_ADDRESS,
    JOBMANAGER_RPC_PORT,
    RPC_ASK_TIMEOUT,
    RPC_FRAMESIZE,
    TASKMANAGER_BIND_HOST,
    TASKMANAGER_HOST,
    TASKMANAGER_RPC_PORT,
)
from firesteel.common.trust import pickling
from firesteel.runtime.clock import Clock, with_timeout
from firesteel.runtime.front_door import MAX_STRANGERS, FrontDoor, connection_limit
from firesteel.runtime.internal_tls import InternalTls
from firesteel.runtime.rpc.channel import accept_channel
from firesteel.runtime.rpc.rpc_errors import RpcConnectionError
from firesteel.runtime.rpc.rpc_service import Gateway, InMemoryRpcService, RpcCall, fail
from firesteel.runtime.rpc.secret import ClusterSecret, Secret, cluster_secret
from firesteel.runtime.rpc.tcp_connection import IncomingConnection, OutgoingConnection
from firesteel.runtime.thread_pools import MESSAGES

__all__ = ["FRAMESIZE_BYTES", "TcpRpcService"]

logger = logging.getLogger(__name__)

FRAMESIZE_BYTES = 10 * 1024 * 1024


class TcpRpcService(InMemoryRpcService):
    """A service that connects the endpoints of this process with each other and, over TCP, with those of others.

    Addresses look like `tcp://host:port/name`. One connection carries all calls to a process, in call order; it is
    opened by the first call, and again by the first call after it was lost. A loss fails the pending calls with
    `RpcConnectionError`. Flink: `runtime.rpc.pekko.PekkoRpcService`.

    Args:
        secret: The shared secret that processes prove to know before anything is read; see
            `cluster_secret`.
        host: This process's address as seen by others.
        port: The port to listen on; 0 for any free one.
        bind_host: The interface to listen on; `host` if it is None.
        clock: The clock of timeouts.
        timeout_s: Timeout of responses in seconds. Flink: `pekko.ask.timeout`.
        framesize_bytes: Maximum size of a call or response. Flink: `pekko.framesize`.
        tls: The TLS settings; None disables TLS.

    Example:
        >>> async def serve() -> str:
        ...     service = TcpRpcService(b"sixteen or more bytes")
        ...     await service.start()
        ...     address = service.address_of("dispatcher")
        ...     await service.stop()
        ...     return address.split(":")[0]
        >>> asyncio.run(serve())
        'tcp'
    """

    def __init__(
        self,
        secret: Secret,
        host: str = "127.0.0.1",
        port: int = 0,
        bind_host: str | None = None,
        clock: Clock | None = None,
        timeout_s: float = 10.0,
        framesize_bytes: int = FRAMESIZE_BYTES,
        tls: InternalTls | None = None,
    ) -> None:
        # Also for calls within the process, so that endpoints share no mutable values there that they would not share
        # over TCP.
        super().__init__(clock, timeout_s, serialize_calls=True)
        self._secret = ClusterSecret.of(secret)
        self._host = host
        self._port = port
        self._bind_host = bind_host or host
        self._framesize_bytes = framesize_bytes
        self._tls = tls
        self._listener: asyncio.Server | None = None
        self._outgoing: dict[str, OutgoingConnection] = {}
        self._incoming: set[IncomingConnection] = set()
        self._strangers = FrontDoor(connection_limit(MAX_STRANGERS))
        self._is_stopped = False

    @classmethod
    def of_job_manager(cls, configuration: Mapping[str, str], secret: Secret | None = None) -> TcpRpcService:
        """Return the service for `jobmanager.rpc.address`, `jobmanager.rpc.port` and `jobmanager.bind-host`.

        Raises:
            InvalidOptionError: there is no secret, or an option can't be read.
        """
        host = JOBMANAGER_RPC_ADDRESS.of(configuration)
        port = JOBMANAGER_RPC_PORT.of(configuration)
        return cls._of(configuration, secret, host, port, JOBMANAGER_BIND_HOST.text_in(configuration))

    @classmethod
    def of_task_manager(cls, configuration: Mapping[str, str], secret: Secret | None = None) -> TcpRpcService:
        """Return the service for `taskmanager.host`, `taskmanager.rpc.port` and `taskmanager.bind-host`.

        Raises:
            InvalidOptionError: there is no secret, or an option can't be read.
        """
        host = TASKMANAGER_HOST.of(configuration)
        port = TASKMANAGER_RPC_PORT.of(configuration)
        return cls._of(configuration, secret, host, port, TASKMANAGER_BIND_HOST.text_in(configuration))

    @classmethod
    def _of(
        cls,
        configuration: Mapping[str, str],
        secret: Secret | None,
        host: str,
        port: int,
        bind_host: str | None,
    ) -> TcpRpcService:
        return cls(
            secret or cluster_secret(configuration),
            host,
            port,
            bind_host,
            timeout_s=RPC_ASK_TIMEOUT.of(configuration),
            framesize_bytes=RPC_FRAMESIZE.of(configuration),
            tls=InternalTls.of(configuration),
        )

    @property
    def address(self) -> str:
        """The address of this process, without a name."""
        return f"tcp://{self._host}:{self._port}"

    async def start(self) -> None:
        """Start to listen; must be called before endpoints are created."""
        self._listener = await asyncio.start_server(self._accept, self._bind_host, self._port)
        self._port = self._listener.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, send the available responses, and fail pending calls. Idempotent."""
        self._is_stopped = True
        if self._listener is not None:
            self._listener.close()
        for outgoing in list(self._outgoing.values()):
            await outgoing.close("this process's RpcService has stopped")
        for incoming in list(self._incoming):
            await incoming.close()

    def address_of(self, name: str) -> str:
        """Return the address of this process's endpoint with a name."""
        return f"{self.address}/{name}"

    async def connect(self, address: str, gateway_type: type, fencing_token: str | None = None) -> Any:
        """Return a gateway to the endpoint at `address`, with the methods of the Protocol `gateway_type`.

        Raises:
            RpcConnectionError: no endpoint runs there, or its process can't be reached.
        """
        if self._is_local(address):
            return await super().connect(address, gateway_type, fencing_token)
        try:
            found = self._connection(address).find(address)
            is_there = await with_timeout(self.clock, self._timeout_s, found)
        except TimeoutError:
            raise RpcConnectionError(address, f"no answer within {self._timeout_s:g} s") from None
        if not is_there:
            raise RpcConnectionError(address)
        return Gateway(self, address, gateway_type, fencing_token)

    def _transmit(self, call: RpcCall, answer: asyncio.Future[object], is_large: bool) -> None:
        # Pickling a job graph of some MB would block the event loop, and with it all heartbeats.
        if is_large:
            work = self._copy if self._is_local(call.address) else pickling.dumps
            writing = asyncio.get_running_loop().run_in_executor(MESSAGES.executor, work, call)
            writing.add_done_callback(lambda written: self._transmit_written(call, written, answer))
        elif self._is_local(call.address):
            super()._transmit(call, answer, is_large)
        else:
            self._send(call, pickling.dumps(call), answer)

    def _transmit_written(self, call: RpcCall, written: asyncio.Future[Any], answer: asyncio.Future[Any]) -> None:
        if (error := written.exception()) is not None:
            fail(answer, error)
        elif self._is_local(call.address):
            self._arrive(written.result(), answer)
        else:
            self._send(call, written.result(), answer)

    def _send(self, call: RpcCall, message: bytes, answer: asyncio.Future[Any]) -> None:
        try:
            self._connection(call.address).call(call, message, answer)
        except RpcConnectionError as error:
            fail(answer, error)

    def _is_local(self, address: str) -> bool:
        return address.startswith(f"{self.address}/")

    def _connection(self, address: str) -> OutgoingConnection:
        peer = urlsplit(address)
        if peer.scheme != "tcp" or peer.hostname is None or peer.port is None:
            raise RpcConnectionError(address, "expected tcp://host:port/name")
        if self._is_stopped:
            raise RpcConnectionError(address, "this process's RpcService has stopped")
        connection = self._outgoing.get(peer.netloc)
        # So a process that has restarted at the same address is found by the next call.
        if connection is None or connection.is_closed:
            tls = None if self._tls is None else self._tls.client_context()
            connection = OutgoingConnection(peer.hostname, peer.port, self._secret.current, self._framesize_bytes, tls)
            self._outgoing[peer.netloc] = connection
        return connection

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        transport = writer.transport
        visit = self._strangers.admit(writer.get_extra_info("peername")[0], transport.abort)
        if visit is None:
            transport.abort()
            return
        try:
            tls = None if self._tls is None else self._tls.server_context()
            channel = await accept_channel(reader, writer, self._secret.accepted, self._framesize_bytes, tls)
        except RpcConnectionError as error:
            logger.warning("a connection was refused: %s", error)
            return
        finally:
            # The peer has proved itself, or is gone: it is no stranger any more, whose number is limited.
            visit.leave()
        connection = IncomingConnection(channel, self._servers)
        self._incoming.add(connection)
        try:
            await connection.serve()
        finally:
            self._incoming.discard(connection)
