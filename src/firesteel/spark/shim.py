"""What runs inside Spark's Python workers: passes the buffers of a partition to its slot and returns what comes back.

Generic and thin: it knows no operators. Imported by name in the worker, so it must import quickly.
"""

from __future__ import annotations

import gc
import os
import pickle
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import IO, Any

from firesteel.operators.spill import SpilledList
from firesteel.task.protocol import (
    END_GATE,
    ERROR_GATE,
    REQUEST_GATE,
    TRY_OVER_GATE,
    Row,
    StageRequest,
    read_frame,
    write_frame,
    write_message,
)
from firesteel.task.slot_address import SlotAddress
from firesteel.task.versions import Chain, TryIsOverError

FAILURE_MARK = "FIRESTEEL-FAILURE:"

_CONNECT_TIMEOUT_S = 60
_SOCKET_BUFFER = 1 << 20
_PASSING_BYTES = 32 << 20
"""Rows for later stages are kept in memory up to so much."""

Buffer = tuple[int, int, bytes]
"""(source slot, gate, payload): a row at its target."""

RunStage = Callable[[int, StageRequest, Iterable[Buffer]], Iterator[Row]]
"""(slot, request, rows in) -> rows out."""


class SlotFailedError(Exception):
    """The slot could not run the stage; the text carries the failure through Spark to the driver."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(f"{FAILURE_MARK}{pickle.dumps(failure).hex()}{FAILURE_MARK}")


@dataclass(frozen=True, slots=True)
class RemoteSlots:
    """Runs stages in slot processes (STREAMING).

    Attributes:
        addresses: Where each slot takes connections.
        deployments: The tasks that run in each slot, see `protocol.deployment_of`.
    """

    addresses: tuple[str, ...]
    deployments: tuple[str, ...]

    def __call__(self, slot: int, request: StageRequest, rows: Iterable[Buffer]) -> Iterator[Row]:
        """Feed the rows to the slot's process and yield what comes back."""
        connection = connect(SlotAddress.parse(self.addresses[slot]))
        reader: Any
        writer: Any
        reader, writer = connection.makefile("rb", _SOCKET_BUFFER), connection.makefile("wb", _SOCKET_BUFFER)
        try:
            is_remote = connection.family != socket.AF_UNIX
            own = replace(request, is_remote=is_remote, deployment=self.deployments[slot])
            write_message(writer, REQUEST_GATE, own)
            feeder = threading.Thread(target=_feed, args=(connection, writer, rows), daemon=True)
            feeder.start()
            while (row := read_frame(reader))[2] != END_GATE:
                if row[2] == ERROR_GATE:
                    raise SlotFailedError(pickle.loads(row[3]))
                if row[2] == TRY_OVER_GATE:
                    raise TryIsOverError(pickle.loads(row[3]))
                yield row
            feeder.join()
        finally:
            connection.close()


def connect(address: SlotAddress) -> socket.socket:
    """Connect to a slot; a slot process that was killed is started again meanwhile."""
    deadline = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        try:
            return _try_to_connect(address)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _try_to_connect(address: SlotAddress) -> socket.socket:
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
            connection.sendall(f"{address.token} {os.path.basename(address.path)}\n".encode())
            if connection.recv(1) != b"\n":
                raise ConnectionError(f"the relay at {address.relay} closed the connection")
        connection.settimeout(None)
    except BaseException:
        connection.close()
        raise
    return connection


def _feed(connection: socket.socket, writer: IO[bytes], rows: Iterable[Buffer]) -> None:
    """Send all rows, then END. An error of the input closes the connection, so that the slot starts again."""
    try:
        for source, gate, payload in rows:
            write_frame(writer, (0, source, gate, payload))
        write_frame(writer, (0, 0, END_GATE, b""))
        writer.flush()
    except OSError:
        pass
    except BaseException:
        connection.shutdown(socket.SHUT_RDWR)
        raise


@dataclass(frozen=True, slots=True)
class Stage:
    """One stage of one batch as a function for `RDD.mapPartitionsWithIndex`; the partition is the slot.

    Rows for the slot's subtasks of this stage go to `run`; those for later stages and reports pass through. `parents`
    has the version of each slot that the stage starts from.
    """

    run: RunStage
    request: StageRequest
    parents: tuple[Chain, ...]
    level_of_gate: tuple[int, ...]

    def __call__(self, slot: int, rows: Iterable[Any]) -> Iterator[tuple[int, Buffer]]:
        """Run the stage over the rows of one partition: `(target slot, buffer)` in and out."""
        _keep_modules_from_garbage_collection()
        # All rows are read before the run ends, by this thread or another one.
        passing = SpilledList(_PASSING_BYTES, None)
        own = self._own_rows(rows, passing) if self.request.stage else ()
        request = replace(self.request, parent=self.parents[slot])
        for target, source, gate, payload in self.run(slot, request, own):
            yield target, (source, gate, payload)
        for passed, _ in passing.take():
            yield from passed

    def _own_rows(self, rows: Iterable[tuple[int, Buffer]], passing: SpilledList) -> Iterator[Buffer]:
        """Yield the rows for this stage; the others are put aside, on disk if they are many."""
        level_of_gate, stage = self.level_of_gate, self.request.stage
        for row in rows:
            gate, payload = row[1][1:]
            if gate >= 0 and level_of_gate[gate] == stage:
                yield row[1]
            else:
                passing.add([row], None, len(payload))


@cache
def _keep_modules_from_garbage_collection() -> None:
    """Once per worker: Spark has each worker collect garbage after each task, 30 ms if it looks at all modules."""
    gc.collect()
    gc.freeze()
