"""The settings of a file sink, made ready to run: encoding, buckets and when a part is complete."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from firesteel.common.java_text import java_formatter
from firesteel.datastream.connectors.file_sink import (
    BucketAssigner,
    DefaultRollingPolicy,
    FileSinkSettings,
    RollingPolicy,
)

_PATTERN_FIELDS = {"yyyy": "%Y", "MM": "%m", "dd": "%d", "HH": "%H", "mm": "%M", "ss": "%S"}
_PATTERN = re.compile("|".join(_PATTERN_FIELDS))


def encoder_of(settings: FileSinkSettings, input_type: Any) -> Callable[[Any], bytes]:
    """The bytes of an element: Java's text and a line end.

    Raises:
        NotImplementedError: a bulk format is asked for.
    """
    if settings.encoder is None:
        raise NotImplementedError("FileSink: bulk formats are not implemented yet, use FileSink.for_row_format(...)")
    text, charset = java_formatter(input_type), settings.encoder.charset_name
    return lambda value: f"{text(value)}\n".encode(charset)


def bucket_at(assigner: BucketAssigner) -> Callable[[int], str]:
    """The directory for elements that come at a processing time (ms), relative to the base path.

    Example:
        >>> bucket_at(BucketAssigner("yyyy-MM-dd--HH", "UTC"))(0)
        '1970-01-01--00'
    """
    if assigner.format_str is None:
        return lambda now: ""
    pattern = _PATTERN.sub(lambda found: _PATTERN_FIELDS[found.group()], assigner.format_str.replace("'", ""))
    zone: tzinfo | None = ZoneInfo(assigner.timezone_id) if assigner.timezone_id else None
    return lambda now: datetime.fromtimestamp(now / 1000, UTC).astimezone(zone).strftime(pattern)


@dataclass(frozen=True, slots=True)
class Rolling:
    """When a part is complete: at this size (bytes), age or time without elements (ms); zero ages mean each batch."""

    part_size: float
    rollover_ms: int
    inactivity_ms: int

    def is_over(self, created_ms: int, modified_ms: int, now: int) -> bool:
        """True if a part is to be finished at the end of a batch."""
        return now - created_ms >= self.rollover_ms or now - modified_ms >= self.inactivity_ms


def rolling_of(policy: RollingPolicy) -> Rolling:
    """When parts are complete by that policy."""
    if isinstance(policy, DefaultRollingPolicy):
        return Rolling(policy.part_size, policy.rollover_interval, policy.inactivity_interval)
    return Rolling(float("inf"), 0, 0)
