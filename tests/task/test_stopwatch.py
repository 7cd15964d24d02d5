from __future__ import annotations

import contextlib
from types import SimpleNamespace
from typing import Any

from firesteel.task.stopwatch import Stopwatch


def test_time_counts_for_the_innermost_block_even_after_errors() -> None:
    now = [0.0]
    outer: Any = SimpleNamespace(busy_s=0.0)
    inner: Any = SimpleNamespace(busy_s=0.0)
    stopwatch = Stopwatch(lambda: now[0])
    with stopwatch.within(outer):
        now[0] += 1
        with contextlib.suppress(ValueError), stopwatch.within(inner):
            now[0] += 10
            raise ValueError
        now[0] += 2
    now[0] += 100
    with stopwatch.within(inner):
        now[0] += 5
    assert (outer.busy_s, inner.busy_s) == (3, 15)
