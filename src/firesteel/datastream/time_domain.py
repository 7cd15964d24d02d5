"""What kind of time a timer belongs to (module as `pyflink.datastream.time_domain`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """Event time follows the watermarks, processing time the clock of the machine."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
