"""The two sides of a connection that carries calls."""

from __future__ import annotations

import asyncio
import itertools
import logging
import pickle
import ssl
import struct
from collections.abc import Coroutine, Mapping
from typing import Any

from firesteel.common.trust import pickling
from firesteel.runtime.rpc.channel import Channel, open_channel
from firesteel.runtime.rpc.rpc_errors import EndpointStoppedError, RpcConnectionError, RpcError, RpcProtocolError
from firesteel.runtime.rpc.rpc_service import RpcCall, RpcServer, fail

__all__ = ["IncomingConnection", "OutgoingConnection"]

logger = logging.getLogger(__name__)

_HEAD = struct.Struct("!BQ")
_CALL, _FIND, _RESULT, _ERROR, _REFUSED = range(5)


class OutgoingConnection:
    """The caller's side. Calls made before the connection is open are sent, in order, once it is.

    Args:
        host: Host of the other process.
        port: Port of the other process.
        secret: The shared secret.
        max_bytes: Maximum length of a message.
        tls: The TLS settings; None disables TLS.
    """

    def __init__(self, host: str, port: int, secret: bytes, max_bytes: int, tls: ssl.SSLContext | None = None) -> None:
        self._peer = f"tcp://{host}:{port}"
        self._channel: Channel | None = None
        self._outbox: list[tuple[int, bytes, str]] = []
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._ids = itertools.count()
        self.is_closed = False
        self._task = asyncio.ensure_future(self._run(open_channel(host, port, secret, max_bytes, tls)))

    def call(self, call: RpcCall, message: bytes, answer: asyncio.Future[Any]) -> None:
        """Send a call, serialized as `message`; its response is set on `answer`."""
        self._request(_CALL, message, f"the call {call.method}() to {call.address}", answer)

    def find(self, address: str) -> asyncio.Future[Any]:
        """Return whether an endpoint with an address exists."""
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._request(_FIND, address.encode(), f"the lookup of {address}", answer)
        return answer

    async def close(self, reason: str) -> None:
        """Fail pending calls and close the connection."""
        self._end(RpcConnectionError(self._peer, reason))
        self._task.cancel()
        await asyncio.wait([self._task])

    def _request(self, kind: int, body: bytes, what: str, answer: asyncio.Future[object]) -> None:
        number = next(self._ids)
        self._waiting[number] = answer
        # Also after a timeout: a late response finds nobody and is dropped, and nothing is kept for it.
        answer.add_done_callback(lambda _: self._waiting.pop(number, None))
        message = (number, _HEAD.pack(kind, number) + body, what)
        if self._channel is None:
            self._outbox.append(message)
        else:
            self._send(self._channel, *message)

    def _send(self, channel: Channel, number: int, message: bytes, what: str) -> None:
        try:
            channel.send(message, what)
        except RpcError as error:
            if number in self._waiting:
                fail(self._waiting[number], error)

    async def _run(self, opening: Coroutine[object, object, Channel]) -> None:
        channel: Channel | None = None
        try:
            channel = await opening
            # Before `_channel` is set: a call that is made meanwhile must not overtake those that wait.
            for message in self._outbox:
                self._send(channel, *message)
            self._outbox.clear()
            self._channel = channel
            while True:
                self._take(await channel.receive())
        except RpcConnectionError as error:
            self._end(error)
        except Exception as error:
            self._end(RpcProtocolError(self._peer, f"{type(error).__name__}: {error}"))
        finally:
            if channel is not None:
                await channel.close()

    def _take(self, message: bytes) -> None:
        kind, number = _HEAD.unpack_from(message)
        if kind == _REFUSED:
            raise RpcProtocolError(self._peer, f"it refused: {message[_HEAD.size :].decode(errors='replace')}")
        answer = self._waiting.get(number)
        if answer is None or answer.done():
            return
        try:
            value = pickle.loads(memoryview(message)[_HEAD.size :])
        except (Exception, SystemExit) as error:
            fail(answer, RpcError(f"the answer of {self._peer} can't be read: {type(error).__name__}: {error}"))
            return
        if kind == _ERROR:
            fail(answer, value)
        else:
            answer.set_result(value)

    def _end(self, error: RpcConnectionError) -> None:
        self.is_closed = True
        for answer in list(self._waiting.values()):
            fail(answer, error)


class IncomingConnection:
    """The endpoints' side of a connection.

    Args:
        channel: The channel to the authenticated caller.
        servers: The endpoints by address.
    """

    def __init__(self, channel: Channel, servers: Mapping[str, RpcServer]) -> None:
        self._channel = channel
        self._servers = servers
        self._is_closed = False

    async def serve(self) -> None:
        """Execute calls until the connection ends."""
        try:
            while True:
                self._take(await self._channel.receive())
        except RpcProtocolError as error:
            logger.warning("a connection was refused: %s", error)
            self._channel.send(_HEAD.pack(_REFUSED, 0) + str(error.args[1]).encode(), "a refusal")
        except RpcConnectionError as error:
            logger.debug("%s", error)
        finally:
            await self.close()

    async def close(self) -> None:
        """Send the available responses and close the connection. Idempotent."""
        if not self._is_closed:
            self._is_closed = True
            await self._channel.close()

    def _take(self, message: bytes) -> None:
        if len(message) < _HEAD.size or message[0] not in {_CALL, _FIND}:
            raise RpcProtocolError(self._channel.peer, f"a message began with {message[: _HEAD.size]!r}")
        kind, number = _HEAD.unpack_from(message)
        body = memoryview(message)[_HEAD.size :]
        if kind == _FIND:
            self._answer(number, _RESULT, bytes(body).decode() in self._servers, "a search")
            return
        try:
            call = pickle.loads(body)
            if not isinstance(call, RpcCall):
                raise TypeError(f"an RpcCall was expected, not {call!r}")
        except (Exception, SystemExit) as error:  # Unpickling arguments may import modules of the user.
            text = f"the call of {self._channel.peer} can't be read: {type(error).__name__}: {error}"
            self._answer(number, _ERROR, RpcError(text), "a call")
            return
        server = self._servers.get(call.address)
        if server is None:
            self._answer(number, _ERROR, EndpointStoppedError(call.address, call.method), call.method)
            return
        # Not awaited, so that a slow call does not hold up those that come after it on the connection.
        server.receive(call).add_done_callback(lambda done: self._answer_call(number, call, done))

    def _answer_call(self, number: int, call: RpcCall, done: asyncio.Future[object]) -> None:
        what = f"the answer of {call.address} to {call.method}()"
        if done.cancelled():
            self._answer(number, _ERROR, EndpointStoppedError(call.address, call.method), what)
        elif done.exception() is not None:
            self._answer(number, _ERROR, done.exception(), what)
        else:
            self._answer(number, _RESULT, done.result(), what)

    def _answer(self, number: int, kind: int, value: object, what: str) -> None:
        if self._is_closed:
            return
        try:
            self._channel.send(_HEAD.pack(kind, number) + _dumps(value), what)
        except Exception as error:
            # The caller waits for an answer; a result that cannot be pickled, or is too large, must not become a
            # timeout.
            refusal = error if isinstance(error, RpcError) else RpcError(f"{what} can't be sent: {error}")
            self._channel.send(_HEAD.pack(_ERROR, number) + pickling.dumps(refusal), what)


def _dumps(value: object) -> bytes:
    """Return the pickled value; an error that the other side can't unpickle is replaced by its text."""
    data: bytes = pickling.dumps(value)
    if isinstance(value, BaseException):
        try:
            # Some exceptions pickle but do not unpickle, as their `__init__` takes other arguments than `args` has.
            pickle.loads(data)
        except Exception:
            data = pickling.dumps(RpcError(f"{type(value).__name__}: {value}"))
    return data
