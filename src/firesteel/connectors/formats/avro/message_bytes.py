"""The bytes of many messages, read field by field: a step of numpy reads the same byte of a field in all of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from firesteel.columns.cells import Array
from firesteel.columns.kernels.rows.segments import ranges

_PADDING = 16
"""Bytes behind the messages, so that a place behind the last one can be read before it is found to be wrong."""
_VARINT_BYTES = 10


class NotColumnarError(Exception):
    """Messages or a type that are left to fastavro."""


class Messages:
    """The bytes of messages, and how far each has been read.

    Args:
        messages: The messages.
        skipped: The number of bytes before the record of each.
    """

    def __init__(self, messages: Sequence[bytes], skipped: int = 0) -> None:
        lengths = np.fromiter(map(len, messages), np.int64, len(messages))
        self.data = np.frombuffer(b"".join(messages) + bytes(_PADDING), np.uint8)
        self.ends = np.cumsum(lengths)
        self.places = self.ends - lengths + skipped

    def advance(self, rows: Array | None, places: Array) -> None:
        """Set the places of some messages, or all.

        Raises:
            NotColumnarError: a place is behind the end of its message.
        """
        ends = self.ends if rows is None else self.ends[rows]
        if (places > ends).any():
            raise NotColumnarError
        if rows is None:
            self.places = places
        else:
            self.places[rows] = places

    def take(self, rows: Array | None, width: int) -> Array:
        """Read so many bytes of each message, one row of bytes for each."""
        places = self._at(rows)
        self.advance(rows, places + width)
        found: Array = self.data[places[:, None] + np.arange(width)]
        return found

    def varints(self, rows: Array | None) -> Array:
        """Read an int or long of each message."""
        places = self._at(rows).copy()
        values, active = np.zeros(len(places), np.uint64), np.arange(len(places))
        for number in range(_VARINT_BYTES):
            part = self.data[np.minimum(places[active], len(self.data) - 1)]
            values[active] |= (part & 0x7F).astype(np.uint64) << np.uint64(7 * number)
            places[active] += 1
            active = active[part >= 0x80]
            if not len(active):
                self.advance(rows, places)
                return (values >> np.uint64(1)).view(np.int64) ^ -(values & np.uint64(1)).view(np.int64)
        raise NotColumnarError

    def texts(self, rows: Array | None) -> tuple[Array, Array]:
        """Read a length and so many bytes of each message, and return the bytes of all, and their lengths."""
        lengths, places = self.varints(rows), self._at(rows)
        if (lengths < 0).any() or (lengths > len(self.data)).any():
            raise NotColumnarError
        self.advance(rows, places + lengths)
        return self.data[ranges(places, places + lengths)], lengths

    def _at(self, rows: Array | None) -> Array:
        return self.places if rows is None else self.places[rows]
