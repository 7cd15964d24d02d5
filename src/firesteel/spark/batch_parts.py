"""The time of a batch by part, from the reports of its slots."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import NamedTuple

from firesteel.runtime.executiongraph.batch_times import BatchTimes
from firesteel.task.batch_plan import StageReport, SubtaskReport

__all__ = ["BatchParts"]

_BUSY, _READ = "accumulateBusyTimeMs", "accumulateReadTimeMs"


class _Work(NamedTuple):
    """Seconds of work of a slot in one stage."""

    read: float = 0.0
    operators: float = 0.0
    state: float = 0.0

    def plus(self, other: _Work) -> _Work:
        return _Work(*(mine + its for mine, its in zip(self, other, strict=True)))


class BatchParts:
    """Measures the parts of the batches of one run, one after the other.

    Args:
        now_s: Returns a time in seconds that never goes back.
    """

    def __init__(self, now_s: Callable[[], float] = time.monotonic) -> None:
        self._now_s = now_s
        self._totals: dict[tuple[str, int], tuple[float, float]] = {}
        self._begun_s = self._planned_s = self._processed_s = now_s()

    def begin(self) -> None:
        """Begin to plan a batch, or anew if there was nothing to do."""
        self._begun_s = self._now_s()

    def planned(self) -> None:
        """Note that the slots begin."""
        self._planned_s = self._now_s()

    def processed(self) -> None:
        """Note that the slots have ended the batch."""
        self._processed_s = self._now_s()

    def ended(self, reports: Iterable[StageReport]) -> BatchTimes:
        """Return the times of the batch, given the reports of its slots; all that it committed is committed."""
        work = self._work(reports)
        seconds = {"plan": self._planned_s - self._begun_s, **work._asdict()}
        seconds["exchange"] = max(0.0, self._processed_s - self._planned_s - sum(work))
        seconds["commit"] = self._now_s() - self._processed_s
        return BatchTimes(1, seconds)

    def _work(self, reports: Iterable[StageReport]) -> _Work:
        """Return the work of the stages, one after the other, each of the slot that took longest."""
        stages: defaultdict[int, list[_Work]] = defaultdict(list)
        for report in reports:
            work = _Work(state=report.state_s)
            for subtask in report.subtasks:
                work = work.plus(self._of_subtask(subtask))
            stages[report.stage].append(work)
        total = _Work()
        for slots in stages.values():
            total = total.plus(max(slots, key=sum))
        return total

    def _of_subtask(self, subtask: SubtaskReport) -> _Work:
        """Return the work of a subtask since its last report; its totals begin anew when it is created anew."""
        at = subtask.vertex_id, subtask.subtask_index
        busy, read = (subtask.metrics.get(name, 0.0) / 1000 for name in (_BUSY, _READ))
        busy_before, read_before = self._totals.get(at, (0.0, 0.0))
        self._totals[at] = busy, read
        # A smaller total is that of a new subtask, after a restart of its slot.
        if busy < busy_before:
            busy_before = read_before = 0.0
        read -= read_before
        return _Work(read, max(0.0, busy - busy_before - read))
