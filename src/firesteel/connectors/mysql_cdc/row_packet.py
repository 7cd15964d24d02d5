"""The bytes of rows in an event of the log, for the library that decodes them.

The library reads values through two classes that count and check each read, which takes a quarter of the time of a log.
"""

from __future__ import annotations

from pymysqlreplication.packet import BinLogPacketWrapper

__all__ = ["RowPacket"]


class RowPacket(BinLogPacketWrapper):
    """What is left of an event, to be set as its `packet` before its rows are read.

    Args:
        packet: The packet of the event.
    """

    def __init__(self, packet: BinLogPacketWrapper) -> None:
        self.packet = packet.packet
        self._before: int = packet.read_bytes
        self._data: bytes = packet.packet.read_all()
        self._at = 0
        self._unread = b""

    @property
    def read_bytes(self) -> int:
        """Number of bytes of the event that were read."""
        return self._before + self._at - len(self._unread)

    def read(self, size: float) -> bytes:
        """Return the next bytes.

        Args:
            size: Their number, of which the library leaves the fraction to the packet.

        Raises:
            ValueError: there are fewer.
        """
        count = int(size)
        if self._unread:
            pushed, self._unread = self._unread[:count], self._unread[count:]
            return pushed + self.read(count - len(pushed)) if count > len(pushed) else pushed
        start = self._at
        self._at = end = start + count
        if end > len(self._data):
            raise ValueError(f"an event of the log has {len(self._data)} bytes of rows, and needs {end}")
        return self._data[start:end]

    def unread(self, data: bytes) -> None:
        """Let the next reads return these bytes first."""
        self._unread += data

    def advance(self, size: float) -> None:
        """Pass over bytes."""
        self.read(size)

    def read_uint8(self) -> int:
        """Return an integer of one byte."""
        return self.read(1)[0]

    def read_int_be_by_size(self, size: int) -> int:
        """Return an integer, high bytes first; one of five bytes has no sign, as the library reads it."""
        return int.from_bytes(self.read(size), "big", signed=size != 5)

    def read_uint_by_size(self, size: int) -> int:
        """Return an integer without sign, low bytes first."""
        return int.from_bytes(self.read(size), "little")

    def read_length_coded_pascal_string(self, size: int) -> bytes:
        """Return a text behind its length, which has `size` bytes."""
        return self.read(int.from_bytes(self.read(size), "little"))
