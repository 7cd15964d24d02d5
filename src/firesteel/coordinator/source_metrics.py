"""The metrics of a source that only the planner of batches knows: what is left to read, and since when nothing came.

Flink: `SourceReaderMetricGroup` and `InternalSourceReaderMetricGroup` (FLIP-33), whose names these are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from firesteel.coordinator.source_splits import SourceSplits
from firesteel.operators.chain.clock import SteadyClock
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP
from firesteel.operators.chain.user_metrics import metric_scope
from firesteel.task.batch_plan import SubtaskReport

__all__ = ["SourceMetrics"]


class SourceMetrics:
    """The metrics of the subtasks of one source.

    Args:
        operator: The name of the source operator, which precedes the names of its metrics.
        splits: The splits of the source.
        steady_s: Returns a time in seconds that never goes back.
        now_ms: Returns the time in ms since the epoch; None for the clock of processing time.
    """

    def __init__(
        self,
        operator: str,
        splits: SourceSplits,
        steady_s: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], float] | None = None,
    ) -> None:
        self._scope = metric_scope(operator)
        self._splits = splits
        self._steady_s = steady_s
        self._now_ms = SteadyClock().now_ms if now_ms is None else now_ms
        self._begun_s = steady_s()
        self._read_s: dict[int, float] = {}

    def batch_ended(self, given: Mapping[int, int]) -> None:
        """Note what subtasks were given to read in the batch that has ended.

        Args:
            given: The units by subtask.
        """
        now_s = self._steady_s()
        self._read_s.update((subtask, now_s) for subtask, units in given.items() if units)

    def of(self, report: SubtaskReport) -> dict[str, float]:
        """Return the metrics of a subtask after a batch."""
        subtask, unit, share = report.subtask_index, self._splits.hints.unit, self._splits.share_read
        idle_s = 0.0 if report.has_ended else self._steady_s() - self._read_s.get(subtask, self._begun_s)
        found: dict[str, float] = {"sourceIdleTime": round(idle_s * 1000)}
        if unit:
            found[f"pending{unit}"] = self._splits.units_left(subtask)
            found[f"total{unit}Read"] = self._splits.state.read
        if share is not None:
            found["shareRead"] = share
        watermark = report.metrics.get("currentOutputWatermark", MIN_TIMESTAMP)
        if MIN_TIMESTAMP < watermark < MAX_WATERMARK:
            found["watermarkLag"] = round(self._now_ms() - watermark)
        return {f"{self._scope}.{name}": value for name, value in found.items()}
