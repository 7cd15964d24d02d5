"""The idleness of operators that see elements but no splits: `assign_timestamps_and_watermarks`, SQL's watermarks."""

from __future__ import annotations

from collections.abc import Callable

InputTime = Callable[[], tuple[float, float]]
"""Returns the time of the job's input in ms: at the start of the current batch, and at its end at the latest."""


class IdleTimer:
    """A timer that expires when no element has arrived for the timeout (Flink: `IdlenessTimer`).

    Time is that of the job's input, which passes while the job waits and while its batches run.

    Args:
        input_ms: Returns the time.
        timeout_ms: The timeout in ms.

    Example:
        >>> timer = IdleTimer(lambda: now, 1000)
        >>> now = (0, 50)
        >>> timer.saw_elements()
        >>> now = (400, 450)
        >>> timer.left_ms()
        650
    """

    def __init__(self, input_ms: InputTime, timeout_ms: int) -> None:
        self._input_ms = input_ms
        self._timeout_ms = timeout_ms
        self._since_ms: float | None = None

    def saw_elements(self) -> None:
        """Note that the current batch has elements for this operator."""
        self._since_ms = self._input_ms()[1]

    def left_ms(self) -> int:
        """Return the time in ms until the timer expires; call it at the end of a batch."""
        begun_ms, end_ms = self._input_ms()
        if self._since_ms is None:  # the first batch of this attempt
            self._since_ms = end_ms
        return max(0, round(self._since_ms + self._timeout_ms - begun_ms))
