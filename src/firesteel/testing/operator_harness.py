"""Test harness of a single operator (Flink: `OneInputStreamOperatorTestHarness` and related classes)."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Self

from firesteel.common.keys.canonical_keys import key_keeper
from firesteel.common.trust import pickling
from firesteel.operators.chain.factory import make_operator
from firesteel.operators.chain.operator import (
    MAX_WATERMARK,
    Operator,
    OperatorInput,
    Output,
    TaskInfo,
    Timestamps,
    with_operator_named,
)
from firesteel.operators.keyed import KeyedOperator
from firesteel.operators.state.keyed_state_backend import TIMERS_TABLE

if TYPE_CHECKING:
    from firesteel.common.typeinfo import TypeInformation
    from firesteel.functions.operator_descriptors import OperatorDescriptor
    from firesteel.functions.output_tag import OutputTag

Element = tuple[Any, int | None]
"""(value, timestamp in ms or None)."""


class OperatorHarness:
    """Creates and opens the operator of a descriptor, passes elements and watermarks to it, and records its output.

    Args:
        descriptor: One of `firesteel.functions.operator_descriptors`.
        output_type: Declared type of the results.
        key_selectors: Key selector of each input of a keyed operator, whose elements become `(key, value)`; None for an
            input without keys.
        is_batch: Whether to run as in BATCH mode.
        subtask_index: Index of the subtask.
        parallelism: Parallelism of the operator.
        max_parallelism: Maximum parallelism of the operator.
        configuration: Configuration of the job.
        snapshot: Result of `snapshot()` of another harness to restore.

    Example:
        >>> from firesteel.functions.operator_descriptors import MapOperator
        >>> with OperatorHarness(MapOperator(lambda n: n + 1)) as harness:
        ...     harness.process(1)
        ...     harness.values
        [2]
    """

    def __init__(
        self,
        descriptor: OperatorDescriptor,
        *,
        output_type: TypeInformation[Any] | None = None,
        key_selectors: Iterable[Callable[[Any], Any] | None] = (),
        is_batch: bool = False,
        subtask_index: int = 0,
        parallelism: int = 1,
        max_parallelism: int = 128,
        configuration: dict[str, str] | None = None,
        snapshot: bytes | None = None,
    ) -> None:
        self.elements: list[Element] = []
        self.watermarks: list[int] = []
        self.idle_changes: list[bool] = []
        self.has_ended = False
        self.side_elements: dict[str, list[Element]] = {}
        self._key_selectors = list(key_selectors)
        self._kept_key = key_keeper(getattr(descriptor, "key_type", None))
        task = TaskInfo(
            "job", "vertex", "vertex", subtask_index, parallelism, max_parallelism, 0, is_batch, configuration or {}
        )
        output = _RecordingOutput(self, output_type, task.reuses_objects)
        self.operator: Operator = make_operator(descriptor, "operator", task, output)
        self._inputs = (OperatorInput(self.operator, 0), OperatorInput(self.operator, 1))
        state, own = pickle.loads(snapshot) if snapshot is not None else ([], None)
        for part in state:
            self.operator.load_keyed(part)
            self.operator.load_copied(part)
        with_operator_named(self.operator, self.operator.open)
        if own is not None:
            self.operator.restore(own)

    # --- what goes in ------------------------------------------------------------------------------------------

    def process(self, value: object, timestamp: int | None = None, input_index: int = 0) -> None:
        """Process one element of input 0 or 1.

        Args:
            value: The element.
            timestamp: Its timestamp in ms since the epoch; None if it has none.
            input_index: Index of the input.
        """
        self.process_batch([value], None if timestamp is None else [timestamp], input_index)

    def process_batch(self, values: Iterable[Any], timestamps: Timestamps = None, input_index: int = 0) -> None:
        """Process several elements.

        Args:
            values: The elements; the key selector of the input, if any, adds their keys.
            timestamps: Milliseconds since the epoch, one for each element; None if they have none.
            input_index: The input: 0, or 1 of an operator with two inputs.
        """
        select = self._key_selectors[input_index] if input_index < len(self._key_selectors) else None
        elements = list(values) if select is None else [(self._kept_key(select(value)), value) for value in values]
        self._inputs[input_index].process(elements, timestamps)

    def watermark(self, timestamp: int) -> None:
        """Advance the watermark of the operator.

        Args:
            timestamp: Milliseconds since the epoch.
        """
        self._inputs[0].watermark(timestamp)

    def advance_processing_time(self, now_ms: int) -> None:
        """Fire the timers that are due, and end a batch that has no elements since the last call.

        Args:
            now_ms: Processing time in ms since the epoch.
        """
        self.operator.task.input_ms = (now_ms, now_ms)
        with_operator_named(self.operator, self.operator.advance_processing_time, now_ms)
        self.end_batch()

    def end_batch(self) -> None:
        """End the current batch."""
        with_operator_named(self.operator, self.operator.end_batch)

    def end(self, inputs: int = 1) -> None:
        """Send the final watermark and end the inputs.

        Args:
            inputs: Number of inputs of the operator, 1 or 2.
        """
        self.watermark(MAX_WATERMARK)
        for index in range(inputs):
            with_operator_named(self.operator, self.operator.end_input, index)
        self.operator.output.end()

    def close(self) -> None:
        """Close the operator."""
        with_operator_named(self.operator, self.operator.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- what comes out ----------------------------------------------------------------------------------------

    @property
    def values(self) -> list[Any]:
        """The results so far, without their timestamps."""
        return [value for value, _ in self.elements]

    def take(self) -> list[Any]:
        """Return the results since the last call, without their timestamps."""
        taken, self.elements = self.values, []
        return taken

    def side_output(self, tag: Any) -> list[Any]:
        """Return the values of a side output so far.

        Args:
            tag: The `OutputTag`; only its id counts.

        Returns:
            The values in order, without timestamps; empty if there are none.
        """
        return [value for value, _ in self.side_elements.get(tag.tag_id, ())]

    def num_keyed_state_entries(self) -> int:
        """Return the number of entries of all keyed states, including expired ones.

        There is one entry per key (and window) with a value; timers are not counted. Flink:
        `AbstractStreamOperatorTestHarness.numKeyedStateEntries`.
        """
        tables = self.operator.backend.tables if isinstance(self.operator, KeyedOperator) else {}
        return sum(len(table) for name, table in tables.items() if name != TIMERS_TABLE)

    def snapshot(self) -> bytes:
        """Return state and timers of the operator, for another harness."""
        operator = self.operator
        return pickling.dumps((list(operator.state_parts(full=True)), operator.snapshot()))


class _RecordingOutput(Output):
    """An output that records everything, even side outputs without a receiver."""

    def __init__(
        self, harness: OperatorHarness, output_type: TypeInformation[Any] | None, reuses_objects: bool
    ) -> None:
        super().__init__(output_type, reuses_objects)
        self._harness = harness
        self.connect(_Recorder(harness), None)

    @property
    def has_side_outputs(self) -> bool:
        return True

    def reads_side(self, tag: OutputTag[Any]) -> bool:
        return True

    def hand_on_side(self, tag: Any, values: list[Any], timestamps: Timestamps) -> None:
        self._harness.side_elements.setdefault(tag.tag_id, []).extend(_with_timestamps(values, timestamps))


class _Recorder:
    """The receiver of the main output."""

    def __init__(self, harness: OperatorHarness) -> None:
        self._harness = harness

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        self._harness.elements.extend(_with_timestamps(values, timestamps))

    def watermark(self, timestamp: int) -> None:
        self._harness.watermarks.append(timestamp)

    def idle(self, is_idle: bool) -> None:
        self._harness.idle_changes.append(is_idle)

    def end(self) -> None:
        self._harness.has_ended = True


def _with_timestamps(values: list[Any], timestamps: Timestamps) -> list[Element]:
    return list(zip(values, [None] * len(values) if timestamps is None else timestamps, strict=True))
