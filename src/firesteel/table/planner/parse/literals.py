"""Literals of times and intervals."""

from __future__ import annotations

import datetime
import re

from firesteel.columns.column_types import DateType, DayTimeIntervalType, TimestampType, TimeType, YearMonthIntervalType
from firesteel.columns.functions.time_differences import DAYS, MONTHS
from firesteel.common.table_errors import SqlParserError, ValidationException
from firesteel.table.planner.parse.token_reader import TokenReader
from firesteel.table.syntax.unresolved import Apply, Lit, Unresolved

_UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND")
_MILLISECONDS = {"WEEK": 604_800_000, "DAY": 86_400_000, "HOUR": 3_600_000, "MINUTE": 60_000, "SECOND": 1000}
_MONTHS = {"YEAR": 12, "QUARTER": 3, "MONTH": 1}
_PAIR = 2
_FIELDS = ("DAY", "HOUR", "MINUTE", "SECOND")
_CLOCK = r"\d+:\d+:\d+(\.\d*)?"


def time_literal(kind: str, text: str, reader: TokenReader) -> Lit:
    """Return the value of `DATE '...'`, `TIME '...'` or `TIMESTAMP '...'`.

    Raises:
        SqlParserError: the text is none.
        ValidationException: it has digits beyond microseconds.
    """
    if kind != "DATE" and text.partition(".")[2][6:].strip("0"):
        raise ValidationException(
            f"SQL validation failed. The {kind} literal '{text}' has more than 6 digits of a second; firesteel has "
            "microseconds"
        )
    try:
        if kind == "DATE":
            return Lit(datetime.date.fromisoformat(_padded_date(text.strip())), DateType(False))
        fraction = text.partition(".")[2]
        if not re.fullmatch(_CLOCK if kind == "TIME" else rf"\S+( {_CLOCK})?", text.strip()) or text.endswith(" "):
            raise ValueError(text)
        if kind == "TIME":
            return Lit(datetime.time.fromisoformat(_padded_clock(text.strip())), TimeType(min(len(fraction), 9), False))
        day, _, time = text.strip().partition(" ")
        whole, _, digits = time.partition(".")
        moment = datetime.datetime.fromisoformat(f"{_padded_date(day)} {_padded_clock(whole or '0:0:0')}")
        micros = int(digits[:6].ljust(6, "0")) if digits else 0
        return Lit(moment.replace(microsecond=micros), TimestampType(min(len(fraction), 9), nullable=False))
    except ValueError as error:
        at = reader.position()
        raise SqlParserError(
            f"SQL parse failed. Illegal {kind} literal '{text}': not in format "
            f"'{'yyyy-MM-dd' if kind != 'TIME' else 'HH:mm:ss'}{' HH:mm:ss' if kind == 'TIMESTAMP' else ''}' "
            f"before line {at.line}, column {at.column}."
        ) from error


def _padded_clock(text: str) -> str:
    return ":".join(f"{part:0>2}" for part in text.split(":"))


def _padded_date(text: str) -> str:
    year, month, day = text.split("-")
    return f"{year:0>4}-{month:0>2}-{day:0>2}"


def interval_literal(reader: TokenReader) -> Lit:
    """Take `INTERVAL '5' SECOND`, `INTERVAL '1 10:00' DAY TO MINUTE` and the like.

    Raises:
        SqlParserError: the text does not fit the unit.
    """
    reader.expect("INTERVAL")
    sign = -1 if reader.accept("-") else 1
    token = reader.next()
    text = token.text
    unit, last = _units(reader)
    value = _interval(text.strip(), unit, last)
    if value is None:
        at = reader.position(token)
        qualifier = unit if unit == last else f"{unit} TO {last}"
        raise SqlParserError(
            f"SQL parse failed. Illegal interval literal format '{text}' for INTERVAL {qualifier} "
            f"at line {at.line}, column {at.column}."
        )
    if unit in _MONTHS:
        return Lit(sign * value, YearMonthIntervalType(_month_resolution(unit, last), nullable=False))
    return Lit(
        datetime.timedelta(milliseconds=sign * value), DayTimeIntervalType(_resolution(unit, last), nullable=False)
    )


def at_unit(reader: TokenReader) -> bool:
    """Return whether the unit of an interval follows."""
    return reader.token.kind == "word" and reader.token.upper in _UNITS


def interval_of(reader: TokenReader, difference: Unresolved) -> Apply:
    """Take the units behind `(a - b)`, and return the difference as an interval.

    Raises:
        SqlParserError: something else is in the brackets.
    """
    at = reader.position()
    unit, _ = _units(reader)
    if not (isinstance(difference, Apply) and difference.function == "-" and len(difference.operands) == _PAIR):
        raise SqlParserError(
            f"SQL parse failed. Illegal expression before {unit} at line {at.line}, column {at.column}. Was expecting "
            '"(DATETIME - DATETIME) INTERVALQUALIFIER"'
        )
    return Apply(MONTHS if unit in _MONTHS else DAYS, difference.operands, position=difference.position)


def _units(reader: TokenReader) -> tuple[str, str]:
    """Take the first and the last unit of an interval, such as `DAY TO SECOND`."""
    unit = _unit(reader)
    return unit, _unit(reader) if reader.accept("TO") else unit


def _unit(reader: TokenReader) -> str:
    word = reader.token.upper
    # Flink takes the plural too.
    word = word[:-1] if word.endswith("S") and word[:-1] in _UNITS else word
    if word not in _UNITS:
        reader.fail(*_UNITS)
    reader.next()
    if reader.accept("("):
        reader.comma_list(reader.integer)
        reader.expect(")")
    return word


_SECONDS = r"\d+(\.\d{0,6})?"
_DIGITS = {"SECOND": _SECONDS}
_BEFORE = {"HOUR": r"\s+", "MINUTE": ":", "SECOND": ":"}
"""What stands before a field that is not the first one."""

_LIMITS = {"HOUR": 24, "MINUTE": 60, "SECOND": 60}


def _interval(text: str, unit: str, last: str) -> int | None:
    sign = -1 if text.startswith("-") else 1
    text = text.lstrip("+-")
    if unit in _MONTHS:
        numbers = text.split("-")
        if not all(number.isdecimal() for number in numbers) or len(numbers) != (1 if unit == last else 2):
            return None
        if len(numbers) == _PAIR and int(numbers[1]) >= _MONTHS["YEAR"]:
            return None
        return sign * (int(numbers[0]) * _MONTHS[unit] + (int(numbers[1]) if len(numbers) == 2 else 0))
    if unit == last:
        if not re.fullmatch(_SECONDS if unit == "SECOND" else r"\d+", text):
            return None
        whole, _, fraction = text.partition(".")
        return sign * (int(whole) * _MILLISECONDS[unit] + (int(fraction[:3].ljust(3, "0")) if fraction else 0))
    fields = _FIELDS[_FIELDS.index(unit) : _FIELDS.index(last) + 1]
    shape = "".join(("" if field == unit else _BEFORE[field]) + _DIGITS.get(field, r"\d+") for field in fields)
    if not re.fullmatch(shape, text):
        return None
    parts = re.split(r"\s+|:", text)
    if any(float(part) >= _LIMITS[field] for part, field in zip(parts[1:], fields[1:], strict=True)):
        return None
    return sign * sum(round(float(part) * _MILLISECONDS[field]) for part, field in zip(parts, fields, strict=True))


def _resolution(unit: str, last: str) -> DayTimeIntervalType.DayTimeResolution:
    first = "DAY" if unit == "WEEK" else unit
    name = first if unit == last else f"{first}_TO_{last}"
    return DayTimeIntervalType.DayTimeResolution[name]


def _month_resolution(unit: str, last: str) -> int:
    name = "YEAR" if unit == last == "YEAR" else "MONTH" if unit == last else "YEAR_TO_MONTH"
    return int(getattr(YearMonthIntervalType.YearMonthResolution, name))
