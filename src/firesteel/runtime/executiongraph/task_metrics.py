"""The metrics of one attempt: the last reported values, their rates, and the share of busy time."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence

__all__ = ["TaskMetrics", "held_up_ms"]

BUSY_MS = "accumulateBusyTimeMs"
HELD_UP_MS = "accumulateBackPressuredTimeMs"

_RATES = {
    "numRecordsIn": "numRecordsInPerSecond",
    "numRecordsOut": "numRecordsOutPerSecond",
    "numBytesIn": "numBytesInPerSecond",
    "numBytesOut": "numBytesOutPerSecond",
    BUSY_MS: "busyTimeMsPerSecond",
    HELD_UP_MS: "backPressuredTimeMsPerSecond",
}
"""Flink's names for the rates of totals."""

_SPAN_MS = 60_000
"""Time span over which rates are averaged (Flink: `MeterView`)."""

_STEP_MS = 5_000
"""Interval at which totals are sampled."""


_GROWING = (".sourceIdleTime", ".watermarkLag")
"""Ends of the names of metrics that grow with the time since the last report: between batches nothing is reported."""


class TaskMetrics:
    """The reported totals of an attempt, with derived rates and times.

    Example:
        >>> metrics = TaskMetrics()
        >>> metrics.report({"numRecordsIn": 50, "accumulateBusyTimeMs": 200}, 1_000, 0)
        >>> found = metrics.values(2_000, 0, is_over=False)
        >>> found["numRecordsInPerSecond"], found["busyTimeMsPerSecond"], found["accumulateIdleTimeMs"]
        (25.0, 100.0, 1800.0)
    """

    __slots__ = ("_last", "_last_ms", "_samples")

    def __init__(self) -> None:
        self._last: Mapping[str, float] = {}
        self._last_ms = 0
        self._samples: deque[tuple[int, dict[str, float]]] = deque()

    @property
    def busy_ms(self) -> float:
        """The reported total of busy time in ms."""
        return self._last.get(BUSY_MS, 0)

    def total_of(self, name: str) -> float | None:
        """Return the sum of the last values of operators' metrics of this name; None if there are none."""
        found = [value for key, value in self._last.items() if key.endswith(f".{name}")]
        return sum(found) if found else None

    def report(self, values: Mapping[str, float], now_ms: int, since_ms: int, held_up_ms: float = 0.0) -> None:
        """Update the totals reported by an attempt that runs since `since_ms`.

        Args:
            values: The totals.
            now_ms: The time of the report.
            since_ms: The time at which the attempt started.
            held_up_ms: For how long slower subtasks have held up its batches since the last report.
        """
        if BUSY_MS in values:
            values = {**values, HELD_UP_MS: self._last.get(HELD_UP_MS, 0) + held_up_ms}
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
        idle_ms = max(0, until_ms - since_ms - self._last[BUSY_MS] - self._last[HELD_UP_MS])
        found = {**self._last, "accumulateIdleTimeMs": idle_ms}
        if is_over:
            return found
        since_report_ms = max(0, until_ms - self._last_ms)
        found |= {name: found[name] + since_report_ms for name in found if name.endswith(_GROWING)}
        found |= self._rates(until_ms)
        busy = min(1000.0, found["busyTimeMsPerSecond"])
        held_up = min(1000.0 - busy, found["backPressuredTimeMsPerSecond"])
        shares = {"busyTimeMsPerSecond": busy, "backPressuredTimeMsPerSecond": held_up}
        return found | shares | {"idleTimeMsPerSecond": 1000.0 - busy - held_up}

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


def held_up_ms(reports: Sequence[tuple[float, Mapping[str, float]]]) -> list[float]:
    """Return for how long each subtask has waited for the slowest one of the same batches.

    Args:
        reports: The busy time of each subtask before, and its totals now.

    >>> held_up_ms([(100, {BUSY_MS: 150}), (0, {BUSY_MS: 20})])
    [0, 30]
    """
    busy = [totals.get(BUSY_MS, before) - before for before, totals in reports]
    slowest = max(busy, default=0)
    return [slowest - one for one in busy]
