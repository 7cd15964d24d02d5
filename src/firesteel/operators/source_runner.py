"""The source operator: reads the ranges that a batch assigns to its subtask, with timestamps and watermarks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.operators.functions import method_of
from firesteel.operators.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.sources import SplitRange, kind_of, source_of
from firesteel.operators.watermarks import WatermarkEmitter


class SourceRunner(Operator):
    """Reads splits (Flink: `SourceOperator` with its `SourceReader`)."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: Any) -> None:
        super().__init__(name, task, output)
        self._source = source_of(descriptor)
        self._kind = kind_of(self._source)
        strategy = getattr(descriptor, "watermark_strategy", None) or WatermarkStrategy.no_watermarks()
        self._emitter = WatermarkEmitter(strategy, output, task)
        assigner = strategy.timestamp_assigner
        self._extract = None if assigner is None else method_of(assigner, "extract_timestamp")
        self.has_ended = False

    def read(self, ranges: Iterable[SplitRange]) -> Iterator[None]:
        """Emit the elements of the ranges; yields after each chunk, so that the caller can send what came out."""
        for part in ranges:
            for values in self._kind.read(self._source, part):
                self._emitter.emit(values, self._timestamps_of(values), values)
                yield

    def _timestamps_of(self, values: list[Any]) -> Timestamps:
        extract, remaining = self._extract, iter(values)
        return None if extract is None else [int(extract(value, MIN_TIMESTAMP)) for value in remaining]

    def end(self) -> None:
        """All splits were read: emit the final watermark and the end of input."""
        if not self.has_ended:
            self.has_ended = True
            self.watermark = MAX_WATERMARK
            self.output.watermark(MAX_WATERMARK)
            self.output.end()

    @property
    def alignment_watermark(self) -> int | None:
        """The watermark that aligned sources wait for; None if this one ended, is idle or has none."""
        return None if self.has_ended else self._emitter.current

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the periodic watermark."""
        if not self.has_ended:
            self._emitter.on_time(now_ms)

    def next_processing_time(self) -> int | None:
        """When the idle timeout is over."""
        return self._emitter.next_time()

    def snapshot(self) -> Any:
        """The generator and whether all was read; where the splits are is part of the batch."""
        return self._emitter.snapshot(), self.has_ended

    def restore(self, snapshot: Any) -> None:
        """Go on from there."""
        emitter, self.has_ended = snapshot
        self._emitter.restore(emitter)
