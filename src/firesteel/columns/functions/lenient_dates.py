"""Timestamps as Java's older classes read them: parts beyond their range are added. 24:30 is half past midnight."""

from __future__ import annotations

import datetime
import re

_LENIENT = re.compile(r"\s*(\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)", re.ASCII)
_SQL = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:\s+(\d+):(\d+):(\d+)(?:\.(\d{1,9}))?)?", re.ASCII)


def lenient_moment(text: str) -> datetime.datetime | None:
    """Return the timestamp at the start of a text as `SimpleDateFormat` reads `yyyy-MM-dd HH:mm:ss`, or None."""
    match = _LENIENT.match(text)
    return None if match is None else _added(*map(int, match.groups()))


def sql_moment(text: str) -> datetime.datetime | None:
    """Return a timestamp as `Timestamp.valueOf` and `Date.valueOf` read it, or None; fractions are cut to ms."""
    match = _SQL.fullmatch(text.strip())
    if match is None:
        return None
    *numbers, fraction = match.groups()
    year, month, day, hour, minute, second = (int(number or 0) for number in numbers)
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    moment = _added(year, month, day, hour, minute, second)
    return moment and moment + datetime.timedelta(milliseconds=int(((fraction or "") + "000")[:3]))


def _added(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime.datetime | None:
    months = year * 12 + month - 1
    try:
        start = datetime.datetime(months // 12, months % 12 + 1, 1)
        return start + datetime.timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError):
        return None
