"""The local clock on which time windows lie. Flink: `TimeWindowUtil`.

Windows over TIMESTAMP_LTZ and processing time follow the clock of the session's zone: a day is 23, 24 or 25 hours long.
Local times are milliseconds as if the clock showed UTC. All functions are those of Flink, also where zones switch by
other than an hour.

Why: `docs/decisions/0042-windows-on-the-local-clock.md`.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import pyarrow as pa

from firesteel.columns.cells import Array
from firesteel.columns.functions.time_zones import INSTANT, LOCAL, instant_datetime, to_instant, to_local
from firesteel.columns.value_text import UTC, time_zone

_UTC_NAMES = frozenset({"UTC", "GMT", "Z", "UT", "Etc/UTC", "Etc/GMT", "Etc/UCT", "Etc/Zulu", "Zulu", "UCT"})
_HOUR = 3_600_000
_EPOCH = datetime.datetime(1970, 1, 1)
_DATES = range(-60_000_000_000_000, 250_000_000_000_000)
"""Milliseconds that are dates; others are the ends of time."""
_LAST_RULES = 2037
"""A year that is past all switches that are listed one by one, and has those that recur."""


@dataclass(frozen=True)
class WindowClock:
    """The clock of a zone.

    Attributes:
        zone: The ID of the zone; UTC for windows over TIMESTAMP, whose values are local times already.
    """

    zone: str = "UTC"

    @cached_property
    def is_utc(self) -> bool:
        """Return whether local times are instants."""
        return self.zone in _UTC_NAMES

    @cached_property
    def _zone(self) -> datetime.tzinfo:
        return time_zone(self.zone)

    @cached_property
    def _saves_daylight(self) -> bool:
        return _has_recurring_switches(self._zone)

    def local(self, instants: Array) -> Array:
        """Return the local times of instants, both in ms."""
        if self.is_utc:
            return instants
        return _millis(to_local(pa.array(instants * 1000).cast(INSTANT), self._zone))

    def instants(self, local: Array) -> Array:
        """Return the instants of local times, both in ms."""
        if self.is_utc:
            return local
        return _millis(to_instant(pa.array(local * 1000).cast(LOCAL), self._zone))

    def local_times(self, instants: list[int | None]) -> list[int | None]:
        """Return the local times of instants in ms; None stays None."""
        if self.is_utc:
            return instants
        known = iter(self.local(np.array([one for one in instants if one is not None], np.int64)).tolist())
        return [None if one is None else next(known) for one in instants]

    def timer(self, local: int) -> int:
        """Return the instant at which all rows of a local time have come, both in ms.

        That is the second one if a time occurs twice, and the end of the gap if it is skipped.
        """
        return local if self.is_utc or local not in _DATES else _timer(self._zone, self._saves_daylight, local)

    def timers(self, local: Array) -> Array:
        """Return the timers of local times."""
        if self.is_utc:
            return local
        values, places = np.unique(local, return_inverse=True)
        return np.array([self.timer(value) for value in values.tolist()], np.int64)[places]


UTC_CLOCK = WindowClock()


@dataclass(frozen=True)
class WindowSource:
    """What the window columns of rows are.

    Attributes:
        clock: The clock on which the windows lie.
        is_rowtime: Whether they end in event time; otherwise in processing time.
    """

    clock: WindowClock = UTC_CLOCK
    is_rowtime: bool = True


IN_UTC = WindowSource()


def _millis(column: pa.Array) -> Array:
    millis: Array = np.floor_divide(column.cast(pa.int64()).to_numpy(zero_copy_only=False), 1000)
    return millis


@lru_cache(100_000)
def _timer(zone: datetime.tzinfo, saves_daylight: bool, local: int) -> int:
    first = _instant(zone, local)
    if not saves_daylight:
        return first
    after_an_hour = _instant(zone, local + _HOUR)
    # In a gap, a time and the one an hour later are the same instant; the gap ends on the hour.
    if after_an_hour == first:
        return first - first % _HOUR
    # More than an hour passes to the time an hour later if this one comes twice: its rows end with the second one.
    return first + _HOUR if after_an_hour - first > _HOUR else first


def _instant(zone: datetime.tzinfo, local: int) -> int:
    instant = instant_datetime(_EPOCH + datetime.timedelta(milliseconds=local), zone)
    return (instant - _EPOCH.replace(tzinfo=UTC)) // datetime.timedelta(milliseconds=1)


def _has_recurring_switches(zone: datetime.tzinfo) -> bool:
    offsets = {datetime.datetime(_LAST_RULES, month, 15, tzinfo=zone).utcoffset() for month in range(1, 13)}
    return len(offsets) > 1
