"""Times as Java's older classes read and write them, see `old_calendar`.

They add parts beyond their range: 24:30 is half past midnight. They read as many digits of a number as there are, and
ignore what follows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_dates import DAYS, MONTHS, NUMBERS, fields_of, pattern_group, split_pattern
from firesteel.columns.functions.old_calendar import DAY_MS, Moment, days_of, moment_of

_LENIENT = re.compile(r"\s*(\d+)-(\d+)-(\d+) (\d+):(\d+):(\d+)", re.ASCII)
_SQL = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?:\s+(\d+):(\d+):(\d+)(?:\.(\d{1,9}))?)?", re.ASCII)


def lenient_ms(text: str) -> int | None:
    """Return the time at the start of a text as `SimpleDateFormat` reads `yyyy-MM-dd HH:mm:ss`, or None."""
    match = _LENIENT.match(text)
    return None if match is None else _added_ms(*map(int, match.groups()))


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


@lru_cache(1000)
def lenient_formatter(pattern: str) -> Callable[[int], str]:
    """Return a function that writes times as `SimpleDateFormat` does.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    parts = [_written(letter, text) for letter, text in split_pattern(pattern)]

    def write(millis: int) -> str:
        moment = moment_of(millis)
        return "".join(part(moment) for part in parts)

    return write


def _weekday(moment: Moment) -> int:
    """Return the day of the week; Monday is 0."""
    return (moment.days + 3) % 7


def _sunday(days: int) -> int:
    """Return the day with which the week of a day begins."""
    return days - (days + 4) % 7


def _week_year(moment: Moment) -> int:
    """Return the year to which a week belongs in the USA: that of its Saturday."""
    return moment_of((_sunday(moment.days) + 6) * DAY_MS).year


def _weeks_since(moment: Moment, first: int) -> int:
    return (_sunday(moment.days) - _sunday(first)) // 7 + 1


def _hour(moment: Moment) -> int:
    return moment.millis // 3_600_000


_WRITTEN: dict[str, Callable[[Moment], int]] = {
    "y": lambda moment: moment.year if moment.year > 0 else 1 - moment.year,
    "M": lambda moment: moment.month,
    "L": lambda moment: moment.month,
    "d": lambda moment: moment.day,
    "D": lambda moment: moment.days - days_of(moment.year, 1, 1) + 1,
    "H": _hour,
    "k": lambda moment: _hour(moment) or 24,
    "h": lambda moment: _hour(moment) % 12 or 12,
    "K": lambda moment: _hour(moment) % 12,
    "m": lambda moment: moment.millis // 60_000 % 60,
    "s": lambda moment: moment.millis // 1000 % 60,
    "S": lambda moment: moment.millis % 1000,
    "Y": _week_year,
    "w": lambda moment: _weeks_since(moment, days_of(_week_year(moment), 1, 1)),
    "W": lambda moment: _weeks_since(moment, days_of(moment.year, moment.month, 1)),
    "u": lambda moment: _weekday(moment) + 1,
    "F": lambda moment: (moment.day - 1) // 7 + 1,
}


def _written(letter: str, text: str) -> Callable[[Moment], str]:
    width = len(text)
    if not letter:
        return lambda moment: text
    if letter == "a":
        return lambda moment: "AM" if _hour(moment) < 12 else "PM"
    if letter == "G":
        return lambda moment: "AD" if moment.year > 0 else "BC"
    if letter == "E":
        return lambda moment: DAYS[_weekday(moment)][: None if width > 3 else 3]
    if letter in "ML" and width > 2:
        return lambda moment: MONTHS[moment.month - 1][: None if width > 3 else 3]
    number = _WRITTEN.get(letter)
    if number is None:
        raise FunctionError(f"firesteel does not support the letter {letter!r} in date patterns of texts and numbers")
    if letter in "yY" and width == 2:
        return lambda moment: f"{number(moment) % 100:02d}"
    return lambda moment: f"{number(moment):0{width}d}"


@lru_cache(1000)
def lenient_parser(pattern: str) -> Callable[[str], int | None]:
    """Return a function that reads the time at the start of a text as `SimpleDateFormat` does, or returns None.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    names, regex = [], ""
    split = split_pattern(pattern)
    for index, (letter, text) in enumerate(split):
        names += [letter] if letter else []
        is_followed = index + 1 < len(split) and split[index + 1][0] in NUMBERS
        is_number = letter in NUMBERS and not (letter in "ML" and len(text) > 2)
        if is_number and not is_followed:
            regex += r"\s*(\d+)"
        else:
            regex += pattern_group(letter, text, is_followed) if letter else re.escape(text)
    compiled = re.compile(regex, re.IGNORECASE | re.ASCII)

    def parse(text: str) -> int | None:
        match = compiled.match(text)
        return None if match is None else _lenient(dict(zip(names, match.groups(), strict=True)))

    return parse


def _lenient(fields: dict[str, str]) -> int:
    days = int(fields["D"]) - 1 if "D" in fields else 0
    return _added_ms(*fields_of(fields)) + days * DAY_MS + int(fields.get("S", "0"))


def _added_ms(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int:
    return days_of(year, month, day) * DAY_MS + ((hour * 60 + minute) * 60 + second) * 1000


def _added(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime.datetime | None:
    months = year * 12 + month - 1
    try:
        start = datetime.datetime(months // 12, months % 12 + 1, 1)
        return start + datetime.timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError):
        return None
