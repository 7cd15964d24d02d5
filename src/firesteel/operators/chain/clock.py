"""Processing time: the clock of timers, windows, state lifetimes and rolling files.

It starts at the wall clock and then follows elapsed time. A step of the wall clock thus neither delays nor expires
anything; a run follows the step when it starts anew. Flink schedules by delay for the same reason.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

TimeSource = Callable[[], int]
"""Returns a time in ns."""

_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Linux counts the time in which the machine was suspended by CLOCK_BOOTTIME only."""


steady_ns: TimeSource = partial(time.clock_gettime_ns, _STEADY)
"""Returns elapsed time."""

running_ns: TimeSource = time.monotonic_ns
"""Returns the time in which the machine was running; a call takes half as long as one of `steady_ns`."""


class SteadyClock:
    """A clock that starts at the wall clock and is not affected by its later steps.

    Args:
        wall_ns: The wall clock, read once.
        steady_ns: Elapsed time.

    Attributes:
        offset_ns: What is added to the elapsed time.

    Example:
        >>> wall, elapsed = [5_000_000_000], [0]
        >>> clock = SteadyClock(lambda: wall[0], lambda: elapsed[0])
        >>> wall[0], elapsed[0] = 0, 2_000_000
        >>> clock.now_ms()
        5002
    """

    def __init__(self, wall_ns: TimeSource = time.time_ns, steady_ns: TimeSource = steady_ns) -> None:
        self._steady_ns = steady_ns
        self.offset_ns = wall_ns() - steady_ns()

    def now_ms(self) -> int:
        """Return the time in ms since the epoch."""
        return self.now_ns() // 1_000_000

    def now_ns(self) -> int:
        """Return the time in ns since the epoch."""
        return self.offset_ns + self._steady_ns()

    def set(self, now_ms: int) -> None:
        """Continue from a time in ms since the epoch."""
        self.offset_ns = now_ms * 1_000_000 - self._steady_ns()


_of_process = SteadyClock()
_time_ns: TimeSource | None = None


_ALWAYS = -1
"""A time that is always over."""


class Millisecond:
    """The current processing time, as long as it lasts: states with a time to live ask for it on each access.

    Attributes:
        ms: The time in ms; valid as long as `running_ns()` is below `until_ns`, else `tick` sets it.
        until_ns: The running time at which `ms` is over.
    """

    __slots__ = ("ms", "until_ns")

    def __init__(self) -> None:
        self.ms, self.until_ns = 0, _ALWAYS

    def tick(self) -> None:
        """Read the clock."""
        begun_ns = running_ns()  # First: between the two readings the thread may have to wait.
        self.ms, over_ns = divmod(_of_process.now_ns() if _time_ns is None else _time_ns(), 1_000_000)
        # A time source of a test may go as it likes.
        self.until_ns = begun_ns + 1_000_000 - over_ns if _time_ns is None else _ALWAYS


MILLISECOND = Millisecond()
"""That of this process."""


def now_ms() -> int:
    """Return the current processing time in ms."""
    if running_ns() >= MILLISECOND.until_ns:
        MILLISECOND.tick()
    return MILLISECOND.ms


def follow(now_ms: int) -> None:
    """Continue from the processing time of the job's coordinator, so that slots on all hosts share one clock."""
    _of_process.set(now_ms)
    MILLISECOND.until_ns = _ALWAYS


def use_time_source(time_ns: TimeSource | None) -> TimeSource | None:
    """Read processing time from a function that returns ns, or from the clock of this process if None.

    Returns:
        What it was read from before.
    """
    global _time_ns
    former, _time_ns = _time_ns, time_ns
    MILLISECOND.until_ns = _ALWAYS
    return former
