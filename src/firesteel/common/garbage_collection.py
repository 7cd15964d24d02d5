"""Settings of Python's garbage collector for firesteel's processes."""

from __future__ import annotations

import gc

__all__ = ["collect_garbage_in_short_turns", "collect_garbage_rarely"]

_THRESHOLDS = (50_000, 10, 10)
_SHORT_TURNS = (5_000, 100, 10)
"""The youngest generation is looked through each time it has grown by a tenth of that; the others as often as usual."""


def collect_garbage_rarely() -> None:
    """Run the garbage collector every 50,000 allocations instead of every 700, and full collections rarely.

    A JobManager that deploys 10,000 tasks has a million live calls, responses and states; a slot process has its state
    and the current records. CPython's thresholds are made for small programs: traversing these objects again and again
    takes 10 % of a slot process's time and half of a JobManager's, without finding garbage. A process with a higher
    threshold, or with the collector disabled, is left unchanged.
    """
    if 0 < gc.get_threshold()[0] < _THRESHOLDS[0]:
        gc.set_threshold(*_THRESHOLDS)


def collect_garbage_in_short_turns(are_short: bool) -> None:
    """Stop other threads for a tenth of the time, but more often, or no longer do so.

    Nobody else runs while the collector looks through 50,000 new objects, which may take 30 ms. Has an effect after
    `collect_garbage_rarely` only.
    """
    before, after = (_THRESHOLDS, _SHORT_TURNS) if are_short else (_SHORT_TURNS, _THRESHOLDS)
    if gc.get_threshold() == before:
        gc.set_threshold(*after)
