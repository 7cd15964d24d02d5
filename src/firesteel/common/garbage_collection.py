"""How often our processes look for garbage."""

from __future__ import annotations

import gc

__all__ = ["collect_garbage_rarely"]

_THRESHOLDS = (50_000, 10, 10)


def collect_garbage_rarely() -> None:
    """Let the process look for unreachable cycles every 50,000 new objects, and among all objects rarely.

    A JobManager that deploys 10,000 tasks has a million calls, answers and states alive at once, a slot process its
    state and the records that it is at. CPython's thresholds are made for small programs: it would walk through them
    again and again and find nothing, which takes a slot process a tenth of its time and a JobManager half. A process
    that looks for garbage more rarely already, or never, is left as it is.
    """
    if 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
        gc.set_threshold(*_THRESHOLDS)
