"""Patterns of Java's `DateTimeFormatter`, for formatting and parsing."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable
from functools import lru_cache

from firesteel.columns.functions.cast_parsing import moment_of
from firesteel.columns.functions.function_errors import FunctionError

_PART = re.compile(r"'((?:[^']|'')*)'|([a-zA-Z])\2*|([^a-zA-Z']+)", re.DOTALL)
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

_NUMBERS: dict[str, Callable[[datetime.datetime], int]] = {
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


@lru_cache(1000)
def java_formatter(pattern: str) -> Callable[[datetime.datetime], str]:
    """Return a function that formats timestamps by a pattern.

    Raises:
        FunctionError: The pattern has a letter that is unknown or not supported.
    """
    parts = [_formatter(kind, text) for kind, text in _split(pattern)]
    return lambda value: "".join(part(value) for part in parts)


def _split(pattern: str) -> list[tuple[str, str]]:
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


def _formatter(letter: str, text: str) -> Callable[[datetime.datetime], str]:
    width = len(text)
    if not letter:
        return lambda value: text
    if letter == "S":
        return lambda value: f"{value.microsecond:06d}000"[:width]
    if letter == "a":
        return lambda value: "AM" if value.hour < 12 else "PM"
    if letter == "E":
        return lambda value: _DAYS[value.weekday()] if width == 4 else _DAYS[value.weekday()][:3]
    if letter in "ML" and width > 2:
        return lambda value: _MONTHS[value.month - 1] if width == 4 else _MONTHS[value.month - 1][:3]
    number = _NUMBERS.get(letter)
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
    split = _split(pattern)
    for index, (letter, text) in enumerate(split):
        if letter:
            names.append(letter)
        adjacent = index + 1 < len(split) and bool(split[index + 1][0])
        regex += _group(letter, text, adjacent) if letter else re.escape(text)
    compiled = re.compile(regex, re.IGNORECASE | re.ASCII)

    def parse(value: str) -> datetime.datetime | None:
        match = compiled.fullmatch(value)
        return None if match is None else _moment(dict(zip(names, match.groups(), strict=True)))

    return parse


def _group(letter: str, text: str, adjacent: bool) -> str:
    width = len(text)
    if letter == "a":
        return "(AM|PM)"
    if letter == "E":
        return f"({'|'.join(_DAYS)})" if width == 4 else f"({'|'.join(day[:3] for day in _DAYS)})"
    if letter in "ML" and width > 2:
        return f"({'|'.join(_MONTHS)})" if width == 4 else f"({'|'.join(month[:3] for month in _MONTHS)})"
    if letter == "S":
        return rf"(\d{{{width}}})"
    if letter not in _NUMBERS:
        raise FunctionError(f"firesteel does not support the letter {letter!r} in date patterns")
    if letter in "yu" and width == 4:
        return r"(\d{4})"
    return rf"(\d{{{width}}})" if width > 1 or adjacent else r"(\d{1,2})"


def _moment(fields: dict[str, str]) -> datetime.datetime | None:
    year = fields.get("y") or fields.get("u") or "1970"
    month = fields.get("M") or fields.get("L") or "1"
    if not month.isdigit():
        month = str(next(i for i, name in enumerate(_MONTHS, 1) if name[:3].lower() == month[:3].lower()))
    hour = int(fields["H"]) if "H" in fields else int(fields.get("k") or 0) % 24
    half_day = fields.get("h") or fields.get("K")
    if half_day is not None:
        hour = int(half_day) % 12 + (12 if fields.get("a", "AM").upper() == "PM" else 0)
    micros = int((fields.get("S", "") + "000000")[:6])
    try:
        date = (int(year) + (2000 if len(year) == 2 else 0), int(month), int(fields.get("d") or 1))
        moment = moment_of((*date, hour, int(fields.get("m") or 0), int(fields.get("s") or 0)), micros)
    except (ValueError, OverflowError):
        return None
    return moment + datetime.timedelta(days=int(fields["D"]) - 1) if "D" in fields else moment
