"""Keyed one-input operators: process with state and timers, map/flat_map/filter with state, reduce.

Their elements are `(key, value)`. BATCH mode processes one key at a time, so state holds a single key: `KeyedOperator`
collects the input until it has ended (`SortedInput`) and then replays it key by key, each followed by the final
watermark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from firesteel.common.options.state_options import STATE_BACKEND
from firesteel.common.values.coercion import coercer
from firesteel.common.values.ownership import IMMUTABLE, own
from firesteel.functions.time_domain import TimeDomain
from firesteel.operators.chain.clock import now_ms
from firesteel.operators.chain.context import KeyedContext, TaskRuntimeContext
from firesteel.operators.chain.function_calls import Collector, close_function, method_of, open_function, pairs
from firesteel.operators.chain.operator import MAX_WATERMARK, Operator, Output, TaskInfo, Timestamps
from firesteel.operators.exchange.spill import CHUNK_ELEMENTS
from firesteel.operators.sorted_input import Batch, SortedInput
from firesteel.operators.state.disk_store import DiskStore
from firesteel.operators.state.entries import Delta
from firesteel.operators.state.keyed_state_backend import KeyedStateBackend
from firesteel.operators.state.state_store import StateStore
from firesteel.operators.state.timers import EVENT_TIME, PROCESSING_TIME, InternalTimerService

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.common.typeinfo import TypeInformation

_DOMAINS = {EVENT_TIME: TimeDomain.EVENT_TIME, PROCESSING_TIME: TimeDomain.PROCESSING_TIME}


class _NoKey:
    """A placeholder for the current key while there is none; using it raises an error."""

    def __hash__(self) -> int:
        raise RuntimeError(
            "keyed state and timers belong to the key of an element or timer; there is none in open(), close() and "
            "process_broadcast_element()"
        )


NO_KEY = _NoKey()


def store_of(task: TaskInfo) -> DiskStore | None:
    """Return the disk store for a task's keyed state, or None for state in memory, which BATCH mode always uses.

    Raises:
        ValueError: the configured state backend does not exist.
    """
    is_on_disk = STATE_BACKEND.of(task.configuration) == "rocksdb"
    return DiskStore(task.configuration) if is_on_disk and not task.is_batch else None


class KeyedOperator(Operator):
    """The base of keyed operators: state backend, timers, and BATCH mode's processing of one key at a time.

    Subclasses implement `process_keyed` and `on_timer`. On restore, `backend` is loaded before `open` is called.
    """

    inputs = 1

    def __init__(self, name: str, task: TaskInfo, output: Output, key_type: TypeInformation[Any] | None) -> None:
        super().__init__(name, task, output)
        # The descriptors of map, flat_map, filter and their two-input variants have no key type; the task knows it.
        key_type = task.key_type if key_type is None else key_type
        self.backend = KeyedStateBackend(key_type, task.max_parallelism, store_of(task))
        self.collector = Collector(output)
        self._open_inputs = self.inputs
        self._kept = SortedInput(task) if task.is_batch else None

    def open(self) -> None:
        """Create the timer service over the restored timers."""
        self.backend.check_key_type(self.name)
        self.timers = InternalTimerService(self.backend)
        self.timers.watermark = self.watermark
        # So that state used in `open` of the function is an error and not the state of some key.
        self.backend.current_key = NO_KEY

    def close(self) -> None:
        """Discard the collected input."""
        if self._kept is not None:
            self._kept.close()

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Process `(key, value)` elements of input `index`; results go to `collector`."""
        raise NotImplementedError

    def on_timer(self, domain: int, key: object, namespace: object, timestamp: int) -> None:
        """Fire one timer; results go to `collector`."""

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Process elements of the first input; in BATCH mode collect them until it has ended."""
        self._take(0, values, timestamps)

    def process2(self, values: list[object], timestamps: Timestamps) -> None:
        """Process elements of the second input; in BATCH mode collect them until it has ended."""
        self._take(1, values, timestamps)

    def _take(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        if self._kept is not None:
            self._kept.add(index, values, timestamps)
        else:
            for clean_up in self.backend.on_records:
                clean_up(len(values))
            self.backend.prefetch(values)
            self.process_keyed(index, values, timestamps)
            self.collector.flush()
            self.backend.forget_repetitions()

    def emit_gathered(self) -> None:
        """Emit the collected results."""
        self.collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Fire the event-time timers up to the watermark, then emit it; in BATCH mode only the final one, per key."""
        if self.task.is_batch:
            return
        self.timers.watermark = timestamp
        self._fire(EVENT_TIME, timestamp)
        super().process_watermark(timestamp)

    def advance_processing_time(self, now_ms: int) -> None:
        """Fire the due processing-time timers; in BATCH mode they fire when their key is complete."""
        self._fire(PROCESSING_TIME, now_ms)

    def next_processing_time(self) -> int | None:
        """Return the time in ms of the earliest processing-time timer, or None."""
        return self.timers.next_processing_time()

    def _fire(self, domain: int, until: int) -> None:
        # A timer may register others that are due; `due` yields these, too.
        for key, namespace, timestamp in self.timers.due(domain, until):
            self.backend.current_key = key
            self.on_timer(domain, key, namespace, timestamp)
        self.collector.flush()

    def end_input(self, index: int) -> None:
        """After the last input: in BATCH mode process the collected input, in STREAMING mode fire the due timers."""
        self._open_inputs -= 1
        if self._kept is not None and not self._open_inputs:
            for key, batches in self._kept.take():
                self._process_one_key(key, batches)
            super().process_watermark(MAX_WATERMARK)
        elif not self._open_inputs:
            self._fire(PROCESSING_TIME, now_ms())

    def _process_one_key(self, key: object, batches: Iterable[Batch]) -> None:
        """Process one key's elements and fire its timers. Flink: `BatchExecutionInternalTimeService.setCurrentKey`."""
        # Each key sees time begin anew, as its elements come before those of the next key.
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

    def end_key(self, key: object) -> None:
        """Finish a key after its last element (BATCH mode only)."""

    def state_parts(self, full: bool) -> Iterator[Delta]:
        """Return the changes of the keyed state since the last call, or all of it if `full`."""
        return self.backend.full() if full else self.backend.delta()

    def publish_state(self, batch_id: int) -> None:
        """Let other threads see the state after a batch."""
        self.backend.publish(batch_id)

    def load_keyed(self, delta: Delta, key_groups: range | None = None) -> None:
        """Load a part of the keyed state."""
        self.backend.load(delta, key_groups)

    def snapshot(self) -> Snapshot:
        """Return the watermark; state and timers are in the backend."""
        return self.watermark

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        self.watermark = self.timers.watermark = snapshot


class KeyedFunctionOperator(KeyedOperator):
    """A keyed operator around one user function, which has access to keyed state."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, key_type: TypeInformation[object] | None, function: object
    ) -> None:
        super().__init__(name, task, output, key_type)
        self.function = function

    def open(self) -> None:
        """Open the function."""
        super().open()
        open_function(self.function, TaskRuntimeContext(self.name, self.task, StateStore(self.backend)))

    def close(self) -> None:
        """Close the function."""
        super().close()
        close_function(self.function)


class KeyedProcessRunner(KeyedFunctionOperator):
    """The operator of `KeyedStream.process`, and of map, flat_map and filter adapted to `process_element`."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        key_type: TypeInformation[Any] | None,
        function: object,
        process_elements: tuple[Callable[[Any, Any], Iterable[Any] | None], ...],
    ) -> None:
        super().__init__(name, task, output, key_type, function)
        self.inputs = self._open_inputs = len(process_elements)
        self._process_elements = process_elements
        self._on_timer = getattr(function, "on_timer", None)

    def open(self) -> None:
        """Open the function."""
        super().open()
        self._context = KeyedContext(self.timers)

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each element in the scope of its key."""
        process_element, context, backend = self._process_elements[index], self._context, self.backend
        collect = self.collector.collect
        for (key, value), timestamp in pairs(values, timestamps):
            backend.current_key = context.current_key = key
            context.current_timestamp = timestamp
            results = process_element(value, context)
            if results is not None:
                collect(results, timestamp)

    def on_timer(self, domain: int, key: object, namespace: object, timestamp: int) -> None:
        """Call the function's `on_timer`; its results have the timer's timestamp, as in PyFlink, in either time."""
        if self._on_timer is not None:
            context = self._context
            context.current_key = key
            context.current_timestamp = timestamp
            context.current_domain = _DOMAINS[domain]
            self.collector.collect(self._on_timer(timestamp, context), timestamp)


class ReduceRunner(KeyedFunctionOperator):
    """The operator of `reduce` and its variants: STREAMING mode emits every intermediate value, BATCH mode the last."""

    def __init__(
        self,
        name: str,
        task: TaskInfo,
        output: Output,
        key_type: TypeInformation[Any] | None,
        function: object,
        value_type: TypeInformation[Any] | None,
    ) -> None:
        super().__init__(name, task, output, key_type, function)
        self._reduce = method_of(function, "reduce")
        self._coerce = coercer(value_type)
        self._table = self.backend.table("_reduce_state")

    def process_keyed(self, index: int, values: list[Any], timestamps: Timestamps) -> None:
        """Reduce each value into its key's state; in STREAMING mode emit the result."""
        results: list[Any] = []
        try:
            self._reduce_all(values, results)
        finally:
            # Emit the results of the elements before the failing one, as Flink does.
            self.output.hand_on(results, timestamps and timestamps[: len(results)])
        if not self.task.is_batch:
            # Once per batch: a call for each element would cost as much as the reduction.
            self._table.dirty.extend([key for key, _ in values])

    def _reduce_all(self, values: list[Any], results: list[Any]) -> None:
        """Reduce the values; results are settled, as the function may change the stored value later."""
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
            # The emitted value must not be the stored one: a receiver could change it.
            if emits:
                append(value if value.__class__ in IMMUTABLE else own(value))

    def end_key(self, key: object) -> None:
        """Emit the final value of the key with the maximum timestamp (Flink: `BatchGroupedReduceOperator`)."""
        reduced = self._table.data[key]
        if reduced is not None:
            self.collector.collect((reduced,), MAX_WATERMARK)
