"""The source operator: it reads the ranges that a batch assigns to its subtask, with timestamps and watermarks."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any

from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.common.values.whole_numbers import check_timestamps
from firesteel.common.watermark_strategy import WatermarkStrategy
from firesteel.functions.connector_base import CommitRequest
from firesteel.functions.source_reading import SourceReaderContext
from firesteel.functions.splits import CHUNK_BYTES, Chunk, Idleness, SplitRange, StampedElements
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.chain.operator import MAX_WATERMARK, MIN_TIMESTAMP, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.chain.user_metrics import TaskMetricGroup
from firesteel.operators.sinks.committables import SinkCommittables
from firesteel.operators.sources.described_source import source_committer_id, source_of
from firesteel.operators.sources.split_watermarks import SplitWatermarks

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot

_FIRST_ELEMENTS = 64
_MOST_ELEMENTS = 1 << 20
_GROWTH = 8
"""Maximum factor by which the number of elements emitted at once grows; it starts small."""

_SMALL_BYTES = 256
"""Elements up to this size (bytes, including object overhead) are bounded by their number only."""


class SourceRunner(Operator):
    """An operator that reads splits (Flink: `SourceOperator` with its `SourceReader`).

    Attributes:
        bytes_sent: Returns the number of bytes that the subtask has sent so far.
        read_s: Time in seconds for which the source itself has read, without the operators that follow.
    """

    bytes_sent: Callable[[], int] = staticmethod(lambda: 0)

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: object) -> None:
        super().__init__(name, task, output)
        self._parts = source_of(descriptor).in_sequence()
        context = SourceReaderContext(task.subtask_index, task.configuration)
        self._readers = [part.create_reader(context) for part in self._parts]
        self._commits = [
            not task.is_batch and part.create_position_committer(task.configuration) is not None for part in self._parts
        ]
        self._read_to: list[dict[str, int]] = [{} for _ in self._parts]
        strategy = getattr(descriptor, "watermark_strategy", None) or WatermarkStrategy.no_watermarks()
        self._watermarks = SplitWatermarks(strategy, output, task)
        assigner = strategy.timestamp_assigner
        self._extract = None if assigner is None else method_of(assigner, "extract_timestamp")
        self._sizes = SizeEstimate()
        self._step = _FIRST_ELEMENTS
        self._metrics = TaskMetricGroup(task.metrics, (name,))
        self._lags: dict[str, int] = {}
        self.read_s = 0.0
        self.has_ended = False

    @property
    def bytes_read(self) -> int:
        """Approximate number of bytes read in this batch, without the elements that count as small."""
        return max(0, self._sizes.bytes - _SMALL_BYTES * self._sizes.elements)

    def read(self, ranges: Sequence[SplitRange], idleness: Idleness | None = None) -> Iterator[None]:
        """Emit the elements of the ranges, one chunk of each in turn, and yield after each chunk.

        The caller can then flush the output. All splits are assigned before the first one is read.

        Args:
            ranges: What to read.
            idleness: The idle splits, if they have changed.
        """
        self._sizes = SizeEstimate()
        self._read_to = [{} for _ in self._parts]
        for part in ranges:
            self._watermarks.assign(part.split.split_id)
            self._read_to[part.split.source_index][part.split.split_id] = part.end
        if idleness is not None:
            self._watermarks.set_idle(idleness)
        waiting = iter(ranges)
        # Without watermarks there is no benefit in reading several files at once.
        at_once = min(part.reading_hints.open_at_once for part in self._parts) if self._watermarks.is_active else 1
        reading: deque[tuple[SplitRange, Iterator[Chunk]]] = deque()
        while True:
            reading.extend((part, self._chunks_of(part)) for part in islice(waiting, at_once - len(reading)))
            if not reading:
                return
            part, chunks = reading.popleft()
            begun_s = time.perf_counter()
            chunk = next(chunks, None)
            self.read_s += time.perf_counter() - begun_s
            if chunk is None:
                # Only the last range of a split: others go on in the next batch, and keep their generator.
                if part.is_last:
                    self._watermarks.release(part.split.split_id)
                continue
            reading.append((part, chunks))
            values, stamps = chunk if isinstance(chunk, StampedElements) else (chunk, None)
            self._sizes.add(values)
            self._note_lag("currentFetchEventTimeLag", stamps)
            for start, piece in self._pieces_of(values):
                own = None if stamps is None else stamps[start : start + len(piece)]
                times = self._timestamps_of(piece, own)
                self._watermarks.emit(part.split.split_id, piece, times)
                self._note_lag("currentEmitEventTimeLag", times)
                yield

    def _note_lag(self, name: str, times: Sequence[int | None] | None) -> None:
        """Note how far the last of some elements lies behind the time; without event time there is no such metric."""
        last = times[-1] if times else None
        if last is None or last == MIN_TIMESTAMP:
            return
        if name not in self._lags:
            self._metrics.gauge(name, lambda: self._lags[name])
        self._lags[name] = now_ms() - last

    def _chunks_of(self, part: SplitRange) -> Iterator[Chunk]:
        if part.start == part.end:
            return iter(())
        return self._readers[part.split.source_index].read(part)

    def _pieces_of(self, values: list[object]) -> Iterator[tuple[int, list[object]]]:
        """Split a chunk if the chain's results for its elements are large; the first pieces are small, to measure."""
        start, count = 0, len(values)
        while start < count:
            # The list itself where it is not cut, without a copy.
            piece = values[start : start + self._step] if start or count > self._step else values
            before = self.bytes_sent()
            yield start, piece
            start += len(piece)
            most = CHUNK_BYTES * len(piece) // max(1, self.bytes_sent() - before)
            self._step = max(1, min(most, max(self._step, _GROWTH * len(piece)), _MOST_ELEMENTS))

    def _timestamps_of(self, values: list[Any], own: list[int] | None) -> Timestamps:
        """Return the timestamps that the assigner assigns, or the elements' own if there is no assigner."""
        extract, remaining = self._extract, iter(values)
        if extract is None:
            if own is not None:
                check_timestamps(own, values)
            return own  # type: ignore[return-value]  # a list that may hold None is asked for, and none is put in
        times = [
            int(extract(value, stamp)) for stamp, value in zip(own or repeat(MIN_TIMESTAMP), remaining, strict=False)
        ]
        check_timestamps(times, values)
        return times  # type: ignore[return-value]

    def committables(self) -> Sequence[Any]:
        """Return the positions read so far, for sources that commit them with each checkpoint."""
        return tuple(
            SinkCommittables(source_committer_id(self.operator_id, index), self.name, (self._request(index),))
            for index, commits in enumerate(self._commits)
            if commits and self._read_to[index]
        )

    def _request(self, index: int) -> CommitRequest:
        positions, self._read_to[index] = self._read_to[index], {}
        task = self.task
        committer_id = source_committer_id(self.operator_id, index)
        return CommitRequest(task.job_id, committer_id, task.subtask_index, 0, positions)

    def close(self) -> None:
        """Close the readers' open resources."""
        for reader in self._readers:
            reader.close()

    def end(self) -> None:
        """Emit the final watermark and the end of input, after all splits were read."""
        if not self.has_ended:
            self.has_ended = True
            self.watermark = MAX_WATERMARK
            self.output.watermark(MAX_WATERMARK)
            self.output.end()

    @property
    def alignment_watermark(self) -> int | None:
        """The watermark for the enumerator; None if this source has ended, is idle or has no watermark."""
        return None if self.has_ended else self._watermarks.current

    def advance_processing_time(self, now_ms: int) -> None:
        """Emit the periodic watermark."""
        if not self.has_ended:
            self._watermarks.on_time(now_ms)

    def next_processing_time(self) -> int | None:
        """Return when a user-defined generator must be called, in ms, or None."""
        return self._watermarks.next_time()

    def snapshot(self) -> Snapshot:
        """Return the generators and whether the source has ended; positions of splits are part of the batch."""
        return self._watermarks.snapshot(), self.has_ended

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the generators and whether the source has ended."""
        watermarks, self.has_ended = snapshot
        self._watermarks.restore(watermarks)
