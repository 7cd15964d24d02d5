"""Processing time of all operators in this process; tests put a clock of their own in its place."""

from __future__ import annotations

import time
from collections.abc import Callable

_time_ns: Callable[[], int] = time.time_ns


def now_ms() -> int:
    """Processing time, in milliseconds."""
    return _time_ns() // 1_000_000


def use_time_source(time_ns: Callable[[], int] | None) -> None:
    """Take the time (nanoseconds) from there, from the machine's clock if None."""
    global _time_ns
    _time_ns = time.time_ns if time_ns is None else time_ns
