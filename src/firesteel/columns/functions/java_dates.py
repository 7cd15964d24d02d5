"""Patterns of Java's `DateTimeFormatter`, for formatting and parsing."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from firesteel.columns.functions.cast_parsing import moment_of
from firesteel.columns.functions.function_errors import FunctionError

_PART = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|([^a-zA-Z']+)", re.DOTALL)
_QUOTED = re.compile(r"'(?:[^']|'')*'")
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

NUMBERS: dict[str, Callable[[datetime.datetime], int]] = {
    "y": lambda d: d.year,
    "u": lambda d: d.year,
    "M": lambda d: d.month,
    "L": lambda d: d.month,
    "d": lambda d: d.day,
    "D": lambda d: d.timetuple().tm_yday,
    "H": lambda d: d.hour,
    "k": lambda d: d.hour or 24,
    "h": lambda d: d.hour % 12 or 12,
    "K": lambda d: d.hour % 12,
    "m": lambda d: d.minute,
    "s": lambda d: d.second,
    "q": lambda d: (d.month + 2) // 3,
    "Q": lambda d: (d.month + 2) // 3,
}


def _week_year(value: datetime.datetime) -> int:
    """Return the year to which a week belongs in the USA: that of its Saturday."""
    return value.year + (_sunday(value) + datetime.timedelta(6) > datetime.date(value.year, 12, 31))


def _sunday(value: datetime.datetime) -> datetime.date:
    return value.date() - datetime.timedelta(value.isoweekday() % 7)


def _weeks_since(value: datetime.datetime, first: datetime.date) -> int:
    """Return the number of the week of a day, if weeks begin with Sundays and a day is in the first one."""
    start = first - datetime.timedelta(first.isoweekday() % 7)
    return (value.date() - start).days // 7 + 1


def _nanos(value: datetime.datetime) -> int:
    return ((value.hour * 60 + value.minute) * 60 + value.second) * 1_000_000_000 + value.microsecond * 1000


SHOWN_NUMBERS: dict[str, Callable[[datetime.datetime], int]] = {
    "Y": _week_year,
    "w": lambda d: _weeks_since(d, datetime.date(_week_year(d), 1, 1)),
    "W": lambda d: _weeks_since(d, d.date().replace(day=1)),
    "e": lambda d: d.isoweekday() % 7 + 1,
    "c": lambda d: d.isoweekday() % 7 + 1,
    "F": lambda d: (d.day - 1) % 7 + 1,
    "n": lambda d: d.microsecond * 1000,
    "N": _nanos,
    "A": lambda d: _nanos(d) // 1_000_000,
}
"""Letters that are written, and not read."""


def _quarter(value: datetime.datetime, width: int) -> str:
    number = (value.month + 2) // 3
    return {3: f"Q{number}", 4: f"{number}{_ORDINALS[number - 1]} quarter"}.get(width, str(number))


_ORDINALS = ("st", "nd", "rd", "th")


@lru_cache(1000)
def java_formatter(pattern: str) -> Callable[[datetime.datetime], str]:
    """Return a function that formats timestamps by a pattern.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    parts = [_formatter(kind, text) for kind, text in _split_strictly(pattern)]
    return lambda value: "".join(part(value) for part in parts)


def finest_unit(pattern: str) -> str | None:
    """Return the unit up to which a pattern shows times; None if it shows all of them, or is not known.

    Returns:
        A unit of Arrow's `floor_temporal`. Times with equal values of it have the same text.
    """
    try:
        letters = {letter for letter, _ in split_pattern(pattern)}
    except FunctionError:
        return None
    return next((unit for unit, known in _UNITS.items() if letters <= {"", *known}), None)


_DAY_LETTERS = "GyuYMLdDEecFwWqQ"
_HOUR_LETTERS = _DAY_LETTERS + "aHhKk"
_UNITS = {"day": _DAY_LETTERS, "hour": _HOUR_LETTERS, "minute": _HOUR_LETTERS + "m", "second": _HOUR_LETTERS + "ms"}
"""The letters that show a unit or longer ones."""


def split_pattern(pattern: str) -> list[tuple[str, str]]:
    """Split a pattern into pairs of a letter run and literal text; one of the two is empty."""
    result, position = [], 0
    for match in _PART.finditer(pattern):
        if match.start() != position:
            break
        position = match.end()
        quoted, letter, plain = match.groups()
        if letter:
            result.append((letter, match.group()))
        else:
            text = plain if plain is not None else (quoted.replace("''", "'") or "'")
            result.append(("", text))
    if position != len(pattern):
        raise FunctionError(f"Pattern {pattern!r} ends with an incomplete string literal")
    return result


_MOST = {"a": 1, "F": 1, "W": 1, "w": 2, "D": 3, "S": 9} | dict.fromkeys("dhHkKms", 2) | dict.fromkeys("MLQqEecG", 5)
_MOST |= dict.fromkeys("yuYnNA", 19)
"""How often a letter may stand in a row."""

_RESERVED = re.compile(r"[\[\]{}#]")


def _split_strictly(pattern: str) -> list[tuple[str, str]]:
    """Split a pattern, and check what `SimpleDateFormat` does not look at.

    Raises:
        FunctionError: A letter stands too often, or a character has a meaning that is not supported here.
    """
    split = split_pattern(pattern)
    for letter, text in split:
        if len(text) > _MOST.get(letter, len(text)) or (letter == "c" and len(text) == 2):
            raise FunctionError(f"Pattern {pattern!r} has too many letters {letter!r} in a row")
    if found := _RESERVED.search(_QUOTED.sub("", pattern)):
        raise FunctionError(
            f"firesteel does not support {found[0]!r} in the date pattern {pattern!r}; quote it: '{found[0]}'"
        )
    return split


def _shortened(name: str, width: int) -> str:
    return name if width == 4 else name[0] if width == 5 else name[:3]


def _formatter(letter: str, text: str) -> Callable[[datetime.datetime], str]:
    width = len(text)
    if not letter:
        return lambda value: text
    if letter == "S":
        return lambda value: f"{value.microsecond:06d}000"[:width]
    if letter == "a":
        return lambda value: "AM" if value.hour < 12 else "PM"
    if letter == "E" or (letter in "ec" and width > 2):
        return lambda value: _shortened(DAYS[value.weekday()], width)
    if letter in "ML" and width > 2:
        return lambda value: _shortened(MONTHS[value.month - 1], width)
    if letter == "G":
        return lambda value: {4: "Anno Domini", 5: "A"}.get(width, "AD")
    if letter in "qQ" and width > 2:
        return lambda value: _quarter(value, width)
    number = NUMBERS.get(letter) or SHOWN_NUMBERS.get(letter)
    if number is None:
        raise FunctionError(f"firesteel does not support the letter {letter!r} in date patterns")
    if letter in "yu" and width == 2:
        return lambda value: f"{value.year % 100:02d}"
    return lambda value: f"{number(value):0{width}d}"


@lru_cache(1000)
def java_parser(pattern: str) -> Callable[[str], datetime.datetime | None]:
    """Return a function that parses strings by a pattern, and returns None for a string that does not match.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    names: list[str] = []
    regex = ""
    split = _split_strictly(pattern)
    for index, (letter, text) in enumerate(split):
        if letter:
            names.append(letter)
        adjacent = index + 1 < len(split) and bool(split[index + 1][0])
        regex += pattern_group(letter, text, adjacent) if letter else re.escape(text)
    compiled = re.compile(regex, re.IGNORECASE | re.ASCII)

    def parse(value: str) -> datetime.datetime | None:
        match = compiled.fullmatch(value)
        return None if match is None else _moment(dict(zip(names, match.groups(), strict=True)))

    return parse


def pattern_group(letter: str, text: str, adjacent: bool) -> str:
    """Return the regular expression of what a run of a letter stands for.

    Raises:
        FunctionError: The letter is unknown or not supported.
    """
    width = len(text)
    if letter in "EML" and width == 5:  # The first letters of some months and days are the same.
        raise FunctionError(f"firesteel does not support {text!r} in patterns to read dates")
    if letter == "a":
        return "(AM|PM)"
    if letter == "E":
        return f"({'|'.join(DAYS)})" if width == 4 else f"({'|'.join(day[:3] for day in DAYS)})"
    if letter in "ML" and width > 2:
        return f"({'|'.join(MONTHS)})" if width == 4 else f"({'|'.join(month[:3] for month in MONTHS)})"
    if letter == "S":
        return rf"(\d{{{width}}})"
    if letter not in NUMBERS:
        raise FunctionError(f"firesteel does not support the letter {letter!r} in date patterns")
    if letter in "yu" and width == 4:
        return r"(\d{4})"
    return rf"(\d{{{width}}})" if width > 1 or adjacent else r"(\d{1,2})"


def month_of(fields: dict[str, str]) -> int:
    """Return the month among the texts of fields, by letter; the first one if there is none."""
    month = fields.get("M") or fields.get("L") or "1"
    if month.isdigit():
        return int(month)
    return next(i for i, name in enumerate(MONTHS, 1) if name[:3].lower() == month[:3].lower())


def fields_of(fields: dict[str, str]) -> tuple[int, int, int, int, int, int]:
    """Return year, month, day, hour, minute and second from the texts of fields, by letter."""
    year = fields.get("y") or fields.get("u") or "1970"
    hour = int(fields["H"]) if "H" in fields else int(fields.get("k") or 0) % 24
    half_day = fields.get("h") or fields.get("K")
    if half_day is not None:
        hour = int(half_day) % 12 + (12 if fields.get("a", "AM").upper() == "PM" else 0)
    day, minute, second = (int(fields.get(letter) or default) for letter, default in (("d", 1), ("m", 0), ("s", 0)))
    return int(year) + (2000 if len(year) == 2 else 0), month_of(fields), day, hour, minute, second


def _moment(fields: dict[str, str]) -> datetime.datetime | None:
    if ("h" in fields or "K" in fields) and "a" not in fields:
        return None  # it is not known which half of the day is meant
    micros = int((fields.get("S", "") + "000000")[:6])
    try:
        moment = moment_of(fields_of(fields), micros)
    except (ValueError, OverflowError):
        return None
    return moment + datetime.timedelta(days=int(fields["D"]) - 1) if "D" in fields else moment
