"""Windows and their serializers: re-exported by `firesteel.datastream.window`."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from collections.abc import Iterable
from io import BytesIO
from typing import Any, ClassVar, Protocol

from firesteel.common.constants import MAX_LONG_VALUE
from firesteel.common.serializer import TypeSerializer

_LONG = struct.Struct(">q")


def long_to_int_with_bit_mixing(x: int) -> int:
    """Return 31 well-mixed bits of a 64-bit integer.

    Args:
        x: A 64-bit integer.
    """
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB
    x = x ^ (x >> 31)
    return x & 0x7FFFFFFF


def mod_inverse(x: int) -> int:
    """Return the inverse of an odd integer modulo 2^32 (Newton's iteration).

    Args:
        x: An odd integer; even integers have no inverse.
    """
    inverse = x * x * x
    for _ in range(5):
        inverse *= 2 - x * inverse
    return inverse & 0xFFFFFFFF


class Window(ABC):
    """A finite group of elements.

    Example:
        >>> TimeWindow(0, 1000).max_timestamp()
        999
    """

    __slots__ = ()

    @abstractmethod
    def max_timestamp(self) -> int:
        """Return the largest timestamp (ms) that belongs to the window; results of the window carry it."""


class MergeCallback(Protocol):
    """Receives the windows to merge."""

    def merge(self, to_be_merged: Iterable[Any], merge_result: object) -> None:
        """Merge the windows `to_be_merged` into `merge_result`."""
        ...


class TimeWindow(Window):
    """The time interval from `start` (inclusive) to `end` (exclusive), in ms since the epoch.

    Args:
        start: First millisecond, inclusive.
        end: Last millisecond, exclusive.

    Example:
        >>> TimeWindow(0, 1000).max_timestamp()
        999
        >>> TimeWindow(0, 1000).intersects(TimeWindow(1000, 2000))
        True
        >>> TimeWindow(0, 1000).cover(TimeWindow(500, 2000))
        TimeWindow(start=0, end=2000)
    """

    __slots__ = ("_hash", "end", "start")
    DATA_FIELDS: ClassVar = ("start", "end")

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        self._hash = hash((start, end))

    def max_timestamp(self) -> int:
        """Return the last millisecond of the window."""
        return self.end - 1

    def intersects(self, other: TimeWindow) -> bool:
        """Return whether the windows overlap or touch.

        Args:
            other: A window of the same key; touching means that one begins where the other ends.
        """
        return self.start <= other.end and self.end >= other.start

    def cover(self, other: TimeWindow) -> TimeWindow:
        """Return the smallest window that contains both.

        Args:
            other: The windows may be apart; then the result also contains the time between them.
        """
        return TimeWindow(min(self.start, other.start), max(self.end, other.end))

    @staticmethod
    def get_window_start_with_offset(timestamp: int, offset: int, window_size: int) -> int:
        """Return the start of the window that contains a timestamp, in ms.

        Args:
            timestamp: Milliseconds since the epoch.
            offset: Milliseconds by which all windows are shifted; may be negative.
            window_size: Milliseconds, greater than 0.
        """
        return timestamp - (timestamp - offset + window_size) % window_size

    @staticmethod
    def merge_windows(windows: Iterable[TimeWindow], callback: MergeCallback) -> None:
        """Merge the windows that overlap or touch.

        Args:
            windows: Windows of one key, in any order.
            callback: `merge` is called for each group of two or more, with the windows and the window that covers them.
        """
        groups: list[tuple[TimeWindow, set[TimeWindow]]] = []
        for window in sorted(windows, key=lambda w: w.start):
            if groups and groups[-1][0].intersects(window):
                cover, members = groups[-1]
                groups[-1] = (cover.cover(window), members | {window})
            else:
                groups.append((window, {window}))
        for cover, members in groups:
            if len(members) > 1:
                callback.merge(members, cover)

    def __eq__(self, other: object) -> bool:
        return other.__class__ is TimeWindow and self.start == other.start and self.end == other.end

    def __lt__(self, other: TimeWindow) -> bool:
        return (self.start, self.end) < (other.start, other.end)

    def __le__(self, other: TimeWindow) -> bool:
        return self == other or self < other

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"TimeWindow(start={self.start}, end={self.end})"

    def __reduce__(self) -> tuple[Any, ...]:
        return TimeWindow, (self.start, self.end)


class CountWindow(Window):
    """A window with a fixed number of elements, identified by a number.

    Args:
        id: Number of the window among those of its key, counted from 0.

    Example:
        >>> CountWindow(3)
        CountWindow(id=3)
    """

    __slots__ = ("id",)
    DATA_FIELDS: ClassVar = ("id",)

    def __init__(self, id: int) -> None:
        self.id = id

    def max_timestamp(self) -> int:
        """Return the largest long: the window does not end by time."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return other.__class__ is CountWindow and self.id == other.id

    def __hash__(self) -> int:
        return long_to_int_with_bit_mixing(self.id)

    def __repr__(self) -> str:
        return f"CountWindow(id={self.id})"

    def __reduce__(self) -> tuple[Any, ...]:
        return CountWindow, (self.id,)


class GlobalWindow(Window):
    """The single window that contains all elements.

    Example:
        >>> GlobalWindow.get() == GlobalWindow()
        True
    """

    __slots__ = ()
    DATA_FIELDS: ClassVar = ()

    def __init__(self) -> None:
        pass

    @staticmethod
    def get() -> GlobalWindow:
        """Return the single instance."""
        return _GLOBAL_WINDOW

    def max_timestamp(self) -> int:
        """Return the largest long: the window does not end by time."""
        return MAX_LONG_VALUE

    def __eq__(self, other: object) -> bool:
        return other.__class__ is GlobalWindow

    def __hash__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "GlobalWindow"

    def __reduce__(self) -> tuple[Any, ...]:
        return GlobalWindow.get, ()


_GLOBAL_WINDOW = GlobalWindow()


class TimeWindowSerializer(TypeSerializer[TimeWindow]):
    """A serializer that writes start and end, 8 bytes each.

    Example:
        >>> from io import BytesIO
        >>> stream = BytesIO()
        >>> TimeWindowSerializer().serialize(TimeWindow(0, 1000), stream)
        >>> TimeWindowSerializer().deserialize(BytesIO(stream.getvalue()))
        TimeWindow(start=0, end=1000)
    """

    def __init__(self) -> None:
        pass

    def serialize(self, element: TimeWindow, stream: BytesIO) -> None:
        """Write 16 bytes."""
        stream.write(_LONG.pack(element.start) + _LONG.pack(element.end))

    def deserialize(self, stream: BytesIO) -> TimeWindow:
        """Read 16 bytes."""
        return TimeWindow(_LONG.unpack(stream.read(8))[0], _LONG.unpack(stream.read(8))[0])


class CountWindowSerializer(TypeSerializer[CountWindow]):
    """A serializer that writes the window's number in 8 bytes.

    Example:
        >>> from io import BytesIO
        >>> stream = BytesIO()
        >>> CountWindowSerializer().serialize(CountWindow(3), stream)
        >>> CountWindowSerializer().deserialize(BytesIO(stream.getvalue()))
        CountWindow(id=3)
    """

    def __init__(self) -> None:
        pass

    def serialize(self, element: CountWindow, stream: BytesIO) -> None:
        """Write 8 bytes."""
        stream.write(_LONG.pack(element.id))

    def deserialize(self, stream: BytesIO) -> CountWindow:
        """Read 8 bytes."""
        return CountWindow(_LONG.unpack(stream.read(8))[0])


class GlobalWindowSerializer(TypeSerializer[GlobalWindow]):
    """A serializer that writes a zero byte.

    Example:
        >>> from io import BytesIO
        >>> stream = BytesIO()
        >>> GlobalWindowSerializer().serialize(GlobalWindow.get(), stream)
        >>> len(stream.getvalue())
        1
    """

    def __init__(self) -> None:
        pass

    def serialize(self, element: GlobalWindow, stream: BytesIO) -> None:
        """Write 1 byte."""
        stream.write(b"\0")

    def deserialize(self, stream: BytesIO) -> GlobalWindow:
        """Read 1 byte."""
        stream.read(1)
        return GlobalWindow.get()
