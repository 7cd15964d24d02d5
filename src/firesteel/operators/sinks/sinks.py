"""Sinks: print, collect, user functions. Output that must appear exactly once per batch travels as committables."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from firesteel.common.keys.canonical_keys import key_of
from firesteel.common.types import Row
from firesteel.common.values.java_text import java_formatter
from firesteel.common.values.size_estimate import SizeEstimate
from firesteel.functions.connector_base import CommitRequest, Sink, SinkWriter, WriterInitContext
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.function_calls import method_of
from firesteel.operators.chain.operator import Operator, Output, TaskInfo, Timestamps
from firesteel.operators.completed import completed
from firesteel.operators.one_input import FunctionOperator
from firesteel.operators.sinks.committables import (
    OUTPUT_BYTES,
    CollectedElements,
    OutputBuffer,
    PrintedLines,
    SinkCommittables,
)

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.common.typeinfo import TypeInformation

_STEP_ELEMENTS = 4096
"""Maximum number of elements that are prepared at once."""

_FIRST_ELEMENTS = 64


class PrintRunner(Operator):
    """The operator of `print`: `2> (to,1)`, without the number at parallelism 1 (Flink: `PrintSinkOutputWriter`)."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, identifier: str | None, input_type: TypeInformation[Any] | None
    ) -> None:
        super().__init__(name, task, output)
        number = str(task.subtask_index + 1) if task.parallelism > 1 else ""
        parts = [part for part in (identifier, number) if part]
        self._prefix = f"{':'.join(parts)}> " if parts else ""
        self._text = java_formatter(input_type)
        self._lines: list[str] = []
        self._length = 0
        self._output = OutputBuffer(task.output_directory)
        self._step = _FIRST_ELEMENTS

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Format each value as a line."""
        prefix, text = self._prefix, self._text
        start = 0
        while start < len(values):
            part = values[start : start + self._step]
            lines = "".join([f"{prefix}{text(value)}\n" for value in part])
            self._lines.append(lines)
            self._length += len(lines)
            if self._length > OUTPUT_BYTES:
                self._set_aside()
            start += len(part)
            # By the last lines, at most eight times as many: a single huge element must not be followed by thousands of
            # them.
            self._step = max(1, min(_STEP_ELEMENTS, 8 * len(part), OUTPUT_BYTES * len(part) // len(lines)))

    def _set_aside(self) -> None:
        if self._lines:
            self._output.add(PrintedLines("".join(self._lines)), self._length)
            self._lines, self._length = [], 0

    def committables(self) -> Sequence[Any]:
        """Return the lines of this batch."""
        self._set_aside()
        return self._output.take()

    def close(self) -> None:
        """Remove the output of a failed batch."""
        self._output.close()


class CollectRunner(Operator):
    """The sink of `execute_and_collect`; as in PyFlink, it also collects the keys of a keyed stream."""

    def __init__(self, name: str, task: TaskInfo, output: Output, collect_id: str, keyed: bool) -> None:
        super().__init__(name, task, output)
        self._keyed = keyed
        self._collect_id = collect_id
        self._elements: list[Any] = []
        self._sizes = SizeEstimate()
        self._output = OutputBuffer(task.output_directory)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Collect the values until the batch is committed."""
        elements = [_keyed_row(*pair) for pair in values] if self._keyed else values
        for start in range(0, len(elements), _STEP_ELEMENTS):
            part = elements[start : start + _STEP_ELEMENTS]
            self._elements += part
            self._sizes.add(part)
            if self._sizes.bytes > OUTPUT_BYTES:
                self._set_aside()

    def _set_aside(self) -> None:
        """Move the collected values into committables of bounded size."""
        elements, size = self._elements, self._sizes.bytes
        step = max(1, OUTPUT_BYTES // self._sizes.mean())
        for start in range(0, len(elements), step):
            part = elements[start : start + step]
            self._output.add(CollectedElements(self._collect_id, part), size * len(part) // len(elements))
        self._elements, self._sizes = [], SizeEstimate()

    def committables(self) -> Sequence[Any]:
        """Return the values of this batch."""
        self._set_aside()
        return self._output.take()

    def close(self) -> None:
        """Remove the output of a failed batch."""
        self._output.close()


def _keyed_row(key: object, value: object) -> Row:
    row = Row(key_of(key), value)
    row.set_field_names(["f0", "f1"])
    return row


class SinkFunctionRunner(FunctionOperator):
    """The operator of `add_sink` with a SinkFunction, called at least once per element as in Flink."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        invoke = method_of(function, "invoke")
        takes_context = len(inspect.signature(invoke).parameters) > 1
        self._invoke: Callable[[object], object] = (lambda value: invoke(value, None)) if takes_context else invoke

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each value."""
        invoke = self._invoke
        for value in values:
            invoke(value)


class DiscardingRunner(Operator):
    """An operator that discards all elements, used as the cache writer.

    A cached result is recomputed by the next job that reads it, as Flink does when the cache was lost.
    """

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Discard the elements."""


class SinkWriterRunner(Operator):
    """The writer of `sink_to`, or of `add_sink` with a sink, where it commits itself as no committer follows."""

    carries_state = True

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        sink: Sink[Any],
        input_type: TypeInformation[Any] | None,
        commits_itself: bool = False,
    ) -> None:
        super().__init__(name, task, output)
        self._sink = sink
        self._input_type = input_type
        self._prepares = sink.is_two_phase()
        self._commits_itself = commits_itself
        self._requests: list[CommitRequest] = []
        self._number = 0
        self._has_ended = False

    def open(self) -> None:
        """Create the writer."""
        task = self.task
        context = WriterInitContext(
            job_id=task.job_id,
            sink_id=f"{task.vertex_id}/{self.operator_id}",
            subtask_index=task.subtask_index,
            parallelism=task.parallelism,
            attempt_number=task.attempt_number,
            is_batch=task.is_batch,
            input_type=self._input_type,
            configuration=task.configuration,
            processing_time=now_ms,
            is_checkpoint=lambda: task.is_checkpoint,
            is_savepoint=lambda: task.is_savepoint,
            began=task.began,
            spool_directory=task.spool_directory,
        )
        self._sink_id = context.sink_id
        make = self._sink.create_writer
        self.writer: SinkWriter[Any] = completed(make(context), SinkWriter, make)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Write the elements."""
        self.writer.write_all(values, timestamps)

    def process_watermark(self, timestamp: int) -> None:
        """Tell the writer, and emit the watermark."""
        self.writer.write_watermark(timestamp)
        super().process_watermark(timestamp)

    def end_input(self, index: int) -> None:
        """Flush the writer at the end of input."""
        self._flush(end_of_input=True)
        self._has_ended = True

    def end_batch(self) -> None:
        """Flush the writer at the end of the batch."""
        if not self._has_ended:
            self._flush(end_of_input=False)

    def next_processing_time(self) -> int | None:
        """Return when the writer must be flushed even without elements, in ms, or None."""
        return None if self._has_ended else self.writer.next_flush_ms()

    @property
    def awaits_checkpoint(self) -> bool:
        """Whether the writer has something to show with a later checkpoint."""
        return not self._has_ended and self.writer.awaits_checkpoint

    def _flush(self, end_of_input: bool) -> None:
        # In BATCH mode there is a single commit, after all input was read.
        if self.task.is_batch and not end_of_input:
            return
        self.writer.flush(end_of_input)
        if not self._prepares:
            return
        requests = []
        for committable in self.writer.prepare_commit():
            where = (self.task.job_id, self._sink_id, self.task.subtask_index, self._number)
            requests.append(CommitRequest(*where, committable))
            # Part of the state: committers recognize by it what they have committed before a restart.
            self._number += 1
        if self._commits_itself:
            self._requests += requests
        else:
            self.output.emit(requests, None)

    def committables(self) -> Sequence[Any]:
        """Return the writer's committables if no committer follows."""
        requests, self._requests = self._requests, []
        return (SinkCommittables(self._sink_id, self.name, tuple(requests)),) if requests else ()

    def close(self) -> None:
        """Close the writer if it was created."""
        writer = getattr(self, "writer", None)
        if writer is not None:
            writer.close()

    def snapshot(self) -> Snapshot:
        """Return the number of prepared requests and the writer's state, or None if there are neither."""
        state = self.writer.snapshot_state()
        return (self._number, state) if self._number or state is not None else None

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the writer."""
        self._number, state = snapshot
        if state is not None:
            self.writer.restore_state(state)

    def take_over(self, snapshots: Sequence[Any]) -> None:
        """Restore the states of former writers that are assigned to this subtask: of another job, or of this one."""
        # A subtask that comes back after the job had fewer of them must not use the numbers of its requests again.
        self._number = max(number for number, _ in snapshots)
        self.writer.begin_after([state for _, state in snapshots if state is not None])
        for _, state in snapshots[self.task.subtask_index :: self.task.parallelism]:
            if state is not None:
                self.writer.restore_state(state)


class CommitterRunner(Operator):
    """The committer of a two-phase sink: requests of the writer are committed with their checkpoint."""

    def __init__(self, name: str, task: TaskInfo, output: Output) -> None:
        super().__init__(name, task, output)
        self._requests: list[CommitRequest] = []

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Collect the writer's requests."""
        self._requests.extend(values)

    def committables(self) -> Sequence[Any]:
        """Return the requests of this batch and clear them."""
        requests, self._requests = self._requests, []
        if not requests:
            return ()
        return (SinkCommittables(requests[0].sink_id, self.name, tuple(requests)),)
