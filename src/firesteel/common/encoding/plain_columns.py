"""Columns of plain values: numbers, texts, times and containers."""

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
from typing import TYPE_CHECKING

from firesteel.common.encoding.kinds import EPOCH, Kind, Value, Values
from firesteel.common.unchanged import unchanged

if TYPE_CHECKING:
    from firesteel.common.encoding.column_writer import ColumnWriter, Write

_LONG = 24
"""Characters per text from which on it is worth while to look for equal texts."""
_SAMPLE = 200
_NARROW = 16
"""Places of tuples, lists and sets up to which each gets a column."""


def write_floats(writer: ColumnWriter, values: Sequence[float]) -> None:
    """Write floats."""
    writer.data.append(Kind.FLOAT)
    numbers = array("d", values)
    if sys.byteorder == "big":
        numbers.byteswap()
    writer.data += numbers.tobytes()


def write_booleans(writer: ColumnWriter, values: Sequence[bool]) -> None:
    """Write booleans."""
    writer.data.append(Kind.BOOL)
    writer.data += bytes(values)


def write_complex(writer: ColumnWriter, values: Sequence[complex]) -> None:
    """Write complex numbers."""
    writer.data.append(Kind.COMPLEX)
    write_floats(writer, [value.real for value in values])
    write_floats(writer, [value.imag for value in values])


def _wrote_repeated(writer: ColumnWriter, values: Values, size: int) -> bool:
    """Write long texts or bytes each once, if many are equal; return whether that was done."""
    # A sample first: all of them would have to be hashed.
    is_likely = size > _LONG * len(values) and len(set(values[:_SAMPLE])) < min(len(values), _SAMPLE)
    if is_likely and 2 * len(set(values)) <= len(values):
        writer.distinct(values, unchanged)
        return True
    return False


def write_texts(writer: ColumnWriter, values: Sequence[str]) -> None:
    """Write texts."""
    text = "\0".join(values)
    if _wrote_repeated(writer, values, len(text)):
        return
    if text.count("\0") == len(values) - 1:
        writer.data.append(Kind.JOINED_TEXT)
    else:
        writer.data.append(Kind.TEXT)
        writer.ints(list(map(len, values)))
        text = "".join(values)
    writer.sized(text.encode("utf-8", "surrogatepass"))


def write_bytes(writer: ColumnWriter, values: Sequence[bytes]) -> None:
    """Write bytes."""
    data = b"".join(values)
    if _wrote_repeated(writer, values, len(data)):
        return
    writer.of_ints(Kind.BYTES, list(map(len, values)))
    writer.data += data


def write_byte_arrays(writer: ColumnWriter, values: Sequence[bytearray]) -> None:
    """Write byte arrays."""
    if not writer.wrote_shared(values):
        writer.of_ints(Kind.BYTE_ARRAY, list(map(len, values)))
        for value in values:
            writer.data += value


def _write_as_texts(writer: ColumnWriter, kind: Kind, values: Values, text: Callable[[Value], str]) -> None:
    writer.data.append(kind)
    write_texts(writer, list(map(text, values)))


def write_timedeltas(writer: ColumnWriter, values: Sequence[datetime.timedelta]) -> None:
    """Write timedeltas."""
    writer.of_ints(Kind.TIMEDELTA, _microseconds(values))


def write_datetimes(writer: ColumnWriter, values: Sequence[datetime.datetime]) -> None:
    """Write datetimes."""
    if all(value.tzinfo is None and not value.fold for value in values):
        writer.of_ints(Kind.DATETIME, _microseconds([value - EPOCH for value in values]))
    else:
        local = _microseconds([value.replace(tzinfo=None) - EPOCH for value in values])
        _write_zoned(writer, Kind.ZONED_DATETIME, local, values)


def write_times(writer: ColumnWriter, values: Sequence[datetime.time]) -> None:
    """Write times of day."""
    local = [((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000 + value.microsecond for value in values]
    if all(value.tzinfo is None and not value.fold for value in values):
        writer.of_ints(Kind.TIME, local)
    else:
        _write_zoned(writer, Kind.ZONED_TIME, local, values)


def _write_zoned(writer: ColumnWriter, kind: Kind, local: list[int], values: Values) -> None:
    writer.of_ints(kind, local)
    writer.ints([value.fold for value in values])
    writer.column([value.tzinfo for value in values])


def write_time_zones(writer: ColumnWriter, values: Sequence[datetime.timezone]) -> None:
    """Write time zones of a fixed offset."""
    writer.data.append(Kind.TIMEZONE)
    write_timedeltas(writer, [value.utcoffset(None) for value in values])
    arguments = [getattr(value, "__getinitargs__")() for value in values]  # noqa: B009  # it has no type
    writer.column([found[1] if len(found) > 1 else None for found in arguments])


def write_zone_infos(writer: ColumnWriter, values: Sequence[zoneinfo.ZoneInfo]) -> None:
    """Write time zones with names."""
    # `ZoneInfo.from_file` makes zones without a name, which nobody could look up again.
    if any(value.key is None for value in values):
        writer.opaque(values)
    else:
        _write_as_texts(writer, Kind.ZONE_INFO, values, attrgetter("key"))


def write_uuids(writer: ColumnWriter, values: Sequence[uuid.UUID]) -> None:
    """Write UUIDs."""
    writer.data.append(Kind.UUID)
    for value in values:
        writer.data += value.bytes


def write_tuples(writer: ColumnWriter, values: Sequence[tuple[Value, ...]]) -> None:
    """Write tuples."""
    count = len(values)
    # Windows share their elements: what is the same object is written once.
    if count > 8 and 2 * len(set(map(id, values))) <= count:
        writer.distinct(values, id)
        return
    if not _wrote_places(writer, Kind.TUPLE, values):
        writer.of_ints(Kind.TUPLES, list(map(len, values)))
        writer.column(list(chain.from_iterable(values)))


def _wrote_places(writer: ColumnWriter, kind: Kind, values: Values) -> bool:
    """Write a column for each place of containers of the same length, unless that makes too many columns."""
    width = len(values[0])
    if (width > _NARROW and 4 * width > len(values)) or (len(values) > 1 and len(set(map(len, values))) > 1):
        return False
    writer.begin_places(kind, width)
    for part in zip(*values, strict=True):
        writer.column(part)
    return True


def _write_lists(writer: ColumnWriter, values: Sequence[list[Value]]) -> None:
    if writer.wrote_shared(values):
        return
    # Accumulators are lists whose places have values of different kinds.
    if len(values) == 1 or len(values[0]) > _NARROW or not _wrote_places(writer, Kind.SHORT_LIST, values):
        _write_elements(writer, Kind.LIST, values)


def _write_elements(writer: ColumnWriter, kind: Kind, values: Values) -> None:
    writer.of_ints(kind, list(map(len, values)))
    writer.column(list(chain.from_iterable(values)))


def _write_sets(writer: ColumnWriter, values: Sequence[set[Value]]) -> None:
    if not writer.wrote_shared(values):
        _write_elements(writer, Kind.SET, values)


def _write_dicts(writer: ColumnWriter, kind: Kind, values: Sequence[dict[Value, Value]]) -> None:
    if not writer.wrote_shared(values):
        writer.of_ints(kind, list(map(len, values)))
        writer.column(list(chain.from_iterable(values)))
        writer.column(list(chain.from_iterable(value.values() for value in values)))


def _microseconds(values: Iterable[datetime.timedelta]) -> list[int]:
    return [(value.days * 86_400 + value.seconds) * 1_000_000 + value.microseconds for value in values]


def _of_kind(write: Callable[[ColumnWriter, Kind, Values], None], kind: Kind) -> Write:
    return lambda writer, values: write(writer, kind, values)


PLAIN_WRITERS: dict[type, Write] = {
    type(None): lambda writer, values: writer.data.append(Kind.NONE),
    bool: write_booleans,
    int: lambda writer, values: writer.ints(values),
    float: write_floats,
    complex: write_complex,
    str: write_texts,
    bytes: write_bytes,
    bytearray: write_byte_arrays,
    tuple: write_tuples,
    list: _write_lists,
    set: _write_sets,
    frozenset: _of_kind(_write_elements, Kind.FROZEN_SET),
    dict: _of_kind(_write_dicts, Kind.DICT),
    OrderedDict: _of_kind(_write_dicts, Kind.ORDERED_DICT),
    Counter: _of_kind(_write_dicts, Kind.COUNTER),
    Decimal: lambda writer, values: _write_as_texts(writer, Kind.DECIMAL, values, str),
    datetime.date: lambda writer, values: writer.of_ints(Kind.DATE, [value.toordinal() for value in values]),
    datetime.datetime: write_datetimes,
    datetime.time: write_times,
    datetime.timedelta: write_timedeltas,
    datetime.timezone: write_time_zones,
    zoneinfo.ZoneInfo: write_zone_infos,
    uuid.UUID: write_uuids,
}
"""How to write the values of a class."""
