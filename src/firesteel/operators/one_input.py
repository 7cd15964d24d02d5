"""Non-keyed one-input operators: map, flat_map, filter, process, project and internal ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from firesteel.common.values.bounded_results import bounded
from firesteel.common.values.ownership import IMMUTABLE, are_immutable, claimer, own
from firesteel.operators.chain.context import ProcessContext, TaskRuntimeContext
from firesteel.operators.chain.element_loop import ElementLoop
from firesteel.operators.chain.function_calls import (
    Collector,
    Part,
    close_function,
    compiled,
    method_of,
    open_function,
    pairs,
)
from firesteel.operators.chain.operator import Operator, Output, TaskInfo, Timestamps
from firesteel.operators.chain.retention import keeps_nothing

if TYPE_CHECKING:
    from firesteel.common.snapshots import Snapshot
    from firesteel.functions.operator_descriptors import PartitionCustomOperator


class FunctionOperator(Operator):
    """An operator around one user function."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Any) -> None:
        super().__init__(name, task, output)
        self.function = function

    def open(self) -> None:
        """Open the function."""
        open_function(self.function, TaskRuntimeContext(self.name, self.task))

    def close(self) -> None:
        """Close the function."""
        close_function(self.function)


class _ElementOperator(FunctionOperator):
    """The base of map and flat_map; as in PyFlink, a result `(OutputTag, value)` goes to a side output.

    Results are inspected one by one only if a side output has consumers.
    """

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self._collector = Collector(output)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each value; results keep the timestamp of their element."""
        if not self.output.has_side_outputs:
            self._process_batch(values, timestamps)
            return
        call, collect = self._call, self._collector.collect
        for value, timestamp in pairs(values, timestamps):
            collect(call(value), timestamp)
        self._collector.flush()

    def emit_gathered(self) -> None:
        """Emit the collected results of main and side outputs."""
        self._collector.flush()

    _process_batch: Callable[[list[Any], Timestamps], None]
    """Emits the results of all values."""

    _call: Callable[[Any], Iterable[Any] | None]
    """Returns the results of one value, or None."""


class MapRunner(_ElementOperator):
    """The operator of `map`: one result per element."""

    is_filter = False

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self.call = method_of(function, "map")
        self._process_batch = ElementLoop([self]).process
        self._call = self._called

    def _called(self, value: object) -> Iterable[Any] | None:
        return (self.call(value),)


class FlatMapRunner(_ElementOperator):
    """The operator of `flat_map`: any iterable of results per element, or None."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self._call = method_of(function, "flat_map")
        self._process_batch = self._process_all
        self._part = Part()
        self._loop, self._timed_loop = self._compiled_loops()

    def _compiled_loops(self) -> tuple[Any, Any]:
        check, settle = self.output.settler(self.output.output_type, "v")
        scope = {"flat_map": self._call, "settle": settle, "immutable": IMMUTABLE, "part": self._part}
        scope |= {"emit": self.emit_gathered, "emit_part": bounded(self.emit_gathered)}
        return (
            compiled(_FLAT_LOOP.format(check=check), scope, "loop"),
            compiled(_TIMED_FLAT_LOOP.format(check=check), scope, "loop"),
        )

    def emit_gathered(self) -> None:
        """Emit the results so far."""
        super().emit_gathered()
        values, timestamps = self._part.values, self._part.timestamps
        self._part.begin()
        self.output.hand_on(values, timestamps or None)

    def _process_all(self, values: list[Any], timestamps: Timestamps) -> None:
        if timestamps is None:
            self._loop(values)
        else:
            self._timed_loop(values, timestamps)
        self.emit_gathered()


_FLAT_LOOP = """
def loop(values):
    results = part.values
    for value in values:
        found = flat_map(value)
        if found is None:
            continue
        if found.__class__ is list or found.__class__ is tuple:
            for v in found:
                results.append(v if {check} else settle(v))
        else:
            count = 0
            for v in found:
                results.append(v if {check} else settle(v))
                if len(results) >= part.limit and part.is_full():
                    count += len(results)
                    emit_part(count)
                    results = part.values
        if len(results) >= part.limit and part.is_full():
            emit()
            results = part.values
"""
"""The results of one element are cut into parts only if they come from an iterator; a list is in memory anyway."""

_TIMED_FLAT_LOOP = """
def loop(values, timestamps):
    results, stamps = part.values, part.timestamps
    for value, timestamp in zip(values, timestamps):
        found = flat_map(value)
        if found is None:
            continue
        try:
            if found.__class__ is list or found.__class__ is tuple:
                for v in found:
                    results.append(v if {check} else settle(v))
            else:
                count = 0
                for v in found:
                    results.append(v if {check} else settle(v))
                    if len(results) >= part.limit and part.is_full():
                        stamps.extend([timestamp] * (len(results) - len(stamps)))
                        count += len(results)
                        emit_part(count)
                        results, stamps = part.values, part.timestamps
        finally:
            stamps.extend([timestamp] * (len(results) - len(stamps)))
        if len(results) >= part.limit and part.is_full():
            emit()
            results, stamps = part.values, part.timestamps
"""


class FilterRunner(FunctionOperator):
    """The operator of `filter`: keeps the elements for which the function returns a truthy value."""

    is_filter = passes_on = True

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self.call = method_of(function, "filter")

    def open(self) -> None:
        """Open the function and compile the loop, which depends on the element type."""
        super().open()
        self._loop = ElementLoop([self])

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit the elements that pass the filter, with their timestamps."""
        self._loop.process(values, timestamps)


class ProcessingOperator(FunctionOperator):
    """A base of operators that call process functions without keys: results and side outputs."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self._context = ProcessContext()
        self._collector = Collector(output)

    def emit_gathered(self) -> None:
        """Emit the collected results."""
        self._collector.flush()

    def process_watermark(self, timestamp: int) -> None:
        """Update the watermark that the function sees, then emit it."""
        self._context.timers.watermark = timestamp
        super().process_watermark(timestamp)

    def snapshot(self) -> Snapshot:
        """Return the watermark last seen by the function."""
        return self.watermark

    def restore(self, snapshot: Snapshot) -> None:
        """Restore the watermark."""
        self.watermark = self._context.timers.watermark = snapshot


class ProcessRunner(ProcessingOperator):
    """The operator of `process` with a `ProcessFunction`: results and side outputs."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: object) -> None:
        super().__init__(name, task, output, function)
        self._process_element = method_of(function, "process_element")

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Call the function for each element."""
        context, process_element, collect = self._context, self._process_element, self._collector.collect
        for value, timestamp in pairs(values, timestamps):
            context.current_timestamp = timestamp
            collect(process_element(value, context), timestamp)
        self._collector.flush()


class ElementwiseRunner(Operator):
    """An internal operator that applies one function to each value."""

    def __init__(self, name: str, task: TaskInfo, output: Output, function: Callable[[Any], Any]) -> None:
        super().__init__(name, task, output)
        self._function = function

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Apply the function to each value."""
        function, remaining = self._function, iter(values)
        self.output.emit([function(value) for value in remaining], timestamps)


def _keyed(
    values: list[Any], get_key: Callable[[Any], Any], keep_key: Callable[[Any], Any], settle: Callable[[Any], Any]
) -> list[Any]:
    """Return `(key, value)` pairs; values are settled, as the key selector could keep and change them."""
    remaining = iter(values)
    return [(keep_key(get_key(value)), settle(value)) for value in remaining]


_claim = claimer(lambda settle: _keyed([[]], id, id, settle))


class KeyByRunner(FunctionOperator):
    """The operator that maps `value` to `(key, value)` before `key_by` and `partition_custom`."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, function: object, keep_key: Callable[[Any], Any] = own
    ) -> None:
        super().__init__(name, task, output, function)
        self._get_key = method_of(function, "get_key")
        self._keep_key = keep_key
        self._keeps_nothing = output.reuses_objects or keeps_nothing(self._get_key)

    def _needs_no_copies(self, values: list[Any]) -> bool:
        """Return whether values are safe from later changes by the key selector."""
        return self._keeps_nothing or self.takes_immutable or are_immutable(values)

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit a `(key, value)` pair for each value."""
        get_key, keep_key, remaining = self._get_key, self._keep_key, iter(values)
        if self._needs_no_copies(values):
            self.output.emit([(keep_key(get_key(value)), value) for value in remaining], timestamps)
        else:
            self.output.emit(_keyed(values, get_key, keep_key, _claim), timestamps)


class PartitionCustomRunner(KeyByRunner):
    """The operator before an edge with a partitioner of the user, which it opens and closes: the edge calls it only."""

    def __init__(self, name: str, task: TaskInfo, output: Output, descriptor: PartitionCustomOperator) -> None:
        super().__init__(name, task, output, descriptor.key_selector)
        self._partitioner = descriptor.partitioner

    def open(self) -> None:
        """Open partitioner and key selector, in Flink's order."""
        open_function(self._partitioner, TaskRuntimeContext(self.name, self.task))
        super().open()

    def close(self) -> None:
        """Close partitioner and key selector."""
        close_function(self._partitioner)
        super().close()


class TagAndKeyByRunner(KeyByRunner):
    """The "Map" before a window join, which maps `value` to `(key, (side, value))`."""

    def __init__(
        self, name: str, task: TaskInfo, output: Output, function: object, keep_key: Callable[[Any], Any], side: int
    ) -> None:
        super().__init__(name, task, output, function, keep_key)
        self._side = side

    def process(self, values: list[Any], timestamps: Timestamps) -> None:
        """Emit `(key, (side, value))` for each value."""
        get_key, keep_key, side, remaining = self._get_key, self._keep_key, self._side, iter(values)
        if self._needs_no_copies(values):
            self.output.emit([(keep_key(get_key(value)), (side, value)) for value in remaining], timestamps)
        else:
            keyed = _keyed(values, get_key, keep_key, _claim)
            self.output.emit([(key, (side, value)) for key, value in keyed], timestamps)
