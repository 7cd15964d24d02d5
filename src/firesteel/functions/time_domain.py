"""The time domains of timers (module as `pyflink.datastream.time_domain`)."""

from __future__ import annotations

from enum import Enum

__all__ = ["TimeDomain"]


class TimeDomain(Enum):
    """The time that a timer refers to: watermarks or the machine's clock."""

    EVENT_TIME = 0
    PROCESSING_TIME = 1
