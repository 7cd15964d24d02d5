"""Reading numbers, texts and bytes (see `kinds`)."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from array import array

from firesteel.common.encoding.kinds import WIDTHS, Kind, NotDataError, Value

_FEW = 64


class ByteReader(ABC):
    """Reads bytes one after the other.

    Args:
        data: The bytes.
        place: Where to begin.
    """

    def __init__(self, data: bytes, place: int) -> None:
        self._data = data
        self._place = place

    @abstractmethod
    def column(self, count: int) -> list[Value]:
        """Return the values of the next column."""

    def number(self) -> int:
        """Return the next number."""
        number = shift = 0
        while True:
            byte = self._data[self._place]
            self._place += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7

    def check_end(self) -> None:
        """Check that nothing follows."""
        if self._place != len(self._data):
            raise NotDataError(f"{len(self._data) - self._place} bytes follow the data")

    def take(self, length: int) -> bytes:
        """Return the next bytes."""
        begin = self._place
        self._place = begin + length
        if self._place > len(self._data):
            raise NotDataError(f"it ends {self._place - len(self._data)} bytes too early")
        return self._data[begin : self._place]

    def sized(self) -> bytes:
        """Return the next bytes, which follow their length."""
        return self.take(self.number())

    def ints(self, count: int) -> list[int]:
        """Return a column of integers."""
        place = self._place
        # Integers beyond 64 bits are another kind of column.
        if self._data[place] != Kind.INT:
            return self.column(count)
        self._place = place + 1
        return self.int64(count)

    def int64(self, count: int) -> list[int]:
        """Return integers of 64 bits."""
        width = self._data[self._place]
        self._place += 1
        zigzag = self.number()
        least = ~(zigzag >> 1) if zigzag & 1 else zigzag >> 1
        if not width:
            return [least] * count
        if width not in WIDTHS:
            raise NotDataError(f"integers of {width} bytes")
        data = self.take(width * count)
        if count <= _FEW:
            return [int.from_bytes(data[i : i + width], "little") + least for i in range(0, len(data), width)]
        import numpy as np  # late: it takes 30 ms, and few columns are so large

        # Sums are taken modulo 2**64, as the differences were.
        numbers = np.frombuffer(data, f"<u{width}").astype(np.uint64) + np.uint64(least % 2**64)
        found: list[int] = numbers.view(np.int64).tolist()
        return found

    def big_ints(self, count: int) -> list[int]:
        """Return integers beyond 64 bits."""
        return [int(text, 16) for text in self.column(count)]

    def floats(self, count: int) -> list[float]:
        """Return floats."""
        numbers = array("d", self.take(8 * count))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist()

    def complex_numbers(self, count: int) -> list[complex]:
        """Return complex."""
        return list(map(complex, self.column(count), self.column(count)))

    def joined_texts(self, count: int) -> list[str]:
        """Return joined texts."""
        texts = self.sized().decode("utf-8", "surrogatepass").split("\0")
        if len(texts) != count:
            raise NotDataError(f"{len(texts)} texts in place of {count}")
        return texts

    def texts(self, count: int) -> list[str]:
        """Return texts."""
        lengths = self.ints(count)
        text, place, texts = self.sized().decode("utf-8", "surrogatepass"), 0, []
        for length in lengths:
            texts.append(text[place : place + length])
            place += length
        return texts

    def byte_strings(self, count: int) -> list[bytes]:
        """Return bytes."""
        lengths = self.ints(count)
        data, place, found = self._data, self._place, []
        for length in lengths:
            found.append(data[place : place + length])
            place += length
        self.take(place - self._place)
        return found
