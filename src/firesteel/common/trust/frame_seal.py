"""Tags that prove who has written the frames of a file, and their order."""

from __future__ import annotations

import hashlib
import hmac
import secrets
import struct
from collections.abc import Iterator
from typing import IO

from firesteel.errors import FiresteelError

__all__ = ["TAG_BYTES", "FrameSeal", "RecordSeal", "SealBrokenError", "read_unproven", "sealed_records"]

TAG_BYTES = 32
_KEY_BYTES = 32
_PIECE_BYTES = 64 << 20
_LENGTH = struct.Struct(">Q")


def read_unproven(file: IO[bytes], length: int) -> bytes:
    """Return at most `length` bytes; a length that nobody has verified allocates no more than there is to read."""
    if length <= _PIECE_BYTES:
        return file.read(length)
    pieces = []
    while length > 0 and (piece := file.read(min(length, _PIECE_BYTES))):
        pieces.append(piece)
        length -= len(piece)
    return b"".join(pieces)


class SealBrokenError(FiresteelError):
    """A file was changed after it was written; the argument is its path."""

    def __str__(self) -> str:
        return f"file {self.args[0]} was changed by somebody else since this job wrote it, so it is not read"


class FrameSeal:
    """The tags (HMAC-SHA256) of the frames of one file, in order.

    Args:
        key: The key.
        nonce: The random bytes that belong to the file only; empty if the key does.
    """

    def __init__(self, key: bytes, nonce: bytes = b"") -> None:
        self.nonce = nonce
        self._begun = hmac.new(key, nonce, hashlib.sha256)
        self._frames = 0

    def next_tag(self, frame: bytes) -> bytes:
        """Return the tag of the next frame."""
        tag = self._tag(b"frame", frame)
        self._frames += 1
        return tag

    def end_tag(self) -> bytes:
        """Return the tag after the last frame."""
        return self._tag(b"end", b"")

    def _tag(self, kind: bytes, frame: bytes) -> bytes:
        # The key is hashed once per file; HMAC would do it again for each frame.
        state = self._begun.copy()
        state.update(b"%s %d\n" % (kind, self._frames))
        state.update(frame)
        return state.digest()


class RecordSeal:
    """The seal of the records of one file of a job: a random key, which travels with the reference to the file.

    So whoever can write to the directory of the file cannot make its reader unpickle anything, and the processes need
    no common key: the reference comes over an authenticated connection or from a signed checkpoint.

    Attributes:
        key: The key; needed for reading.

    Example:
        >>> import io
        >>> seal = RecordSeal()
        >>> file = io.BytesIO(seal.sealed(b"first") + seal.sealed(b"second"))
        >>> list(sealed_records(file, seal.key))
        [b'first', b'second']
    """

    def __init__(self) -> None:
        self.key = secrets.token_bytes(_KEY_BYTES)
        self._frames = FrameSeal(self.key)

    def sealed(self, record: bytes) -> bytes:
        """Return the bytes to append to the file for the next record."""
        return _LENGTH.pack(len(record)) + self._frames.next_tag(record) + record


def sealed_records(file: IO[bytes], key: bytes) -> Iterator[bytes]:
    """Yield the records from the beginning of a file, each one verified.

    Raises:
        SealBrokenError: the next record was not written with the key.
    """
    seal = FrameSeal(key)
    while head := file.read(_LENGTH.size + TAG_BYTES):
        if len(head) < _LENGTH.size + TAG_BYTES:
            raise SealBrokenError(getattr(file, "name", "in memory"))
        record = read_unproven(file, _LENGTH.unpack_from(head)[0])
        if not hmac.compare_digest(head[_LENGTH.size :], seal.next_tag(record)):
            raise SealBrokenError(getattr(file, "name", "in memory"))
        yield record
