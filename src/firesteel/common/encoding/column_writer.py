"""Writing values as columns (see `kinds`)."""

from __future__ import annotations

import datetime
import sys
import uuid
import zoneinfo
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np

from firesteel.common.encoding.kinds import EPOCH, FORM_CLASSES, WIDTHS, Kind, NotDataError
from firesteel.common.encoding.record_classes import is_changeable, is_record, name_of, parts_of
from firesteel.common.keys.canonical_keys import ValueKey
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.time import Instant
from firesteel.common.trust.pickling import pickled
from firesteel.common.types import Row

_FEW = 64
"""Number of integers up to which numpy takes longer than Python."""
_LONG = 24
"""Characters per text from which on it is worth while to look for equal texts."""
_SAMPLE = 200
_DEEPEST = 32
"""Columns within columns, beyond which values are pickled: tuples can share parts so that they have no end in sight."""


class ColumnWriter:
    """Writes columns one after the other.

    Args:
        data: The bytes to append to.
        only_data: Whether values that would be pickled are refused.
    """

    def __init__(self, data: bytearray, only_data: bool = False) -> None:
        self._data = data
        self._only_data = only_data
        self._depth = 0
        self._seen: set[int] = set()
        self._kept: list[object] = []

    def separate(self, values: Sequence[Any]) -> None:
        """Write a column; values that refer to the same changeable object in several places are pickled together."""
        length = len(self._data)
        try:
            self.column(values)
        except (_NotATreeError, RecursionError):
            del self._data[length:]
            self.opaque(values)
        self._depth = 0
        self._seen.clear()
        self._kept.clear()

    def column(self, values: Sequence[Any]) -> None:
        """Write a column."""
        kinds = set(map(type, values))
        if len(kinds) > 1:
            self._mixed(values)
            return
        kind = next(iter(kinds), type(None))
        write = _WRITERS.get(kind)
        if write is None:
            write = _writer_of_class(kind)
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _NotATreeError
        write(self, values)
        self._depth -= 1

    def opaque(self, values: Sequence[Any]) -> None:
        """Write a column as the pickle of its values.

        Raises:
            NotDataError: only data is allowed.
        """
        if self._only_data:
            raise NotDataError(f"{values[0]!r} of {type(values[0]).__module__}.{type(values[0]).__qualname__}")
        self._data.append(Kind.OPAQUE)
        self._sized(pickled(list(values)))

    # --- parts of columns ---------------------------------------------------------------------------------------

    def _number(self, number: int) -> None:
        while number > 0x7F:
            self._data.append(number & 0x7F | 0x80)
            number >>= 7
        self._data.append(number)

    def _sized(self, data: bytes) -> None:
        self._number(len(data))
        self._data += data

    def _mixed(self, values: Sequence[Any]) -> None:
        groups: dict[type | None, list[Any]] = {}
        places: dict[type, int] = {}
        codes = bytearray()
        for value in values:
            kind = value.__class__
            place = places.get(kind)
            if place is None:
                # Values that are no data are pickled together, so that what they share stays shared.
                name = kind if kind in _WRITERS or _writer_of_class(kind) is not ColumnWriter.opaque else None
                group = groups.setdefault(name, [])
                place = places[kind] = list(groups).index(name)
                if len(groups) > 0xFF:
                    raise _NotATreeError
            else:
                group = groups[kind] if kind in groups else groups[None]
            group.append(value)
            codes.append(place)
        self._data.append(Kind.MIXED)
        self._number(len(groups))
        self._data += codes
        for name, group in groups.items():
            if name is None:
                self.opaque(group)
            else:
                self.column(group)

    def _distinct(self, values: Sequence[Any], name: Callable[[Any], Any]) -> None:
        """Write the values that have different names, and which of them each value is."""
        names = list(map(name, values))
        unique = dict(zip(names, values, strict=True))
        self._data.append(Kind.SHARED)
        self._number(len(unique))
        self.column(list(unique.values()))
        places = dict(zip(unique, range(len(unique)), strict=True))
        self._ints([places[found] for found in names])

    def _repeated(self, values: Sequence[Any], size: int) -> bool:
        """Write long texts or bytes each once, if many are equal; return whether that was done."""
        # A sample first: all of them would have to be hashed.
        is_likely = size > _LONG * len(values) and len(set(values[:_SAMPLE])) < min(len(values), _SAMPLE)
        if is_likely and 2 * len(set(values)) <= len(values):
            self._distinct(values, _same)
            return True
        return False

    def _changeable(self, values: Sequence[Any]) -> Sequence[Any] | None:
        """Note objects that can be changed; write them and return None if some occur more than once here.

        Raises:
            _NotATreeError: one of them occurs in another column, too.
        """
        found = set(map(id, values))
        if len(found) < len(values):
            self._distinct(values, id)
            return None
        if not self._only_data and not self._seen.isdisjoint(found):
            raise _NotATreeError
        self._seen |= found
        return values

    def _lengths(self, values: Sequence[Any]) -> None:
        self._ints(list(map(len, values)))

    # --- numbers ------------------------------------------------------------------------------------------------

    def _ints(self, values: Sequence[int]) -> None:
        data = self._data
        try:
            numbers = array("q", values)
        except OverflowError:
            data.append(Kind.BIG_INT)
            self._texts(list(map(hex, values)))
            return
        if len(numbers) <= _FEW:
            least, most = min(numbers, default=0), max(numbers, default=0)
        else:
            found = np.frombuffer(numbers, np.int64)
            least, most = int(found.min()), int(found.max())
        width = next(width for width, limit in WIDTHS.items() if most - least < limit)
        data += bytes((Kind.INT, width))
        self._number(least << 1 if least >= 0 else ~least << 1 | 1)
        if not width:
            return
        if len(numbers) <= _FEW:
            for number in numbers:
                data += (number - least).to_bytes(width, "little")
        else:
            # Differences are taken modulo 2**64, where they are right even if they do not fit into 63 bits.
            data += (found.view(np.uint64) - np.uint64(least % 2**64)).astype(f"<u{width}").tobytes()

    def _of_ints(self, kind: Kind, values: Sequence[int]) -> None:
        self._data.append(kind)
        self._ints(values)

    def _floats(self, values: Sequence[float]) -> None:
        self._data.append(Kind.FLOAT)
        numbers = array("d", values)
        if sys.byteorder == "big":
            numbers.byteswap()
        self._data += numbers.tobytes()

    def _booleans(self, values: Sequence[bool]) -> None:
        self._data.append(Kind.BOOL)
        self._data += bytes(values)

    def _complex(self, values: Sequence[complex]) -> None:
        self._data.append(Kind.COMPLEX)
        self._floats([value.real for value in values])
        self._floats([value.imag for value in values])

    # --- texts --------------------------------------------------------------------------------------------------

    def _texts(self, values: Sequence[str]) -> None:
        text = "\0".join(values)
        if self._repeated(values, len(text)):
            return
        if text.count("\0") == len(values) - 1:
            self._data.append(Kind.JOINED_TEXT)
        else:
            self._data.append(Kind.TEXT)
            self._lengths(values)
            text = "".join(values)
        self._sized(text.encode("utf-8", "surrogatepass"))

    def _bytes(self, values: Sequence[bytes]) -> None:
        data = b"".join(values)
        if self._repeated(values, len(data)):
            return
        self._of_ints(Kind.BYTES, list(map(len, values)))
        self._data += data

    def _byte_arrays(self, values: Sequence[bytearray]) -> None:
        if self._changeable(values) is not None:
            self._of_ints(Kind.BYTE_ARRAY, list(map(len, values)))
            for value in values:
                self._data += value

    def _as_texts(self, kind: Kind, values: Sequence[Any], text: Callable[[Any], str]) -> None:
        self._data.append(kind)
        self._texts(list(map(text, values)))

    # --- containers ---------------------------------------------------------------------------------------------

    def _tuples(self, values: Sequence[tuple[Any, ...]]) -> None:
        count = len(values)
        # Windows share their elements: what is the same object is written once.
        if count > 8 and 2 * len(set(map(id, values))) <= count:
            self._distinct(values, id)
            return
        width = len(values[0])
        if count == 1 or len(set(map(len, values))) == 1:
            self._data.append(Kind.TUPLE)
            self._number(width)
            for part in zip(*values, strict=True):
                self.column(part)
        else:
            self._of_ints(Kind.TUPLES, list(map(len, values)))
            self.column(list(chain.from_iterable(values)))

    def _elements(self, kind: Kind, values: Sequence[Any]) -> None:
        self._of_ints(kind, list(map(len, values)))
        self.column(list(chain.from_iterable(values)))

    def _own_elements(self, kind: Kind, values: Sequence[Any]) -> None:
        if self._changeable(values) is not None:
            self._elements(kind, values)

    def _dicts(self, kind: Kind, values: Sequence[dict[Any, Any]]) -> None:
        if self._changeable(values) is not None:
            self._of_ints(kind, list(map(len, values)))
            self.column(list(chain.from_iterable(values)))
            self.column(list(chain.from_iterable(value.values() for value in values)))

    # --- times --------------------------------------------------------------------------------------------------

    def _timedeltas(self, values: Sequence[datetime.timedelta]) -> None:
        self._of_ints(Kind.TIMEDELTA, _microseconds(values))

    def _datetimes(self, values: Sequence[datetime.datetime]) -> None:
        if all(value.tzinfo is None and not value.fold for value in values):
            self._of_ints(Kind.DATETIME, _microseconds([value - EPOCH for value in values]))
        else:
            local = _microseconds([value.replace(tzinfo=None) - EPOCH for value in values])
            self._zoned(Kind.ZONED_DATETIME, local, values)

    def _times(self, values: Sequence[datetime.time]) -> None:
        local = [
            ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond for value in values
        ]
        if all(value.tzinfo is None and not value.fold for value in values):
            self._of_ints(Kind.TIME, local)
        else:
            self._zoned(Kind.ZONED_TIME, local, values)

    def _zoned(self, kind: Kind, local: list[int], values: Sequence[Any]) -> None:
        self._of_ints(kind, local)
        self._ints([value.fold for value in values])
        self.column([value.tzinfo for value in values])

    def _time_zones(self, values: Sequence[datetime.timezone]) -> None:
        self._data.append(Kind.TIMEZONE)
        self._timedeltas([value.utcoffset(None) for value in values])
        self.column([arguments[1] if len(arguments := value.__getinitargs__()) > 1 else None for value in values])

    def _zone_infos(self, values: Sequence[zoneinfo.ZoneInfo]) -> None:
        if any(value.key is None for value in values):
            self.opaque(values)
        else:
            self._as_texts(Kind.ZONE_INFO, values, attrgetter("key"))

    def _uuids(self, values: Sequence[uuid.UUID]) -> None:
        self._data.append(Kind.UUID)
        for value in values:
            self._data += value.bytes

    # --- arrays and objects -------------------------------------------------------------------------------------

    def _arrays(self, values: Sequence[Any]) -> None:
        if any(value.dtype.hasobject and value.dtype.kind != "O" or value.dtype.names for value in values):
            self.opaque(values)
        elif self._changeable(values) is not None:
            self._data.append(Kind.ARRAY)
            parts = [
                (value.dtype.str, value.shape, list(value.flat) if value.dtype.hasobject else value.tobytes())
                for value in values
            ]
            self._kept.append(parts)
            self._tuples(parts)

    def _scalars(self, values: Sequence[Any]) -> None:
        if values[0].dtype.hasobject or values[0].dtype.names:
            self.opaque(values)
            return
        self._data.append(Kind.SCALAR)
        self._tuples([(value.dtype.str, value.tobytes()) for value in values])

    def _rows(self, values: Sequence[Row]) -> None:
        if self._changeable(values) is None:
            return
        first = values[0]
        names, width = first._fields, len(first._values)
        if len(values) > 1 and any(row._fields != names or len(row._values) != width for row in values):
            shapes = [None if row._fields is None else tuple(row._fields) for row in values]
            self._row_groups(values, [(shape, len(row._values)) for shape, row in zip(shapes, values, strict=True)])
            return
        self._data.append(Kind.ROW)
        self.column([None if names is None else tuple(names)])
        self._number(width)
        self._data += bytes([row._row_kind.value for row in values])
        for part in zip(*[row._values for row in values], strict=True):
            self.column(part)

    def _row_groups(self, values: Sequence[Row], shapes: list[Any]) -> None:
        """Write rows with different fields as a mixture."""
        places = {shape: place for place, shape in enumerate(dict.fromkeys(shapes))}
        if len(places) > 0xFF:
            raise _NotATreeError
        groups: list[list[Row]] = [[] for _ in places]
        codes = bytes(map(places.__getitem__, shapes))
        for code, row in zip(codes, values, strict=True):
            groups[code].append(row)
        self._data.append(Kind.MIXED)
        self._number(len(groups))
        self._data += codes
        for group in groups:
            self._seen.difference_update(map(id, group))
            self.column(group)

    def _instants(self, values: Sequence[Instant]) -> None:
        self._of_ints(Kind.INSTANT, [value.seconds for value in values])
        self._ints([value.nanos for value in values])

    def _value_keys(self, values: Sequence[ValueKey]) -> None:
        # Only keys that can be rebuilt without running anything are data.
        if all(is_made_of(value[1], FORM_CLASSES) for value in values):
            self._data.append(Kind.VALUE_KEY)
            self.column([value[1] for value in values])
        else:
            self.opaque(values)

    def _records(self, values: Sequence[Any]) -> None:
        if is_changeable(type(values[0])) and self._changeable(values) is None:
            return
        fields, rows = parts_of(values)
        self._kept.append(rows)
        self._data.append(Kind.RECORD)
        self._tuples([(name_of(type(values[0])), *fields)])
        for part in zip(*rows, strict=True) if fields else ():
            self.column(part)


class _NotATreeError(Exception):
    """A value refers to the same object in several places, to itself, or is nested too deeply."""


def _writer_of_class(kind: type) -> Callable[[ColumnWriter, Sequence[Any]], None]:
    """Return how to write the values of a class that is not in `_WRITERS`."""
    if kind.__module__ == "numpy":
        return ColumnWriter._arrays if kind is np.ndarray else ColumnWriter._scalars
    written_as = kind.__dict__.get("WRITTEN_AS")
    if written_as is not None:
        return _WRITERS[written_as]
    return ColumnWriter._records if is_record(kind) else ColumnWriter.opaque


def _microseconds(values: Iterable[datetime.timedelta]) -> list[int]:
    return [(value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds for value in values]


def _same(value: Any) -> Any:
    return value


def _of_kind(write: Any, kind: Kind, *more: object) -> Callable[[ColumnWriter, Sequence[Any]], None]:
    return lambda writer, values: write(writer, kind, values, *more)


_WRITERS: dict[type, Callable[[ColumnWriter, Sequence[Any]], None]] = {
    type(None): lambda writer, values: writer._data.append(Kind.NONE),
    bool: ColumnWriter._booleans,
    int: ColumnWriter._ints,
    float: ColumnWriter._floats,
    complex: ColumnWriter._complex,
    str: ColumnWriter._texts,
    bytes: ColumnWriter._bytes,
    bytearray: ColumnWriter._byte_arrays,
    tuple: ColumnWriter._tuples,
    list: _of_kind(ColumnWriter._own_elements, Kind.LIST),
    set: _of_kind(ColumnWriter._own_elements, Kind.SET),
    frozenset: _of_kind(ColumnWriter._elements, Kind.FROZEN_SET),
    dict: _of_kind(ColumnWriter._dicts, Kind.DICT),
    OrderedDict: _of_kind(ColumnWriter._dicts, Kind.ORDERED_DICT),
    Counter: _of_kind(ColumnWriter._dicts, Kind.COUNTER),
    Decimal: _of_kind(ColumnWriter._as_texts, Kind.DECIMAL, str),
    datetime.date: lambda writer, values: writer._of_ints(Kind.DATE, [value.toordinal() for value in values]),
    datetime.datetime: ColumnWriter._datetimes,
    datetime.time: ColumnWriter._times,
    datetime.timedelta: ColumnWriter._timedeltas,
    datetime.timezone: ColumnWriter._time_zones,
    zoneinfo.ZoneInfo: ColumnWriter._zone_infos,
    uuid.UUID: ColumnWriter._uuids,
    Row: ColumnWriter._rows,
    Instant: ColumnWriter._instants,
    ValueKey: ColumnWriter._value_keys,
}
