"""Operators on keyed streams with one input: process with state and timers, map/flat_map/filter with state, reduce.

Their elements are `(key, value)`. In BATCH mode a key is processed at a time, so state holds one key: `KeyedOperator`
keeps the input until it ended (`SortedInput`) and then replays it key by key, each followed by the final watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from firesteel.common.coercion import coercer
from firesteel.common.ownership import IMMUTABLE, own
from firesteel.datastream.time_domain import TimeDomain
from firesteel.operators.clock import now_ms
from firesteel.operators.context import KeyedContext, TaskRuntimeContext
from firesteel.operators.disk_store import DiskStore
from firesteel.operators.functions import Collector, close_function, method_of, open_function, pairs
from firesteel.operators.operator import MAX_WATERMARK, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.sorted_input import Batch, SortedInput
from firesteel.operators.spill import CHUNK_ELEMENTS
from firesteel.operators.state_backend import Delta, KeyedStateBackend
from firesteel.operators.state_store import StateStore
from firesteel.operators.timers import EVENT_TIME, PROCESSING_TIME, InternalTimerService

_DOMAINS = {EVENT_TIME: TimeDomain.EVENT_TIME, PROCESSING_TIME: TimeDomain.PROCESSING_TIME}


class _NoKey:
    """Stands where there is no key: what needs one fails."""

    def __hash__(self) -> int:
        raise RuntimeError(
            "keyed state and timers belong to the key of an element or timer; there is none in open(), close() and "
            "process_broadcast_element()"
        )


NO_KEY = _NoKey()


_STATE_BACKEND = "state.backend.type"
_IN_MEMORY, _ON_DISK = "hashmap", "rocksdb"


def store_of(task: TaskInfo) -> DiskStore | None:
    """Where the state of a task's operator is, None: in memory, as in BATCH mode, where it is that of one key.

    Raises:
        ValueError: the configuration asks for something that there is not.
    """
    kind = task.configuration.get(_STATE_BACKEND, _IN_MEMORY)
    if kind not in (_IN_MEMORY, _ON_DISK):
        raise ValueError(f"{_STATE_BACKEND} is {kind!r}, allowed are {_IN_MEMORY!r} and {_ON_DISK!r}")
    return DiskStore(task.configuration) if kind == _ON_DISK and not task.is_batch else None


class KeyedOperator(Operator):
    """What all keyed operators share: the state backend, the timers, and BATCH mode's one key at a time.

    Subclasses write `process_keyed` and `on_timer`; `backend` is filled before `open` where a version is restored.
    """

    inputs = 1

    def __init__(self, name: str, task: TaskInfo, output: Output, key_type: Any) -> None:
        super().__init__(name, task, output)
        # map, flat_map, filter and their two-input kin know their key's type from their input alone.
        key_type = task.key_type if key_type is None else key_type
        self.backend = KeyedStateBackend(key_type, task.max_parallelism, store_of(task))
        self.collector = Collector(output)
        self._open_inputs = self.inputs
        self._kept = SortedInput(task) if task.is_batch else None

    def open(self) -> None:
        """Make the timers from what was restored."""
        self.timers = InternalTimerService(self.backend)
        self.timers.watermark = self.watermark
        self.backend.current_key = NO_KEY

    def close(self) -> None:
        """Drop what is still kept."""
        if self._kept is not None:
            self._kept.close()

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Process `(key, value)` elements of input `index`; results go to `collector`."""
        raise NotImplementedError

    def on_timer(self, domain: int, key: Any, namespace: Any, timestamp: int) -> None:
        """Fire one timer; results go to `collector`."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input, or keep them until it ended (BATCH)."""
        self._take(0, values, timestamps)

    def process2(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the second input, or keep them until it ended (BATCH)."""
        self._take(1, values, timestamps)

    def _take(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        if self._kept is not None:
            self._kept.add(index, values, timestamps)
        else:
            for clean_up in self.backend.on_records:
                clean_up(len(values))
            self.process_keyed(index, values, timestamps)
            self.collector.flush()
            self.backend.forget_repetitions()

    def emit_gathered(self) -> None:
        """Emit what was gathered."""
        self.collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Fire the event-time timers up to the watermark, then pass it on; BATCH sees the final one key by key."""
        if self.task.is_batch:
            return
        self.timers.watermark = timestamp
        self._fire(EVENT_TIME, timestamp)
        super().process_watermark(timestamp)

    def advance_processing_time(self, now_ms: int) -> None:
        """Fire the processing-time timers that are due; BATCH fires those of a key when it is done with it."""
        self._fire(PROCESSING_TIME, now_ms)

    def next_processing_time(self) -> int | None:
        """Time of the earliest processing-time timer."""
        return self.timers.next_processing_time()

    def _fire(self, domain: int, until: int) -> None:
        for key, namespace, timestamp in self.timers.due(domain, until):
            self.backend.current_key = key
            self.on_timer(domain, key, namespace, timestamp)
        self.collector.flush()

    def end_input(self, index: int) -> None:
        """When the last input ended: BATCH processes what was kept, STREAMING fires what is due by now."""
        self._open_inputs -= 1
        if self._kept is not None and not self._open_inputs:
            for key, batches in self._kept.take():
                self._process_one_key(key, batches)
            super().process_watermark(MAX_WATERMARK)
        elif not self._open_inputs:
            self._fire(PROCESSING_TIME, now_ms())

    def _process_one_key(self, key: Any, batches: Iterable[Batch]) -> None:
        """Flink: `BatchExecutionInternalTimeService.setCurrentKey`, which fires the timers of both kinds."""
        self.timers.watermark = -MAX_WATERMARK - 1
        processed = 0
        for index, values, timestamps in batches:
            self.process_keyed(index, values, timestamps)
            processed += len(values)
            if processed >= CHUNK_ELEMENTS:
                processed = 0
                self.collector.flush()
        self.end_key(key)
        self.timers.watermark = MAX_WATERMARK
        self.timers.refuses_timers = True
        self._fire(EVENT_TIME, MAX_WATERMARK)
        self._fire(PROCESSING_TIME, MAX_WATERMARK)
        self.timers.refuses_timers = False
        self.backend.clear_key(key)

    def end_key(self, key: Any) -> None:
        """BATCH: the last element of a key was processed."""

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """What changed of the keyed state."""
        return self.backend.full() if full else self.backend.delta()

    def load_keyed(self, delta: Delta, key_groups: range | None = None) -> None:
        """Take a part of the keyed state."""
        self.backend.load(delta, key_groups)

    def snapshot(self) -> Any:
        """The watermark; state and timers are kept in the backend."""
        return self.watermark

    def restore(self, snapshot: Any) -> None:
        """Go on from that watermark."""
        self.watermark = self.timers.watermark = snapshot


class KeyedProcessRunner(KeyedOperator):
    """`KeyedStream.process`; also map, flat_map and filter on a keyed stream, given as `process_element`."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        key_type: Any,
        function: Any,
        process_elements: tuple[Callable[[Any, Any], Iterable[Any] | None], ...],
    ) -> None:
        super().__init__(name, task, output, key_type)
        self.function = function
        self.inputs = self._open_inputs = len(process_elements)
        self._process_elements = process_elements
        self._on_timer = getattr(function, "on_timer", None)

    def open(self) -> None:
        """Open the function with access to keyed state."""
        super().open()
        self._context = KeyedContext(self.timers)
        open_function(self.function, TaskRuntimeContext(self.name, self.task, StateStore(self.backend)))

    def close(self) -> None:
        """Close the function."""
        super().close()
        close_function(self.function)

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each element under its key."""
        process_element, context, backend = self._process_elements[index], self._context, self.backend
        collect = self.collector.collect
        for (key, value), timestamp in pairs(values, timestamps):
            backend.current_key = context.current_key = key
            context.current_timestamp = timestamp
            results = process_element(value, context)
            if results is not None:
                collect(results, timestamp)

    def on_timer(self, domain: int, key: Any, namespace: Any, timestamp: int) -> None:
        """Call the function's `on_timer`; its results have the timer's timestamp in event time, else none."""
        if self._on_timer is not None:
            context = self._context
            context.current_key = key
            context.current_timestamp = timestamp
            context.current_domain = _DOMAINS[domain]
            self.collector.collect(self._on_timer(timestamp, context), timestamp if domain == EVENT_TIME else None)


class ReduceRunner(KeyedOperator):
    """`reduce` and its kin: STREAMING emits each intermediate value, BATCH the final one of each key."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, key_type: Any, function: Any, value_type: Any
    ) -> None:
        super().__init__(name, task, output, key_type)
        self.function = function
        self._reduce = method_of(function, "reduce")
        self._coerce = coercer(value_type)
        self._table = self.backend.table("_reduce_state")

    def open(self) -> None:
        """Open the function."""
        super().open()
        open_function(self.function, TaskRuntimeContext(self.name, self.task, StateStore(self.backend)))

    def close(self) -> None:
        """Close the function."""
        super().close()
        close_function(self.function)

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Reduce each value into its key's state; STREAMING emits the result."""
        results: list[Any] = []
        try:
            self._reduce_all(values, results)
        finally:
            # The results of the elements before one that fails go on, as in Flink.
            self.output.hand_on(results, timestamps and timestamps[: len(results)])
        if not self.task.is_batch:
            self._table.dirty.extend([key for key, _ in values])

    def _reduce_all(self, values: list[Any], results: list[Any]) -> None:
        """Reduce; what is emitted must not change when the function changes the stored value later."""
        data, reduce, coerce, backend = self._table.data, self._reduce, self._coerce, self.backend
        emits, append = not self.task.is_batch, results.append
        for key, value in values:
            stored = data.get(key)
            if stored is not None:
                backend.current_key = key  # the function may have state of its own
                found = reduce(stored, value)
                if coerce is not None:
                    value = coerce(found)
                elif found is stored or found is value or found.__class__ in IMMUTABLE:
                    value = found
                else:
                    value = own(found)
            data[key] = value
            if emits:
                append(value if value.__class__ in IMMUTABLE else own(value))

    def end_key(self, key: Any) -> None:
        """Emit the final value of the key, at the end of time (Flink: `BatchGroupedReduceOperator`)."""
        self.collector.collect((self._table.data[key],), MAX_WATERMARK)
