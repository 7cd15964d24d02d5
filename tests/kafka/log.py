"""Reads a partition as the broker keeps it: batches, and the markers that end transactions.

The broker of the tests does not tell readers which transactions were aborted, so `read_committed` shows their records.
Here the markers are read themselves, as Kafka's brokers do to make that list.

It also gives a batch its offset before it stores it, so a batch of another producer can be there sooner. A reader that
went on behind it would never see the first one.
"""

from __future__ import annotations

import socket
import struct
from collections import defaultdict
from collections.abc import Iterator

_FETCH, _VERSION = 1, 4
_BATCH = struct.Struct(">qiibIhiqqqhii")
_LENGTHS = 12
"""Bytes of a batch before those that its length counts."""

_TRIES = 50
"""How often the broker may answer without a new batch, although there are more."""

_TRANSACTIONAL, _CONTROL = 0x10, 0x20
_COMMIT = 1


class CommittedLog:
    """The values of a partition that are in no transaction, or in one that was committed, as far as they were read."""

    def __init__(self, servers: str, topic: str, partition: int) -> None:
        self._where = servers, topic, partition
        self._offset = 0
        self._open: defaultdict[int, list[bytes]] = defaultdict(list)
        self.values: list[bytes] = []

    def read(self) -> list[bytes]:
        """Read on to the end, and return all values."""
        for offset, attributes, producer, records in _batches(*self._where, self._offset):
            self._offset = offset
            if attributes & _CONTROL:
                pending = self._open.pop(producer, [])
                if struct.unpack(">hh", records[0][0])[1] == _COMMIT:
                    self.values += pending
            elif attributes & _TRANSACTIONAL:
                self._open[producer] += [value for _, value in records]
            else:
                self.values += [value for _, value in records]
        return self.values


Batch = tuple[int, int, int, list[tuple[bytes, bytes]]]
"""The offset after it, attributes, producer id, keys and values."""


def _batches(servers: str, topic: str, partition: int, offset: int) -> Iterator[Batch]:
    host, _, port = servers.partition(":")
    tries = _TRIES
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        while tries > 0:
            data, last_offset = _fetch(connection, topic, partition, offset)
            at, before = 0, offset
            while at + _BATCH.size <= len(data):
                header = _BATCH.unpack_from(data, at)
                base, length, attributes, last, producer = header[0], header[1], header[5], header[6], header[9]
                end = at + _LENGTHS + length
                if base > offset:  # One before it is not stored yet.
                    return
                if end <= len(data) and base + last >= offset:
                    offset = base + last + 1
                    yield offset, attributes, producer, list(_records(data[at + _BATCH.size : end], header[12]))
                at = end
            if offset >= last_offset:
                return
            # A busy broker answers with nothing when the time to wait is over.
            tries = _TRIES if offset > before else tries - 1


def _fetch(connection: socket.socket, topic: str, partition: int, offset: int) -> tuple[bytes, int]:
    """Return batches from an offset on, and the offset behind the last one of the partition."""
    name = topic.encode()
    body = struct.pack(">hhihiiiib", _FETCH, _VERSION, 0, -1, -1, 10, 0, 1 << 24, 0)
    body += struct.pack(">ih", 1, len(name)) + name + struct.pack(">iiqi", 1, partition, offset, 1 << 24)
    connection.sendall(struct.pack(">i", len(body)) + body)
    answer = _receive(connection, struct.unpack(">i", _receive(connection, 4))[0])
    at = 4 + 4 + 4 + 2 + len(name) + 4 + 4
    error, last_offset, _, aborted = struct.unpack_from(">hqqi", answer, at)
    assert error == 0, error
    at += 22 + 16 * max(0, aborted)
    (length,) = struct.unpack_from(">i", answer, at)
    return answer[at + 4 : at + 4 + max(0, length)], last_offset


def _receive(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = connection.recv(count - len(data))
        assert part, "the broker closed the connection"
        data += part
    return bytes(data)


def _records(data: bytes, count: int) -> Iterator[tuple[bytes, bytes]]:
    at = 0
    for _ in range(count):
        length, at = _varint(data, at)
        end = at + length
        _, at = _varint(data, at + 1)
        _, at = _varint(data, at)
        size, at = _varint(data, at)
        key = data[at : at + max(0, size)]
        size, at = _varint(data, at + max(0, size))
        yield key, data[at : at + max(0, size)]
        at = end


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (value >> 1) ^ -(value & 1), at
