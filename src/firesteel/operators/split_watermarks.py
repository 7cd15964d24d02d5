"""The watermark of a source subtask, combined from the watermarks of the splits that it reads.

Flink: `ProgressiveTimestampsAndWatermarks.SplitLocalOutputs` with its `WatermarkOutputMultiplexer`.
"""

from __future__ import annotations

from typing import Any

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.operators.clock import now_ms
from firesteel.operators.operator import MIN_TIMESTAMP, Output, TaskInfo, Timestamps
from firesteel.operators.watermarks import WatermarkEmitter


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
        if before <= self._all.combined:
            self._all.combine()

    def idle(self, is_idle: bool) -> None:
        self.is_idle = is_idle
        self._all.combine()


class SplitWatermarks:
    """The watermark generators and idleness of all splits; emits the minimum watermark of the active splits.

    A split counts from its assignment, even before it is read, until it is finished. The subtask is idle while all its
    splits are idle, and after the idle timeout without any split.

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
        self._combines_later = False
        timeout = strategy.idle_timeout
        self._idle_timeout_ms = None if timeout is None or not self.is_active else timeout.to_millis()
        self._without_splits_ms = now_ms()

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
            self._without_splits_ms = now_ms()
            self.combine()

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
        """Let all generators emit their periodic watermarks, and update the idleness of splits."""
        self._combines_later = True
        try:
            for emitter in self._emitters.values():
                emitter.on_time(now)
        finally:
            self._combines_later = False
        self.combine()
        timeout = self._idle_timeout_ms
        if not self._emitters and timeout is not None and now - self._without_splits_ms >= timeout:
            self._set_idle(True)

    def next_time(self) -> int | None:
        """Return when `on_time` next has work to do even without input, in ms, or None."""
        if not self._emitters and self._idle_timeout_ms is not None and not self._is_idle:
            return self._without_splits_ms + self._idle_timeout_ms
        times = [time for emitter in self._emitters.values() if (time := emitter.next_time()) is not None]
        return min(times, default=None)

    def snapshot(self) -> Any:
        """Return the generators by split, the last watermark and the idleness."""
        splits = {split_id: emitter.snapshot() for split_id, emitter in self._emitters.items()}
        return splits, self.combined, self._is_idle

    def restore(self, snapshot: Any) -> None:
        """Restore the generators, the last watermark and the idleness."""
        splits, self.combined, self._is_idle = snapshot
        for split_id, of_split in splits.items():
            self.assign(split_id)
            if split_id in self._emitters:
                emitter, output = self._emitters[split_id], self._outputs[split_id]
                emitter.restore(of_split)
                output.mark, output.is_idle = emitter.emitted, emitter.is_idle
