"""`TimeCharacteristic`, which has been obsolete since Flink 1.12: each operator declares the time that it uses."""

from __future__ import annotations

from enum import Enum

from firesteel.common.checks import require
from firesteel.datastream.stream_execution_environment import StreamExecutionEnvironment
from firesteel.pyflink1.removed import Removed, note

_INSTEAD = "event-time or processing-time windows and timers; nothing needs to be set"
_EVENT_TIME_INTERVAL_MS = 200


class TimeCharacteristic(Enum):
    """The time that a program uses."""

    ProcessingTime = 0
    IngestionTime = 1
    EventTime = 2


def set_stream_time_characteristic(self: StreamExecutionEnvironment, characteristic: TimeCharacteristic) -> None:
    """Set the watermark interval as in Flink 1: 200 ms for event time, no watermarks for processing time.

    Raises:
        NotImplementedError: the characteristic is IngestionTime.
    """
    require(characteristic, TimeCharacteristic, "set_stream_time_characteristic()")
    note("set_stream_time_characteristic()", _INSTEAD)
    if characteristic is TimeCharacteristic.IngestionTime:
        raise NotImplementedError(
            "TimeCharacteristic.IngestionTime: use WatermarkStrategy.for_monotonous_timestamps() with a timestamp "
            "assigner that reads the clock"
        )
    interval = _EVENT_TIME_INTERVAL_MS if characteristic is TimeCharacteristic.EventTime else 0
    self.get_config().set_auto_watermark_interval(interval)


def get_stream_time_characteristic(self: StreamExecutionEnvironment) -> TimeCharacteristic:
    """Return ProcessingTime if watermarks are disabled, otherwise EventTime."""
    has_watermarks = self.get_config().get_auto_watermark_interval() > 0
    return TimeCharacteristic.EventTime if has_watermarks else TimeCharacteristic.ProcessingTime


_ENVIRONMENT = ("datastream.StreamExecutionEnvironment",)
REMOVED = (
    Removed(("datastream",), "TimeCharacteristic", TimeCharacteristic, _INSTEAD),
    Removed(_ENVIRONMENT, "set_stream_time_characteristic", set_stream_time_characteristic, _INSTEAD),
    Removed(_ENVIRONMENT, "get_stream_time_characteristic", get_stream_time_characteristic, _INSTEAD),
)
