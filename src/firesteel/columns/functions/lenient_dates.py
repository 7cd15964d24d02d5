"""Timestamps as Java's older classes read them: parts beyond their range are added. 24:30 is half past midnight.

They read as many digits of a number as there are, and ignore what follows.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_dates import (
    DAYS,
    MONTHS,
    NUMBERS,
    SHOWN_NUMBERS,
    fields_of,
    pattern_group,
    split_pattern,
)

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


@lru_cache(1000)
def lenient_formatter(pattern: str) -> Callable[[datetime.datetime], str]:
    """Return a function that formats timestamps as `SimpleDateFormat` does.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    parts = [_written(letter, text) for letter, text in split_pattern(pattern)]
    return lambda value: "".join(part(value) for part in parts)


_WRITTEN: dict[str, Callable[[datetime.datetime], int]] = {
    **{letter: NUMBERS[letter] for letter in "yMLdDHkhKms"},
    **{letter: SHOWN_NUMBERS[letter] for letter in "YwW"},
    "u": lambda value: value.isoweekday(),
    "F": lambda value: (value.day - 1) // 7 + 1,
    "S": lambda value: value.microsecond // 1000,
}


def _written(letter: str, text: str) -> Callable[[datetime.datetime], str]:
    width = len(text)
    if not letter:
        return lambda value: text
    if letter == "a":
        return lambda value: "AM" if value.hour < 12 else "PM"
    if letter == "G":
        return lambda value: "AD"
    if letter == "E":
        return lambda value: DAYS[value.weekday()][: None if width > 3 else 3]
    if letter in "ML" and width > 2:
        return lambda value: MONTHS[value.month - 1][: None if width > 3 else 3]
    number = _WRITTEN.get(letter)
    if number is None:
        raise FunctionError(f"firesteel does not support the letter {letter!r} in date patterns of texts and numbers")
    if letter in "yY" and width == 2:
        return lambda value: f"{number(value) % 100:02d}"
    return lambda value: f"{number(value):0{width}d}"


@lru_cache(1000)
def lenient_parser(pattern: str) -> Callable[[str], datetime.datetime | None]:
    """Return a function that reads the timestamp at the start of a text as `SimpleDateFormat` does, or returns None.

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

    def parse(text: str) -> datetime.datetime | None:
        match = compiled.match(text)
        return None if match is None else _lenient(dict(zip(names, match.groups(), strict=True)))

    return parse


def _lenient(fields: dict[str, str]) -> datetime.datetime | None:
    moment = _added(*fields_of(fields))
    if moment is not None and "D" in fields:
        moment += datetime.timedelta(days=int(fields["D"]) - 1)
    return moment and moment + datetime.timedelta(milliseconds=int(fields.get("S", "0")))


def _added(year: int, month: int, day: int, hour: int, minute: int, second: int) -> datetime.datetime | None:
    months = year * 12 + month - 1
    try:
        start = datetime.datetime(months // 12, months % 12 + 1, 1)
        return start + datetime.timedelta(days=day - 1, hours=hour, minutes=minute, seconds=second)
    except (ValueError, OverflowError):
        return None
