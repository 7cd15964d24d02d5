"""Execution of stages in slot processes: all slots of a lane are fed concurrently, and their output is merged.

It runs inside Spark's Python workers, in one thread. While a function in one slot waits, the others continue.
"""

from __future__ import annotations

import os
import pickle
import selectors
import socket
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import Any

from firesteel.common.trust.restricted_pickle import load_plain
from firesteel.operators.exchange.spill import SpilledList
from firesteel.runtime.internal_tls import InternalTls, tls_problem
from firesteel.spark.shim import SlotFailedError
from firesteel.task.protocol import (
    END_GATE,
    ERROR_GATE,
    IDLE_GATE,
    REQUEST_GATE,
    TRY_OVER_GATE,
    FrameParser,
    Row,
    StageRequest,
    frame,
)
from firesteel.task.relay_handshake import NONCE_BYTES, PROOF_BYTES, is_relay_proof, new_nonce, relay_proof
from firesteel.task.slot_address import SlotAddress
from firesteel.task.versions import TryIsOverError

_CONNECT_TIMEOUT_S = 60
_RECEIVED_BYTES = 1 << 20
_RECORD_BYTES = 1 << 15
"""Larger than a TLS record, so that no decrypted data stays buffered, invisible to the selector."""
_TLS_WAITS = (ssl.SSLWantReadError, ssl.SSLWantWriteError)
_SENT_BYTES = 256 << 10
_WAITING_BYTES = 32 << 20
"""Maximum size of rows waiting for the slots of a lane that are kept in memory; the rest goes to files."""


@dataclass(frozen=True, slots=True)
class RemoteSlots:
    """The execution of stages in slot processes (STREAMING).

    Attributes:
        addresses: Slot -> its address.
        deployments: Slot -> the tasks that run there, see `protocol.deployment_of`.
        tls: The TLS settings for connections to other hosts; None disables encryption.
    """

    addresses: Mapping[int, str]
    deployments: Mapping[int, str]
    tls: InternalTls | None = None

    def __call__(self, requests: Mapping[int, StageRequest], rows: Iterable[Row]) -> Iterator[Row]:
        """Send the rows to the processes of their slots and yield the output of all of them.

        A slot that may be skipped and has no rows is left out; an `IDLE_GATE` row replaces its report.
        """
        memory = _WAITING_BYTES // len(requests)
        waiting = {slot: SpilledList(memory, request.temporary) for slot, request in requests.items()}
        with_rows: set[int] = set()
        for row in rows:
            waiting[row[0]].add([row], None, len(row[3]))
            with_rows.add(row[0])
        idle = {slot for slot, request in requests.items() if request.only_with_rows} - with_rows
        for slot in idle:
            yield slot, slot, IDLE_GATE, b"%d" % requests[slot].stage
        with ExitStack() as stack:
            selector = stack.enter_context(selectors.DefaultSelector())
            # All are connected before any is read: a slot that is being restarted must not leave others half asked.
            for slot in requests.keys() - idle:
                request = requests[slot]
                connection = stack.enter_context(connect(SlotAddress.parse(self.addresses[slot]), self.tls))
                is_remote = connection.family != socket.AF_UNIX
                own = replace(request, is_remote=is_remote, deployment=self.deployments[slot])
                connection.setblocking(False)
                talk = _Talk(connection, _frames_to(own, waiting[slot]))
                selector.register(connection, selectors.EVENT_READ | selectors.EVENT_WRITE, talk)
            yield from _talk_to_all(selector)


def _frames_to(request: StageRequest, rows: SpilledList) -> Iterator[bytes]:
    yield frame((0, 0, REQUEST_GATE, pickle.dumps(request, protocol=5)))
    for batch, _ in rows.take():
        yield from map(frame, batch)
    yield frame((0, 0, END_GATE, b""))


def _talk_to_all(selector: selectors.BaseSelector) -> Iterator[Row]:
    while selector.get_map():
        for key, events in selector.select():
            talk: _Talk = key.data
            if events & selectors.EVENT_WRITE and not talk.send():
                selector.modify(key.fileobj, selectors.EVENT_READ, talk)
            if events & selectors.EVENT_READ:
                yield from talk.receive()
                if talk.is_over:
                    selector.unregister(key.fileobj)


class _Talk:
    """The exchange with one slot over a non-blocking connection.

    Attributes:
        is_over: Whether the slot's response is complete.
    """

    def __init__(self, connection: socket.socket, frames: Iterator[bytes]) -> None:
        self.is_over = False
        self._connection = connection
        self._frames = frames
        self._to_send = memoryview(b"")
        self._parser = FrameParser()
        self._received_bytes = _RECORD_BYTES if isinstance(connection, ssl.SSLSocket) else _RECEIVED_BYTES

    def send(self) -> bool:
        """Send as much as the connection accepts now; return False if nothing is left to send."""
        self._to_send = self._to_send or memoryview(b"".join(_some_of(self._frames)))
        if not self._to_send:
            return False
        try:
            sent = self._connection.send(self._to_send)
        except _TLS_WAITS:
            return True
        except ConnectionError:  # The slot may have written an error before, which must still be read.
            return False
        self._to_send = self._to_send[sent:]
        return True

    def receive(self) -> Iterator[Row]:
        """Receive the available data, and yield the slot's output rows.

        Raises:
            SlotFailedError: user code raised.
            TryIsOverError: the batch must be retried.
            ConnectionError: the slot closed the connection before its response was complete.
        """
        try:
            data = self._connection.recv(self._received_bytes)
        except _TLS_WAITS:
            return
        if not data:
            raise ConnectionError("the slot closed the connection in the middle of a stage")
        for row in self._parser.feed(data):
            gate = row[2]
            if gate == END_GATE:
                self.is_over = True
            elif gate == ERROR_GATE:
                raise SlotFailedError(load_plain(row[3], "a failure"))
            elif gate == TRY_OVER_GATE:
                raise TryIsOverError(load_plain(row[3], "the end of a try"))
            else:
                yield row


def _some_of(frames: Iterator[bytes]) -> Iterator[bytes]:
    size = 0
    while size < _SENT_BYTES and (part := next(frames, None)) is not None:
        size += len(part)
        yield part


def connect(address: SlotAddress, tls: InternalTls | None = None) -> socket.socket:
    """Connect to a slot; wait for the restart of a slot process that was killed.

    Raises:
        OSError: the slot could not be reached for a minute, or TLS authentication failed.
    """
    deadline = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        try:
            return _try_to_connect(address, tls)
        except OSError as error:
            if isinstance(error, ssl.SSLError) and not isinstance(error, ssl.SSLEOFError):
                raise ConnectionError(f"the relay at {address.relay}: {tls_problem(error)}") from error
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _try_to_connect(address: SlotAddress, tls: InternalTls | None) -> socket.socket:
    is_on_this_host = address.is_on_this_host
    if is_on_this_host:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        peer: Any = address.path
    else:
        connection = socket.socket(socket.AF_INET6 if "[" in address.relay else socket.AF_INET, socket.SOCK_STREAM)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        host, _, port = address.relay.rpartition(":")
        peer = host.strip("[]"), int(port)
    try:
        connection.settimeout(_CONNECT_TIMEOUT_S)
        connection.connect(peer)
        if not is_on_this_host:
            if tls is not None:
                connection = tls.client_context().wrap_socket(connection)
            _prove_both_ways(connection, address)
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def _prove_both_ways(connection: socket.socket, address: SlotAddress) -> None:
    """Prove to the relay that this process knows its token, and check the same of the relay.

    Raises:
        ConnectionError: the relay closed the connection, or does not know the token.
    """
    name, own = os.path.basename(address.path), new_nonce()
    theirs = _receive_exactly(connection, NONCE_BYTES, address)
    proof = relay_proof(address.token, "caller", theirs, own, name)
    connection.sendall(own + proof + f"{name}\n".encode())
    given = _receive_exactly(connection, PROOF_BYTES, address)
    if not is_relay_proof(given, address.token, "relay", theirs, own, name):
        raise ConnectionError(f"the process that listens at {address.relay} is not the relay: it lacks the token")


def _receive_exactly(connection: socket.socket, length: int, address: SlotAddress) -> bytes:
    data = b""
    while len(data) < length:
        if not (part := connection.recv(length - len(data))):
            raise ConnectionError(f"the relay at {address.relay} closed the connection; see its log for the reason")
        data += part
    return data
