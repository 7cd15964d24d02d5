"""Aggregated records of Amazon's Kinesis Producer Library.

Such a record consists of four magic bytes, a protocol buffers message and its MD5 digest. Field 3 of the message is a
message per record, whose field 3 is the record's data.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

_MAGIC = b"\xf3\x89\x9a\xc2"
_DIGEST_BYTES = 16
_RECORDS, _DATA = 3, 3
_VARINT, _FIXED_64, _BYTES, _FIXED_32 = 0, 1, 2, 5


def deaggregated(data: bytes) -> list[bytes]:
    """Return the data of the records in an aggregated record; other records are returned as they are.

    Flink: `UserRecord.deaggregate` of Amazon's client library.

    Example:
        >>> deaggregated(b"plain")
        [b'plain']
    """
    message = data[len(_MAGIC) : -_DIGEST_BYTES]
    # The digest decides: data of a program may begin with these bytes by chance.
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
    """Yield number and content of each length-delimited field."""
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
            raise ValueError(f"aggregated Kinesis record: unknown wire type {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """Return a number and the position after it."""
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
