"""What runs inside Spark's Python workers: passes the buffers of a partition to its slot and returns what comes back.

Generic and thin: it knows no operators. Imported by name in the worker, so it must import quickly.
"""

from __future__ import annotations

import pickle
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any

import pyarrow as pa
from pyspark import TaskContext

from firesteel.task.protocol import (
    END_GATE,
    ERROR_GATE,
    REQUEST_GATE,
    Row,
    StageRequest,
    read_frame,
    write_frame,
    write_message,
)

SCHEMA_DDL = "target int, source int, gate int, payload binary"
ARROW_SCHEMA = pa.schema(
    [("target", pa.int32()), ("source", pa.int32()), ("gate", pa.int32()), ("payload", pa.binary())]
)
BATCH_ID_PROPERTY = "firesteel.batchId"
"""Spark's local property that tells the tasks which batch they belong to."""

FAILURE_MARK = "FIRESTEEL-FAILURE:"

_CONNECT_TIMEOUT_S = 60
_BATCH_ROWS = 16
_SOCKET_BUFFER = 1 << 20


class SlotFailedError(Exception):
    """The slot could not run the stage; the text carries the failure through Spark to the driver."""

    def __init__(self, failure: dict[str, Any]) -> None:
        super().__init__(f"{FAILURE_MARK}{pickle.dumps(failure).hex()}{FAILURE_MARK}")


RunStage = Callable[[int, int, int, Iterable[tuple[int, int, bytes]]], Iterator[Row]]
"""(slot, stage, batch id, rows in) -> rows out."""


@dataclass(frozen=True, slots=True)
class RemoteSlots:
    """Runs stages in the slot processes at `addresses` (STREAMING)."""

    addresses: tuple[str, ...]
    checkpoint: str

    def __call__(self, slot: int, stage: int, batch_id: int, rows: Iterable[tuple[int, int, bytes]]) -> Iterator[Row]:
        """Feed the rows to the slot's process and give what comes back."""
        connection = _connect(self.addresses[slot])
        reader: Any
        writer: Any
        reader, writer = connection.makefile("rb", _SOCKET_BUFFER), connection.makefile("wb", _SOCKET_BUFFER)
        try:
            write_message(writer, REQUEST_GATE, StageRequest(stage, batch_id, self.checkpoint))
            feeder = threading.Thread(target=_feed, args=(connection, writer, rows), daemon=True)
            feeder.start()
            while (row := read_frame(reader))[2] != END_GATE:
                if row[2] == ERROR_GATE:
                    raise SlotFailedError(pickle.loads(row[3]))
                yield row
            feeder.join()
        finally:
            connection.close()


def _connect(address: str) -> socket.socket:
    """Connect to a slot; a slot process that was killed is started again meanwhile."""
    deadline = time.monotonic() + _CONNECT_TIMEOUT_S
    while True:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.connect(address)
            return connection
        except OSError:
            connection.close()
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)


def _feed(connection: socket.socket, writer: IO[bytes], rows: Iterable[tuple[int, int, bytes]]) -> None:
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
    """One stage as a function for `mapInArrow`; the partition is the slot.

    Rows for the slot's subtasks of this stage go to `run`, rows for later stages and reports pass through.
    """

    run: RunStage
    stage: int
    level_of_gate: tuple[int, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Run the stage over the rows of one partition."""
        context = TaskContext.get()
        assert context is not None
        slot, batch_id = context.partitionId(), int(context.getLocalProperty(BATCH_ID_PROPERTY) or 0)
        passing: deque[Row] = deque()
        rows = self._own_rows(batches, slot, passing)
        yield from _to_batches(self._with_passing(self.run(slot, self.stage, batch_id, rows), passing))

    def _own_rows(
        self, batches: Iterable[pa.RecordBatch], slot: int, passing: deque[Row]
    ) -> Iterator[tuple[int, int, bytes]]:
        """The rows for this stage; the others are put aside."""
        for batch in batches:
            if self.stage == 0:
                continue
            sources, gates = batch.column("source").to_pylist(), batch.column("gate").to_pylist()
            for source, gate, payload in zip(sources, gates, batch.column("payload").to_pylist(), strict=True):
                if gate >= 0 and self.level_of_gate[gate] == self.stage:
                    yield source, gate, payload
                else:
                    passing.append((slot, source, gate, payload))

    def _with_passing(self, produced: Iterator[Row], passing: deque[Row]) -> Iterator[Row]:
        for row in produced:
            yield row
            while passing:
                yield passing.popleft()
        while passing:
            yield passing.popleft()


def _to_batches(rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    """Arrow batches of few rows each: a row is large."""
    while chunk := list(islice(rows, _BATCH_ROWS)):
        columns = zip(*chunk, strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, ARROW_SCHEMA, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=ARROW_SCHEMA)
