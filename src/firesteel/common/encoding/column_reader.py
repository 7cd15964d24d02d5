"""Reading columns (see `kinds`): it creates plain data and the classes in `record_classes`, and runs no other code."""

from __future__ import annotations

import datetime
import sys
import uuid
import zoneinfo
from array import array
from collections import Counter, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from firesteel.common.encoding.kinds import EPOCH, FORM_CLASSES, MICROSECOND, WIDTHS, Kind, NotDataError
from firesteel.common.encoding.record_classes import made_of
from firesteel.common.keys.canonical_keys import ValueKey, key_of
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind

_FEW = 64
_BOOLEANS = (False, True)
_ROW_KINDS = {kind.value: kind for kind in RowKind}

LoadOpaque = Callable[[bytes], Any]
"""Reads a pickle."""


class ColumnReader:
    """Reads columns one after the other.

    Args:
        data: The bytes.
        place: Where the first column begins.
        load: Reads values that are no data.
    """

    def __init__(self, data: bytes, place: int, load: LoadOpaque) -> None:
        self._data = data
        self._place = place
        self._load = load

    def column(self, count: int) -> list[Any]:
        """Return the values of the next column."""
        place = self._place
        self._place += 1
        read = _READERS.get(self._data[place])
        if read is None:
            raise NotDataError(f"no column begins with byte {self._data[place]}")
        return read(self, count)

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

    def _take(self, length: int) -> bytes:
        begin = self._place
        self._place = begin + length
        if self._place > len(self._data):
            raise NotDataError(f"it ends {self._place - len(self._data)} bytes too early")
        return self._data[begin : self._place]

    def _sized(self) -> bytes:
        return self._take(self.number())

    def _ints(self, count: int) -> list[int]:
        place = self._place
        if self._data[place] != Kind.INT:
            return self.column(count)
        self._place = place + 1
        return self._int(count)

    # --- numbers ------------------------------------------------------------------------------------------------

    def _int(self, count: int) -> list[int]:
        width = self._data[self._place]
        self._place += 1
        zigzag = self.number()
        least = ~(zigzag >> 1) if zigzag & 1 else zigzag >> 1
        if not width:
            return [least] * count
        if width not in WIDTHS:
            raise NotDataError(f"integers of {width} bytes")
        data = self._take(width * count)
        if count <= _FEW:
            return [int.from_bytes(data[i : i + width], "little") + least for i in range(0, len(data), width)]
        # Sums are taken modulo 2**64, as the differences were.
        numbers = np.frombuffer(data, f"<u{width}").astype(np.uint64) + np.uint64(least % 2**64)
        found: list[int] = numbers.view(np.int64).tolist()
        return found

    def _big_ints(self, count: int) -> list[int]:
        return [int(text, 16) for text in self.column(count)]

    def _floats(self, count: int) -> list[float]:
        numbers = array("d", self._take(8 * count))
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist()

    def _complex(self, count: int) -> list[complex]:
        return list(map(complex, self.column(count), self.column(count)))

    # --- texts --------------------------------------------------------------------------------------------------

    def _joined_texts(self, count: int) -> list[str]:
        texts = self._sized().decode("utf-8", "surrogatepass").split("\0")
        if len(texts) != count:
            raise NotDataError(f"{len(texts)} texts in place of {count}")
        return texts

    def _texts(self, count: int) -> list[str]:
        lengths = self._ints(count)
        text, place, texts = self._sized().decode("utf-8", "surrogatepass"), 0, []
        for length in lengths:
            texts.append(text[place : place + length])
            place += length
        return texts

    def _bytes(self, count: int) -> list[bytes]:
        lengths = self._ints(count)
        data, place, found = self._data, self._place, []
        for length in lengths:
            found.append(data[place : place + length])
            place += length
        self._take(place - self._place)
        return found

    # --- containers ---------------------------------------------------------------------------------------------

    def _tuples(self, count: int) -> list[tuple[Any, ...]]:
        width = self.number()
        if not width:
            return [()] * count
        return list(zip(*[self.column(count) for _ in range(width)], strict=True))

    def _groups(self, count: int, make: Callable[[Any], Any]) -> list[Any]:
        lengths = self._ints(count)
        elements = self.column(sum(lengths))
        if count == 1 and make is list:
            return [elements]
        rest = iter(elements)
        return [make(islice(rest, length)) for length in lengths]

    def _dicts(self, count: int, make: Callable[[Any], Any]) -> list[Any]:
        lengths = self._ints(count)
        total = sum(lengths)
        items = zip(self.column(total), self.column(total), strict=True)
        return [make(islice(items, length)) for length in lengths]

    # --- times --------------------------------------------------------------------------------------------------

    def _timedeltas(self, count: int) -> list[datetime.timedelta]:
        return [number * MICROSECOND for number in self._ints(count)]

    def _dates(self, count: int) -> list[datetime.date]:
        return list(map(datetime.date.fromordinal, self._ints(count)))

    def _datetimes(self, count: int) -> list[datetime.datetime]:
        delta = datetime.timedelta
        return [EPOCH + delta(0, 0, number) for number in self._ints(count)]

    def _times(self, count: int) -> list[datetime.time]:
        return [(EPOCH + number * MICROSECOND).time() for number in self._ints(count)]

    def _zoned(self, count: int, local: Callable[[ColumnReader, int], list[Any]]) -> list[Any]:
        values, folds, zones = local(self, count), self._ints(count), self.column(count)
        return [
            value.replace(fold=fold, tzinfo=zone) for value, fold, zone in zip(values, folds, zones, strict=True)
        ]

    def _time_zones(self, count: int) -> list[datetime.timezone]:
        deltas, names = self.column(count), self.column(count)
        return [
            datetime.timezone(delta) if name is None else datetime.timezone(delta, name)
            for delta, name in zip(deltas, names, strict=True)
        ]

    # --- arrays and objects -------------------------------------------------------------------------------------

    def _uuids(self, count: int) -> list[uuid.UUID]:
        return [uuid.UUID(bytes=self._take(16)) for _ in range(count)]

    def _arrays(self, count: int) -> list[Any]:
        found = []
        for kind, shape, content in self.column(count):
            if content.__class__ is list:
                array_ = np.empty(len(content), object)
                array_[:] = content
            else:
                array_ = np.frombuffer(content, np.dtype(kind)).copy()
            found.append(array_.reshape(shape))
        return found

    def _scalars(self, count: int) -> list[Any]:
        return [np.frombuffer(content, np.dtype(kind))[0] for kind, content in self.column(count)]

    def _rows(self, count: int) -> list[Row]:
        [names] = self.column(1)
        width = self.number()
        kinds = [_ROW_KINDS[code] for code in self._take(count)]
        parts = zip(*[self.column(count) for _ in range(width)], strict=True) if width else [()] * count
        found = []
        for kind, part in zip(kinds, parts, strict=True):
            row = Row.__new__(Row)
            row._fields, row._values, row._row_kind = None if names is None else list(names), list(part), kind
            found.append(row)
        return found

    def _instants(self, count: int) -> list[Instant]:
        return list(map(Instant, self._ints(count), self._ints(count)))

    def _value_keys(self, count: int) -> list[ValueKey]:
        forms = self.column(count)
        if not all(is_made_of(form, FORM_CLASSES) for form in forms):
            raise NotDataError("a key in canonical form that is no data")
        keys = [ValueKey((..., form)) for form in forms]
        for key in keys:
            key_of(key)  # A damaged form is an error here and not where the key is used.
        return keys

    def _records(self, count: int) -> list[Any]:
        [(name, *fields)] = self.column(1)
        return made_of(name, fields, [self.column(count) for _ in fields], count)

    def _shared(self, count: int) -> list[Any]:
        objects = self.column(self.number())
        return list(map(objects.__getitem__, self._ints(count)))

    def _mixed(self, count: int) -> list[Any]:
        kinds = self.number()
        codes = self._take(count)
        groups = [iter(self.column(codes.count(code))) for code in range(kinds)]
        return [next(groups[code]) for code in codes]

    def _opaque(self, count: int) -> list[Any]:
        values = self._load(self._sized())
        if values.__class__ is not list or len(values) != count:
            raise NotDataError(f"pickled values that are not a list of {count}")
        found: list[Any] = values
        return found


def _made(read: Any, make: Callable[[Any], Any]) -> Callable[[ColumnReader, int], list[Any]]:
    return lambda reader, count: read(reader, count, make)


_READERS: dict[int, Callable[[ColumnReader, int], list[Any]]] = {
    Kind.NONE: lambda reader, count: [None] * count,
    Kind.BOOL: lambda reader, count: [_BOOLEANS[byte] for byte in reader._take(count)],
    Kind.INT: ColumnReader._int,
    Kind.BIG_INT: ColumnReader._big_ints,
    Kind.FLOAT: ColumnReader._floats,
    Kind.COMPLEX: ColumnReader._complex,
    Kind.JOINED_TEXT: ColumnReader._joined_texts,
    Kind.TEXT: ColumnReader._texts,
    Kind.BYTES: ColumnReader._bytes,
    Kind.BYTE_ARRAY: lambda reader, count: list(map(bytearray, reader._bytes(count))),
    Kind.TUPLE: ColumnReader._tuples,
    Kind.TUPLES: _made(ColumnReader._groups, tuple),
    Kind.LIST: _made(ColumnReader._groups, list),
    Kind.SET: _made(ColumnReader._groups, set),
    Kind.FROZEN_SET: _made(ColumnReader._groups, frozenset),
    Kind.DICT: _made(ColumnReader._dicts, dict),
    Kind.ORDERED_DICT: _made(ColumnReader._dicts, OrderedDict),
    Kind.COUNTER: _made(ColumnReader._dicts, lambda items: Counter(dict(items))),
    Kind.DECIMAL: lambda reader, count: list(map(Decimal, reader.column(count))),
    Kind.DATE: ColumnReader._dates,
    Kind.DATETIME: ColumnReader._datetimes,
    Kind.ZONED_DATETIME: _made(ColumnReader._zoned, ColumnReader._datetimes),
    Kind.TIME: ColumnReader._times,
    Kind.ZONED_TIME: _made(ColumnReader._zoned, ColumnReader._times),
    Kind.TIMEDELTA: ColumnReader._timedeltas,
    Kind.TIMEZONE: ColumnReader._time_zones,
    Kind.ZONE_INFO: lambda reader, count: list(map(zoneinfo.ZoneInfo, reader.column(count))),
    Kind.UUID: ColumnReader._uuids,
    Kind.ARRAY: ColumnReader._arrays,
    Kind.SCALAR: ColumnReader._scalars,
    Kind.ROW: ColumnReader._rows,
    Kind.INSTANT: ColumnReader._instants,
    Kind.VALUE_KEY: ColumnReader._value_keys,
    Kind.RECORD: ColumnReader._records,
    Kind.SHARED: ColumnReader._shared,
    Kind.MIXED: ColumnReader._mixed,
    Kind.OPAQUE: ColumnReader._opaque,
}
