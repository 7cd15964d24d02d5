"""Texts of dates, times and timestamps, in the shapes that Flink's formats write and read."""

from __future__ import annotations

import calendar
import datetime
import re

from firesteel.common.time import Instant
from firesteel.common.values.java_parsing import trimmed

_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_SQL_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_CLOCK = re.compile(r"(\d{2}):(\d{2}):(\d{2})(?:\.(\d{0,9}))?")
_SHORT_CLOCK = re.compile(r"(\d{2}):(\d{2})(?::(\d{2})(?:\.(\d{0,9}))?)?")
_SQL_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2}):(\d{1,2})()")
_LOCAL_CLOCK = re.compile(r"(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,9}))?)?")
_TIMESTAMP = re.compile(r"(\d{4}-\d{2}-\d{2})([ T])(\d{2}:\d{2}:\d{2})(?:\.(\d{0,9}))?(Z?)")
_EPOCH = datetime.datetime(1970, 1, 1)


# --- reading ---------------------------------------------------------------------------------------------------------


def iso_date(text: str) -> datetime.date:
    """Return a date of the form `2024-01-09`.

    Raises:
        ValueError: the text has another form.
    """
    if not _ISO_DATE.fullmatch(text):  # Python also reads 20240109 and 2024-W02-2
        raise ValueError(f"{text[:100]!r} is not a date of the form yyyy-MM-dd")
    return datetime.date.fromisoformat(text)


def sql_date(text: str) -> datetime.date:
    """Return a date such as `2024-1-9`, as `java.sql.Date.valueOf`: the 31st of a shorter month is in the next one.

    Raises:
        ValueError: the text has another form.

    Example:
        >>> sql_date("2024-02-31")
        datetime.date(2024, 3, 2)
    """
    found = _SQL_DATE.fullmatch(trimmed(text))
    if found is None or not 1 <= int(found[3]) <= 31:
        raise ValueError(f"{text[:100]!r} is not a date of the form yyyy-MM-dd")
    return datetime.date(int(found[1]), int(found[2]), 1) + datetime.timedelta(int(found[3]) - 1)


def clock_time(text: str) -> datetime.time:
    """Return a time of the form `01:02:03[.456]`.

    Raises:
        ValueError: the text has another form.
    """
    return _time(text, _CLOCK)


def short_time(text: str) -> datetime.time:
    """Return a time of the form `01:02[:03[.456]]`, as `LocalTime.parse`.

    Raises:
        ValueError: the text has another form.
    """
    return _time(trimmed(text), _SHORT_CLOCK)


def sql_time(text: str) -> datetime.time:
    """Return a time such as `1:02:03`, as `java.sql.Time.valueOf`.

    Raises:
        ValueError: the text has another form.
    """
    return _time(trimmed(text), _SQL_CLOCK)


def local_time(text: str) -> datetime.time:
    """Return a time as `sql_time` does, also without seconds or with a fraction.

    Flink writes a LocalTime so, but can't read it again.

    Raises:
        ValueError: the text has another form.
    """
    return _time(trimmed(text), _LOCAL_CLOCK)


def _time(text: str, shape: re.Pattern[str]) -> datetime.time:
    found = shape.fullmatch(text)
    if found is None:
        raise ValueError(f"{text[:100]!r} is not a time of the form HH:mm:ss")
    return datetime.time(int(found[1]), int(found[2]), int(found[3] or 0), _micros(found[4]))


def timestamp(text: str, separator: str, zone: str = "", precision: int = 6) -> datetime.datetime:
    """Return a timestamp of the form `2024-01-09 01:02:03[.456]`.

    Args:
        text: The text.
        separator: What is between date and time: a blank or `T`.
        zone: What is at the end: nothing or `Z`.
        precision: The digits of the fraction to keep.

    Raises:
        ValueError: the text has another form.

    Example:
        >>> timestamp("2024-01-09T01:02:03.456Z", "T", "Z", 1)
        datetime.datetime(2024, 1, 9, 1, 2, 3, 400000)
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None or found[2] != separator or found[5] != zone:
        shape = f"yyyy-MM-dd{separator}HH:mm:ss[.SSS]{zone}"
        raise ValueError(f"{text[:100]!r} is not a timestamp of the form {shape}")
    moment = _resolved(found[1], found[3])
    return moment.replace(microsecond=_micros(found[4][:precision])) if found[4] else moment


def _resolved(date: str, clock: str) -> datetime.datetime:
    """Return a moment as Java resolves it: a 31st is the last day of a shorter month, 24:00:00 the next day's start."""
    try:
        return datetime.datetime.fromisoformat(f"{date} {clock}")
    except ValueError:
        year, month, day = map(int, date.split("-"))
        if clock == "24:00:00":
            return _resolved(date, "00:00:00") + datetime.timedelta(days=1)
        if not 28 < day <= 31 or not 1 <= month <= 12:
            raise
        return _resolved(f"{date[:8]}{calendar.monthrange(year, month)[1]}", clock)


def sql_timestamp(text: str) -> datetime.datetime:
    """Return a timestamp such as `2024-1-9 1:02:03.4`, as `java.sql.Timestamp.valueOf`.

    Raises:
        ValueError: the text has another form.
    """
    date, _, clock = trimmed(text).partition(" ")
    found = _LOCAL_CLOCK.fullmatch(clock)
    if found is None or found[3] is None:
        raise ValueError(f"{text[:100]!r} is not a timestamp of the form yyyy-MM-dd HH:mm:ss[.SSS]")
    return datetime.datetime.combine(sql_date(date), local_time(clock))


def _micros(digits: str | None) -> int:
    return int(digits[:6].ljust(6, "0")) if digits else 0


# --- writing ---------------------------------------------------------------------------------------------------------


def clock_text(value: datetime.time) -> str:
    """Return `01:02:03`, with the digits of the fraction that it has."""
    return _shortest(value.isoformat("microseconds" if value.microsecond else "seconds"))


def timestamp_text(value: datetime.datetime, separator: str) -> str:
    """Return `2024-01-09 01:02:03`, with the digits of the fraction that it has.

    Args:
        value: The timestamp, without a zone.
        separator: What to write between date and time.
    """
    return _shortest(value.isoformat(separator, "microseconds" if value.microsecond else "seconds"))


def _shortest(text: str) -> str:
    return text.rstrip("0") if "." in text else text


# --- instants --------------------------------------------------------------------------------------------------------


def instant_of(moment: datetime.datetime) -> Instant:
    """Return the instant of a timestamp in UTC."""
    since = moment.replace(tzinfo=None) - _EPOCH
    return Instant(since.days * 86_400 + since.seconds, since.microseconds * 1000)


def moment_of(instant: Instant) -> datetime.datetime:
    """Return the timestamp of an instant in UTC, without a zone; it has microseconds."""
    return _EPOCH + datetime.timedelta(seconds=instant.seconds, microseconds=instant.nanos // 1000)
