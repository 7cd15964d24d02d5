"""Values as text: the results of `CAST(x AS STRING)` and the output of the print connector.

Values are Python values as returned by `pyarrow.Array.to_pylist`.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from typing import Any
from zoneinfo import ZoneInfo

from firesteel.columns import column_types as t
from firesteel.common.options.table_options import TABLE_LOCAL_TIME_ZONE
from firesteel.common.system_time_zone import system_time_zone
from firesteel.common.typeinfo import Types
from firesteel.common.values.java_text import java_formatter

Formatter = Callable[[Any], str]

double_text: Formatter = java_formatter(Types.DOUBLE())
float_text: Formatter = java_formatter(Types.FLOAT())
UTC = datetime.UTC
_OFFSET = re.compile(r"(?:GMT|UTC)?([+-])(\d{1,2})(?::?(\d{2}))?", re.ASCII)
_MICROSECOND = datetime.timedelta(microseconds=1)


def cast_formatter(data_type: t.DataType, time_zone: datetime.tzinfo = UTC) -> Formatter:
    """Return a function that formats a value as CAST to STRING does; a nested NULL becomes `NULL`.

    Args:
        data_type: The type of the values.
        time_zone: The session's time zone, for TIMESTAMP_LTZ.
    """
    plain = _CAST.get(type(data_type))
    if plain is not None:
        return plain
    if isinstance(data_type, t.TimeType):
        return lambda value: value.strftime("%H:%M:%S") + _fraction(value.microsecond, data_type.precision)
    if isinstance(data_type, t.TimestampType):
        return lambda value: timestamp_text(value, data_type.precision)
    if isinstance(data_type, t.LocalZonedTimestampType):
        return lambda value: timestamp_text(value.astimezone(time_zone), data_type.precision)
    return _nested(data_type, "NULL", "(", ")", lambda child: cast_formatter(child, time_zone))


def print_formatter(data_type: t.DataType) -> Formatter:
    """Return a function that formats a value as the print connector does; NULL becomes `null`."""
    plain = _PRINT.get(type(data_type)) or _nested(data_type, "null", "+I[", "]", print_formatter)
    return lambda value: "null" if value is None else plain(value)


def _nested(
    data_type: t.DataType, null: str, opening: str, closing: str, child: Callable[[t.DataType], Formatter]
) -> Formatter:
    def optional(child_type: t.DataType) -> Formatter:
        text = child(child_type)
        return lambda value: null if value is None else text(value)

    if isinstance(data_type, t.ArrayType):
        element = optional(data_type.element_type)
        return lambda value: f"[{', '.join(map(element, value))}]"
    if isinstance(data_type, (t.MapType, t.MultisetType)):
        key, item = map(optional, map_types(data_type))
        return lambda value: f"{{{', '.join(f'{key(k)}={item(v)}' for k, v in value)}}}"
    if isinstance(data_type, t.RowType):
        fields = [optional(field) for field in data_type.field_types()]
        return lambda value: (
            opening + ", ".join(text(item) for text, item in zip(fields, value.values(), strict=True)) + closing
        )
    return str


def map_types(data_type: t.MapType | t.MultisetType) -> tuple[t.DataType, t.DataType]:
    """Return the key and value types; a multiset maps elements to their number of occurrences."""
    if isinstance(data_type, t.MapType):
        return data_type.key_type, data_type.value_type
    return data_type.element_type, t.IntType(False)


def timestamp_text(value: datetime.datetime, precision: int) -> str:
    """Return a timestamp as `2024-01-02 03:04:05.120`, with at least `precision` fractional digits."""
    moment = value.replace(tzinfo=None, microsecond=0).isoformat(" ")
    return moment + _fraction(value.microsecond, precision)


def _fraction(micros: int, precision: int) -> str:
    digits = f"{micros:06d}".ljust(9, "0")
    digits = digits[:precision] + digits[precision:].rstrip("0")
    return f".{digits}" if digits else ""


def day_time_text(value: datetime.timedelta) -> str:
    """Return a day-time interval as `+1 02:03:04.005`."""
    millis = value // (1000 * _MICROSECOND) if value >= datetime.timedelta(0) else -(-value // (1000 * _MICROSECOND))
    seconds, fraction = divmod(abs(millis), 1000)
    minutes, second = divmod(seconds, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    return f"{'-' if millis < 0 else '+'}{days} {hour:02d}:{minute:02d}:{second:02d}.{fraction:03d}"


def year_month_text(months: int) -> str:
    """Return a year-month interval as `+1-02`."""
    years, rest = divmod(abs(months), 12)
    return f"{'-' if months < 0 else '+'}{years}-{rest:02d}"


def _boolean(value: object) -> str:
    return "TRUE" if value else "FALSE"


def _decimal(value: object) -> str:
    return f"{value:f}"


def _utf8(value: bytes) -> str:
    return value.decode("utf-8", "replace")


def _local(value: datetime.datetime | datetime.time) -> str:
    """Return the text of a `java.time` local time, which omits seconds that are zero."""
    text = value.isoformat(timespec="minutes")
    if not value.second and not value.microsecond:
        return text
    micros = value.microsecond
    fraction = "" if not micros else f".{micros // 1000:03d}" if micros % 1000 == 0 else f".{micros:06d}"
    return f"{text}:{value.second:02d}{fraction}"


def _instant(value: datetime.datetime) -> str:
    text = _local(value.astimezone(UTC).replace(tzinfo=None))
    return f"{text if len(text) > 16 else text + ':00'}Z"


def _duration(value: datetime.timedelta) -> str:
    """Return the text of a `java.time.Duration`, e.g. `PT25H0.5S`."""
    micros = value // _MICROSECOND
    if not micros:
        return "PT0S"
    sign, micros = (-1 if micros < 0 else 1), abs(micros)
    minutes, rest = divmod(micros, 60_000_000)
    hours, minutes = divmod(minutes, 60)
    text = "PT" + (f"{sign * hours}H" if hours else "") + (f"{sign * minutes}M" if minutes else "")
    if rest:
        whole, fraction = divmod(rest, 1_000_000)
        text += f"{'-' if sign < 0 else ''}{whole}{f'.{fraction:06d}'.rstrip('0') if fraction else ''}S"
    return text


def _period(months: int) -> str:
    """Return the text of a normalised `java.time.Period`, e.g. `P1Y2M`."""
    sign = -1 if months < 0 else 1
    years, rest = divmod(abs(months), 12)
    return (
        "P" + (f"{sign * years}Y" if years else "") + (f"{sign * rest}M" if rest or not years else "")
        if months
        else "P0D"
    )


def _signed_bytes(value: bytes) -> str:
    return f"[{', '.join(str(b - 256 if b > 127 else b) for b in value)}]"


_CAST: dict[type[t.DataType], Formatter] = {
    t.BooleanType: _boolean,
    t.DecimalType: _decimal,
    t.FloatType: float_text,
    t.DoubleType: double_text,
    t.BinaryType: _utf8,
    t.VarBinaryType: _utf8,
    t.DayTimeIntervalType: day_time_text,
    t.YearMonthIntervalType: year_month_text,
}

_PRINT: dict[type[t.DataType], Formatter] = {
    t.BooleanType: lambda value: "true" if value else "false",
    t.DecimalType: _decimal,
    t.FloatType: float_text,
    t.DoubleType: double_text,
    t.BinaryType: _signed_bytes,
    t.VarBinaryType: _signed_bytes,
    t.TimeType: _local,
    t.TimestampType: _local,
    t.LocalZonedTimestampType: _instant,
    t.DayTimeIntervalType: _duration,
    t.YearMonthIntervalType: _period,
}


def session_zone(configuration: Mapping[str, str]) -> datetime.tzinfo:
    """Return the time zone of the session of a job (`table.local-time-zone`), by default that of this machine."""
    name = TABLE_LOCAL_TIME_ZONE.of(configuration)
    return time_zone(system_time_zone() if name == "default" else name)


def time_zone(name: str) -> datetime.tzinfo:
    """Return the time zone of `table.local-time-zone`: a name such as `Asia/Shanghai`, or an offset (`GMT-08:00`).

    Raises:
        ValueError: The time zone does not exist.
    """
    if name in ("UTC", "GMT", "Z", "UT"):
        return UTC
    if found := _OFFSET.fullmatch(name):
        delta = datetime.timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return datetime.timezone(-delta if found[1] == "-" else delta)
    try:
        return ZoneInfo(name)
    except (KeyError, OSError, ValueError) as error:
        raise ValueError(
            f"Unknown time zone {name!r}; use a name or offset such as 'Europe/Berlin', 'UTC' or 'GMT+02:00'"
        ) from error
