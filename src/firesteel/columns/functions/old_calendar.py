"""Times as Java's `GregorianCalendar` has them: of the Julian calendar before 15 October 1582, and of any year.

A time is a number of milliseconds since 1970, on the clock of a place or as an instant. `SimpleDateFormat` reads and
writes such times, and with it the functions of SQL that take texts or seconds. `DateTimeFormatter` and the types of
SQL have the Gregorian calendar alone.
"""

from __future__ import annotations

import datetime
from functools import lru_cache
from typing import NamedTuple

from firesteel.columns.functions.time_zones import local_datetime, old_instant_datetime
from firesteel.columns.value_text import UTC

__all__ = ["DAY_MS", "Moment", "days_of", "instant_ms", "local_ms", "moment_of"]

DAY_MS = 86_400_000
_MS = datetime.timedelta(milliseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
_LOCAL_EPOCH = datetime.datetime(1970, 1, 1)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()

_CUTOVER = datetime.date(1582, 10, 15).toordinal() - _FIRST_DAY
_CYCLE_YEARS, _CYCLE = 400, 146_097
"""Years after which the Gregorian calendar repeats itself, days of the week included, and their days."""

_JULIAN_START = -719_470
"""The first of March of the year 0 in the Julian calendar, whose leap days are the last days of years from March on."""

_OF_ZONES, _HIGHEST = (
    (datetime.date(year, 1, 1).toordinal() - _FIRST_DAY) * DAY_MS for year in (1900, datetime.MAXYEAR - 1)
)
"""The instant before which Java's `TimeZone` knows no changes of clocks, and a time whose zones Python still has."""
_SEASONS = [datetime.datetime(2030, month, 1) for month in (1, 7)]


class Moment(NamedTuple):
    """A time by its day: the number of the day since 1970, the milliseconds in it, and the date.

    The year before 1 is 0.
    """

    days: int
    millis: int
    year: int
    month: int
    day: int


def moment_of(millis: int) -> Moment:
    """Return a time by its parts."""
    days, rest = divmod(millis, DAY_MS)
    return Moment(days, rest, *_date_of(days))


def _date_of(days: int) -> tuple[int, int, int]:
    if days >= _CUTOVER:
        cycles, rest = divmod(days, _CYCLE)
        date = datetime.date.fromordinal(_FIRST_DAY + rest)
        return date.year + cycles * _CYCLE_YEARS, date.month, date.day
    four_years, rest = divmod(days - _JULIAN_START, 1461)
    years = min(rest // 365, 3)
    rest -= 365 * years
    month = (5 * rest + 2) // 153  # from March on: 31, 30, 31, 30, 31 days, and again
    january = month >= 10
    return 4 * four_years + years + january, month + (-9 if january else 3), rest - (153 * month + 2) // 5 + 1


def days_of(year: int, month: int, day: int) -> int:
    """Return the number of a day since 1970; months and days beyond their range are added."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    cycles, rest = divmod(year - 1970, _CYCLE_YEARS)
    gregorian = datetime.date(1970 + rest, month, 1).toordinal() - _FIRST_DAY + cycles * _CYCLE + day - 1
    return gregorian if gregorian >= _CUTOVER else _julian_days(year, month) + day - 1


def _julian_days(year: int, month: int) -> int:
    year, month = (year - 1, month + 9) if month < 3 else (year, month - 3)
    return _JULIAN_START + 365 * year + year // 4 + (153 * month + 2) // 5


def local_ms(instant: int, zone: datetime.tzinfo) -> int:
    """Return the time on the clocks of a zone at an instant."""
    if instant < _OF_ZONES:
        return instant + _standard_ms(zone)
    moved = _moved(instant)
    local = local_datetime(_EPOCH + (instant - moved) * _MS, zone)
    return (local - _LOCAL_EPOCH) // _MS + moved


def instant_ms(local: int, zone: datetime.tzinfo) -> int:
    """Return the instant of a time on the clocks of a zone, the later one if it occurs twice."""
    if local - _standard_ms(zone) < _OF_ZONES:
        return local - _standard_ms(zone)
    moved = _moved(local)
    instant = old_instant_datetime(_LOCAL_EPOCH + (local - moved) * _MS, zone)
    return (instant - _EPOCH) // _MS + moved


def _moved(millis: int) -> int:
    """Return by how much a time is to be moved to a year that Python has, in which clocks change on the same days."""
    cycle = _CYCLE * DAY_MS
    return max(0, (millis - _HIGHEST) // cycle + 1) * cycle


@lru_cache(100)
def _standard_ms(zone: datetime.tzinfo) -> int:
    """Return the offset of a zone without daylight saving time, as it is today."""
    offsets = [zone.utcoffset(season) or datetime.timedelta() for season in _SEASONS]
    return min(offsets) // _MS
