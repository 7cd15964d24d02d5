"""The watermark of a source subtask, combined from the watermarks of the splits that it reads.

Flink: `ProgressiveTimestampsAndWatermarks.SplitLocalOutputs` with its `WatermarkOutputMultiplexer`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.functions.splits import WITHOUT_SPLITS, Idleness
from firesteel.operators.chain.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.sources.watermarks import WatermarkEmitter

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot


class _SplitOutput:
    """The output of one split's emitter: elements are emitted at once, watermarks are combined across splits."""

    __slots__ = ("_all", "emit", "is_idle", "mark")

    def __init__(self, all_splits: SplitWatermarks, output: Output) -> None:
        self._all = all_splits
        self.emit = output.emit
        self.mark = MIN_TIMESTAMP
        self.is_idle = False

    def watermark(self, timestamp: int) -> None:
        before, self.mark = self.mark, timestamp
        # Only the slowest split holds the others back; the minimum over all is not asked for with each watermark.
        if before <= self._all.combined:
            self._all.combine()

    def idle(self, is_idle: bool) -> None:
        self.is_idle = is_idle
        self._all.combine()


class SplitWatermarks:
    """The watermark generators and idleness of all splits; emits the minimum watermark of the active splits.

    A split counts from its assignment, even before it is read, until it is finished. The enumerator decides which
    splits are idle. The subtask is idle while all its splits are, or while it has none and the enumerator says so.

    Attributes:
        combined: The last emitted watermark.
        is_active: Whether the source generates watermarks.
    """

    def __init__(self, strategy: WatermarkStrategy, output: Output, task: TaskInfo) -> None:
        self._strategy = strategy
        self._output = output
        self._task = task
        self.is_active = strategy.generator_kind != "none" and not task.is_batch
        self._emitters: dict[str, WatermarkEmitter] = {}
        self._outputs: dict[str, _SplitOutput] = {}
        self.combined = MIN_TIMESTAMP
        self._is_idle = False
        self._idle_splits: frozenset[str] = frozenset()
        self._combines_later = False

    @property
    def current(self) -> int | None:
        """The last watermark; None while the source is idle and before the first watermark."""
        return None if self._is_idle or self.combined <= MIN_TIMESTAMP else self.combined

    def assign(self, split_id: str) -> None:
        """Include a split in the combined watermark from now on."""
        if self.is_active and split_id not in self._emitters:
            self._outputs[split_id] = output = _SplitOutput(self, self._output)
            self._emitters[split_id] = WatermarkEmitter(self._strategy, output, self._task)

    def release(self, split_id: str) -> None:
        """Remove a finished split, which no longer holds the watermark back."""
        if self._emitters.pop(split_id, None) is not None:
            del self._outputs[split_id]
            self.combine()

    def set_idle(self, idleness: Idleness) -> None:
        """Set which splits are idle. If the subtask awakes, it catches up with the watermark of the source."""
        was_idle, self._idle_splits = self._is_idle, idleness.splits
        with self._combined_later():
            for split_id, emitter in self._emitters.items():
                emitter.mark_idle() if split_id in idleness.splits else emitter.mark_active()
        if not self._emitters:
            self._set_idle(WITHOUT_SPLITS in idleness.splits)
        # Its own watermark may be older than what receivers have passed without it, and an older one is ignored anyway.
        if was_idle and not self._is_idle and idleness.passed is not None and idleness.passed > self.combined:
            self.combined = idleness.passed
            self._output.watermark(self.combined)

    def emit(self, split_id: str, values: list[Any], timestamps: Timestamps) -> None:
        """Emit elements of a split, and the watermarks that they trigger."""
        if self.is_active:
            self._emitters[split_id].emit(values, timestamps, values)
        else:
            self._output.emit(values, timestamps)

    def combine(self) -> None:
        """Emit the combined watermark and idleness if they changed."""
        if self._combines_later or not self._outputs:
            return
        active = [output.mark for output in self._outputs.values() if not output.is_idle]
        self._set_idle(not active)
        if active and (least := min(active)) > self.combined:
            self.combined = least
            self._output.watermark(least)

    def _set_idle(self, is_idle: bool) -> None:
        if is_idle != self._is_idle:
            self._is_idle = is_idle
            self._output.idle(is_idle)

    def on_time(self, now: int) -> None:
        """Let the generators of all splits that are not idle emit their periodic watermarks."""
        with self._combined_later():
            for split_id, emitter in self._emitters.items():
                if split_id not in self._idle_splits:
                    emitter.on_time(now)

    @contextmanager
    def _combined_later(self) -> Iterator[None]:
        """Combine the watermarks and the idleness of all splits once, at the end."""
        self._combines_later = True
        try:
            yield
        finally:
            self._combines_later = False
        self.combine()

    def next_time(self) -> int | None:
        """Return when `on_time` next has work to do even without input, in ms, or None."""
        awake = (emitter for split_id, emitter in self._emitters.items() if split_id not in self._idle_splits)
        return min((time for emitter in awake if (time := emitter.next_time()) is not None), default=None)

    def snapshot(self) -> Snapshot:
        """Return the generators by split, the last watermark and the idleness."""
        splits = {split_id: emitter.snapshot() for split_id, emitter in self._emitters.items()}
        return splits, self.combined, self._is_idle, self._idle_splits

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the generators, the last watermark and the idleness."""
        splits, self.combined, self._is_idle, self._idle_splits = snapshot
        for split_id, of_split in splits.items():
            self.assign(split_id)
            if split_id in self._emitters:
                emitter, output = self._emitters[split_id], self._outputs[split_id]
                emitter.restore(of_split)
                output.mark, output.is_idle = emitter.emitted, emitter.is_idle
