"""The clock by which sources become idle."""

from __future__ import annotations

from collections import deque
from statistics import median

_REMEMBERED = 5
"""Number of batches that tell how long a batch usually takes; two of them may be paused in a row."""


class InputClock:
    """Time that passes for the input of a region: while it waits, and as long as its batches usually take.

    What takes longer is not counted: retries, commits, paused processes and suspended machines say nothing about the
    input. Flink: `PausableRelativeClock`, which stops during backpressure.

    Attributes:
        now_ms: The time in ms since the region started.

    Example:
        >>> clock = InputClock()
        >>> clock.advance(30.0, at_most_s=0.5)
        >>> clock.now_ms
        500.0
    """

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._batches_s: deque[float] = deque(maxlen=_REMEMBERED)

    def advance(self, seconds: float, at_most_s: float) -> None:
        """Add the time that something took, at most as long as it was meant to take."""
        self.now_ms += 1000 * max(0.0, min(seconds, at_most_s))

    def batch_took(self, seconds: float, expected_s: float) -> None:
        """Add the time of a batch, at most what was expected of it and what the last batches took."""
        seen = self._batches_s
        # Until the median can ignore it, the first batch counts too much: it includes the start of operators.
        usual_s = median(seen) if len(seen) == _REMEMBERED else min(seen, default=0.0)
        self.advance(seconds, min(expected_s, usual_s))
        seen.append(seconds)
