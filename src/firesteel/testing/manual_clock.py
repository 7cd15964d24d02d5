"""Processing time that stands still until it is moved."""

from __future__ import annotations

from typing import Self

from firesteel.operators.clock import use_time_source


class ManualClock:
    """Processing time of all operators in this process, while the `with` block runs.

    Example:
        >>> with ManualClock(1000) as clock:
        ...     clock.advance(500)
        ...     clock.now_ms
        1500
    """

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def advance(self, by_ms: int) -> None:
        """Move on by so many milliseconds."""
        self.now_ms += by_ms

    def __enter__(self) -> Self:
        use_time_source(lambda: self.now_ms * 1_000_000)
        return self

    def __exit__(self, *_: object) -> None:
        use_time_source(None)
