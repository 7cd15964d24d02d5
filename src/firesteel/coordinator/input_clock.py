"""The clock by which sources become idle."""

from __future__ import annotations


class InputClock:
    """Time that passes for the input of a region: while it waits, and as long as its batches are expected to take.

    What takes longer than planned is not counted: retries, commits, paused processes and suspended machines say nothing
    about the input. Flink: `PausableRelativeClock`, which stops during backpressure.

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

    def advance(self, seconds: float, at_most_s: float) -> None:
        """Add the time that something took, at most as long as it was meant to take."""
        self.now_ms += 1000 * max(0.0, min(seconds, at_most_s))
