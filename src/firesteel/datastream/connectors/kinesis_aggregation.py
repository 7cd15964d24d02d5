"""Records that Amazon's Kinesis Producer Library has packed into one.

Such a record is four bytes of magic, a message of protocol buffers and its MD5 digest. The message has, as field 3, a
message for each record, whose field 3 is the record's data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_MAGIC = b"\xf3\x89\x9a\xc2"
_DIGEST_BYTES = 16
_RECORDS, _DATA = 3, 3
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def deaggregated(data: bytes) -> list[bytes]:
    """Return the data of the records that are packed into one, or of the one itself if it is no such record.

    Flink: `UserRecord.deaggregate` of Amazon's client library.

    Example:
        >>> deaggregated(b"plain")
        [b'plain']
    """
    message = data[len(_MAGIC) : -_DIGEST_BYTES]
    if not data.startswith(_MAGIC) or hashlib.md5(message, usedforsecurity=False).digest() != data[-_DIGEST_BYTES:]:
        return [data]
    return [
        value
        for number, record in _fields(message)
        if number == _RECORDS
        for inner, value in _fields(record)
        if inner == _DATA
    ]


def _fields(message: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the number and content of each field that holds bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        kind = tag & 7
        if kind == _BYTES:
            length, at = _varint(message, at)
            yield tag >> 3, message[at : at + length]
            at += length
        elif kind == _VARINT:
            _, at = _varint(message, at)
        elif kind in (_FIXED_64, _FIXED_32):
            at += 8 if kind == _FIXED_64 else 4
        else:
            raise ValueError(f"an aggregated record of Kinesis has a field of the unknown wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
