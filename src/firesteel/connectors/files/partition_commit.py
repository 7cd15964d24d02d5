"""When partitions of a table of files are committed. Flink: `PartitionCommitTrigger`, `PartTimeExtractor`."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import unquote

from firesteel.columns.functions.function_errors import FunctionError
from firesteel.columns.functions.java_dates import java_parser
from firesteel.columns.value_text import time_zone
from firesteel.common.table_errors import ValidationException
from firesteel.connectors.table_options import Options

_TRIGGER, _DELAY, _ZONE = (f"sink.partition-commit.{name}" for name in ("trigger", "delay", "watermark-time-zone"))
_KIND, _PATTERN, _FORMATTER = (
    f"partition.time-extractor.{name}" for name in ("kind", "timestamp-pattern", "timestamp-formatter")
)
_MOMENT = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})(?: (\d{1,2}):(\d{1,2}):(\d{1,2}))?")


@dataclass(frozen=True)
class PartitionMark:
    """A partition that is complete.

    Attributes:
        directory: Its directory.
    """

    directory: str


@dataclass(frozen=True)
class PartitionTime:
    """The time of a partition by its values.

    Attributes:
        pattern: A text with `$column` for values; empty for the first value.
        formatter: Java's pattern of that text; empty for dates and times such as `2024-02-29 12:00:00`.
        zone: The time zone of the text.
    """

    pattern: str
    formatter: str
    zone: str

    def ms(self, values: Mapping[str, str]) -> int:
        """Return the time of a partition in ms since the epoch.

        Raises:
            ValueError: its values are no time.
        """
        text = self.pattern or next(iter(values.values()))
        if self.pattern:
            # The longest first, or `$hour` would be the value of `h` and `our`.
            for name in sorted(values, key=len, reverse=True):
                text = text.replace(f"${name}", values[name])
        moment = java_parser(self.formatter)(text) if self.formatter else _moment(text)
        if moment is None:
            raise ValueError(f"The values {dict(values)} of a partition make {text!r}, which is no time")
        return round(moment.replace(tzinfo=time_zone(self.zone)).timestamp() * 1000)


def _moment(text: str) -> datetime.datetime | None:
    found = _MOMENT.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups("0"))
    return datetime.datetime(year, month, day, hour, minute, second)


@dataclass(frozen=True)
class CommitTrigger:
    """When a partition is complete.

    Attributes:
        delay_ms: The time after it was created or, with `time`, after its own time by the watermark.
        time: The time of a partition; None for the time at which it was created.
    """

    delay_ms: int
    time: PartitionTime | None

    def due_ms(self, bucket: str, created_ms: int) -> int:
        """Return the processing time or the watermark at which a partition is complete.

        Args:
            bucket: Its directory below that of the table.
            created_ms: When its first row was written.

        Raises:
            ValueError: its values are no time.
        """
        if self.time is None:
            return created_ms + self.delay_ms
        return self.time.ms(_values(bucket)) + self.delay_ms + 1

    def is_due(self, bucket: str, created_ms: int, now_ms: int, watermark: int) -> bool:
        """Return whether a partition is complete."""
        return self.due_ms(bucket, created_ms) <= (now_ms if self.time is None else watermark)


def _values(bucket: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in bucket.split("/"))
    return {unquote(name): unquote(value) for name, _, value in pairs}


def commit_trigger(options: Options, is_partitioned: bool) -> CommitTrigger | None:
    """Return when partitions are committed, None for the checkpoint after each write.

    Raises:
        ValidationException: an option is invalid, or names a class of Java.
    """
    kind = options.choice(_TRIGGER, ("process-time", "partition-time"), "process-time")
    delay_ms = options.duration_ms(_DELAY, 0) or 0
    _check(options)
    if kind == "process-time":
        return CommitTrigger(delay_ms, None) if delay_ms and is_partitioned else None
    if not is_partitioned:
        raise options.invalid(_TRIGGER, "process-time for a table without PARTITIONED BY")
    zone = options.text(_ZONE, "UTC")
    return CommitTrigger(delay_ms, PartitionTime(options.text(_PATTERN), options.text(_FORMATTER), zone))


def _check(options: Options) -> None:
    options.choice(_KIND, ("default",), "default")
    if "partition.time-extractor.class" in options.values:
        raise ValidationException("partition.time-extractor.class is not supported: it names a class of Java")
    checks: tuple[tuple[str, Callable[[str], object], str], ...] = (
        (_ZONE, time_zone, "a time zone such as UTC"),
        (_FORMATTER, java_parser, "a pattern such as yyyy-MM-dd HH:mm:ss"),
    )
    for option, check, wanted in checks:
        if option in options.values:
            try:
                check(options.text(option))
            except (ValueError, FunctionError):
                raise options.invalid(option, wanted) from None
