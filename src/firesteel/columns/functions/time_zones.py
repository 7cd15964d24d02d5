"""Conversion between timestamps without time zone and instants."""

from __future__ import annotations

import datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.functions.function import Column
from firesteel.columns.value_text import UTC

LOCAL = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")


def to_local(column: Column, time_zone: datetime.tzinfo) -> Column:
    """Return the local times of instants."""
    if isinstance(time_zone, ZoneInfo):
        return pc.local_timestamp(column.cast(pa.timestamp("us", time_zone.key)))
    return pc.add(column.cast(LOCAL), _offset(time_zone))


def to_instant(column: Column, time_zone: datetime.tzinfo) -> Column:
    """Return the instants of local times.

    As in Java's `ZonedDateTime`, a local time that occurs twice is the earlier instant, and one that is skipped is that
    of the clock before the switch: 02:30 is 03:30.
    """
    if isinstance(time_zone, ZoneInfo):
        zoned = pc.assume_timezone(column, time_zone.key, ambiguous="earliest", nonexistent="latest")
        is_skipped = pc.not_equal(pc.local_timestamp(zoned), column)
        if pc.any(is_skipped).as_py() if isinstance(is_skipped, pa.Array) else is_skipped.as_py():
            before = pc.subtract(zoned, pa.scalar(1, pa.duration("us")))
            offset = pc.subtract(pc.local_timestamp(before), before.cast(INSTANT).cast(LOCAL))
            return pc.if_else(is_skipped, pc.subtract(column, offset).cast(INSTANT), zoned.cast(INSTANT))
        return zoned.cast(INSTANT)
    return pc.subtract(column, _offset(time_zone)).cast(INSTANT)


def _offset(time_zone: datetime.tzinfo) -> pa.Scalar:
    return pa.scalar(time_zone.utcoffset(None) or datetime.timedelta(0), pa.duration("us"))


def local_datetime(value: datetime.datetime, time_zone: datetime.tzinfo) -> datetime.datetime:
    """Return the local time of one instant."""
    return value.astimezone(time_zone).replace(tzinfo=None)


def instant_datetime(value: datetime.datetime, time_zone: datetime.tzinfo) -> datetime.datetime:
    """Return the instant of one local time."""
    return value.replace(tzinfo=time_zone).astimezone(UTC)


def old_instant_datetime(value: datetime.datetime, time_zone: datetime.tzinfo) -> datetime.datetime:
    """Return the instant of one local time as Java's `SimpleDateFormat` does: the later one if it occurs twice."""
    earlier, later = (value.replace(tzinfo=time_zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    return max(earlier, later)
