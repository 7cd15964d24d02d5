"""Typed values from a configuration, with Flink's option names and formats."""

from __future__ import annotations

from collections.abc import Mapping

from firesteel.common.options.memory_size import parse_bytes
from firesteel.common.time import Duration
from firesteel.errors import FiresteelError

__all__ = ["InvalidOptionError", "duration_s", "number"]


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
        return Duration.parse(text).to_nanos() / 1e9
    except ValueError as error:
        raise InvalidOptionError(f"option {option!r}: {text!r} is not a duration: {error}") from None


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
