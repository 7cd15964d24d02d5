"""When the next batch may begin."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from firesteel.common.options.execution_options import BUFFER_TIMEOUT_ENABLED, BUFFER_TIMEOUT_INTERVAL

_SHARE = 1 / 3
"""The share of the time that small batches take at most if nobody says how often they may begin."""


class BatchSpacing:
    """The time between the starts of two batches.

    That is `execution.buffer-timeout.interval`. If the option is not set, batches that take little time begin more
    often than its default says, so that records wait less, as long as two thirds of the time are left to others. They
    do not with `execution.buffer-timeout.enabled: false`, by which a job asks for few large batches.

    Args:
        options: The job's configuration.
        clock: Returns the time in seconds.
    """

    def __init__(self, options: Mapping[str, str], clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._most_s = BUFFER_TIMEOUT_INTERVAL.of(options)
        is_open = BUFFER_TIMEOUT_INTERVAL.text_in(options) is None
        self._adapts = is_open and BUFFER_TIMEOUT_ENABLED.of(options)
        self._spacing_s = self._most_s
        self.begun_s = float("-inf")
        """When the last batch began."""

    def begin(self) -> None:
        """Begin a batch."""
        self.begun_s = self._clock()

    def end(self) -> float:
        """End the batch, and return the time in seconds that it took."""
        took_s = self._clock() - self.begun_s
        if self._adapts:
            self._spacing_s = min(self._most_s, took_s / _SHARE)
        return took_s

    def rest_s(self) -> float:
        """Return the time in seconds in which no batch may begin, negative if one may."""
        return self.begun_s + self._spacing_s - self._clock()
