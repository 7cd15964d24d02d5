"""Durations and instants (module as `pyflink.common.time`)."""

from __future__ import annotations

import re
from functools import total_ordering

_NANOS = {"d": 86_400_000_000_000, "h": 3_600_000_000_000, "min": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000}
_NANOS |= {"us": 1_000, "ns": 1}
_UNITS = {
    "": "ms",
    **dict.fromkeys(("d", "day", "days"), "d"),
    **dict.fromkeys(("h", "hour", "hours"), "h"),
    **dict.fromkeys(("m", "min", "minute", "minutes"), "min"),
    **dict.fromkeys(("s", "sec", "secs", "second", "seconds"), "s"),
    **dict.fromkeys(("ms", "milli", "millis", "millisecond", "milliseconds"), "ms"),
    **dict.fromkeys(("us", "µs", "micro", "micros", "microsecond", "microseconds"), "us"),
    **dict.fromkeys(("ns", "nano", "nanos", "nanosecond", "nanoseconds"), "ns"),
}
_DURATION_TEXT = re.compile(r"\s*(\d+)\s*([a-zµ]*)\s*", re.IGNORECASE)


@total_ordering
class Duration:
    """A duration with nanosecond precision (Flink uses `java.time.Duration`).

    Args:
        nanos: Length in nanoseconds; may be negative.

    Example:
        >>> Duration.of_seconds(90).to_millis(), Duration.parse("5 min")
        (90000, 5 min)
    """

    __slots__ = ("_nanos",)

    def __init__(self, nanos: int) -> None:
        self._nanos = nanos

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a duration of days of 24 hours.

        Args:
            days: Any whole number, also a negative one.
        """
        return Duration(days * _NANOS["d"])

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a duration of hours.

        Args:
            hours: Any whole number, also a negative one.
        """
        return Duration(hours * _NANOS["h"])

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a duration of milliseconds.

        Args:
            millis: Any whole number, also a negative one.
        """
        return Duration(millis * _NANOS["ms"])

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a duration of minutes.

        Args:
            minutes: Any whole number, also a negative one.
        """
        return Duration(minutes * _NANOS["min"])

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a duration of nanoseconds.

        Args:
            nanos: Any whole number, also a negative one.
        """
        return Duration(nanos)

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a duration of seconds.

        Args:
            seconds: Any whole number, also a negative one.
        """
        return Duration(seconds * _NANOS["s"])

    @staticmethod
    def parse(text: str) -> Duration:
        """Return the duration of a configuration value.

        Args:
            text: A whole number and a unit, such as `200 ms`, `10s` or `5 min`; without a unit, it is in milliseconds.

        Raises:
            ValueError: `text` is not a duration.
        """
        match = _DURATION_TEXT.fullmatch(text)
        unit = _UNITS.get(match.group(2).lower()) if match else None
        if match is None or unit is None:
            raise ValueError(f"{text!r} is not a duration; write a number and a unit of {', '.join(_NANOS)}")
        return Duration(int(match.group(1)) * _NANOS[unit])

    def to_millis(self) -> int:
        """Return the duration in milliseconds, rounded down."""
        return self._nanos // _NANOS["ms"]

    def to_nanos(self) -> int:
        """Return the duration in nanoseconds."""
        return self._nanos

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Duration) and self._nanos == other._nanos

    def __lt__(self, other: Duration) -> bool:
        return self._nanos < other._nanos

    def __hash__(self) -> int:
        return hash(self._nanos)

    def __repr__(self) -> str:
        unit = next(unit for unit, nanos in _NANOS.items() if self._nanos % nanos == 0)
        return f"{self._nanos // _NANOS[unit]} {unit}" if self._nanos else "0 ms"


@total_ordering
class Time:
    """A duration in milliseconds, used for windows (Flink: `api.common.time.Time`).

    Args:
        milliseconds: Any whole number; windows and triggers check that it suits them.

    Example:
        >>> Time.minutes(5).to_milliseconds()
        300000
    """

    __slots__ = ("_milliseconds",)

    def __init__(self, milliseconds: int) -> None:
        self._milliseconds = milliseconds

    @staticmethod
    def seconds(seconds: int) -> Time:
        """Return a duration of seconds.

        Args:
            seconds: Any whole number; windows and triggers check that it suits them.
        """
        return Time(seconds * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a duration of minutes.

        Args:
            minutes: Any whole number; windows and triggers check that it suits them.
        """
        return Time(minutes * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a duration of hours.

        Args:
            hours: Any whole number; windows and triggers check that it suits them.
        """
        return Time(hours * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """Return a duration of days of 24 hours.

        Args:
            days: Any whole number; windows and triggers check that it suits them.
        """
        return Time(days * 86_400_000)

    @staticmethod
    def milliseconds(milliseconds: int) -> Time:
        """Return a duration of milliseconds.

        Args:
            milliseconds: Any whole number; windows and triggers check that it suits them.
        """
        return Time(milliseconds)

    def to_milliseconds(self) -> int:
        """Return the duration in milliseconds."""
        return self._milliseconds

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Time) and self._milliseconds == other._milliseconds

    def __lt__(self, other: Time) -> bool:
        return self._milliseconds < other._milliseconds

    def __hash__(self) -> int:
        return hash(self._milliseconds)

    def __str__(self) -> str:
        return f"{self._milliseconds} ms"

    __repr__ = __str__


@total_ordering
class Instant:
    """A point in time: seconds since 1970-01-01T00:00:00Z and nanoseconds within the second.

    Args:
        seconds: Seconds since the epoch; negative before 1970.
        nanos: Nanoseconds to add, 0 to 999,999,999; the range is not checked.

    Example:
        >>> Instant.of_epoch_milli(1500)
        Instant<1, 500000000>
    """

    __slots__ = ("nanos", "seconds")

    def __init__(self, seconds: int, nanos: int) -> None:
        self.seconds = seconds
        self.nanos = nanos

    @staticmethod
    def of_epoch_milli(epoch_milli: int) -> Instant:
        """Return the instant of a timestamp.

        Args:
            epoch_milli: Milliseconds since the epoch; negative before 1970.
        """
        seconds, millis = divmod(epoch_milli, 1_000)
        return Instant(seconds, millis * 1_000_000)

    def to_epoch_milli(self) -> int:
        """Return the milliseconds since the epoch, rounded down."""
        return self.seconds * 1_000 + self.nanos // 1_000_000

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Instant) and (self.seconds, self.nanos) == (other.seconds, other.nanos)

    def __lt__(self, other: Instant) -> bool:
        return (self.seconds, self.nanos) < (other.seconds, other.nanos)

    def __hash__(self) -> int:
        return hash((self.seconds, self.nanos))

    def __repr__(self) -> str:
        return f"Instant<{self.seconds}, {self.nanos}>"
