"""The processing-time clock of all operators in this process; tests replace it."""

from __future__ import annotations

import time
from collections.abc import Callable

_time_ns: Callable[[], int] = time.time_ns


def now_ms() -> int:
    """Return the current processing time in ms."""
    return _time_ns() // 1_000_000


def use_time_source(time_ns: Callable[[], int] | None) -> None:
    """Read processing time from a function that returns ns, or from the system clock if None."""
    global _time_ns
    _time_ns = time.time_ns if time_ns is None else time_ns
