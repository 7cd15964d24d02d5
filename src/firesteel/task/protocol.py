"""The protocol between the shim in Spark's worker and a slot process, on the slot's socket.

Request: a `StageRequest` frame, then the rows of the stage, then an END frame. Response: the rows for later stages,
then END, an ERROR frame with the failure, or a TRY_OVER frame.

A frame is `(target, source, gate, length)` as four big-endian 32-bit numbers, then the payload.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

from firesteel.task.versions import BatchTry, Chain

Row = tuple[int, int, int, bytes]
"""(target slot, source slot, gate, payload): a row between stages."""

REPORT_GATE = -1
"""Gate of a row with a `StageReport`, which passes through all later stages to the driver."""

END_GATE = -2
ERROR_GATE = -3
REQUEST_GATE = -4
TRY_OVER_GATE = -5
"""Gate of the frame that requests a retry of the batch; its payload is the reason."""

IDLE_GATE = -6
"""Gate of a row that replaces the report of a skipped slot; its payload is the stage in ASCII."""

_HEADER = struct.Struct(">iiiI")


@dataclass(frozen=True, slots=True)
class StageRequest:
    """The request to run one stage of one batch in one slot.

    Attributes:
        stage: The stage.
        at: The run, batch and try that it belongs to.
        checkpoint: The job's checkpoint directory.
        plan: The pickled `BatchPlan`: what the batch reads.
        deployment: The deployment of the tasks, see `deployment_of`; empty in BATCH mode.
        parent: The files of the slot's version before the batch; empty before the first batch and in BATCH mode.
        is_remote: Whether the request comes from another host.
        only_with_rows: Whether to skip the slot if there are no rows for it.
        temporary: The configured directory for temporary files; None for that of the system.
    """

    stage: int
    at: BatchTry
    checkpoint: str
    plan: bytes
    deployment: str = ""
    parent: Chain = ()
    is_remote: bool = False
    only_with_rows: bool = False
    temporary: str | None = None


def deployment_of(execution_attempt_id: str) -> str:
    """Return the id that all attempts of one deployment share: the id of the execution graph and its run number.

    Example:
        >>> deployment_of("5a7b_cbc357ccb763df2852fee8c4fc7d55f2_1_3")
        '5a7b_3'
    """
    return f"{execution_attempt_id.partition('_')[0]}_{execution_attempt_id.rpartition('_')[2]}"


def frame(row: Row) -> bytes:
    """Return the bytes of one frame."""
    target, source, gate, payload = row
    return _HEADER.pack(target, source, gate, len(payload)) + payload


def write_frame(stream: IO[bytes], row: Row) -> None:
    """Write one frame; the caller flushes."""
    stream.write(frame(row))


def write_message(stream: IO[bytes], gate: int, message: object) -> None:
    """Write a frame whose payload is a pickled message, and flush."""
    write_frame(stream, (0, 0, gate, pickle.dumps(message, protocol=5)))
    stream.flush()


def read_frame(stream: IO[bytes]) -> Row:
    """Read and return one frame.

    Raises:
        ConnectionError: the other side closed the connection.
    """
    target, source, gate, length = _HEADER.unpack(_read(stream, _HEADER.size))
    return target, source, gate, _read(stream, length)


class FrameParser:
    """A parser of frames from a stream of byte chunks.

    Example:
        >>> parser = FrameParser()
        >>> data = frame((1, 2, 3, b"abc"))
        >>> list(parser.feed(data[:9])), list(parser.feed(data[9:]))
        ([], [(1, 2, 3, b'abc')])
    """

    def __init__(self) -> None:
        self._data = bytearray()

    def feed(self, data: bytes) -> Iterator[Row]:
        """Yield the frames that these bytes complete."""
        self._data += data
        start, size = 0, len(self._data)
        while size - start >= _HEADER.size:
            target, source, gate, length = _HEADER.unpack_from(self._data, start)
            end = start + _HEADER.size + length
            if end > size:
                break
            # A copy, as the buffer moves below; through a view, as a slice of a bytearray would be a second copy.
            yield target, source, gate, bytes(memoryview(self._data)[start + _HEADER.size : end])
            start = end
        del self._data[:start]


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError("the other side closed the connection in the middle of a frame")
    return data
