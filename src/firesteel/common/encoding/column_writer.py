"""Writing values as columns (see `kinds`)."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Sequence

from firesteel.common.encoding.kinds import WIDTHS, Kind, NotATreeError, NotDataError, Value, Values
from firesteel.common.encoding.object_columns import writer_of
from firesteel.common.trust.pickling import pickled

_FEW = 64
"""Number of integers up to which numpy takes longer than Python."""
_SETS = 6
_DEEPEST = 32
"""Columns within columns, beyond which values are pickled: tuples can share parts so that they have no end in sight."""


class ColumnWriter:
    """Writes columns one after the other.

    Args:
        data: The bytes to append to.
        only_data: Whether values that would be pickled are refused.

    Attributes:
        data: What was written.
    """

    def __init__(self, data: bytearray, only_data: bool = False) -> None:
        self.data: bytearray = data
        self._only_data = only_data
        self._depth = 0
        self._seen: list[set[int]] = []
        self._kept: list[object] = []

    def separate(self, values: Values) -> None:
        """Write a column; values that refer to the same changeable object in several places are pickled together."""
        self.separated(lambda writer: writer.column(values), lambda: values)

    def separated(self, write: Callable[[ColumnWriter], None], values: Callable[[], Values]) -> None:
        """Write a column by a function; pickle its values together if it finds the same object in several places."""
        length = len(self.data)
        try:
            write(self)
        except (NotATreeError, RecursionError):
            del self.data[length:]
            self.opaque(values())
        self._depth = 0
        self._seen.clear()
        self._kept.clear()

    def column(self, values: Values) -> None:
        """Write a column."""
        kinds = set(map(type, values))
        if len(kinds) > 1:
            self._mixed(values)
            return
        write = writer_of(next(iter(kinds), type(None)))
        if write is None:
            self.opaque(values)
            return
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NotATreeError
        write(self, values)
        self._depth -= 1

    def opaque(self, values: Values) -> None:
        """Write a column as the pickle of its values.

        Raises:
            NotDataError: only data is allowed.
        """
        if self._only_data:
            raise NotDataError(f"{values[0]!r} of {type(values[0]).__module__}.{type(values[0]).__qualname__}")
        self.data.append(Kind.OPAQUE)
        self.sized(pickled(list(values)))

    def number(self, number: int) -> None:
        """Write a number, in 7 bits per byte."""
        while number > 0x7F:
            self.data.append(number & 0x7F | 0x80)
            number >>= 7
        self.data.append(number)

    def sized(self, data: bytes) -> None:
        """Write bytes after their length."""
        self.number(len(data))
        self.data += data

    def _mixed(self, values: Values) -> None:
        groups: dict[type | None, list[Value]] = {}
        places: dict[type, int] = {}
        codes = bytearray()
        for value in values:
            kind = value.__class__
            place = places.get(kind)
            if place is None:
                # Values that are no data are pickled together, so that what they share stays shared.
                name = None if writer_of(kind) is None else kind
                group = groups.setdefault(name, [])
                place = places[kind] = list(groups).index(name)
                # A code is one byte.
                if len(groups) > 0xFF:
                    raise NotATreeError
            else:
                group = groups[kind] if kind in groups else groups[None]
            group.append(value)
            codes.append(place)
        self.groups(bytes(codes), groups.values())

    def groups(self, codes: bytes, groups: Collection[Values]) -> None:
        """Write a column for each group of values; a code per value tells its group."""
        self.data.append(Kind.MIXED)
        self.number(len(groups))
        self.data += codes
        for group in groups:
            if writer_of(type(group[0])) is None:
                self.opaque(group)
            else:
                self.column(group)

    def distinct(self, values: Values, name: Callable[[Value], Value]) -> None:
        """Write the values that have different names, and which of them each value is."""
        names = list(map(name, values))
        unique = dict(zip(names, values, strict=True))
        self.data.append(Kind.SHARED)
        self.number(len(unique))
        self.column(list(unique.values()))
        places = dict(zip(unique, range(len(unique)), strict=True))
        self.ints([places[found] for found in names])

    def wrote_shared(self, values: Values) -> bool:
        """Note objects that can be changed; write them and return True if some occur more than once here.

        Raises:
            NotATreeError: one of them occurs in another column, too.
        """
        found = set(map(id, values))
        if len(found) < len(values):
            self.distinct(values, id)
            return True
        if self._only_data:
            return False
        if not all(map(found.isdisjoint, self._seen)):
            raise NotATreeError
        # A union takes longer than a few look-ups.
        if len(self._seen) < _SETS:
            self._seen.append(found)
        else:
            self._seen[-1] |= found
        return False

    def keep(self, made: object) -> None:
        """Keep what was made for the file until the end: other objects must not get its identity."""
        self._kept.append(made)

    def ints(self, values: Sequence[int]) -> None:
        """Write a column of integers."""
        data = self.data
        try:
            numbers = array("q", values)
        except OverflowError:
            data.append(Kind.BIG_INT)
            self.column(list(map(hex, values)))
            return
        if len(numbers) > _FEW:
            import numpy as np  # late: it takes 30 ms, and few columns are so large

            from firesteel.common.encoding.array_columns import write_integers

            write_integers(self, np.frombuffer(numbers, np.int64))
            return
        least = min(numbers, default=0)
        width = self.begin_ints(least, max(numbers, default=0))
        for number in numbers if width else ():
            data += (number - least).to_bytes(width, "little")

    def begin_ints(self, least: int, most: int) -> int:
        """Begin a column of integers, and return how many bytes the difference of each to the least one takes."""
        width = next(width for width, limit in WIDTHS.items() if most - least < limit)
        self.data += bytes((Kind.INT, width))
        self.number(least << 1 if least >= 0 else ~least << 1 | 1)
        return width

    def begin_places(self, kind: Kind, width: int) -> None:
        """Begin a column of tuples or short lists, after which a column for each of their places is written."""
        self.data.append(kind)
        self.number(width)

    def of_ints(self, kind: Kind, values: Sequence[int]) -> None:
        """Write a column of a kind that begins with integers."""
        self.data.append(kind)
        self.ints(values)


Write = Callable[[ColumnWriter, Values], None]
"""Writes a column of values of one class."""
