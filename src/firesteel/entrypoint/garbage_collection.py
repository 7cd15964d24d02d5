"""How often a JobManager's process looks for garbage."""

from __future__ import annotations

import gc

__all__ = ["collect_garbage_rarely"]

_THRESHOLDS = (50_000, 10, 10)


def collect_garbage_rarely() -> None:
    """Let the process look for unreachable cycles every 50,000 new objects, and among all objects rarely.

    A JobManager that deploys 10,000 tasks has a million calls, answers and states alive at once. CPython's thresholds
    are made for small programs: it would walk through all of them again and again, find nothing, and take twice as
    long. A process that looks for garbage more rarely already, or never, is left as it is.
    """
    if 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
        gc.set_threshold(*_THRESHOLDS)
