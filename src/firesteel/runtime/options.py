"""Typed values from a configuration, with Flink's option names and formats."""

from __future__ import annotations

import re
from collections.abc import Mapping

from firesteel.common.memory_size import parse_bytes
from firesteel.errors import FiresteelError

__all__ = ["InvalidOptionError", "duration_s", "number", "parse_duration_s"]

_UNITS_S = {
    "": 1e-3, "ms": 1e-3, "milli": 1e-3, "millis": 1e-3, "millisecond": 1e-3, "milliseconds": 1e-3,
    "s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
    "m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
    "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "day": 86400, "days": 86400,
}  # fmt: skip
_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*([a-z]*)")
_ISO_DURATION = re.compile(r"pt(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?")


class InvalidOptionError(FiresteelError, ValueError):
    """An option has an invalid value."""


def duration_s(configuration: Mapping[str, str], option: str, default_s: float) -> float:
    """Return the duration of an option in seconds.

    Raises:
        InvalidOptionError: it is not a duration.
    """
    text = configuration.get(option)
    if text is None:
        return default_s
    try:
        return parse_duration_s(text)
    except ValueError as error:
        raise InvalidOptionError(f"option {option!r}: {error}") from None


def parse_duration_s(text: str) -> float:
    """Return the seconds of a duration in Flink's format; a bare number is in ms.

    Raises:
        ValueError: the text is not a duration.

    Example:
        >>> parse_duration_s("10 s"), parse_duration_s("500"), parse_duration_s("PT1M30S")
        (10.0, 0.5, 90.0)
    """
    lowered = str(text).strip().lower()
    plain = _DURATION.fullmatch(lowered)
    if plain and plain[2] in _UNITS_S:
        return float(plain[1]) * _UNITS_S[plain[2]]
    iso = _ISO_DURATION.fullmatch(lowered)
    if iso and any(iso.groups()):
        hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return hours * 3600 + minutes * 60 + seconds
    raise ValueError(f"{text!r} is not a duration; examples are '500 ms', '10 s', '5 min' and 'PT1M30S'")


def number(configuration: Mapping[str, str], option: str, default: float) -> float:
    """Return the number of an option.

    Raises:
        InvalidOptionError: it is not a number.
    """
    text = configuration.get(option)
    if text is None:
        return default
    try:
        return float(text)
    except ValueError:
        raise InvalidOptionError(f"option {option!r}: {text!r} is not a number") from None


def boolean(configuration: Mapping[str, str], option: str, default: bool) -> bool:
    """Return the boolean of an option.

    Raises:
        InvalidOptionError: it is neither `true` nor `false`.
    """
    text = configuration.get(option, str(default)).strip().lower()
    if text not in {"true", "false"}:
        raise InvalidOptionError(f"option {option!r}: {configuration[option]!r} is not a boolean; allowed: true, false")
    return text == "true"


def memory_bytes(configuration: Mapping[str, str], option: str, default_bytes: int) -> int:
    """Return the size of an option in bytes, in Flink's format: `10485760b`, `10 mb`.

    Raises:
        InvalidOptionError: it is not a size.
    """
    text = configuration.get(option)
    if text is None:
        return default_bytes
    try:
        return parse_bytes(text)
    except ValueError as error:
        raise InvalidOptionError(f"option {option!r}: {error}") from None


def required(configuration: Mapping[str, str], option: str) -> str:
    """Return the value of an option without a default.

    Raises:
        InvalidOptionError: it is not set.
    """
    text = configuration.get(option, "").strip()
    if not text:
        raise InvalidOptionError(f"option {option!r} is not set, but other configured options require it")
    return text
