"""Event time of the workloads: two records per millisecond, in order."""

from __future__ import annotations

from pyflink.common import WatermarkStrategy
from pyflink.common.watermark_strategy import TimestampAssigner

RECORDS_PER_MS = 2


def time_of(position):
    """Return the event time in ms."""
    return position // RECORDS_PER_MS


class TimeField(TimestampAssigner):
    """Reads the event time from a field of the record."""

    def __init__(self, index):
        self._index = index

    def extract_timestamp(self, value, record_timestamp):
        return value[self._index]


def in_order(index):
    """Return the strategy for ordered tuples with their time in this field."""
    return WatermarkStrategy.for_monotonous_timestamps().with_timestamp_assigner(TimeField(index))
