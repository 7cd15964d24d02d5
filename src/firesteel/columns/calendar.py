"""Arithmetic of months."""

from __future__ import annotations

import calendar
import datetime
from typing import TypeVar

D = TypeVar("D", bound=datetime.date)


def add_months(value: D, months: int) -> D:
    """Return a date or timestamp some months later, on the last day of the month if the month is too short."""
    year, month = divmod(value.year * 12 + value.month - 1 + months, 12)
    day = min(value.day, calendar.monthrange(year, month + 1)[1])
    return value.replace(year=year, month=month + 1, day=day)


def months_between(start: datetime.datetime, end: datetime.datetime) -> int:
    """Return the whole months from one timestamp to another, negative if `end` is the earlier one."""
    if end < start:
        return -months_between(end, start)
    months = (end.year - start.year) * 12 + end.month - start.month
    return months - 1 if add_months(start, months) > end else months
