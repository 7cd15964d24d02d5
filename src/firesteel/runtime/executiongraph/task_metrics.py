"""The metrics of one attempt: the last reported values, their rates, and the share of busy time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

__all__ = ["TaskMetrics"]

BUSY_MS = "accumulateBusyTimeMs"

_RATES = {
    "numRecordsIn": "numRecordsInPerSecond",
    "numRecordsOut": "numRecordsOutPerSecond",
    "numBytesIn": "numBytesInPerSecond",
    "numBytesOut": "numBytesOutPerSecond",
    BUSY_MS: "busyTimeMsPerSecond",
}
"""Flink's names for the rates of totals."""

_SPAN_MS = 60_000
"""Time span over which rates are averaged (Flink: `MeterView`)."""

_STEP_MS = 5_000
"""Interval at which totals are sampled."""


class TaskMetrics:
    """The reported totals of an attempt, with derived rates and times.

    Example:
        >>> metrics = TaskMetrics()
        >>> metrics.report({"numRecordsIn": 50, "accumulateBusyTimeMs": 200}, 1_000, 0)
        >>> found = metrics.values(2_000, 0, is_over=False)
        >>> found["numRecordsInPerSecond"], found["busyTimeMsPerSecond"], found["accumulateIdleTimeMs"]
        (25.0, 100.0, 1800)
    """

    __slots__ = ("_last", "_last_ms", "_samples")

    def __init__(self) -> None:
        self._last: Mapping[str, float] = {}
        self._last_ms = 0
        self._samples: deque[tuple[int, dict[str, float]]] = deque()

    def report(self, values: Mapping[str, float], now_ms: int, since_ms: int) -> None:
        """Update the totals reported by an attempt that runs since `since_ms`."""
        if not self._samples:
            self._samples.append((since_ms, {}))
        elif now_ms - self._samples[-1][0] >= _STEP_MS:
            self._samples.append((self._last_ms, {name: self._last.get(name, 0) for name in _RATES}))
        while len(self._samples) > 1 and self._samples[1][0] <= now_ms - _SPAN_MS:
            self._samples.popleft()
        self._last, self._last_ms = values, now_ms

    def values(self, until_ms: int, since_ms: int, is_over: bool) -> dict[str, float]:
        """Return all metrics at a time, without rates after the end; empty if none was reported."""
        if BUSY_MS not in self._last:
            return dict(self._last)
        idle_ms = max(0, until_ms - since_ms - self._last[BUSY_MS])
        found = {**self._last, "accumulateIdleTimeMs": idle_ms, "accumulateBackPressuredTimeMs": 0}
        if is_over:
            return found
        found |= self._rates(until_ms)
        busy = found["busyTimeMsPerSecond"] = min(1000.0, found["busyTimeMsPerSecond"])
        return found | {"idleTimeMsPerSecond": 1000.0 - busy, "backPressuredTimeMsPerSecond": 0.0}

    def _rates(self, now_ms: int) -> dict[str, float]:
        """Return the growth of totals per second since the last sample before the span, or the first sample."""
        if self._last_ms <= now_ms - _SPAN_MS:
            return dict.fromkeys(_RATES.values(), 0.0)
        before = [sample for sample in self._samples if sample[0] <= now_ms - _SPAN_MS]
        at_ms, totals = before[-1] if before else self._samples[0]
        seconds = max(now_ms - at_ms, 1) / 1000
        # The totals restart when a batch is replayed.
        grown = {rate: self._last.get(name, 0) - totals.get(name, 0) for name, rate in _RATES.items()}
        return {rate: max(0.0, total / seconds) for rate, total in grown.items()}
