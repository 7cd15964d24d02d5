"""Which splits of a source are idle: `WatermarkStrategy.with_idleness`.

Flink: `WatermarksWithIdleness`, whose timer runs in the reader. Here the enumerator decides, as it alone knows whether
a split has more to read: a split with a backlog, or held back by watermark alignment, is not idle however long it
waits.

Why: `docs/decisions/0036-idleness-by-the-plan-of-a-batch.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from firesteel.functions.splits import Idleness
from firesteel.operators.chain.operator import MIN_TIMESTAMP
from firesteel.task.batch_plan import SubtaskReport

_NEVER = float("inf")


class IdleSplits:
    """The idle splits of one source, by subtask.

    Args:
        timeout_ms: Time without anything to read after which a split is idle, in ms.
        parallelism: Number of subtasks.
    """

    def __init__(self, timeout_ms: float, parallelism: int) -> None:
        self._timeout_ms = timeout_ms
        self._splits: Sequence[Mapping[str, bool]] = [{}] * parallelism
        self._since: dict[tuple[int, str], float] = {}
        self._idle: list[frozenset[str]] = [frozenset()] * parallelism
        self._told: list[frozenset[str] | None] = list(self._idle)
        self._sleeping: set[int] = set()
        self._watermarks = dict.fromkeys(range(parallelism), MIN_TIMESTAMP)
        self._passed = MIN_TIMESTAMP

    def forget_told(self) -> None:
        """Note that the readers were restored from a checkpoint, so that they may take any split for idle."""
        self._told = [None] * len(self._told)
        self._sleeping = set(range(len(self._told)))

    def observe(self, splits: Sequence[Mapping[str, bool]], now_ms: float) -> None:
        """Note which splits have nothing to read, right after the source was asked.

        Args:
            splits: For each subtask its splits, and whether they have nothing to read; `WITHOUT_SPLITS` if it has none.
            now_ms: The time of the region's `InputClock`.
        """
        before, self._splits = self._since, splits
        self._since = {
            (subtask, split): before.get((subtask, split), now_ms)
            for subtask, of_subtask in enumerate(splits)
            for split, is_quiet in of_subtask.items()
            if is_quiet
        }
        latest = now_ms - self._timeout_ms
        idle: list[set[str]] = [set() for _ in splits]
        for (subtask, split), since in self._since.items():
            if since <= latest:
                idle[subtask].add(split)
        self._idle = [frozenset(of_subtask) for of_subtask in idle]

    def due_in_ms(self, now_ms: float) -> float:
        """Return the time in ms after which another split is idle unless it gets something to read, or infinity."""
        waiting = (since for (subtask, split), since in self._since.items() if split not in self._idle[subtask])
        return max(0.0, min(waiting, default=_NEVER) + self._timeout_ms - now_ms)

    def take_changes(self) -> tuple[dict[int, Idleness], bool]:
        """Return what has changed since the last call, by subtask, and whether a subtask awakes that was idle.

        A subtask that awakes catches up with the watermark that its receivers have reached without it. They wait for
        its watermark from then on, so they must learn of it before any other subtask reads more.
        """
        passed = None if self._passed == MIN_TIMESTAMP else self._passed
        both = enumerate(zip(self._idle, self._told, strict=True))
        changes = {subtask: Idleness(idle, passed) for subtask, (idle, told) in both if idle != told}
        self._told = list(self._idle)
        before = self._sleeping
        pairs = enumerate(zip(self._idle, self._splits, strict=True))
        self._sleeping = {subtask for subtask, (idle, splits) in pairs if idle and idle == splits.keys()}
        return changes, bool(before - self._sleeping)

    def batch_ended(self, reports: Iterable[SubtaskReport]) -> None:
        """Note the watermark that the receivers of the source have reached, as their input gates find it."""
        watermarks = self._watermarks
        for report in reports:
            if report.has_ended:
                watermarks.pop(report.subtask_index, None)
            elif report.source_watermark is not None:
                watermarks[report.subtask_index] = report.source_watermark
        awake = [watermark for subtask, watermark in watermarks.items() if subtask not in self._sleeping]
        # If all inputs are idle, gates advance to the largest watermark, as Flink's `StatusWatermarkValve` does.
        reached = min(awake) if awake else max(watermarks.values(), default=MIN_TIMESTAMP)
        self._passed = max(self._passed, reached)
