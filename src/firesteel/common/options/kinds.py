"""Types of the values of options: how their texts are read."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from firesteel.common.keys.max_parallelism import UPPER_BOUND_MAX_PARALLELISM
from firesteel.common.options.memory_size import parse_bytes
from firesteel.common.time import Duration

__all__ = [
    "Kind",
    "boolean",
    "choice",
    "duration",
    "integer",
    "integer_from",
    "key_groups",
    "memory",
    "number",
    "number_above",
    "number_between",
    "ports",
    "positive_duration",
    "string",
    "text_kind",
    "text_of",
]

T = TypeVar("T")
_LARGEST_PORT = 65535


@dataclass(frozen=True, slots=True)
class Kind(Generic[T]):
    """A type of values.

    Attributes:
        name: Its name in the documentation.
        parse: Return the value of a text; raises ValueError with the text, and what is allowed.
    """

    name: str
    parse: Callable[[str], T]


def text_of(value: object) -> str:
    """Return the text of a value, as a configuration file has it.

    Example:
        >>> text_of(True), text_of(5)
        ('true', '5')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _seconds(text: str) -> float:
    try:
        return Duration.parse(text).to_nanos() / 1e9
    except ValueError as error:
        raise ValueError(f"{text!r} is not a duration: {error}") from None


def _seconds_above_0(text: str) -> float:
    seconds = _seconds(text)
    if not seconds:
        raise ValueError(f"{text!r} is no duration above 0")
    return seconds


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ValueError(f"{text!r} is not a number")
    return value


def _boolean(text: str) -> bool:
    value = text.strip().lower()
    if value not in ("true", "false"):
        raise ValueError(f"{text!r} is not a boolean; allowed: true, false")
    return value == "true"


def _whole(text: str) -> int:
    if not text.strip().removeprefix("-").isdecimal():
        raise ValueError(f"{text!r} is not a whole number")
    return int(text)


def integer_from(least: int) -> Kind[int]:
    """Return the type of whole numbers that are not less than `least`."""

    def parse(text: str) -> int:
        if not text.strip().removeprefix("-").isdecimal() or int(text) < least:
            raise ValueError(f"{text!r} is not a whole number of at least {least}")
        return int(text)

    return Kind("int", parse)


def _key_groups(text: str) -> int:
    number = _whole(text)
    if number != -1 and not 0 < number <= UPPER_BOUND_MAX_PARALLELISM:
        raise ValueError(f"{text!r} is neither -1 nor a whole number from 1 to {UPPER_BOUND_MAX_PARALLELISM}")
    return number


def number_between(least: float, most: float) -> Kind[float]:
    """Return the type of numbers from `least` to `most`."""

    def parse(text: str) -> float:
        value = _number(text)
        if not least <= value <= most:
            raise ValueError(f"{text!r} is not a number from {least:g} to {most:g}")
        return value

    return Kind("float", parse)


def number_above(bound: float) -> Kind[float]:
    """Return the type of numbers that are greater than `bound`."""

    def parse(text: str) -> float:
        value = _number(text)
        if not bound < value < math.inf:
            raise ValueError(f"{text!r} is not a number above {bound:g}")
        return value

    return Kind("float", parse)


def _ports(text: str) -> tuple[int, ...]:
    found = [re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", part) for part in text.split(",")]
    ports = [port for match in found if match for port in range(int(match[1]), int(match[2] or match[1]) + 1)]
    if not all(found) or not ports or max(ports) > _LARGEST_PORT:
        raise ValueError(f"{text!r} is not a port, a range such as 8081-8090, or a list of them")
    return tuple(ports)


def choice(*allowed: str, any_case: bool = True, also: Mapping[str, str] | None = None) -> Kind[str]:
    """Return the type of an option that has one of these values, which are read in the spelling given here.

    Args:
        allowed: The values.
        any_case: Whether upper and lower case are the same.
        also: Other names of some values.
    """
    named = {value: value for value in allowed} | dict(also or {})
    found = {name.upper() if any_case else name: value for name, value in named.items()}

    def parse(text: str) -> str:
        value = found.get(text.strip().upper() if any_case else text.strip())
        if value is None:
            raise ValueError(f"{text!r} is unknown; allowed: {', '.join(allowed)}")
        return value

    return Kind("enum", parse)


def text_kind(name: str) -> Kind[str]:
    """Return a type of texts that are not checked here, such as paths."""
    return Kind(name, str)


duration: Kind[float] = Kind("duration", _seconds)
"""Durations, such as `200 ms`, in seconds."""

positive_duration: Kind[float] = Kind("duration", _seconds_above_0)
"""Durations above 0, in seconds."""

memory: Kind[int] = Kind("memory", parse_bytes)
"""Sizes, such as `64 mb`, in bytes."""

ports: Kind[tuple[int, ...]] = Kind("ports", _ports)
"""Ports to try in this order, such as `8081-8090`."""

number: Kind[float] = Kind("float", _number)
boolean: Kind[bool] = Kind("boolean", _boolean)
integer: Kind[int] = Kind("int", _whole)

key_groups: Kind[int] = Kind("int", _key_groups)
"""Numbers of key groups; -1 for one that follows from the parallelism."""
string = text_kind("string")
host = text_kind("host")
path = text_kind("path")
paths = text_kind("paths")
strings = text_kind("list")
uri = text_kind("URI")
mapping = text_kind("map")
