"""What the shim in Spark's worker and a slot process say to each other over the slot's socket.

Request: a `StageRequest` frame, then the rows of the stage, then an END frame. Answer: the rows for later stages, then
END, or an ERROR frame with the failure. A frame is `(target, source, gate, length)` as four big-endian 32-bit numbers,
then the payload.
"""

from __future__ import annotations

import pickle
import struct
from dataclasses import dataclass
from typing import IO, Any

Row = tuple[int, int, int, bytes]
"""(target slot, source slot, gate, payload): what travels between stages."""

REPORT_GATE = -1
"""Gate of a row that carries a `StageReport`; it goes through all stages to the end."""

END_GATE = -2
ERROR_GATE = -3
REQUEST_GATE = -4

_HEADER = struct.Struct(">iiiI")


@dataclass(frozen=True, slots=True)
class StageRequest:
    """Run one stage of one batch.

    Attributes:
        stage: The stage.
        batch_id: The batch.
        checkpoint: The job's checkpoint directory.
        versions: Where the slot's versions go (STREAMING).
        plan: What the batch reads: a pickled `BatchPlan`.
        is_remote: Whether it comes from another host.
    """

    stage: int
    batch_id: int
    checkpoint: str
    versions: str
    plan: bytes
    is_remote: bool = False


def write_frame(stream: IO[bytes], row: Row) -> None:
    """Write one frame; the caller flushes."""
    target, source, gate, payload = row
    stream.write(_HEADER.pack(target, source, gate, len(payload)))
    stream.write(payload)


def write_message(stream: IO[bytes], gate: int, message: Any) -> None:
    """Write a frame whose payload is a pickled message, and flush."""
    write_frame(stream, (0, 0, gate, pickle.dumps(message, protocol=5)))
    stream.flush()


def read_frame(stream: IO[bytes]) -> Row:
    """Read one frame.

    Raises:
        ConnectionError: the other side closed the connection.
    """
    target, source, gate, length = _HEADER.unpack(_read(stream, _HEADER.size))
    return target, source, gate, _read(stream, length)


def _read(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise ConnectionError("the other side closed the connection in the middle of a frame")
    return data
