"""Durations and instants (module as `pyflink.common.time`)."""

from __future__ import annotations

import re
from functools import total_ordering
from numbers import Real

from firesteel.common.checks import require

_NANOS = {"d": 86_400_000_000_000, "h": 3_600_000_000_000, "min": 60_000_000_000, "s": 1_000_000_000, "ms": 1_000_000}
_NANOS |= {"µs": 1_000, "ns": 1}
_LABELS = {
    "DAYS": ("d", "day", "days"),
    "HOURS": ("h", "hour", "hours"),
    "MINUTES": ("min", "m", "minute", "minutes"),
    "SECONDS": ("s", "sec", "secs", "second", "seconds"),
    "MILLISECONDS": ("ms", "milli", "millis", "millisecond", "milliseconds"),
    "MICROSECONDS": ("µs", "micro", "micros", "microsecond", "microseconds"),
    "NANOSECONDS": ("ns", "nano", "nanos", "nanosecond", "nanoseconds"),
}
_NANOS_OF_LABEL = {label: _NANOS[labels[0]] for labels in _LABELS.values() for label in labels}
_ISO = re.compile(
    r"([-+]?)P(?:([-+]?\d+)D)?(?:T(?:([-+]?\d+)H)?(?:([-+]?\d+)M)?(?:([-+]?\d+)(?:[.,](\d{0,9}))?S)?)?",
    re.IGNORECASE | re.ASCII,
)


def _number(given: int) -> int:
    """Return a number; a text would be multiplied to one of gigabytes."""
    require(given, Real, "a duration")
    return given


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
        self._nanos = int(nanos)  # A part of a day may be given, too.

    @staticmethod
    def of_days(days: int) -> Duration:
        """Return a duration of days of 24 hours.

        Args:
            days: Any whole number, also a negative one.
        """
        return Duration(_number(days) * _NANOS["d"])

    @staticmethod
    def of_hours(hours: int) -> Duration:
        """Return a duration of hours.

        Args:
            hours: Any whole number, also a negative one.
        """
        return Duration(_number(hours) * _NANOS["h"])

    @staticmethod
    def of_millis(millis: int) -> Duration:
        """Return a duration of milliseconds.

        Args:
            millis: Any whole number, also a negative one.
        """
        return Duration(_number(millis) * _NANOS["ms"])

    @staticmethod
    def of_minutes(minutes: int) -> Duration:
        """Return a duration of minutes.

        Args:
            minutes: Any whole number, also a negative one.
        """
        return Duration(_number(minutes) * _NANOS["min"])

    @staticmethod
    def of_nanos(nanos: int) -> Duration:
        """Return a duration of nanoseconds.

        Args:
            nanos: Any whole number, also a negative one.
        """
        return Duration(_number(nanos))

    @staticmethod
    def of_seconds(seconds: int) -> Duration:
        """Return a duration of seconds.

        Args:
            seconds: Any whole number, also a negative one.
        """
        return Duration(_number(seconds) * _NANOS["s"])

    @staticmethod
    def parse(text: str) -> Duration:
        """Return the duration of a configuration value (Flink: `TimeUtils.parseDuration`).

        Args:
            text: A whole number and a unit, such as `200 ms`, `10s` or `5 min`; without a unit, it is in milliseconds.
                Or a duration in ISO-8601, such as `PT1M30S`.

        Raises:
            ValueError: `text` is not a duration, or it is negative; the message is Flink's.

        Example:
            >>> Duration.parse("90"), Duration.parse("1 h"), Duration.parse("P1DT1.5S").to_millis()
            (90 ms, 1 h, 86401500)
        """
        text = text.strip()
        if not text:
            raise ValueError("argument is an empty- or whitespace-only string")
        digits = text[: len(text) - len(text.lstrip("0123456789"))]
        if not digits:
            return _parse_iso(text)
        if int(digits) >= 1 << 63:
            raise ValueError(f"The value '{digits}' cannot be represented as Duration (numeric overflow).")
        label = text[len(digits) :].strip().lower()
        if label and label not in _NANOS_OF_LABEL:
            units = ", ".join(f"{unit}: ({' | '.join(labels)})" for unit, labels in _LABELS.items())
            raise ValueError(f"Time interval unit label '{label}' does not match any of the recognized units: {units}")
        return Duration(int(digits) * _NANOS_OF_LABEL[label or "ms"])

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


def _parse_iso(text: str) -> Duration:
    match = _ISO.fullmatch(text)
    if match is None or not any(match.groups()[1:]):
        raise ValueError(f"text does not start with a number, and is not a valid ISO-8601 duration format: {text}")
    sign, *parts, fraction = match.groups()
    total = sum(int(part or 0) * _NANOS[unit] for part, unit in zip(parts, ("d", "h", "min", "s"), strict=True))
    nanos = int((fraction or "").ljust(9, "0"))
    total += -nanos if (parts[-1] or "").startswith("-") else nanos
    if (total < 0) != (sign == "-") and total:
        raise ValueError("negative duration is not supported")
    return Duration(abs(total))


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
        return Time(_number(seconds) * 1_000)

    @staticmethod
    def minutes(minutes: int) -> Time:
        """Return a duration of minutes.

        Args:
            minutes: Any whole number; windows and triggers check that it suits them.
        """
        return Time(_number(minutes) * 60_000)

    @staticmethod
    def hours(hours: int) -> Time:
        """Return a duration of hours.

        Args:
            hours: Any whole number; windows and triggers check that it suits them.
        """
        return Time(_number(hours) * 3_600_000)

    @staticmethod
    def days(days: int) -> Time:
        """Return a duration of days of 24 hours.

        Args:
            days: Any whole number; windows and triggers check that it suits them.
        """
        return Time(_number(days) * 86_400_000)

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
