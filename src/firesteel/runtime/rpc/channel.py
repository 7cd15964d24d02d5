"""An authenticated stream of messages over a TCP connection.

It does not use a library, because gRPC and ZeroMQ bring threads and require certificates or have no authentication, and
`multiprocessing.connection`, whose challenge this follows, blocks. With asyncio's streams and `hmac` this file
suffices.

The handshake has fixed-length messages, and nothing is unpickled:

    server -> client   magic, version, nonce, release
    client -> server   magic, version, nonce, release, proof: HMAC-SHA256(secret, "client" + version + both nonces)
    server -> client   0, proof: the same with "server"      or      1, length, reason of the rejection

Then each side sends frames: length, HMAC-SHA256(key, direction + number of the frame + message), message. The key is
derived from the secret and both nonces. So neither side reads a message before the other has proven that it knows the
secret, and a message that was changed, repeated or dropped in transit ends the connection. Messages are encrypted if
TLS is enabled, see `InternalTls`.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import ssl
import struct
from collections.abc import Sequence
from dataclasses import dataclass

from firesteel.common.release import release
from firesteel.runtime.internal_tls import tls_problem
from firesteel.runtime.rpc.rpc_errors import (
    RpcAuthenticationError,
    RpcConnectionError,
    RpcMessageTooLargeError,
    RpcProtocolError,
    RpcVersionError,
)

__all__ = ["PROTOCOL_VERSION", "Channel", "accept_channel", "open_channel"]

PROTOCOL_VERSION = 2
"""Processes of the same number understand each other's messages, whatever their releases.

It rises with a change of a message that the former release can't read; `tests.runtime.rpc.messages` notices changes.
The handshake up to the release stays as it is, so that processes of any two versions can name both.
"""

HANDSHAKE_TIMEOUT_S = 10.0

_MAGIC = b"FSRP"
_HELLO = struct.Struct("!4sH32s")
_RELEASE_BYTES = 24
"""Length of the name of the release, filled up with zeros; processes of version 1 send none."""

_PROOF = struct.Struct("!32s")
_REFUSAL = struct.Struct("!H")
_FRAME = struct.Struct("!I32s")
_ACCEPTED, _REFUSED = b"\0", b"\1"
_SIDES = (b"client", b"server")


@dataclass(slots=True)
class Channel:
    """Both directions of an authenticated connection.

    Attributes:
        peer: The name of the peer in error messages.
        max_bytes: Maximum length of a message.
    """

    peer: str
    max_bytes: int
    _reader: asyncio.StreamReader
    _writer: asyncio.StreamWriter
    _key: bytes
    _is_client: bool
    _sent: int = 0
    _received: int = 0

    def send(self, message: bytes, what: str) -> None:
        """Send a message, after those sent before.

        Raises:
            RpcMessageTooLargeError: the message is too large; the connection stays open.
        """
        if len(message) > self.max_bytes:
            raise RpcMessageTooLargeError(what, len(message), self.max_bytes)
        self._writer.write(_FRAME.pack(len(message), self._mac(self._is_client, self._sent, message)) + message)
        self._sent += 1

    async def receive(self) -> bytes:
        """Return the next message.

        Raises:
            RpcProtocolError: the data received is not a message; close the channel.
            RpcConnectionError: the connection has ended.
        """
        try:
            length, mac = _FRAME.unpack(await self._reader.readexactly(_FRAME.size))
            # The length is not verified yet: a stranger must not make this process wait for, or hold, gigabytes.
            if length > self.max_bytes:
                text = f"a message of {length} bytes was announced, allowed are {self.max_bytes} (pekko.framesize)"
                raise RpcProtocolError(self.peer, text)
            message = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise RpcConnectionError(self.peer, f"the connection was lost ({type(error).__name__})") from error
        if not hmac.compare_digest(mac, self._mac(not self._is_client, self._received, message)):
            raise RpcProtocolError(self.peer, "a message was modified in transit")
        # Counted and not sent: TCP keeps the order, so both sides know the number.
        self._received += 1
        return message

    async def close(self) -> None:
        """Send pending messages, then close the connection."""
        self._writer.close()
        try:
            await asyncio.wait_for(self._writer.wait_closed(), HANDSHAKE_TIMEOUT_S)
        except (OSError, TimeoutError):
            return

    def _mac(self, from_client: bool, number: int, message: bytes) -> bytes:
        # With side and number, a message that is repeated, left out, moved or sent back to its sender does not verify.
        side = _SIDES[0] if from_client else _SIDES[1]
        return hmac.digest(self._key, side + number.to_bytes(8, "big") + message, "sha256")


async def open_channel(
    host: str, port: int, secret: bytes, max_bytes: int, tls: ssl.SSLContext | None = None
) -> Channel:
    """Connect to a server, with mutual proof of the secret.

    Raises:
        RpcConnectionError: no server listens there.
        RpcAuthenticationError: the secrets differ, or one side does not trust the other's certificate.
        RpcVersionError: the server speaks another version.
        RpcProtocolError: the server speaks another protocol.
    """
    peer = f"tcp://{host}:{port}"
    try:
        opening = asyncio.open_connection(host, port, ssl=tls)
        reader, writer = await asyncio.wait_for(opening, HANDSHAKE_TIMEOUT_S)
    except ssl.SSLError as error:
        raise RpcAuthenticationError(peer, tls_problem(error)) from error
    except (OSError, TimeoutError) as error:
        raise RpcConnectionError(peer, str(error) or type(error).__name__) from error
    try:
        return await asyncio.wait_for(_join(peer, reader, writer, secret, max_bytes), HANDSHAKE_TIMEOUT_S)
    except ssl.SSLError as error:
        writer.close()
        raise RpcAuthenticationError(peer, tls_problem(error)) from error
    except (asyncio.IncompleteReadError, OSError) as error:
        writer.close()
        hint = "perhaps it speaks TLS" if tls is None else "perhaps it does not trust our certificate; see its log"
        raise RpcProtocolError(peer, f"the handshake was interrupted ({type(error).__name__}); {hint}") from error
    except RpcConnectionError:
        writer.close()
        raise


async def accept_channel(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    secrets: Sequence[bytes],
    max_bytes: int,
    tls: ssl.SSLContext | None = None,
) -> Channel:
    """Accept a client's connection; a client that can prove none of the secrets gets an error and is disconnected.

    Raises:
        RpcConnectionError: as in `open_channel`.
    """
    host, port = writer.get_extra_info("peername")[:2]
    peer = f"tcp://{host}:{port}"
    await _begin_tls(peer, writer, tls)
    nonce = os.urandom(32)
    writer.write(_hello(nonce))
    try:
        return await asyncio.wait_for(_admit(peer, reader, writer, secrets, nonce, max_bytes), HANDSHAKE_TIMEOUT_S)
    except (asyncio.IncompleteReadError, OSError) as error:
        writer.close()
        raise RpcProtocolError(peer, f"the handshake was interrupted ({type(error).__name__})") from error
    # The reason is sent before the connection is closed; else the caller would only see that it ended.
    except RpcConnectionError as error:
        text = str(error.args[1]).encode()[:1000]
        writer.write(_REFUSED + _REFUSAL.pack(len(text)) + text)
        writer.close()
        raise


async def _begin_tls(peer: str, writer: asyncio.StreamWriter, tls: ssl.SSLContext | None) -> None:
    if tls is None:
        return
    try:
        await writer.start_tls(tls, ssl_handshake_timeout=HANDSHAKE_TIMEOUT_S)
    except OSError as error:
        writer.close()
        raise RpcAuthenticationError(peer, tls_problem(error)) from error


async def _join(
    peer: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes, max_bytes: int
) -> Channel:
    theirs = await _read_hello(peer, reader)
    ours = os.urandom(32)
    # Over both nonces: a proof that somebody has recorded is worth nothing on another connection.
    writer.write(_hello(ours) + _proof(secret, _SIDES[0], theirs, ours))
    # The server proves itself only after the client has: what it sends to a stranger can't be used to guess the secret.
    if await reader.readexactly(1) != _ACCEPTED:
        (length,) = _REFUSAL.unpack(await reader.readexactly(_REFUSAL.size))
        text = (await reader.readexactly(length)).decode(errors="replace")
        raise (RpcVersionError if "version" in text else RpcAuthenticationError)(peer, f"it refused: {text}")
    (proof,) = _PROOF.unpack(await reader.readexactly(_PROOF.size))
    if not hmac.compare_digest(proof, _proof(secret, _SIDES[1], theirs, ours)):
        raise RpcAuthenticationError(peer, "it could not prove that it knows the secret")
    return Channel(peer, max_bytes, reader, writer, _proof(secret, b"key", theirs, ours), True)


async def _admit(
    peer: str,
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    secrets: Sequence[bytes],
    ours: bytes,
    max_bytes: int,
) -> Channel:
    theirs = await _read_hello(peer, reader)
    (proof,) = _PROOF.unpack(await reader.readexactly(_PROOF.size))
    # The server proves the secret that the client has proved: the client may not know others yet, or any more.
    secret = next((one for one in secrets if hmac.compare_digest(proof, _proof(one, _SIDES[0], ours, theirs))), None)
    if secret is None:
        raise RpcAuthenticationError(
            peer, "the caller could not prove that it knows the secret; both processes need the same one"
        )
    writer.write(_ACCEPTED + _PROOF.pack(_proof(secret, _SIDES[1], ours, theirs)))
    return Channel(peer, max_bytes, reader, writer, _proof(secret, b"key", ours, theirs), False)


def _hello(nonce: bytes) -> bytes:
    name = release().encode()[:_RELEASE_BYTES].ljust(_RELEASE_BYTES, b"\0")
    return _HELLO.pack(_MAGIC, PROTOCOL_VERSION, nonce) + name


async def _read_hello(peer: str, reader: asyncio.StreamReader) -> bytes:
    """Return the nonce of the other side.

    Raises:
        RpcProtocolError: it speaks another protocol.
        RpcVersionError: it speaks another version.
    """
    magic, version, nonce = _HELLO.unpack(await reader.readexactly(_HELLO.size))
    if magic != _MAGIC:
        raise RpcProtocolError(peer, f"it does not speak firesteel's protocol: it began with {magic!r}")
    name = (await reader.readexactly(_RELEASE_BYTES)).rstrip(b"\0").decode(errors="replace") if version > 1 else ""
    if version != PROTOCOL_VERSION:
        theirs = f"firesteel {name}" if name else "an earlier release"
        raise RpcVersionError(
            peer,
            f"it is {theirs} and speaks version {version} of the protocol, this process is firesteel {release()} and "
            f"speaks version {PROTOCOL_VERSION}",
        )
    return bytes(nonce)


def _proof(secret: bytes, purpose: bytes, server_nonce: bytes, client_nonce: bytes) -> bytes:
    version = PROTOCOL_VERSION.to_bytes(2, "big")
    return hmac.digest(secret, purpose + version + server_nonce + client_nonce, "sha256")
