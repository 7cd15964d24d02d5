"""Dates and times of day plus intervals."""

from __future__ import annotations

import calendar
import datetime
from typing import Any, TypeVar

D = TypeVar("D", bound=datetime.date)


def add_months(value: D, months: int) -> D:
    """Return a date or timestamp shifted by some months, clamped to the last day of a shorter month."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)


def shifted(value: Any, interval: datetime.timedelta | int) -> Any:
    """Return a date, timestamp or time of day plus an interval; an integer is a number of months.

    A time of day wraps around at midnight, and a date is shifted by whole days.
    """
    if isinstance(interval, int):
        return add_months(value, interval)
    if isinstance(value, datetime.time):
        return (datetime.datetime.combine(datetime.date(2000, 1, 2), value) + interval).time()
    if isinstance(value, datetime.datetime):
        return value + interval
    return value + datetime.timedelta(days=interval // datetime.timedelta(days=1))


def months_between(start: datetime.datetime, end: datetime.datetime) -> int:
    """Return the number of whole months between two timestamps, negative if `end` is before `start`.

    As in Calcite the dates decide, and the times only if the months lead to the very date of `end`.
    """
    months = _months_between_dates(start.date(), end.date())
    is_less = add_months(start.date(), months) == end.date() and end.time() < start.time()
    return months - 1 if is_less else months


def _months_between_dates(start: datetime.date, end: datetime.date) -> int:
    if end < start:
        return -_months_between_dates(end, start)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months - 1 if add_months(start, months) > end else months
