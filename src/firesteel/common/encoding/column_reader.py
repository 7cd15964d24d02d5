"""Reading columns (see `kinds`): it creates plain data and the classes in `record_classes`, and runs no other code."""

from __future__ import annotations

import datetime
import uuid
import zoneinfo
from collections import Counter, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from itertools import accumulate, islice

from firesteel.common.encoding.byte_reader import ByteReader
from firesteel.common.encoding.kinds import EPOCH, FORM_CLASSES, MICROSECOND, Kind, NotDataError, Value
from firesteel.common.encoding.record_classes import made_of
from firesteel.common.keys.canonical_keys import ValueKey, key_of
from firesteel.common.keys.key_forms import is_made_of
from firesteel.common.time import Instant
from firesteel.common.types import Row, RowKind

_FEW = 64
_BOOLEANS = (False, True)
_ROW_KINDS = {kind.value: kind for kind in RowKind}

LoadOpaque = Callable[[bytes], Value]
"""Reads a pickle."""


class ColumnReader(ByteReader):
    """Reads columns one after the other.

    Args:
        data: The bytes.
        place: Where the first column begins.
        load: Reads values that are no data.
    """

    def __init__(self, data: bytes, place: int, load: LoadOpaque) -> None:
        super().__init__(data, place)
        self._load = load

    def column(self, count: int) -> list[Value]:
        """Return the values of the next column."""
        place = self._place
        self._place += 1
        read = _READERS.get(self._data[place])
        if read is None:
            raise NotDataError(f"no column begins with byte {self._data[place]}")
        return read(self, count)

    # --- containers ---------------------------------------------------------------------------------------------

    def tuples(self, count: int) -> list[tuple[Value, ...]]:
        """Return tuples."""
        width = self.number()
        if not width:
            return [()] * count
        return list(zip(*[self.column(count) for _ in range(width)], strict=True))

    def groups(self, count: int, make: Callable[[Value], Value]) -> list[Value]:
        """Return groups."""
        lengths = self.ints(count)
        elements = self.column(sum(lengths))
        if count == 1 and make is list:
            return [elements]
        rest = iter(elements)
        return [make(islice(rest, length)) for length in lengths]

    def dicts(self, count: int, make: Callable[[Value], Value]) -> list[Value]:
        """Return dicts."""
        lengths = self.ints(count)
        total = sum(lengths)
        items = zip(self.column(total), self.column(total), strict=True)
        return [make(islice(items, length)) for length in lengths]

    # --- times --------------------------------------------------------------------------------------------------

    def timedeltas(self, count: int) -> list[datetime.timedelta]:
        """Return timedeltas."""
        return [number * MICROSECOND for number in self.ints(count)]

    def dates(self, count: int) -> list[datetime.date]:
        """Return dates."""
        return list(map(datetime.date.fromordinal, self.ints(count)))

    def datetimes(self, count: int) -> list[datetime.datetime]:
        """Return datetimes."""
        delta = datetime.timedelta
        return [EPOCH + delta(0, 0, number) for number in self.ints(count)]

    def times(self, count: int) -> list[datetime.time]:
        """Return times."""
        return [(EPOCH + number * MICROSECOND).time() for number in self.ints(count)]

    def zoned(self, count: int, local: Callable[[ColumnReader, int], list[Value]]) -> list[Value]:
        """Return zoned."""
        values, folds, zones = local(self, count), self.ints(count), self.column(count)
        return [value.replace(fold=fold, tzinfo=zone) for value, fold, zone in zip(values, folds, zones, strict=True)]

    def time_zones(self, count: int) -> list[datetime.timezone]:
        """Return time zones."""
        deltas, names = self.column(count), self.column(count)
        return [
            datetime.timezone(delta) if name is None else datetime.timezone(delta, name)
            for delta, name in zip(deltas, names, strict=True)
        ]

    # --- arrays and objects -------------------------------------------------------------------------------------

    def uuids(self, count: int) -> list[uuid.UUID]:
        """Return uuids."""
        return [uuid.UUID(bytes=self.take(16)) for _ in range(count)]

    def arrays(self, count: int) -> list[Value]:
        """Return arrays."""
        import numpy as np  # late: it takes 30 ms, and few programs have arrays

        found = []
        for kind, shape, content in self.column(count):
            if content.__class__ is list:
                # `np.array` would make further dimensions of sequences among the objects.
                array_ = np.empty(len(content), object)
                array_[:] = content
            else:
                # A view of bytes could not be changed.
                array_ = np.frombuffer(content, np.dtype(kind)).copy()
            found.append(array_.reshape(shape))
        return found

    def scalars(self, count: int) -> list[Value]:
        """Return scalars."""
        import numpy as np

        return [np.frombuffer(content, np.dtype(kind))[0] for kind, content in self.column(count)]

    def rows(self, count: int) -> list[Row]:
        """Return rows."""
        [names] = self.column(1)
        width = self.number()
        kinds = [_ROW_KINDS[code] for code in self.take(count)]
        parts = zip(*[self.column(count) for _ in range(width)], strict=True) if width else [()] * count
        found = []
        for kind, part in zip(kinds, parts, strict=True):
            row = Row.__new__(Row)
            row._fields, row._values, row._row_kind = None if names is None else list(names), list(part), kind
            found.append(row)
        return found

    def instants(self, count: int) -> list[Instant]:
        """Return instants."""
        return list(map(Instant, self.ints(count), self.ints(count)))

    def value_keys(self, count: int) -> list[ValueKey]:
        """Return value keys."""
        forms = self.column(count)
        if not all(is_made_of(form, FORM_CLASSES) for form in forms):
            raise NotDataError("a key in canonical form that is no data")
        keys = [ValueKey((..., form)) for form in forms]
        for key in keys:
            key_of(key)  # A damaged form is an error here and not where the key is used.
        return keys

    def records(self, count: int) -> list[Value]:
        """Return records."""
        [(name, *fields)] = self.column(1)
        return made_of(name, fields, [self.column(count) for _ in fields], count)

    def joined(self, count: int) -> list[Value]:
        """Return the parts of an object."""
        sizes = self.ints(count)
        [whole] = self.column(1)
        if sum(sizes) != len(whole) or min(sizes) < 0:
            raise NotDataError("parts of an object that do not make up the whole")
        ends = list(accumulate(sizes))
        return [whole.slice(end - size, end) for size, end in zip(sizes, ends, strict=True)]

    def shared(self, count: int) -> list[Value]:
        """Return shared."""
        objects = self.column(self.number())
        return list(map(objects.__getitem__, self.ints(count)))

    def mixed(self, count: int) -> list[Value]:
        """Return mixed."""
        kinds = self.number()
        codes = self.take(count)
        groups = [iter(self.column(codes.count(code))) for code in range(kinds)]
        return [next(groups[code]) for code in codes]

    def opaque(self, count: int) -> list[Value]:
        """Return opaque."""
        values = self._load(self.sized())
        if values.__class__ is not list or len(values) != count:
            raise NotDataError(f"pickled values that are not a list of {count}")
        found: list[Value] = values
        return found


def _made(read: Value, make: Callable[..., Value]) -> Callable[[ColumnReader, int], list[Value]]:
    return lambda reader, count: read(reader, count, make)


_READERS: dict[int, Callable[[ColumnReader, int], list[Value]]] = {
    Kind.NONE: lambda reader, count: [None] * count,
    Kind.BOOL: lambda reader, count: [_BOOLEANS[byte] for byte in reader.take(count)],
    Kind.INT: ColumnReader.int64,
    Kind.BIG_INT: ColumnReader.big_ints,
    Kind.FLOAT: ColumnReader.floats,
    Kind.COMPLEX: ColumnReader.complex_numbers,
    Kind.JOINED_TEXT: ColumnReader.joined_texts,
    Kind.TEXT: ColumnReader.texts,
    Kind.BYTES: ColumnReader.byte_strings,
    Kind.BYTE_ARRAY: lambda reader, count: list(map(bytearray, reader.byte_strings(count))),
    Kind.TUPLE: ColumnReader.tuples,
    Kind.TUPLES: _made(ColumnReader.groups, tuple),
    Kind.LIST: _made(ColumnReader.groups, list),
    Kind.SHORT_LIST: lambda reader, count: list(map(list, reader.tuples(count))),
    Kind.SET: _made(ColumnReader.groups, set),
    Kind.FROZEN_SET: _made(ColumnReader.groups, frozenset),
    Kind.DICT: _made(ColumnReader.dicts, dict),
    Kind.ORDERED_DICT: _made(ColumnReader.dicts, OrderedDict),
    Kind.COUNTER: _made(ColumnReader.dicts, lambda items: Counter(dict(items))),
    Kind.DECIMAL: lambda reader, count: list(map(Decimal, reader.column(count))),
    Kind.DATE: ColumnReader.dates,
    Kind.DATETIME: ColumnReader.datetimes,
    Kind.ZONED_DATETIME: _made(ColumnReader.zoned, ColumnReader.datetimes),
    Kind.TIME: ColumnReader.times,
    Kind.ZONED_TIME: _made(ColumnReader.zoned, ColumnReader.times),
    Kind.TIMEDELTA: ColumnReader.timedeltas,
    Kind.TIMEZONE: ColumnReader.time_zones,
    Kind.ZONE_INFO: lambda reader, count: list(map(zoneinfo.ZoneInfo, reader.column(count))),
    Kind.UUID: ColumnReader.uuids,
    Kind.ARRAY: ColumnReader.arrays,
    Kind.SCALAR: ColumnReader.scalars,
    Kind.ROW: ColumnReader.rows,
    Kind.INSTANT: ColumnReader.instants,
    Kind.VALUE_KEY: ColumnReader.value_keys,
    Kind.RECORD: ColumnReader.records,
    Kind.JOINED: ColumnReader.joined,
    Kind.SHARED: ColumnReader.shared,
    Kind.MIXED: ColumnReader.mixed,
    Kind.OPAQUE: ColumnReader.opaque,
}
