"""A processing time that advances only when told to."""

from __future__ import annotations

from typing import Self

from firesteel.operators.chain.clock import TimeSource, use_time_source


class ManualClock:
    """The processing time of all operators in this process, within a `with` block.

    Args:
        now_ms: The initial time in ms since the epoch.

    Example:
        >>> with ManualClock(1000) as clock:
        ...     clock.advance(500)
        ...     clock.now_ms
        1500
    """

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms
        self._former: list[TimeSource | None] = []

    def advance(self, by_ms: int) -> None:
        """Advance the time; timers that are due fire when the operators are asked to.

        Args:
            by_ms: Milliseconds.
        """
        self.now_ms += by_ms

    def __enter__(self) -> Self:
        self._former.append(use_time_source(lambda: self.now_ms * 1_000_000))
        return self

    def __exit__(self, *_: object) -> None:
        use_time_source(self._former.pop())
