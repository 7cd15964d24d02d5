"""Conversion between timestamps without time zone and instants."""

from __future__ import annotations

import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute as pc

from firesteel.columns.value_text import UTC

LOCAL = pa.timestamp("us")
INSTANT = pa.timestamp("us", "UTC")


def to_local(column: Any, time_zone: datetime.tzinfo) -> Any:
    """Return the local times of instants."""
    if isinstance(time_zone, ZoneInfo):
        return pc.local_timestamp(column.cast(pa.timestamp("us", time_zone.key)))
    return pc.add(column.cast(LOCAL), _offset(time_zone))


def to_instant(column: object, time_zone: datetime.tzinfo) -> Any:
    """Return the instants of local times; the earlier one if a local time occurs twice."""
    if isinstance(time_zone, ZoneInfo):
        zoned = pc.assume_timezone(column, time_zone.key, ambiguous="earliest", nonexistent="latest")
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
