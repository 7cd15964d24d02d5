"""Timestamps and watermarks: the runtime of `assign_timestamps_and_watermarks` and of a source's strategy."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from firesteel.common.idle_timer import IdleTimer
from firesteel.common.options.pipeline_options import AUTO_WATERMARK_INTERVAL
from firesteel.common.time import Duration
from firesteel.common.values.ownership import are_immutable, own
from firesteel.common.values.whole_numbers import check_timestamps
from firesteel.common.watermark_strategy import WatermarkGenerator, WatermarkOutput, WatermarkStrategy
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.function_calls import method_of, pairs
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, Output, TaskInfo, Timestamps

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot


class _AscendingWatermarks(WatermarkGenerator):
    """A generator of the largest timestamp minus the bound minus 1 (Flink: `BoundedOutOfOrdernessWatermarks`)."""

    def __init__(self, bound_ms: int) -> None:
        self.bound_ms = bound_ms
        # So that the first watermark, before any element, is the smallest timestamp and does not wrap around.
        self.max_timestamp = MIN_TIMESTAMP + bound_ms + 1

    def on_event(self, event: object, event_timestamp: int, output: WatermarkOutput) -> None:
        self.max_timestamp = max(self.max_timestamp, event_timestamp)

    def on_periodic_emit(self, output: WatermarkOutput) -> None:
        output.emit_watermark(self.max_timestamp - self.bound_ms - 1)


class EmitterOutput(Protocol):
    """The output of a `WatermarkEmitter`."""

    def emit(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit elements."""

    def watermark(self, timestamp: int) -> None:
        """Emit a watermark (ms)."""

    def idle(self, is_idle: bool) -> None:
        """Emit a change of idleness."""


@cache
def _milliseconds(interval: str) -> int:
    return Duration.parse(interval).to_millis()


class WatermarkEmitter(WatermarkOutput):
    """An emitter that feeds one generator and emits its monotonic watermarks, periodically, and idleness.

    Flink: `runtime.operators.TimestampsAndWatermarksOperator`. The period is checked between chunks of elements; as in
    Flink, there are no periodic watermarks if it is 0.

    Attributes:
        emitted: The last emitted watermark.
        is_idle: Whether the output is marked as idle.
    """

    def __init__(self, strategy: WatermarkStrategy, output: EmitterOutput, task: TaskInfo) -> None:
        self._generator = _generator(strategy)
        self._output = output
        self._interval_ms = round(AUTO_WATERMARK_INTERVAL.of(task.configuration) * 1000)
        self._active = self._generator is not None and not task.is_batch
        self.emitted = MIN_TIMESTAMP
        self.is_idle = False
        self._last_emit_ms = now_ms()
        self._unsent: tuple[list[object], Timestamps] = ([], None)
        self._sent = self._seen = 0

    def emit(self, values: list[Any], timestamps: Timestamps, events: list[Any]) -> None:
        """Emit elements and the watermarks that they trigger; the generator sees `events`."""
        if not values or not self._active:
            self._output.emit(values, timestamps)
            return
        generator = self._generator
        if type(generator) is _AscendingWatermarks:
            self._output.emit(values, timestamps)
            known = [timestamp for timestamp in timestamps or () if timestamp is not None]
            if known:
                generator.max_timestamp = max(generator.max_timestamp, max(known))
        else:
            self._emit_seen(values, timestamps, events)
        self.mark_active()
        if (now := now_ms()) - self._last_emit_ms >= self._interval_ms:
            self.on_time(now)

    def _emit_seen(self, values: list[object], timestamps: Timestamps, events: list[object]) -> None:
        """Pass each element to the user's generator; a watermark it emits follows directly after that element."""
        assert self._generator is not None
        on_event = self._generator.on_event
        # Elements wait for the generator, so that a watermark stands between the element that caused it and the next
        # one.
        self._unsent, self._sent = (values, timestamps), 0
        for seen, (value, timestamp) in enumerate(pairs(events, timestamps), 1):
            self._seen = seen
            on_event(value, MIN_TIMESTAMP if timestamp is None else timestamp, self)
        self._send_seen()

    def _send_seen(self) -> None:
        sent, seen = self._sent, self._seen
        if sent < seen:
            values, timestamps = self._unsent
            self._sent = seen
            self._output.emit(values[sent:seen], None if timestamps is None else timestamps[sent:seen])

    def on_time(self, now: int) -> None:
        """Emit the periodic watermark."""
        if self._active and self._interval_ms > 0:
            assert self._generator is not None
            self._last_emit_ms = now
            self._generator.on_periodic_emit(self)

    def next_time(self) -> int | None:
        """Return when `on_time` next has work to do even without input, in ms, or None.

        That is after each interval for a user-defined generator. The watermarks of built-in generators depend on the
        elements only.
        """
        # Without this, a job without input would run an empty batch per interval for nothing.
        if not self._active or type(self._generator) is _AscendingWatermarks or self._interval_ms <= 0:
            return None
        return self._last_emit_ms + self._interval_ms

    def emit_watermark(self, timestamp: int) -> None:
        """Emit a watermark if it is larger than the last one."""
        self._send_seen()
        if timestamp > self.emitted:
            self.emitted = timestamp
            self.mark_active()
            self._output.watermark(timestamp)

    def mark_idle(self) -> None:
        """Mark the output as idle, so that receivers do not wait for this subtask."""
        self._send_seen()
        if not self.is_idle:
            self.is_idle = True
            self._output.idle(True)

    def mark_active(self) -> None:
        """Mark the output as not idle."""
        if self.is_idle:
            self.is_idle = False
            self._output.idle(False)

    def snapshot(self) -> Snapshot:
        """Return the generator, the last watermark and the idleness."""
        return self._generator, self.emitted, self.is_idle

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the generator, the last watermark and the idleness."""
        self._generator, self.emitted, self.is_idle = snapshot


def _generator(strategy: WatermarkStrategy) -> WatermarkGenerator | None:
    if strategy.generator_kind == "none":
        return None
    if strategy.generator_kind == "custom":
        assert strategy.generator_supplier is not None
        return strategy.generator_supplier()
    return _AscendingWatermarks(strategy.max_out_of_orderness.to_millis())


class ExtractTimestampRunner(Operator):
    """The operator `Extract-Timestamp`, which maps `value` to `(timestamp, value)`."""

    def __init__(self, name: str, task: TaskInfo, output: Output, timestamp_assigner: object) -> None:
        super().__init__(name, task, output)
        self._extract = method_of(timestamp_assigner, "extract_timestamp")

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the assigner for each value."""
        extract, remaining = self._extract, iter(values)
        # Flink's assigners get Long.MIN_VALUE for an element without a timestamp.
        times = [MIN_TIMESTAMP if t is None else t for t in timestamps or [MIN_TIMESTAMP] * len(values)]
        if self.takes_immutable or self.output.reuses_objects or are_immutable(values):
            found = [(int(extract(value, t)), value) for value, t in zip(remaining, times, strict=True)]
        else:  # the assigner may keep and change its argument
            found = [(int(extract(value, t)), own(value)) for value, t in zip(remaining, times, strict=True)]
        self.output.emit(found, timestamps)


class TimestampsAndWatermarksRunner(Operator):
    """The operator `Timestamps/Watermarks`, which replaces all upstream watermarks but the final one."""

    def __init__(self, name: str, task: TaskInfo, output: Output, strategy: WatermarkStrategy, extracted: bool) -> None:
        super().__init__(name, task, output)
        self._emitter = WatermarkEmitter(strategy, output, task)
        timeout = None if task.is_batch else strategy.idle_timeout
        self._idle = None if timeout is None else IdleTimer(lambda: task.input_ms, timeout.to_millis())
        self._timed_out = False
        self._extracted = extracted

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Set the timestamps from `(timestamp, value)` elements, or keep them, and feed the generator."""
        if self._idle is not None and values:
            self._idle.saw_elements()
            self._timed_out = False
        if self._extracted:
            timestamps = times = [timestamp for timestamp, _ in values]
            check_timestamps(times, values)
        self._emitter.emit(values, timestamps, [value for _, value in values] if self._extracted else values)

    def process_watermark(self, timestamp: int) -> None:
        """Pass on the final watermark only."""
        # It means that the input has ended, which a strategy cannot know.
        if timestamp == MAX_WATERMARK:
            super().process_watermark(timestamp)

    def process_idle(self, is_idle: bool) -> None:
        """Ignore upstream idleness, as this operator determines its own."""

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the periodic watermark, unless the input is idle (Flink: `WatermarksWithIdleness`)."""
        if not self._timed_out:
            self._emitter.on_time(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when the idle timeout expires or a user-defined generator must be called, or None."""
        emits_ms = None if self._timed_out else self._emitter.next_time()
        if self._idle is None or self._timed_out:
            return emits_ms
        idle_ms = now_ms() + self._idle.left_ms()
        return idle_ms if emits_ms is None else min(idle_ms, emits_ms)

    def end_batch(self) -> None:
        """Mark the output idle if the idle timeout has expired."""
        if self._idle is not None and not self._idle.left_ms():
            self._timed_out = True
            self._emitter.mark_idle()

    def snapshot(self) -> Snapshot:
        """Return the state of the emitter."""
        return self._emitter.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the state of the emitter."""
        self._emitter.restore(snapshot)
